/** /context: what takes how much of the model's window. */
import { type Command, SESSION } from "@heddle/kernel/plugin";

const CHARS_PER_TOKEN = 3.6;
const BAR = 30;

export const context: Command = {
  name: "context",
  kind: "local",
  summary: "Shows what takes how much of the window",
  run(_args, ctx) {
    const { parts, limit } = ctx.capability(SESSION).window();
    const used = parts.reduce((n, p) => n + p.size, 0);
    const rows = [...parts, { label: used > limit ? "over the limit" : "free", size: Math.abs(limit - used) }];
    const width = Math.max(...rows.map((r) => r.label.length));
    const line = ({ label, size }: { label: string; size: number }): string =>
      `${label.padEnd(width)}  ${bar(size, limit)}  ${tokens(size).padStart(6)}  ${percent(size, limit).padStart(6)}`;
    const head = `${ctx.session.model}: about ${tokens(used)} of ${tokens(limit)} tokens (${percent(used, limit)})`;
    return { kind: "handled", show: [head, "", ...rows.map(line)].join("\n") };
  },
};

function bar(size: number, limit: number): string {
  const full = limit > 0 ? Math.min(BAR, Math.round((size / limit) * BAR)) : BAR;
  const filled = size > 0 ? Math.max(1, full) : 0;
  return "█".repeat(filled) + "·".repeat(BAR - filled);
}
function tokens(chars: number): string {
  const n = Math.round(chars / CHARS_PER_TOKEN);
  if (n < 1000) return String(n);
  return n < 999_950 ? `${(n / 1000).toFixed(1)}k` : `${(n / 1_000_000).toFixed(1)}M`;
}
const percent = (size: number, limit: number): string => (limit > 0 ? `${((size / limit) * 100).toFixed(1)}%` : "-");
