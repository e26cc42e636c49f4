/** The built program in a pseudo-terminal, with a screen that one can read. */
import { type IPty, spawn } from "@lydell/node-pty";
import headless from "@xterm/headless";
import { program, type World } from "./run.ts";

export type Terminal = {
  /** What is on the screen and above it, without blank ends of lines. */
  text(): string;
  /** Everything that was written, escape sequences and all. */
  raw(): string;
  type(text: string): void;
  /** Resolves once the text shows a match; rejects after 10 s with what it shows. */
  shows(what: string | RegExp): Promise<void>;
  ended: Promise<number>;
  pty: IPty;
};

export function terminal(w: World, args: readonly string[] = [], cols = 80): Terminal {
  const screen = new headless.Terminal({ cols, rows: 30, scrollback: 1_000, allowProposedApi: true });
  const env = { ...w.env, TERM: "xterm-256color" };
  const pty = spawn(process.execPath, [program, ...args], { cwd: w.cwd, env, cols, rows: 30 });
  let raw = "";
  const waiting = new Set<() => void>();
  pty.onData((data) => {
    raw += data;
    screen.write(data, () => {
      for (const check of waiting) check();
    });
  });
  const ended = new Promise<number>((resolve) => pty.onExit(({ exitCode }) => screen.write("", () => resolve(exitCode))));
  const text = (): string => {
    const { buffer } = screen;
    const rows = Array.from({ length: buffer.active.length }, (_, i) => buffer.active.getLine(i)?.translateToString(true) ?? "");
    return rows.join("\n").trimEnd();
  };
  return {
    text,
    raw: () => raw,
    type: (keys) => pty.write(keys),
    ended,
    pty,
    shows: (what) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => {
          waiting.delete(check);
          reject(new Error(`the screen does not show ${String(what)}:\n${text()}`));
        }, 10_000);
        const check = (): void => {
          if (typeof what === "string" ? !text().includes(what) : !what.test(text())) return;
          clearTimeout(late);
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
  };
}
