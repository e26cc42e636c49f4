/** What a contribution to each point must at least look like. Rubbish is named here, before the kernel ever sees it. */
import { POINT_IDS, type PointId } from "@heddle/kernel";
import * as z from "zod";

const fn = z.custom<unknown>((v) => typeof v === "function", "is not a function");
const schema = z.custom<unknown>(
  (v) => typeof v === "object" && v !== null && typeof (v as { safeParse?: unknown }).safeParse === "function",
  "is not a zod schema",
);
const deadlineMs = z.number().positive().optional();
const name = z.string().min(1);
const aliases = z.array(z.string().min(1)).optional();

const SHAPES: { readonly [P in PointId]: z.ZodType } = {
  classifiers: z.object({ name, deadlineMs, classify: fn }),
  commands: z.object({ name, deadlineMs, kind: z.enum(["local", "prompt"]), summary: z.string(), aliases, run: fn }),
  admission: z.object({ name, deadlineMs, admit: fn }),
  systemPrompt: z.object({ name, deadlineMs, placement: z.enum(["system", "context"]), build: fn }),
  attachments: z.object({ name, deadlineMs, schema, when: z.enum(["turn", "step"]), collect: fn, render: fn }),
  memory: z.object({ name, deadlineMs, recall: fn }),
  compaction: z.object({ name, deadlineMs, compact: fn }),
  providers: z.object({ name, deadlineMs, stream: fn, encode: fn.optional(), window: fn.optional() }),
  tools: z.object({
    name,
    deadlineMs: z.union([z.number().positive(), fn]).optional(),
    description: z.string(),
    input: schema,
    aliases,
    graceMs: z.number().nonnegative().optional(),
    outputLimit: z.number().positive().optional(),
    deferred: z.boolean().optional(),
    isEnabled: fn.optional(),
    effects: fn,
    overlap: z.enum(["shared", "exclusive"]),
    run: fn,
  }),
  gates: z.object({ name, deadlineMs, judge: fn }),
  afterTool: z.object({ name, deadlineMs, after: fn }),
  closers: z.object({ name, deadlineMs, close: fn }),
  observers: z.object({ name, deadlineMs, on: z.array(z.string()), observe: fn }),
  renderers: z.object({ name, deadlineMs, surface: z.string(), render: z.unknown() }),
};

/** A contribution and the names it can be found by, its own first. */
export type Contribution = { readonly point: PointId; readonly name: string; readonly aliases: readonly string[]; readonly it: object };

const issuesOf = (error: z.ZodError): string => error.issues.map((i) => [...i.path, i.message].join(" ")).join("; ");

/** Reads what `setup` returned. It is foreign: its getters may throw, which the caller's guard has to catch. `wrong` says what does not fit. */
export function readContributions(returned: unknown): { readonly list: readonly Contribution[]; readonly wrong: readonly string[] } {
  if (typeof returned !== "object" || returned === null || Array.isArray(returned))
    return {
      list: [],
      wrong: [
        `setup returned ${returned === null ? "null" : Array.isArray(returned) ? "a list" : typeof returned}, not an object of contributions`,
      ],
    };
  const list: Contribution[] = [];
  const wrong: string[] = [];
  for (const [key, value] of Object.entries(returned)) {
    const point = POINT_IDS.find((p) => p === key);
    if (!point) wrong.push(`setup returned "${key}", which is not a point (the points are ${POINT_IDS.join(", ")})`);
    else if (value !== undefined && !Array.isArray(value)) wrong.push(`setup returned ${point} that are not a list`);
    else for (const [i, it] of ((value ?? []) as unknown[]).entries()) readOne(point, i, it, list, wrong);
  }
  return { list, wrong };
}

function readOne(point: PointId, i: number, it: unknown, list: Contribution[], wrong: string[]): void {
  const read = SHAPES[point].safeParse(it);
  const known = (it as { name?: unknown } | null | undefined)?.name;
  const label = typeof known === "string" ? `"${known}"` : `number ${i + 1}`;
  if (!read.success) {
    wrong.push(`${point} ${label}: ${issuesOf(read.error)}`);
    return;
  }
  const { name, aliases = [] } = read.data as { name: string; aliases?: readonly string[] };
  if (list.some((c) => c.point === point && c.name === name)) wrong.push(`${point} "${name}" is returned twice`);
  else list.push({ point, name, aliases, it: it as object });
}

/** Both directions: what is returned must be declared, what is declared must be returned. */
export function compareToManifest(list: readonly Contribution[], declared: { readonly [P in PointId]: readonly string[] }): string[] {
  const wrong: string[] = [];
  for (const point of POINT_IDS) {
    const returned = list.filter((c) => c.point === point).map((c) => c.name);
    for (const name of returned)
      if (!declared[point].includes(name))
        wrong.push(`setup returns ${point} "${name}", but heddle.contributes.${point} in package.json does not name it`);
    for (const name of declared[point])
      if (!returned.includes(name)) wrong.push(`heddle.contributes.${point} in package.json names "${name}", but setup does not return it`);
  }
  return wrong;
}
