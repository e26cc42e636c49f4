/** The plugins that come with heddle: what they say about themselves is here, their code is loaded when a runtime starts. */
import attachments from "@heddle/attachments/package.json" with { type: "json" };
import commands from "@heddle/commands/package.json" with { type: "json" };
import compaction from "@heddle/compaction/package.json" with { type: "json" };
import context from "@heddle/context/package.json" with { type: "json" };
import inputPipeline from "@heddle/input-pipeline/package.json" with { type: "json" };
import permissions from "@heddle/permissions/package.json" with { type: "json" };
import anthropic from "@heddle/provider-anthropic/package.json" with { type: "json" };
import openai from "@heddle/provider-openai/package.json" with { type: "json" };
import replay from "@heddle/provider-replay/package.json" with { type: "json" };
import type { Candidate } from "@heddle/runtime";
import structured from "@heddle/structured-output/package.json" with { type: "json" };
import tools from "@heddle/tools/package.json" with { type: "json" };

type Package = { name: string; version: string; heddle: unknown };
const FROM = "built in";
/** A start without them would let everything through, so it fails instead. */
const ESSENTIAL = new Set(["@heddle/permissions"]);

const LIST: readonly { is: Package; load(): Promise<{ default: unknown }> }[] = [
  { is: context, load: () => import("@heddle/context") }, // first, since git takes longest of all that a start needs
  { is: permissions, load: () => import("@heddle/permissions") },
  { is: inputPipeline, load: () => import("@heddle/input-pipeline") },
  { is: commands, load: () => import("@heddle/commands") },
  { is: tools, load: () => import("@heddle/tools") },
  { is: attachments, load: () => import("@heddle/attachments") },
  { is: compaction, load: () => import("@heddle/compaction") },
  { is: anthropic, load: () => import("@heddle/provider-anthropic") },
  { is: openai, load: () => import("@heddle/provider-openai") },
  { is: replay, load: () => import("@heddle/provider-replay") },
  { is: structured, load: () => import("@heddle/structured-output") },
];
/** Loaded only for `--json-schema`. */
export const STRUCTURED: string = structured.name;
export const FIRST_PARTY: readonly string[] = LIST.map((p) => p.is.name);
export const DEFAULT_PROVIDER = "anthropic";
/** The servers that `@heddle/provider-openai` knows, by the names of their providers. */
export const COMPATIBLE: readonly string[] = openai.heddle.contributes.providers;
export const OWN_PROVIDERS: readonly string[] = [anthropic, openai, replay].flatMap((p) => p.heddle.contributes.providers);

/** `options` by package name; only the named providers are loaded. */
export function firstParty(options: Readonly<Record<string, unknown>>, without: ReadonlySet<string>): Candidate[] {
  return LIST.filter((p) => !without.has(p.is.name)).map(({ is, load }) => ({
    id: is.name,
    version: is.version,
    from: FROM,
    manifest: is.heddle,
    ...(options[is.name] === undefined ? {} : { options: options[is.name] }),
    ...(ESSENTIAL.has(is.name) ? { essential: true } : {}),
    load: async () => (await load()).default,
  }));
}
