/** What a shell command would do, for a person to read: its simple commands, and what they read, write, reach and run. */
import { resolve } from "node:path";
import type { Effect } from "@heddle/kernel/plugin";
import { type CommandReading, touches } from "./command.ts";
import { unwrapped } from "./programs/wrappers.ts";
import { textOfWords } from "./shell/candidates.ts";
import type { Part } from "./shell/narrow.ts";
import { baseName, canonical } from "./shell/text.ts";

const TALK: readonly string[] =
  "curl wget ping dig host nslookup nc ncat netcat socat telnet ssh scp sftp rsync ftp http https mail sendmail gh aws gcloud az npm npx pnpm yarn pip pip3 docker kubectl getent xdg-open open".split(
    " ",
  );
const GIT_TALK: readonly string[] = "push pull fetch clone ls-remote submodule remote".split(" ");

export type Description = { readonly commands: readonly string[]; readonly effects: readonly Effect[] };

export function describe(reading: CommandReading, cwd: string): Description {
  const { narrow } = reading;
  if ("parts" in narrow)
    return {
      commands: narrow.parts.filter((p) => p.words.length > 0).map((p) => canonical(p.words.map((w) => w.text))),
      effects: distinct(narrow.parts.flatMap((p) => effectsOf(p, cwd))),
    };
  const { simple } = reading.found;
  const commands = simple.filter((s) => s.words.length > 0).map((s) => textOfWords(s.words));
  const opened = simple.flatMap((s) => s.opens.map((o): Effect => ({ kind: o.write ? "write" : "read", target: resolve(cwd, o.text) })));
  return { commands, effects: distinct([...commands.map((target): Effect => ({ kind: "execute", target })), ...opened]) };
}

function effectsOf(part: Part, cwd: string): Effect[] {
  const at = (path: string): string => resolve(part.folders?.[0] ?? cwd, path);
  const files = (kind: "read" | "write", paths: readonly { readonly value: string }[]): Effect[] =>
    paths.map((w) => ({ kind, target: at(w.value) }));
  const redirected = part.redirects.filter((r) => r.to.value !== "/dev/null").flatMap((r) => files(r.kind, [r.to]));
  const touched = touches(part);
  if (touched) return [...files("read", touched.reads), ...files("write", touched.writes), ...redirected];
  const words = unwrapped(part.words)
    .at(-1)!
    .map((w) => w.value);
  const name = baseName(words[0]!);
  const target = canonical(words);
  const talks = TALK.includes(name) || (name === "git" && words.some((w) => GIT_TALK.includes(w)));
  return [{ kind: "execute", target }, ...(talks ? [{ kind: "network" as const, target }] : []), ...redirected];
}

const distinct = (effects: readonly Effect[]): readonly Effect[] =>
  effects.filter((e, i) => effects.findIndex((o) => o.kind === e.kind && o.target === e.target) === i);
