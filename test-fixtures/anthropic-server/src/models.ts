/** What each model allows, derived from the family and version in its id. */

export interface ModelRules {
  window: number;
  maxOutput: number;
  cacheMinimum: number;
  readWeight: number;
  defaultEffort: string;
  thinksByDefault: boolean;
  omitsThinkingByDefault: boolean;
  allowsAdaptive: boolean;
  allowsEnabled: boolean;
  allowsDisabled: boolean;
  allowsBetweenToolsInstead: boolean;
  allowsForcedTools: boolean;
  allowsPrefill: boolean;
  allowsSampling: boolean;
  allowsSystemRole: boolean;
  bindsThinking: boolean;
  /** Older models refuse when prompt and max_tokens together pass the window, newer ones stop early instead. */
  addsMaxTokensToPrompt: boolean;
}

export type ModelOverrides = Readonly<Record<string, Partial<ModelRules>>>;

export interface ModelVersion {
  family: string;
  major: number;
  minor: number;
}

const FAMILIES = "opus|sonnet|haiku|fable|mythos";
const NEW_ID = new RegExp(`^claude-(${FAMILIES})-(\\d{1,2})(?:-(\\d{1,2}))?(?:-\\d{8})?$`);
const OLD_ID = new RegExp(`^claude-(\\d)(?:-(\\d{1,2}))?-(${FAMILIES})(?:-\\d{8}|-latest)?$`);
const UNVERSIONED = ["claude-mythos-preview"];

/** Offered by `GET /v1/models`; validation accepts every id of a known family. */
export const LISTED_MODELS: readonly string[] = [
  "claude-fable-5-2",
  "claude-mythos-5-2",
  "claude-haiku-5-5",
  "claude-sonnet-5-5",
  "claude-opus-5-5",
  "claude-fable-5-1",
  "claude-mythos-5-1",
  "claude-opus-5",
  "claude-sonnet-5",
  "claude-fable-5",
  "claude-mythos-5",
  "claude-opus-4-8",
  "claude-opus-4-7",
  "claude-opus-4-6",
  "claude-sonnet-4-6",
  "claude-haiku-4-5-20251001",
  "claude-opus-4-5-20251101",
  "claude-sonnet-4-5-20250929",
];

export function versionOf(id: string): ModelVersion | undefined {
  const recent = NEW_ID.exec(id);
  if (recent) return { family: recent[1] ?? "", major: Number(recent[2]), minor: Number(recent[3] ?? 0) };
  const old = OLD_ID.exec(id);
  if (old) return { family: old[3] ?? "", major: Number(old[1]), minor: Number(old[2] ?? 0) };
  return undefined;
}

/** An id that follows no pattern has no rule of any generation, so nothing is refused for it. */
const NO_RULES: ModelRules = {
  window: 1_000_000,
  maxOutput: 128_000,
  cacheMinimum: 1024,
  readWeight: 0.1,
  defaultEffort: "high",
  thinksByDefault: false,
  omitsThinkingByDefault: false,
  allowsAdaptive: true,
  allowsEnabled: true,
  allowsDisabled: true,
  allowsBetweenToolsInstead: false,
  allowsForcedTools: true,
  allowsPrefill: true,
  allowsSampling: true,
  allowsSystemRole: true,
  bindsThinking: false,
  addsMaxTokensToPrompt: false,
};

function maxOutputOf({ family, major, minor }: ModelVersion): number {
  if (major === 3) return minor <= 5 ? 8192 : 128_000;
  if (major !== 4) return 128_000;
  if (family === "opus") return minor <= 1 ? 32_000 : minor === 5 ? 64_000 : 128_000;
  return family === "sonnet" && minor >= 6 ? 128_000 : 64_000;
}

function cacheMinimumOf({ family, major, minor }: ModelVersion): number {
  const name = `${family}-${major}-${minor}`;
  if (["opus-5-0", "fable-5-0", "mythos-5-0"].includes(name)) return 512;
  if (name === "opus-4-7") return 2048;
  return ["opus-4-5", "opus-4-6", "haiku-4-5"].includes(name) ? 4096 : 1024;
}

function rulesOf(version: ModelVersion): ModelRules {
  const { family, major, minor } = version;
  const from = (wantedMajor: number, wantedMinor: number) => major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
  const top = family === "fable" || family === "mythos";
  const opus55 = family === "opus" && from(5, 5);
  const sonnet55 = family === "sonnet" && from(5, 5);
  const strictest = (top && from(5, 1)) || opus55 || sonnet55;
  return {
    window: from(4, 6) ? 1_000_000 : 200_000,
    maxOutput: maxOutputOf(version),
    cacheMinimum: cacheMinimumOf(version),
    readWeight: top && from(5, 1) ? 0.025 : opus55 || sonnet55 ? 0.05 : 0.1,
    defaultEffort: from(5, 5) && (family === "opus" || family === "haiku") ? "medium" : "high",
    thinksByDefault: from(5, 0),
    omitsThinkingByDefault: from(4, 7),
    allowsAdaptive: from(4, 6),
    allowsEnabled: !from(4, 7),
    allowsDisabled: !(top && from(5, 0)) && !opus55 && !sonnet55,
    allowsBetweenToolsInstead: sonnet55,
    allowsForcedTools: !strictest,
    allowsPrefill: !from(4, 6),
    allowsSampling: !from(4, 7),
    allowsSystemRole: from(4, 8) && !(family === "sonnet" && major === 5 && minor === 0),
    bindsThinking: from(5, 0),
    addsMaxTokensToPrompt: !from(4, 5),
  };
}

/** Undefined means the API would answer 404 for this id. */
export function modelRules(id: string, overrides: ModelOverrides = {}): ModelRules | undefined {
  const version = versionOf(id);
  const known = version ? rulesOf(version) : UNVERSIONED.includes(id) ? NO_RULES : undefined;
  const override = Object.hasOwn(overrides, id) ? overrides[id] : undefined;
  if (!known && !override) return undefined;
  return { ...(known ?? NO_RULES), ...override };
}
