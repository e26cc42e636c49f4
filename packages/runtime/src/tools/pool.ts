/** Which tools a session has, in which order, and with what the host wraps around each. */
import { describe, type Entry, type Fault, type PluginId, POINT_IDS, type Registry, type SessionView } from "@heddle/kernel";
import { textOfError } from "../plugins/problem.ts";
import { changed } from "../plugins/registry.ts";
import type { Catalog } from "../session/catalog.ts";

/** What is built in keeps its order, and comes before what others add, by plugin and name: the tools stand at the head of every request. */
export function inOrder(registry: Registry, isForeign: (plugin: PluginId) => boolean): Registry {
  const tools = registry.all("tools");
  const keyOf = (e: Entry): string => `${e.plugin}\n${e.name}`;
  const foreign = tools.filter((e) => isForeign(e.plugin)).sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const sorted = [...tools.filter((e) => !isForeign(e.plugin)), ...foreign];
  return {
    all: (point) => (point === "tools" ? sorted : registry.all(point)) as ReturnType<typeof registry.all<typeof point>>,
    find: (point, name) => registry.find(point, name),
    use: (token) => registry.use(token),
  };
}

export type Wrap = (entry: Entry<"tools">) => Entry<"tools">;
type Asking = Omit<SessionView, "messages">;
export type Pooled = { readonly registry: Registry; readonly catalog: Catalog };

/** Made at the first use, and the same from then on: a tool that came or went would break the prefix of every later request. */
export class Pool {
  /** Of tools that could not say whether they are enabled; they are. */
  readonly faults: Fault[] = [];
  #made: Pooled | undefined;

  /** Without `wrap` it is the pool of another session, taken as it is. */
  constructor(
    private readonly of: Pooled,
    private readonly wrap: Wrap | undefined,
  ) {}

  for(session: Asking): Pooled {
    this.#made ??= this.wrap ? this.#make(session, this.wrap) : this.of;
    return this.#made;
  }
  #make(session: Asking, wrap: Wrap): Pooled {
    const { registry, catalog } = this.of;
    const enabled = this.#enabledIn(session);
    const tools = registry.all("tools");
    const hidden = new Set<Entry>(tools.filter((e) => !enabled(e)));
    const own = changed(registry, POINT_IDS, (e) => {
      if (e.point !== "tools") return e;
      return hidden.has(e) ? undefined : wrap(e as Entry<"tools">);
    });
    return { registry: own, catalog: hidden.size > 0 ? catalog.of(own) : catalog };
  }
  /** Asks each tool once, when it is first wanted: a tool may itself ask which others there are. In a circle the answer is yes. */
  #enabledIn(session: Asking): (entry: Entry<"tools">) => boolean {
    const { registry } = this.of;
    const known = new Map<Entry, boolean>();
    const enabled = (e: Entry<"tools">): boolean => {
      const answer = known.get(e);
      if (answer !== undefined) return answer;
      known.set(e, true);
      known.set(e, this.#ask(e, view));
      return known.get(e)!;
    };
    const view = new Proxy(session, {
      get: (target, key) => (key === "list" ? list : Reflect.get(target, key, target)),
    });
    const list: Asking["list"] = (point) => {
      if (point !== "tools") return this.of.catalog.list(point);
      const off = new Set(registry.all("tools").flatMap((e) => (enabled(e) ? [] : [e.name])));
      return this.of.catalog.list(point).filter((t) => !off.has(t.name));
    };
    return enabled;
  }
  #ask(e: Entry<"tools">, session: Asking): boolean {
    try {
      return e.it.isEnabled?.(session) !== false;
    } catch (error) {
      const who = { plugin: e.plugin, point: e.point, name: e.name };
      const message = `${describe(who)} could not say whether it is enabled, and counts as such: ${textOfError(error)}`;
      this.faults.push({ code: "plugin-threw", who, message });
      return true;
    }
  }
}
