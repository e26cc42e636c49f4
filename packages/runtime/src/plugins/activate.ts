/** Runs one plugin's `setup` where nobody sees it yet, and hands over what it returned once that has been checked. */
import { type CapabilityId, guard, type PluginDefinition, type Service, type SetupContext, type Watch, type Who } from "@heddle/kernel";
import type { Problem } from "../types.ts";
import type { Ready } from "./order.ts";
import { textOfError } from "./problem.ts";
import { type Contribution, compareToManifest, readContributions } from "./shapes.ts";

export type Disposer = () => void | Promise<void>;
export type Provided = ReadonlyMap<string, { readonly owner: string; readonly value: unknown }>;
export type ActivateOptions = {
  readonly now: () => number;
  /** Milliseconds for loading and setup together. */
  readonly setupMs: number;
  readonly disposeMs: number;
  readonly watch: Watch | undefined;
  readonly capabilities: ReadonlyMap<CapabilityId, unknown>;
};
export type Active = {
  readonly plugin: Ready;
  readonly options: unknown;
  readonly contributions: readonly Contribution[];
  readonly provided: ReadonlyMap<string, unknown>;
  readonly disposers: readonly Disposer[];
};
type Failed = { readonly stage: Problem["stage"]; readonly message: string; readonly disposers: readonly Disposer[] };

/** Thrown inside the guard to say at which stage it went wrong. */
class Refused extends Error {
  constructor(
    readonly stage: Problem["stage"],
    message: string,
  ) {
    super(message);
  }
}

/** Never rejects. */
export async function activate(p: Ready, services: Provided, o: ActivateOptions): Promise<Active | Failed> {
  if (!p.parsed.main) return { plugin: p, options: undefined, contributions: [], provided: new Map(), disposers: [] };
  const disposers: Disposer[] = [];
  const provided = new Map<string, unknown>();
  let stage: Problem["stage"] = "load";
  let refused: Refused | undefined;
  const who: Who = { plugin: p.id, point: "observers", name: "setup" };
  const signal = new AbortController().signal;
  const ran = await guard(who, { deadlineMs: o.setupMs, signal, now: o.now, watch: o.watch }, async (scope) => {
    try {
      const definition = definitionOf(await loadOf(p));
      stage = "setup";
      const options = optionsOf(definition, p.options);
      const ctx = contextFor(p, options, scope, { services, provided, disposers, capabilities: o.capabilities });
      const { list, wrong } = readContributions(await definition.setup(ctx));
      const mismatch = wrong.length > 0 ? wrong : compareToManifest(list, p.parsed.contributes);
      if (mismatch.length > 0) throw new Refused("contributes", mismatch.join("; "));
      return { options, list };
    } catch (error) {
      if (error instanceof Refused) refused = error;
      throw error;
    }
  });
  if (ran.ok) return { plugin: p, options: ran.value.options, contributions: ran.value.list, provided, disposers };
  if (refused) return { stage: refused.stage, message: refused.message, disposers };
  const said = ran.fault.message.replace(/^plugin .* \(observers "setup"\) /, "");
  const what = stage === "load" ? "loading its code" : "its setup";
  return { stage, message: `${what} ${said}`, disposers };
}

/** Node names what it has not found, but not what to do. */
async function loadOf(p: Ready): Promise<unknown> {
  try {
    return await p.load();
  } catch (error) {
    if (p.dir === undefined || (error as { code?: unknown } | null)?.code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new Error(`${textOfError(error)}; run "npm install" in ${p.dir}`, { cause: error });
  }
}

function definitionOf(loaded: unknown): PluginDefinition {
  const definition = loaded as { setup?: unknown; options?: { safeParse?: unknown } } | undefined;
  if (typeof definition !== "object" || definition === null || typeof definition.setup !== "function")
    throw new Refused("load", "the default export of its main is not what definePlugin({ setup }) returns");
  if (definition.options !== undefined && typeof definition.options.safeParse !== "function")
    throw new Refused("load", "the options of its definition are not a zod schema");
  return definition as unknown as PluginDefinition;
}

function optionsOf(definition: PluginDefinition, given: unknown): unknown {
  if (!definition.options) {
    if (given === undefined || (typeof given === "object" && given !== null && Object.keys(given).length === 0)) return undefined;
    throw new Refused("setup", "it takes no options, but the settings give it some; remove them");
  }
  const parsed = definition.options.safeParse(given ?? {});
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map((i) => `options${i.path.map((key) => `.${String(key)}`).join("")}: ${i.message}`);
  throw new Refused("setup", `the settings do not fit it: ${issues.join("; ")}`);
}

type Staging = {
  readonly services: Provided;
  readonly provided: Map<string, unknown>;
  readonly disposers: Disposer[];
  readonly capabilities: ReadonlyMap<CapabilityId, unknown>;
};

function contextFor(p: Ready, options: unknown, scope: { signal: AbortSignal; live(): boolean }, s: Staging): SetupContext {
  const alive = (): void => {
    if (!scope.live()) throw new Error(`plugin "${p.id}" used its setup context after setup was over`);
  };
  return {
    plugin: p.id,
    options,
    signal: scope.signal,
    provide(token, value) {
      alive();
      const other = s.services.get(token.id);
      if (other) throw new Error(`provides the service "${token.id}", which plugin "${other.owner}" provides already`);
      s.provided.set(token.id, value);
    },
    use<T>(token: Service<T>): T {
      alive();
      if (s.provided.has(token.id)) return s.provided.get(token.id) as T;
      const found = s.services.get(token.id);
      if (!found)
        throw new Error(`wants the service "${token.id}", which no plugin before it provides; name its provider in heddle.requires`);
      if (!Object.hasOwn(p.parsed.requires, found.owner))
        throw new Error(`wants the service "${token.id}" of plugin "${found.owner}", which heddle.requires does not name`);
      return found.value as T;
    },
    capability<T>(token: { readonly id: CapabilityId; readonly _type?: T }): T {
      alive();
      if (!p.parsed.capabilities.includes(token.id))
        throw new Error(`wants the capability "${token.id}", which heddle.capabilities does not name`);
      if (!s.capabilities.has(token.id)) throw new Error(`the capability "${token.id}" is not there during setup; ask for it in a call`);
      return s.capabilities.get(token.id) as T;
    },
    onDispose(fn) {
      if (typeof fn !== "function") throw new Error("gave onDispose something that is not a function");
      if (scope.live()) s.disposers.push(fn);
      else
        void Promise.resolve()
          .then(fn)
          .catch(() => {}); // too late to be kept: what it opened is closed at once
    },
  };
}

/** Last registered first. One that throws or hangs does not keep the others from being run. Never rejects. */
export async function disposeOne(p: Ready, disposers: readonly Disposer[], o: ActivateOptions): Promise<string[]> {
  const wrong: string[] = [];
  const signal = new AbortController().signal;
  for (const fn of [...disposers].reverse()) {
    const who: Who = { plugin: p.id, point: "observers", name: "dispose" };
    const ran = await guard(who, { deadlineMs: o.disposeMs, signal, now: o.now, watch: o.watch }, () => fn());
    if (!ran.ok) wrong.push(`its dispose ${ran.fault.message.replace(/^plugin .* \(observers "dispose"\) /, "")}`);
  }
  return wrong.map(textOfError);
}
