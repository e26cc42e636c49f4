/** The person's own command that prints an API key: run when one is needed, its key kept for a while and never shown. */
import type { Processes } from "@heddle/kernel/plugin";
import { masked } from "./mask.ts";

export type KeyHelper = { readonly name: string; get(fresh: boolean): Promise<string> };
/** Milliseconds. */
export type HelperOptions = {
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly ttlMs: number;
  readonly run: Processes["run"];
  readonly now: () => number;
};

export const NAME = "apiKeyHelper";
/** The variable that says how long a key is kept, by Claude Code's name for it. */
export const TTL_NAME = "CLAUDE_CODE_API_KEY_HELPER_TTL_MS";
export const TTL_MS = 300_000;
const DEADLINE_MS = 30_000;
/** Characters of what the command says of its failure, from the end. */
const MAX_SAID = 300;
const MAX_BYTES = 65_536;

/** Requests that need a key at one time share one run. A failure is not kept. */
export function keyHelper(o: HelperOptions): KeyHelper {
  let kept: { readonly key: string; readonly at: number } | undefined;
  let running: Promise<string> | undefined;
  async function run(): Promise<string> {
    const key = await keyFrom(o);
    kept = { key, at: o.now() };
    return key;
  }
  return {
    name: NAME,
    async get(fresh) {
      if (fresh) kept = undefined;
      if (kept && o.now() - kept.at < o.ttlMs) return kept.key;
      running ??= run().finally(() => {
        running = undefined;
      });
      return running;
    },
  };
}

/** Throws an Error in words for the person. */
async function keyFrom({ command, cwd, env, run }: HelperOptions): Promise<string> {
  const ran = await run({ command: "/bin/sh", args: ["-c", command], cwd, env, timeoutMs: DEADLINE_MS, maxBytes: MAX_BYTES });
  const key = ran.stdout.trim();
  const said = saidOf(ran.stderr, key);
  const failed = (what: string): Error => new Error(`its command ${what}${said}. Run it by itself, or correct "${NAME}" in your settings.`);
  if (ran.ended === "timeout") throw failed(`had not ended after ${DEADLINE_MS / 1000} s; it has no terminal to ask at`);
  if (ran.exitCode !== 0) throw failed(ran.exitCode === null ? `was ended by ${ran.signal}` : `ended with exit code ${ran.exitCode}`);
  if (key === "") throw failed("printed nothing");
  if (!/^[\x21-\x7e]+$/.test(key)) throw failed("printed something that is no key: it has to be one word on stdout, and nothing else");
  return key;
}

/** Scripts that trace themselves say the key on stderr too, and others that they meet on their way. */
function saidOf(stderr: string, stdout: string): string {
  let said = stderr;
  for (const word of stdout.split(/\s+/)) if (word.length >= 4) said = said.replaceAll(word, "***");
  const flat = masked(said).replace(/\s+/g, " ").trim();
  if (flat === "") return "";
  return ` (${flat.length > MAX_SAID ? `…${flat.slice(-MAX_SAID)}` : flat})`;
}
