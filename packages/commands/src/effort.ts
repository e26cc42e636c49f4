/** /effort: shows or changes how much the model thinks. */
import type { Command, Effort } from "@heddle/kernel/plugin";

const EFFORTS: readonly Effort[] = ["low", "medium", "high", "xhigh", "max"];

export const effort: Command = {
  name: "effort",
  kind: "local",
  summary: "Shows or changes how much the model thinks",
  hint: "[low … max]",
  run(args, ctx) {
    const now = ctx.session.effort ?? "that of the model";
    const wanted = args.trim();
    if (wanted === "") return { kind: "handled", show: `The effort is ${now}. /effort LEVEL changes it: ${EFFORTS.join(", ")}.` };
    const found = EFFORTS.find((e) => e === wanted);
    if (!found)
      return { kind: "handled", level: "error", show: `There is no effort "${wanted}", only ${EFFORTS.join(", ")}. It stays ${now}.` };
    return { kind: "handled", show: `The effort is now ${found}.`, change: { effort: found } };
  },
};
