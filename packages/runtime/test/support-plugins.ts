/** Starts plugins on a host in memory, and says what became of them. */
import type { SetupContext } from "@heddle/kernel";
import { type Candidate, startPlugins } from "../src/index.ts";
import { memoryHost } from "../src/memory.ts";
import { pluginOf } from "./support.ts";

const host = memoryHost();
export const start = (plugins: readonly Candidate[], more: object = {}) =>
  startPlugins(plugins, { host, setupMs: 30, disposeMs: 30, ...more });
export const said = async (plugins: readonly Candidate[]): Promise<string[]> =>
  (await start(plugins)).problems.map((p) => `${p.stage}: ${p.message}`);
export const ids = async (plugins: readonly Candidate[]): Promise<string[]> => (await start(plugins)).plugins.map((p) => p.id);

/** A plugin of nothing but a setup, and a healthy one beside it that has to be there in the end. */
export const setup = (run: (ctx: never) => unknown, more: Partial<Candidate> & { manifest?: object } = {}): Candidate =>
  pluginOf("bad", {}, { load: async () => ({ setup: run }), from: "folder /p/bad", ...more });
/** A plugin whose setup does one thing and contributes nothing. */
export const doing = (id: string, run: (ctx: SetupContext) => void, more: Partial<Candidate> & { manifest?: object } = {}): Candidate =>
  pluginOf(
    id,
    {},
    {
      load: async () => ({
        setup(ctx: SetupContext) {
          run(ctx);
          return {};
        },
      }),
      ...more,
    },
  );
export const command = (name: string, more: object = {}) => ({
  name,
  kind: "local" as const,
  summary: "",
  run: () => ({ kind: "handled" as const }),
  ...more,
});
export const fine = pluginOf("fine", { commands: [command("fine")] });
export const BAD = 'plugin "bad"@1.0.0 (folder /p/bad): ';
