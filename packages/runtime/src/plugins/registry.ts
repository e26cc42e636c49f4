/** What active plugins have contributed, by point and by name. Never changes once it is made. */
import type { Entry, PointId, Registry, Service } from "@heddle/kernel";

export class PluginRegistry implements Registry {
  readonly #byPoint = new Map<PointId, readonly Entry[]>();
  readonly #byName = new Map<string, Entry>();
  readonly #services: ReadonlyMap<string, unknown>;

  /** Entries in the order in which they run. Of two with one name at a keyed point the first counts: a clash is refused before. */
  constructor(entries: readonly Entry[], services: ReadonlyMap<string, unknown> = new Map()) {
    this.#services = services;
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
  find<K extends PointId>(point: K, name: string): Entry<K> | undefined {
    return this.#byName.get(`${point}/${name}`) as Entry<K> | undefined;
  }
  use<T>(token: Service<T>): T {
    if (!this.#services.has(token.id)) throw new Error(`no active plugin provides the service "${token.id}"`);
    return this.#services.get(token.id) as T;
  }
}

/** The same services, and the contributions that `change` makes of those that are there; undefined leaves one out. */
export function changed(registry: Registry, points: readonly PointId[], change: (entry: Entry) => Entry | undefined): Registry {
  const entries = points.flatMap((point): readonly Entry[] => registry.all(point)).flatMap((e) => change(e) ?? []);
  const inner = new PluginRegistry(entries);
  return { all: (point) => inner.all(point), find: (point, name) => inner.find(point, name), use: (token) => registry.use(token) };
}
