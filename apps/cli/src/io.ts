/** The streams and surroundings of the process, as a parameter. */
import type { ReadStream, WriteStream } from "node:tty";
import { plainLine } from "./plain.ts";

export type Env = Readonly<Record<string, string | undefined>>;
export type Io = {
  stdin: NodeJS.ReadStream | ReadStream;
  stdout: NodeJS.WriteStream | WriteStream;
  stderr: NodeJS.WriteStream | WriteStream;
  env: Env;
  cwd: string;
  /** `~` */
  userDir: string;
  /** Fires for SIGINT and SIGTERM, with the exit code as its reason, and when nobody reads stdout any more. */
  signal: AbortSignal;
};

/** Says one line on stderr. */
export const say = (io: Pick<Io, "stderr">, text: string): void => void io.stderr.write(`heddle: ${plainLine(text, 2000)}\n`);

/** Whether both ends are a terminal that someone sits at. */
export const interactive = (io: Io): boolean => io.stdin.isTTY === true && io.stdout.isTTY === true;
