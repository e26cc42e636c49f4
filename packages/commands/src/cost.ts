/** /cost: what the session has cost so far, by model. */
import { type Command, type PrefixCost, SESSION } from "@heddle/kernel/plugin";

const HEAD = ["model", "calls", "input", "cache read", "cache write", "output", "USD"];

export const cost: Command = {
  name: "cost",
  kind: "local",
  summary: "Shows what the session has cost",
  run(_args, ctx) {
    const { usd, unpriced, models, breaks, apiMs } = ctx.capability(SESSION).cost();
    if (models.length === 0) return { kind: "handled", show: "No model has been called yet." };
    const rows = models.map((m) => {
      const { input, cacheRead, cacheWrite, output } = m.usage;
      const numbers = [m.calls, input, cacheRead, cacheWrite, output].map((n) => n.toLocaleString("en-US"));
      return [`${m.provider}/${m.model}`, ...numbers, m.usd === undefined ? "?" : dollars(m.usd)];
    });
    const widths = HEAD.map((_, i) => Math.max(...[HEAD, ...rows].map((row) => row[i]!.length)));
    const line = (row: readonly string[]): string =>
      row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join("  ");
    const known = unpriced.length === models.length ? "Cost not known" : `$${dollars(usd)}`;
    const tail = unpriced.length > 0 ? ["", `No price is known of ${unpriced.join(", ")}: "models" of the settings takes one.`] : [];
    const head = `${known} · ${(apiMs / 1000).toFixed(1)} s of waiting for models`;
    return { kind: "handled", show: [head, "", line(HEAD), ...rows.map(line), ...broken(breaks), ...tail].join("\n") };
  },
};

/** The newest of them: what each of them cost is in the sum above. */
const SHOWN = 10;
function broken(breaks: readonly PrefixCost[]): string[] {
  if (breaks.length === 0) return [];
  const price = ({ usd }: PrefixCost): string => (usd === undefined ? "price unknown" : `$${dollars(usd)}`);
  const lines = breaks.slice(-SHOWN).map((b) => `  ${b.cause}: about ${b.tokens.toLocaleString("en-US")} tokens, ${price(b)}`);
  const more = breaks.length > SHOWN ? [`  and ${breaks.length - SHOWN} before`] : [];
  return [
    "",
    "Paid for anew, because the cached beginning of the request changed, more than reading it would have cost:",
    ...lines,
    ...more,
  ];
}

/** Small sums are not rounded to nothing. */
const dollars = (usd: number): string => usd.toFixed(usd < 1 ? 4 : 2);
