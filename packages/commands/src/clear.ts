/** /clear: a new conversation in the same session. */
import type { Command } from "@heddle/kernel/plugin";

export const clear: Command = {
  name: "clear",
  kind: "local",
  summary: "Starts a new conversation; the old one stays in the log",
  run(args) {
    if (args.trim() === "") return { kind: "handled", show: "A new conversation starts here.", change: { clear: true } };
    return {
      kind: "handled",
      level: "error",
      show: "Nothing was cleared: /clear stands alone. To send the line as text, put a blank before the slash.",
      controls: { nextInput: ` /clear ${args}` },
    };
  },
};
