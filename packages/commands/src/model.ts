/** /model: shows or changes the model of the session. */
import type { Command, SessionView } from "@heddle/kernel/plugin";

/** `models`: what is known by name, and the model that each name stands for. */
export const model = (models: Readonly<Record<string, string>>): Command => ({
  name: "model",
  kind: "local",
  summary: "Shows or changes the model",
  hint: "[name]",
  run(args, ctx) {
    const { model: now } = ctx.session;
    const wanted = args.trim();
    if (wanted === "") {
      const head = `The model is ${now}, from ${providerOf(ctx.session)}. /model NAME changes it.`;
      return { kind: "handled", show: [head, ...linesOf(models)].join("\n") };
    }
    if (/\s/.test(wanted))
      return { kind: "handled", level: "error", show: `A model name has no blanks: "${wanted}". The model stays ${now}.` };
    const meant = Object.hasOwn(models, wanted) ? models[wanted]! : wanted;
    if (meant === now) return { kind: "handled", show: `The model is already ${now}.` };
    return { kind: "handled", show: `The model is now ${meant}.`, change: { model: wanted } };
  },
});

function providerOf({ model, provider, list }: SessionView): string {
  const named = model.split("/")[0]!;
  return list("providers").some((p) => p.name === named) ? named : provider;
}

function linesOf(models: Readonly<Record<string, string>>): string[] {
  const width = Math.max(...Object.keys(models).map((name) => name.length));
  return Object.entries(models).map(([name, meant]) => (name === meant ? `  ${name}` : `  ${name.padEnd(width)}  ${meant}`));
}
