/** What was typed becomes a command, a line for the shell, or a prompt. */
import { definePlugin } from "@heddle/kernel/plugin";
import { classifier } from "./classifier.ts";
import { shell } from "./shell.ts";
import { unknownCommand } from "./unknown-command.ts";

export default definePlugin({
  setup: () => ({ classifiers: [classifier], commands: [shell, unknownCommand] }),
});
