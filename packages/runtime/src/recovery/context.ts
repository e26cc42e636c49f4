/** The context that a provider gets when it stands in for another one: its own options, its own capabilities, a state of its own. */
import type { CallContext, Entry } from "@heddle/kernel";

/** `entry` is called within a call of `first`, whose wrapper has the capabilities of all. */
export function contextOf(ctx: CallContext, first: Entry, entry: Entry, signal: AbortSignal): CallContext {
  const { plugin, options, capabilities } = entry;
  const own = plugin === first.plugin;
  const key = (name: string): string => (own ? name : `${plugin}: ${name}`);
  return {
    ...ctx,
    plugin,
    options,
    signal,
    state: { get: (name) => ctx.state.get(key(name)), set: (name, value) => ctx.state.set(key(name), value) },
    capability(token) {
      if (!capabilities.includes(token.id)) throw new Error(`capability "${token.id}" is not in its heddle.capabilities`);
      return ctx.capability(token);
    },
  };
}
