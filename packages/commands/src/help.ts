/** /help: what can be typed. */
import type { Command, Listed } from "@heddle/kernel/plugin";

export const help: Command = {
  name: "help",
  kind: "local",
  summary: "Lists the commands",
  run(_args, ctx) {
    const commands = ctx.session.list("commands");
    const usage = (c: Listed): string => `/${c.name}${c.hint ? ` ${c.hint}` : ""}`;
    const width = Math.min(32, Math.max(0, ...commands.map((c) => usage(c).length)));
    const plugins = [...new Set(commands.map((c) => c.plugin))];
    const groups = plugins.map((plugin) => {
      const own = commands.filter((c) => c.plugin === plugin);
      return [plugin, ...own.map((c) => `  ${usage(c).padEnd(width)}  ${c.summary ?? ""}`.trimEnd())].join("\n");
    });
    const more = "!command runs in the shell. A leading blank sends a line as text.";
    return { kind: "handled", show: [...groups, more].join("\n\n") };
  },
};
