/** Chooses the session to go on with, and the face of it. */
import { EXIT, type ExitCode, UsageError } from "./exit.ts";
import { type Io, interactive } from "./io.ts";
import type { SessionArgs } from "./options.ts";

/** Without a terminal at both ends, a session answers one prompt and leaves. */
export async function session(given: SessionArgs, io: Io): Promise<ExitCode> {
  const printing = given.print || given.outputFormat !== "text" || !interactive(io);
  if (given.jsonSchema !== undefined && !printing)
    throw new UsageError("--json-schema needs -p: a session in the terminal has no one answer");
  const args = given.resume === "" || given.continue ? await chosen(given, io, printing) : given;
  if (!args) return EXIT.done;
  if (args.inputFormat === "stream-json") return (await import("./faces/stream.ts")).streamed(args, io);
  if (printing) return (await import("./faces/print.ts")).print(args, io);
  return (await import("./faces/terminal.ts")).terminal(args, io);
}

async function chosen(args: SessionArgs, io: Io, printing: boolean): Promise<SessionArgs | undefined> {
  const { chooseSession, hasSessions, noSessions } = await import("./resume.ts");
  if (args.resume !== "") {
    if (await hasSessions(io)) return args;
    throw noSessions();
  }
  const resume = await chooseSession(io, !printing);
  return resume === undefined ? undefined : { ...args, resume };
}
