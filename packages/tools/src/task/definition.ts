/** What kind of agent there is: built in, or described by a markdown file. */
import { type Effort, z } from "@heddle/kernel/plugin";
import { prompts } from "../prompts.generated.ts";
import { readFrontmatter } from "./frontmatter.ts";

export type AgentDefinition = {
  readonly name: string;
  readonly description: string;
  /** Its whole system prompt; null for a copy of the session itself. */
  readonly prompt: string | null;
  /** Whether it gets what the session knows of the project. */
  readonly context: boolean;
  /** Without it all tools; `mcp__server` stands for all tools of that server. */
  readonly tools?: readonly string[] | undefined;
  readonly disallowedTools?: readonly string[] | undefined;
  readonly model?: string | undefined;
  readonly effort?: Effort | undefined;
  readonly permissionMode?: string | undefined;
  readonly maxTurns?: number | undefined;
  readonly background?: boolean | undefined;
};

export const BUILT_IN: readonly AgentDefinition[] = [
  { name: "general-purpose", description: "Any task of several steps.", prompt: prompts["general-purpose"], context: true },
  {
    name: "Explore",
    description: "Reads and searches, for wide questions about the code.",
    prompt: prompts.explore,
    context: false,
    tools: ["Read", "Glob", "Grep", "Bash"],
    permissionMode: "plan",
  },
  { name: "fork", description: "A copy of you that knows this conversation.", prompt: null, context: true },
];

/** A list as people write it: in YAML, or in a string with commas or blanks, which do not part what stands in brackets. */
const Names = z
  .union([z.array(z.coerce.string()), z.string(), z.null()])
  .transform((value) => (Array.isArray(value) ? value : splitNames(value ?? "")))
  .transform((names) =>
    names
      .map((n) =>
        n
          .trim()
          .replace(/^["']|["']$/g, "")
          .replace(/\(.*\)$/, ""),
      )
      .filter((n) => n !== ""),
  )
  .optional()
  .catch(undefined);
const splitNames = (text: string): string[] => text.replace(/^\s*\[|\]\s*$/g, "").match(/(?:[^\s,(]|\([^)]*\)?)+/g) ?? [];

const word = z.string().trim().min(1).optional().catch(undefined);
const Fields = z.object({
  name: z
    .string("is missing")
    .trim()
    .regex(/^[^-:][^:]*$/, "is empty, begins with - or holds a :"),
  description: z.string("is missing").trim().min(1, "is empty"),
  tools: Names,
  disallowedTools: Names,
  model: word,
  effort: z.enum(["low", "medium", "high", "xhigh", "max"]).optional().catch(undefined),
  permissionMode: word,
  maxTurns: z.coerce.number().int().min(1).optional().catch(undefined),
  background: z.union([z.boolean(), z.stringbool()]).optional().catch(undefined),
});

/** The definition, or what is wrong with the file. Never rejects. */
export async function readDefinition(source: string): Promise<AgentDefinition | string> {
  const { fields, body } = await readFrontmatter(source);
  const read = Fields.safeParse(fields);
  if (!read.success) return read.error.issues.map((i) => `${i.path.join(".")} ${i.message}`).join("; ");
  const { tools, model, ...rest } = read.data;
  return {
    ...rest,
    prompt: body.trim(),
    context: true,
    model: modelOf(model),
    tools: tools?.includes("*") ? undefined : tools,
  };
}

/** Short names of one vendor's models mean nothing to other servers: the model of the session is taken, as without a name. */
export const modelOf = (name: string | undefined): string | undefined => (name !== undefined && /[\d/]/.test(name) ? name : undefined);
