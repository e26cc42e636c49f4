/** Which session to go on with, where the command line does not name one. */
import { createInterface } from "node:readline";
import type { RuntimeEvent } from "@heddle/kernel/protocol";
import { nodeHost } from "@heddle/runtime/node";
import { listSessions, readLog, refusalOf } from "@heddle/sessions";
import { heddleHome } from "./config/home.ts";
import { CliError, UsageError } from "./exit.ts";
import { type Io, interactive } from "./io.ts";
import { plainLine } from "./plain.ts";
import { ago } from "./quantity.ts";
import { table } from "./table.ts";

const SHOWN = 20;
type Listed = { id: string; age: string; prompt: string };

export const noSessions = (): CliError => new CliError("there is no session of this folder yet");

export async function hasSessions(io: Io): Promise<boolean> {
  return (await filesOf(io)).length > 0;
}

/** Lists the sessions of the folder, newest first, and lets a person at a terminal choose. Undefined when none was chosen. */
export async function chooseSession(io: Io, ask: boolean): Promise<string | undefined> {
  const sessions = await listed(io);
  if (sessions.length === 0) throw noSessions();
  const choose = ask && interactive(io);
  const rows = sessions.map((s, i) => [...(choose ? [String(i + 1)] : []), s.id, s.age, s.prompt]);
  (choose ? io.stdout : io.stderr).write(`${table([...(choose ? ["#"] : []), "session", "changed", "first prompt"], rows)}\n`);
  if (!choose) throw new UsageError("--resume needs the id of a session, or a beginning of it");
  const answer = await line(io, "Number or id of the session, or Enter for none: ");
  return answer === "" ? undefined : (sessions[Number(answer) - 1]?.id ?? answer);
}

async function filesOf(io: Io): ReturnType<typeof listSessions> {
  const { storage, fs } = nodeHost();
  const cwd = await fs.realpath(io.cwd).catch(() => io.cwd);
  return listSessions({ storage, stateDir: heddleHome(io.env, io.userDir), cwd });
}

async function listed(io: Io): Promise<Listed[]> {
  const { storage } = nodeHost();
  const newest = (await filesOf(io)).slice(0, SHOWN);
  return Promise.all(
    newest.map(async ({ id, path, changed }) => {
      const log = readLog((await storage.read(path).catch(() => undefined)) ?? new Uint8Array());
      const started = log.lines.find((l): l is Extract<RuntimeEvent, { type: "turn.started" }> => l.type === "turn.started");
      return { id, age: ago(Date.now() - changed), prompt: plainLine(refusalOf(log, id) ?? started?.input.text ?? "", 60) };
    }),
  );
}

/** Empty when the person leaves. */
function line(io: Io, question: string): Promise<string> {
  const rl = createInterface({ input: io.stdin, output: io.stdout, terminal: true });
  return new Promise((resolve) => {
    rl.once("close", () => resolve(""));
    rl.once("SIGINT", () => rl.close());
    rl.question(question, (answer) => {
      resolve(answer.trim());
      rl.close();
    });
  });
}
