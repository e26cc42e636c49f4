/** A plugin written in the test itself. */
import { type Contributions, definePlugin, type SetupContext, type z } from "@heddle/kernel";
import type { Candidate, ManifestInput } from "@heddle/runtime";

/** What its package.json would say beside `contributes`, and what the list of plugins would say of it. */
export type PluginMore = Partial<Omit<ManifestInput, "manifest" | "contributes">> &
  Partial<Pick<Candidate, "version" | "rename" | "essential" | "dir">> & {
    /** The schema of its options, and what the settings say. */
    readonly schema?: z.ZodType;
    readonly options?: unknown;
  };

/** `contributes` is what the manifest promises; `setup` has to return exactly that. */
export function plugin(
  id: string,
  contributes: NonNullable<ManifestInput["contributes"]>,
  setup: (ctx: SetupContext) => Contributions | Promise<Contributions>,
  more: PluginMore = {},
): Candidate {
  const { version = "1.0.0", rename, essential, dir, schema, options, ...manifest } = more;
  return {
    id,
    version,
    from: "the test",
    manifest: { manifest: 1, api: "^1.0.0", main: "./index.js", ...manifest, contributes },
    ...(rename ? { rename } : {}),
    ...(essential ? { essential } : {}),
    ...(dir === undefined ? {} : { dir }),
    ...(options === undefined ? {} : { options }),
    load: async () => definePlugin({ ...(schema ? { options: schema } : {}), setup: (ctx) => setup(ctx) }),
  };
}
