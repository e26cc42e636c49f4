/** /model: shows or changes the model of the session. */
import type { Command } from "@heddle/kernel/plugin";

export const model: Command = {
  name: "model",
  kind: "local",
  summary: "Shows or changes the model",
  hint: "[name]",
  run(args, ctx) {
    const { model: now, provider } = ctx.session;
    const wanted = args.trim();
    if (wanted === "") return { kind: "handled", show: `The model is ${now}, from ${provider}. /model NAME changes it.` };
    if (/\s/.test(wanted))
      return { kind: "handled", level: "error", show: `A model name has no blanks: "${wanted}". The model stays ${now}.` };
    if (wanted === now) return { kind: "handled", show: `The model is already ${now}.` };
    return { kind: "handled", show: `The model is now ${wanted}.`, change: { model: wanted } };
  },
};
