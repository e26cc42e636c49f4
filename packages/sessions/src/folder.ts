/** Where the sessions of a working folder are kept, and how one is found by its id. */
import { createHash } from "node:crypto";
import { SessionLogError } from "./error.ts";
import type { Storage } from "./storage.ts";

const MAX_SLUG = 200;

/** Every character but letters and digits becomes `-`; what is longer than 200 is cut and told apart by a hash. */
export function slugOf(cwd: string): string {
  const slug = cwd.replace(/[^A-Za-z0-9]/g, "-");
  if (slug.length <= MAX_SLUG) return slug;
  return `${slug.slice(0, MAX_SLUG)}-${createHash("sha256").update(cwd).digest("hex").slice(0, 16)}`;
}

export const projectsDir = (stateDir: string): string => `${stateDir}/projects`;
export const projectDir = (stateDir: string, cwd: string): string => `${projectsDir(stateDir)}/${slugOf(cwd)}`;

/** `changed` in milliseconds since the epoch, `size` in bytes. */
export type SessionFile = { readonly id: string; readonly path: string; readonly changed: number; readonly size: number };
export type Place = { readonly storage: Storage; readonly stateDir: string; readonly cwd: string };

const SUFFIX = ".jsonl";

/** The sessions of a folder, newest first. */
export async function listSessions(o: Place): Promise<readonly SessionFile[]> {
  return filesIn(o.storage, projectDir(o.stateDir, o.cwd));
}

async function filesIn(storage: Storage, dir: string): Promise<SessionFile[]> {
  const files = await storage.list(dir);
  return files
    .filter((f) => f.name.endsWith(SUFFIX))
    .map((f) => ({ id: f.name.slice(0, -SUFFIX.length), path: `${dir}/${f.name}`, changed: f.mtimeMs, size: f.size }));
}

/** `which`: an id, a unique beginning of one, or `latest`. This folder first, then all others. Throws {@link SessionLogError}. */
export async function findSession(o: Place, which: string): Promise<SessionFile> {
  const here = await listSessions(o);
  if (which === "latest") {
    const newest = here[0];
    if (newest) return newest;
    throw new SessionLogError(`there is no session of ${o.cwd} to resume; start one without --resume, or name a session by its id`);
  }
  const found = pick(here, which);
  if (found) return found;
  const others = await Promise.all(
    (await (o.storage.folders?.(projectsDir(o.stateDir)) ?? [])).map((name) => filesIn(o.storage, `${projectsDir(o.stateDir)}/${name}`)),
  );
  const elsewhere = pick(others.flat(), which);
  if (elsewhere) return elsewhere;
  const known = here.slice(0, 5).map((f) => f.id);
  const hint = known.length > 0 ? `the newest sessions of ${o.cwd} are: ${known.join(", ")}` : `${o.cwd} has no sessions yet`;
  throw new SessionLogError(`there is no session "${which}"; ${hint}`);
}

function pick(files: readonly SessionFile[], which: string): SessionFile | undefined {
  const exact = files.find((f) => f.id === which);
  if (exact || which === "") return exact;
  const matches = files.filter((f) => f.id.startsWith(which));
  if (matches.length > 1)
    throw new SessionLogError(
      `"${which}" is the beginning of ${matches.length} sessions (${matches.map((f) => f.id).join(", ")}); give more of the id`,
    );
  return matches[0];
}
