/** What plugins have contributed, as a turn looks it up. It never changes: a running turn keeps the registry it started with. */
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

export interface Registry {
  /** In the order in which they run. */
  all<K extends PointId>(point: K): readonly Entry<K>[];
  /** By name, or else by alias. */
  find<K extends PointId>(point: K, name: string): Entry<K> | undefined;
  /** Throws when no active plugin provides it. */
  use<T>(token: Service<T>): T;
}

export const whoOf = (e: Who): Who => ({ plugin: e.plugin, point: e.point, name: e.name });
