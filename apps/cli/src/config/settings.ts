/** The shape of one settings file. A wrong value costs its own key and nothing else. */
import { findNodeAtLocation, getNodeValue, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import * as z from "zod";
import { nearest } from "../nearest.ts";
import { ELSEWHERE } from "./elsewhere.ts";
import { wrongText } from "./wrong.ts";

const rules = z.array(z.unknown());

/** A plugin by package name or path; `rename` settles clashes of names. */
export const PluginEntry = z.union([
  z.string().min(1),
  z
    .strictObject({
      package: z.string().min(1).optional(),
      path: z.string().min(1).optional(),
      options: z.unknown().optional(),
      rename: z.record(z.string(), z.string()).optional(),
    })
    .refine((p) => (p.package === undefined) !== (p.path === undefined), "give either package or path"),
]);
export type PluginEntry = z.infer<typeof PluginEntry>;

/** Names with commas between them. */
export const namesIn = (text: string): string[] => text.split(",").flatMap((name) => name.trim() || []);

/** A name alone, or a name and options: those of that provider, and under the names of heddle's own providers theirs. */
const provider = z.strictObject({ name: z.string().optional(), options: z.record(z.string(), z.unknown()).optional() });

const ms = z.int().positive().exactOptional();
/** How hard a model call is tried before it is given up: retries of a turn, and milliseconds. */
const recovery = z.strictObject({
  retries: z.int().min(0).exactOptional(),
  totalWaitMs: ms,
  longestWaitMs: ms,
  firstByteMs: ms,
  idleMs: ms,
  nothingMs: ms,
});

const name = (pattern: RegExp, what: string) => z.string().regex(pattern, what);
const amount = z.number().min(0);
/** What is known of a model in place of what its provider knows: tokens, and USD per million tokens by size of the prompt. */
const model = z.strictObject({
  window: z.int().positive().exactOptional(),
  maxOutput: z.int().positive().exactOptional(),
  images: z.boolean().exactOptional(),
  reasoning: z.boolean().exactOptional(),
  prices: z
    .strictObject({
      at: z.string().min(1),
      tiers: z
        .array(
          z.strictObject({
            upTo: z.int().positive().exactOptional(),
            input: amount,
            output: amount,
            cacheRead: amount,
            cacheWrite: amount,
          }),
        )
        .min(1)
        .refine((tiers) => tiers.findIndex((t) => t.upTo === undefined) === tiers.length - 1, "the last tier, and no other, lacks upTo"),
    })
    .exactOptional(),
});

const texts = z.array(z.string().min(1)).exactOptional();
const yes = z.boolean().exactOptional();
/** A word, or the object that other programs share; what is not named here has no effect. */
const sandbox = z.union([
  z.enum(["auto", "on", "off"]),
  z.object({
    enabled: yes,
    failIfUnavailable: yes,
    autoAllowBashIfSandboxed: yes,
    allowUnsandboxedCommands: yes,
    excludedCommands: texts,
    network: z.object({ allowedDomains: texts, deniedDomains: texts }).exactOptional(),
    filesystem: z.object({ allowWrite: texts, denyWrite: texts, denyRead: texts }).exactOptional(),
  }),
]);

const FIELDS = {
  permissions: z.object({
    allow: rules.optional(),
    ask: rules.optional(),
    deny: rules.optional(),
    defaultMode: z.string().optional(),
    disableBypassPermissionsMode: z.string().optional(),
    additionalDirectories: z.array(z.string()).optional(),
  }),
  model: z.string().min(1),
  effort: z.enum(["low", "medium", "high", "xhigh", "max"]),
  modelAliases: z.record(name(/^[^\s/]+$/, "an alias has no blank and no slash"), name(/^\S+$/, "not the name of a model")),
  models: z.record(name(/^[^\s/]+\/\S+$/, 'a model is named "provider/name" here'), model),
  alwaysThinkingEnabled: z.boolean(),
  fallbackModel: z.preprocess((value) => (typeof value === "string" ? namesIn(value) : value), z.array(z.string().min(1))),
  maxBudgetUsd: z.number().positive(),
  askBudgetUsd: z.number().positive(),
  recovery,
  network: z.strictObject({ allowPrivate: z.array(z.string().trim().min(1)).exactOptional() }),
  sandbox,
  plugins: z.array(PluginEntry),
  disabledPlugins: z.array(z.string()),
  trustedFolders: z.array(z.string()),
  provider: z.preprocess((value) => (typeof value === "string" ? { name: value } : value), provider),
  env: z.record(z.string(), z.string()),
  apiKeyHelper: z.string().trim().min(1),
} as const;
type Fields = { [K in keyof typeof FIELDS]?: z.infer<(typeof FIELDS)[K]> };
export type Settings = Fields;

/** What is wrong, and where: lines and columns count from 1. */
export type SettingsProblem = { line: number; column: number; message: string; closed: boolean };

/** `unknown`: keys that heddle does not know, nor knows from programs that share the file. */
export type Parsed = { settings: Settings; problems: SettingsProblem[]; unknown: Omit<SettingsProblem, "closed">[] };

/** `closed`: rules that deny or ask may be lost, so permissions must fail closed. Comments and trailing commas are fine. */
export function parseSettings(text: string): Parsed {
  if (text.replace(/^\ufeff/, "").trim() === "") return { settings: {}, problems: [], unknown: [] };
  const body = text.replace(/^\ufeff/, " ");
  const errors: ParseError[] = [];
  const root = parseTree(body, errors, { allowTrailingComma: true, disallowComments: false });
  const first = errors[0];
  const none = { settings: {}, unknown: [] };
  if (first) return { ...none, problems: [{ ...place(body, first.offset), message: words(first), closed: true }] };
  if (root?.type !== "object") return { ...none, problems: [{ line: 1, column: 1, message: "not a JSON object", closed: true }] };
  const problems: SettingsProblem[] = [];
  const unknown: Parsed["unknown"] = [];
  const settings: Record<string, unknown> = {};
  const found = getNodeValue(root) as Record<string, unknown>;
  for (const [key, value] of Object.entries({
    ...found,
    ...(found["effortLevel"] && !found["effort"] ? { effort: found["effortLevel"] } : {}),
  })) {
    if (!Object.hasOwn(FIELDS, key)) {
      if (!ELSEWHERE.has(key)) unknown.push({ ...place(body, near(root, [key])), message: unknownText(key) });
      continue;
    }
    const parsed = FIELDS[key as keyof Fields].safeParse(value);
    if (parsed.success) settings[key] = parsed.data;
    else {
      const issue = parsed.error.issues[0]!;
      const path = [key, ...issue.path.map((p) => (typeof p === "symbol" ? String(p) : p))];
      problems.push({ ...place(body, near(root, path)), message: `${path.join(".")}: ${wrongText(issue)}`, closed: key === "permissions" });
    }
  }
  return { settings: settings as Settings, problems, unknown };
}

function unknownText(key: string): string {
  const meant = nearest(key, Object.keys(FIELDS));
  return `there is no setting "${key}"${meant === undefined ? "" : `: did you mean "${meant}"?`}`;
}

/** The innermost part of the path that is there. */
function near(root: Node, path: (string | number)[]): number {
  for (let n = path.length; n > 0; n--) {
    const node = findNodeAtLocation(root, path.slice(0, n));
    if (node) return node.offset;
  }
  return root.offset;
}

function place(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: before.at(-1)!.length + 1 };
}

const words = (error: ParseError): string =>
  printParseErrorCode(error.error)
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase();
