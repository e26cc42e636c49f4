/** Tells what a person typed: a command, a line for the shell, or a prompt. */
import type { Classified, Classifier, Content, Input, InputSource } from "@heddle/kernel/plugin";

/** Who may run commands and the shell; what others send is text. */
const MAY_COMMAND: readonly InputSource[] = ["repl", "sdk", "queue"];
const GOODBYES: readonly string[] = ["exit", "quit", ":q"];
/** A word behind a slash that is more likely the start of a path than a mistyped command. */
const FOLDERS: readonly string[] =
  "Applications Library System Users Volumes bin boot dev etc home lib lib64 media mnt nix opt private proc root run sbin snap srv sys tmp usr var".split(
    " ",
  );

/** A leading blank makes any text a prompt. */
export const classifier: Classifier = {
  name: "input",
  classify(input, ctx): Classified {
    if (input.isMeta) return { as: "prompt", content: contentOf(input), isMeta: true };
    const { text, source } = input;
    if (source === "repl" && GOODBYES.includes(text.trim()) && !input.images?.length) return { as: "command", command: "exit", args: "" };
    const prompt: Classified = { as: "prompt", content: contentOf(input) };
    if (!MAY_COMMAND.includes(source)) return prompt;
    const line = /^!(?!!)([\s\S]*)$/.exec(text)?.[1]?.trim();
    if (line) return { as: "command", command: "shell", args: line };
    const [, name, args = ""] = /^\/([A-Za-z][\w.:/-]*)(?:\s+([\s\S]*))?$/.exec(text) ?? [];
    if (name === undefined) return prompt;
    const known = ctx.session.list("commands").some((c) => c.name === name || c.aliases?.includes(name));
    if (known) return { as: "command", command: name, args: args.trim() };
    if (name.includes("/") || name.includes(".") || FOLDERS.includes(name)) return prompt;
    return { as: "command", command: "unknown-command", args: text.trimEnd() };
  },
};

const contentOf = ({ text, images = [] }: Input): Content => [...(text === "" ? [] : [{ type: "text" as const, text }]), ...images];
