/** `heddle explain`: the table of a turn that is in a log, or of one that is only built and not sent. */
import type { RuntimeEvent } from "@heddle/kernel/protocol";
import { explain, explainData } from "@heddle/runtime";
import { nodeHost } from "@heddle/runtime/node";
import { findSession, readLog, refusalOf, turnsOf } from "@heddle/sessions";
import { heddleHome } from "../config/home.ts";
import { CliError, EXIT, type ExitCode, UsageError } from "../exit.ts";
import { type Io, say } from "../io.ts";
import type { SetupArgs } from "../options.ts";
import { plain, plainJson } from "../plain.ts";
import { plural } from "../quantity.ts";
import { hasSessions, noSessions } from "../resume.ts";

type Ask = { turn?: string; dry?: string; session?: string; json: boolean };

export async function explainCommand(args: SetupArgs, ask: Ask, io: Io): Promise<ExitCode> {
  if (ask.dry !== undefined) return dry(args, ask.dry, ask, io);
  const { storage, fs } = nodeHost();
  const cwd = await fs.realpath(io.cwd).catch(() => io.cwd);
  const file = await findSession({ storage, stateDir: heddleHome(io.env, io.userDir), cwd }, ask.session ?? "latest").catch(
    async (error: Error) => {
      if (ask.session === undefined && !(await hasSessions(io))) throw noSessions();
      throw new CliError(error.message);
    },
  );
  const log = readLog((await storage.read(file.path)) ?? new Uint8Array());
  const refusal = refusalOf(log, file.id);
  if (refusal !== undefined) throw new CliError(refusal);
  if (log.broken > 0) say(io, `${file.path}: ${plural(log.broken, "line")} cannot be read and left out`);
  const events = pick(turnsOf(log.lines), ask.turn, file.id);
  io.stdout.write(ask.json ? `${plainJson(explainData(events), 2)}\n` : plain(explain(events)));
  return EXIT.done;
}

function pick(
  turns: readonly { turn: string; events: readonly RuntimeEvent[] }[],
  which: string | undefined,
  session: string,
): readonly RuntimeEvent[] {
  const last = turns.at(-1);
  if (!last) throw new CliError(`session ${session} has no turns yet`);
  if (which === undefined) return last.events;
  const number = Number(which);
  const found = Number.isInteger(number) ? turns.at(number > 0 ? number - 1 : number) : turns.find((t) => t.turn.startsWith(which));
  if (!found || number === 0) throw new UsageError(`session ${session} has no turn ${which}: it has 1 to ${turns.length}`);
  return found.events;
}

async function dry(args: SetupArgs, prompt: string, ask: Ask, io: Io): Promise<ExitCode> {
  const words = prompt || ask.turn;
  if (!words) throw new UsageError('--dry needs a prompt: heddle explain --dry "what to do"');
  const { openEngine } = await import("../engine.ts");
  const engine = await openEngine(args, io, { headless: true, offline: true });
  for (const notice of engine.notices) say(io, notice);
  const { request, events } = await engine.session.dry({ text: words, source: "sdk" });
  await engine.dispose();
  const table = ask.json
    ? plainJson({ request, table: explainData(events) }, 2)
    : `${plain(explain(events))}\nrequest\n${plainJson(request, 2)}`;
  io.stdout.write(`${table}\n`);
  return EXIT.done;
}
