/** What is said of a failure that nobody waited for: a promise of a plugin that nobody keeps, a timer that throws. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** `plugin`: its package.json has a `heddle` key. */
export type Owner = { name: string; plugin: boolean };

/** One line. Blames the first plugin in the stack, or else whose code threw. Never throws, whatever the error is. */
export function strayLine(error: unknown, ownerOf: (file: string) => Owner | undefined = packageOf): string {
  const { message, stack } = read(error);
  const owners = filesOf(stack).flatMap((file) => ownerOf(file) ?? []);
  const culprit = owners.find((o) => o.plugin && !isOurs(o)) ?? owners[0];
  if (culprit && isOurs(culprit)) {
    const place = /^ +at (.*)$/m.exec(stack)?.[1] ?? "";
    return `this is a bug in heddle, please report it: ${message} (${place})`;
  }
  const who = culprit ? `${culprit.plugin ? "plugin" : "package"} "${culprit.name}"` : "something that is no part of heddle";
  return `${who} failed where nobody waits for it: ${message}`;
}

const isOurs = ({ name }: Owner): boolean => name === "heddle" || name.startsWith("@heddle/");

function read(error: unknown): { message: string; stack: string } {
  try {
    if (!(error instanceof Error)) return { message: String(error), stack: "" };
    return { message: String(error.message), stack: String(error.stack ?? "") };
  } catch {
    return { message: "something that cannot be shown", stack: "" };
  }
}

/** Innermost first. */
function filesOf(stack: string): string[] {
  return stack.split("\n").flatMap((line) => {
    const at = /^ +at .*?((?:file:\/\/|\/|[A-Za-z]:\\).*?):\d+:\d+\)?$/.exec(line)?.[1];
    if (at === undefined || line.includes("node:")) return [];
    return [at.startsWith("file:") ? fileURLToPath(at) : at];
  });
}

function packageOf(file: string): Owner | undefined {
  for (let dir = dirname(file); dirname(dir) !== dir; dir = dirname(dir)) {
    try {
      if (!existsSync(join(dir, "package.json"))) continue;
      const { name, heddle } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8")) as { name?: unknown; heddle?: unknown };
      if (typeof name === "string") return { name, plugin: heddle !== undefined };
    } catch {
      // a folder above may tell
    }
  }
  return undefined;
}
