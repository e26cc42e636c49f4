/** What plugins have contributed, frozen. A running turn keeps the registry it started with. */
import type { ByPoint, Listed, Service } from "./plugin.ts";
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
  readonly #memo = new Map<string, unknown>();

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
  list(point: PointId): readonly Listed[] {
    const shown = this.all(point).filter((e) => !(e.it as { hidden?: boolean }).hidden);
    return shown.map(({ plugin, name, it }) => {
      const { summary, hint, aliases } = it as Partial<Listed>;
      return { plugin, name, ...(summary ? { summary } : {}), ...(hint ? { hint } : {}), ...(aliases ? { aliases } : {}) };
    });
  }
  /** Computes what depends on nothing but the registry, once. */
  memo<T>(key: string, make: () => T): T {
    if (!this.#memo.has(key)) this.#memo.set(key, make());
    return this.#memo.get(key) as T;
  }
  use<T>(token: Service<T>): T {
    if (!this.services.has(token.id)) throw new Error(`no active plugin provides the service "${token.id}"`);
    return this.services.get(token.id) as T;
  }
}

export const whoOf = (e: Who): Who => ({ plugin: e.plugin, point: e.point, name: e.name });
