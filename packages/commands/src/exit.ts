/** /exit: ends the session. */
import type { Command } from "@heddle/kernel/plugin";

export const exit: Command = {
  name: "exit",
  kind: "local",
  summary: "Leaves heddle",
  aliases: ["quit"],
  run: () => ({ kind: "handled", change: { exit: true } }),
};
