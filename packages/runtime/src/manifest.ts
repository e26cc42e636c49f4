/** The `heddle` key of a package.json: what a plugin says about itself, readable without running a line of it. */
import { CAPABILITIES, type PointId } from "@heddle/kernel";
import * as z from "zod";

const names = z.array(z.string().regex(/^[A-Za-z][A-Za-z0-9_]*([.:/-][A-Za-z0-9_]+)*$/, "words joined by - _ . : or /")).default([]);
const contributes = {
  classifiers: names,
  commands: names,
  admission: names,
  systemPrompt: names,
  attachments: names,
  memory: names,
  compaction: names,
  providers: names,
  tools: names,
  gates: names,
  afterTool: names,
  closers: names,
  observers: names,
  renderers: names,
} satisfies Record<PointId, typeof names>;

/**
 * `api` is a semver range of the kernel's `API_VERSION`; `requires` maps plugin names to semver ranges; `after` only orders.
 * `main` is a module path relative to the package, whose default export is `definePlugin({...})`. Without `main` no code is
 * loaded. `skills` and `commands` are folders relative to the package.
 */
export const Manifest = z.strictObject({
  manifest: z.literal(1),
  api: z.string(),
  main: z.string().optional(),
  requires: z.record(z.string(), z.string()).default({}),
  after: z.array(z.string()).default([]),
  capabilities: z.array(z.enum(CAPABILITIES)).default([]),
  contributes: z.strictObject(contributes).prefault({}),
  skills: z.array(z.string()).default([]),
  commands: z.array(z.string()).default([]),
});
export type Manifest = z.infer<typeof Manifest>;
export type ManifestInput = z.input<typeof Manifest>;
