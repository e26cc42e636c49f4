/** Chooses the face of a session. */

import type { ExitCode } from "./exit.ts";
import { type Io, interactive } from "./io.ts";
import type { SessionArgs } from "./options.ts";

/** Without a terminal at both ends, a session answers one prompt and leaves. */
export async function session(args: SessionArgs, io: Io): Promise<ExitCode> {
  if (args.inputFormat === "stream-json") return (await import("./faces/stream.ts")).streamed(args, io);
  if (args.print || args.outputFormat !== "text" || !interactive(io)) return (await import("./faces/print.ts")).print(args, io);
  return (await import("./faces/terminal.ts")).terminal(args, io);
}
