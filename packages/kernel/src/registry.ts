/** What plugins have contributed, frozen. A running turn keeps the registry it started with. */
import type { ByPoint, Service } from "./plugin.ts";
import type { PluginId, PointId, Who } from "./protocol.ts";

export type Entry<K extends PointId = PointId> = {
  plugin: PluginId;
  point: K;
  name: string;
  options: unknown;
  capabilities: readonly string[];
  it: ByPoint[K];
};

export class Registry {
  readonly #byPoint = new Map<PointId, readonly Entry[]>();
  readonly #byName = new Map<string, Entry>();

  /** Entries in the order in which they run. Of two with one name at a keyed point the first counts: a host refuses such a clash before. */
  constructor(
    entries: readonly Entry[],
    private readonly services: ReadonlyMap<string, unknown> = new Map(),
  ) {
    for (const e of entries) {
      this.#byPoint.set(e.point, [...(this.#byPoint.get(e.point) ?? []), e]);
      for (const name of [e.name, ...((e.it as { aliases?: readonly string[] }).aliases ?? [])]) {
        const key = `${e.point}/${name}`;
        if (!this.#byName.has(key)) this.#byName.set(key, e);
      }
    }
  }
  all<K extends PointId>(point: K): readonly Entry<K>[] {
    return (this.#byPoint.get(point) ?? []) as readonly Entry<K>[];
  }
  /** By name, or else by alias. */
  find<K extends PointId>(point: K, name: string): Entry<K> | undefined {
    return this.#byName.get(`${point}/${name}`) as Entry<K> | undefined;
  }
  use<T>(token: Service<T>): T {
    if (!this.services.has(token.id)) throw new Error(`no active plugin provides the service "${token.id}"`);
    return this.services.get(token.id) as T;
  }
}

export const whoOf = (e: Who): Who => ({ plugin: e.plugin, point: e.point, name: e.name });
