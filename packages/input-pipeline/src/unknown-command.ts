/** The command behind a name that no command has: says so, and gives the text back. */
import type { Command } from "@heddle/kernel/plugin";
import { nearest } from "./nearest.ts";

/** Its arguments are the whole text that was typed. */
export const unknownCommand: Command = {
  name: "unknown-command",
  kind: "local",
  hidden: true,
  summary: "Answers to a command that does not exist",
  run(typed, ctx) {
    const name = /^\/(\S*)/.exec(typed)?.[1] ?? typed;
    const names = nearest(
      name,
      ctx.session.list("commands").map((c) => c.name),
    ).map((n) => `/${n}`);
    const meant = names.length > 0 ? ` Did you mean ${names.join(" or ")}?` : " /help lists the commands.";
    return {
      kind: "handled",
      level: "error",
      show: `There is no command "/${name}".${meant} To send it as text, put a blank before the slash.`,
      controls: { nextInput: ` ${typed}` },
    };
  },
};
