/** Plugins for a run: one written in the test itself, or the one that the test is about. */
import { type Contributions, definePlugin, type PluginDefinition, type SetupContext, type z } from "@heddle/kernel";
import type { Candidate, ManifestInput } from "@heddle/runtime";

/** What its package.json would say beside `contributes`, and what the list of plugins would say of it. */
export type PluginMore = Partial<Omit<ManifestInput, "manifest" | "contributes">> &
  Partial<Pick<Candidate, "version" | "rename" | "essential" | "dir">> & {
    /** The schema of its options, and what the settings say. */
    readonly schema?: z.ZodType;
    readonly options?: unknown;
    /** Services that it provides, by the id of their token. */
    readonly provides?: Readonly<Record<string, unknown>>;
  };

/** `contributes` is what the manifest promises; `setup` has to return exactly that. */
export function plugin(
  id: string,
  contributes: NonNullable<ManifestInput["contributes"]>,
  setup: (ctx: SetupContext) => Contributions | Promise<Contributions>,
  more: PluginMore = {},
): Candidate {
  const { version = "1.0.0", rename, essential, dir, schema, options, provides = {}, ...manifest } = more;
  const definition = definePlugin({
    ...(schema ? { options: schema } : {}),
    setup(ctx) {
      for (const [token, value] of Object.entries(provides)) ctx.provide({ id: token }, value);
      return setup(ctx);
    },
  });
  return {
    id,
    version,
    from: "the test",
    manifest: { manifest: 1, api: "^1.0.0", main: "./index.js", ...manifest, contributes },
    ...(rename ? { rename } : {}),
    ...(essential ? { essential } : {}),
    ...(dir === undefined ? {} : { dir }),
    ...(options === undefined ? {} : { options }),
    load: async () => definition,
  };
}

/** One whose manifest promises what `contributions` holds. */
export function pluginOf(id: string, contributions: Contributions, more: PluginMore = {}): Candidate {
  const names = Object.entries(contributions).map(([point, list]) => [point, list.map((it: { readonly name: string }) => it.name)]);
  return plugin(id, Object.fromEntries(names), () => contributions, more);
}

/**
 * The plugin that a package tests: the default export of its source and its package.json, without a build. A run rejects when it
 * does not start.
 */
export function ownPlugin(
  definition: PluginDefinition,
  packageJson: { readonly name: string; readonly version: string; readonly heddle: unknown },
  options?: unknown,
): Candidate {
  const { name: id, version, heddle: manifest } = packageJson;
  return { id, version, from: "its own package", manifest, options, essential: true, load: async () => definition };
}
