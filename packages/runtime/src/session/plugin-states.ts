/** What plugins keep for a session: each its own, out of sight of the others. */
import type { PluginId } from "@heddle/kernel";

export class PluginStates {
  readonly #states: Map<PluginId, Map<string, unknown>>;

  constructor(states: ReadonlyMap<PluginId, ReadonlyMap<string, unknown>> = new Map()) {
    this.#states = new Map([...states].map(([plugin, state]) => [plugin, new Map(state)]));
  }
  of(plugin: PluginId): Map<string, unknown> {
    const known = this.#states.get(plugin);
    if (known) return known;
    const made = new Map<string, unknown>();
    this.#states.set(plugin, made);
    return made;
  }
  /** What is kept in the copy is not kept here. */
  copy(): PluginStates {
    return new PluginStates(this.#states);
  }
}
