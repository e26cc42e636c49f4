/** Asks, before a session starts, whether the folder is trusted with what its settings and plugins want. */
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import type { Choice, TrustQuestion } from "../config/trust.ts";
import type { Want } from "../config/wants.ts";
import type { Io } from "../io.ts";
import { visible } from "../plain.ts";

/** What was typed before the question could be read answers nothing. */
const READING_MS = 150;

const DOES: { readonly [K in Want["kind"]]: string } = {
  rule: "allow without asking",
  directory: "work in the folder",
  plugin: "run the code of the plugin",
  without: "switch off the plugin",
  recovery: "choose how hard calls are tried:",
};
/** One line, whole, with nothing in it that stays invisible. */
export const wantText = ({ kind, value, from }: Want): string =>
  `${DOES[kind]} ${visible(value).replaceAll("\n", "\\n")}  (${visible(from)})`;

export async function askTrust({ folder, wants, changed, lasting }: TrustQuestion, io: Io): Promise<Choice> {
  const rl = createInterface({ input: io.stdin, output: io.stdout, terminal: true });
  let listening: ((line: string) => void) | undefined;
  let left = false;
  rl.on("line", (line) => listening?.(line));
  rl.on("SIGINT", () => rl.close());
  rl.once("close", () => {
    left = true;
    listening?.("");
  });
  const head = changed ? `This folder wants more than you have trusted it with: ${folder}` : `Do you trust this folder? ${folder}`;
  io.stdout.write(`${visible(head)}\nIts settings and plugins want to\n${wants.map((w) => `  ${wantText(w)}\n`).join("")}`);
  await wait(READING_MS);
  rl.write(null, { ctrl: true, name: "u" });
  const choices = lasting
    ? "y yes, and remember it · s for this session · n no, and do not ask again"
    : "s for this session · n no (this folder holds too much to be trusted for good)";
  io.stdout.write(`Without trust heddle works all the same, and none of this counts. Plugins can do what you can.\n${choices}\n`);
  rl.setPrompt("Trust? ");
  try {
    for (;;) {
      const next = new Promise<string>((resolve) => {
        listening = resolve;
      });
      if (left) return "left";
      rl.prompt();
      const said = (await next).trim().toLowerCase();
      if (left) return "left";
      if (lasting && (said === "y" || said === "yes")) return "trust";
      if (said === "s") return "session";
      if (said === "n" || said === "no") return "no";
    }
  } finally {
    rl.close();
  }
}
