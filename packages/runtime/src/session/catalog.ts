/** What a registry offers, in the words of a request and of a list: tools for the model, names for a person, who serves a model. */
import {
  describe,
  type Entry,
  type Fault,
  type Json,
  type Listed,
  type ModelInfo,
  type PointId,
  type Registry,
  type ToolSpec,
  z,
} from "@heddle/kernel";
import { type Aliases, meaningOf } from "./aliases.ts";

/** Tokens, where the provider does not know. */
const DEFAULT_WINDOW = 200_000;

/** The tool that loads deferred ones. */
const TOOL_SEARCH = "ToolSearch";

export type Target = { readonly provider: string; readonly model: string };

/** `provider/model` where such a provider is there; else a model of `usual`. */
export function targetIn(registry: Registry, usual: string, name: string): Target {
  const slash = name.indexOf("/");
  const named = slash > 0 ? name.slice(0, slash) : "";
  return registry.find("providers", named) ? { provider: named, model: name.slice(slash + 1) } : { provider: usual, model: name };
}

export class Catalog {
  readonly #registry: Registry;
  readonly #aliases: Aliases;
  #tools: readonly ToolSpec[] | undefined;
  /** Of tools whose schema cannot be made, which the model never hears of, and of providers that cannot tell of their models. It grows. */
  readonly faults: Fault[];

  constructor(registry: Registry, aliases: Aliases = {}, faults: Fault[] = []) {
    this.#registry = registry;
    this.#aliases = aliases;
    this.faults = faults;
  }
  /** The same names of models over another registry. */
  of(registry: Registry): Catalog {
    return new Catalog(registry, this.#aliases, this.faults);
  }
  /** The same array at each reading; made at the first, since schemas take time that a start without a model should not spend. */
  get tools(): readonly ToolSpec[] {
    this.#tools ??= this.#registry.all("tools").flatMap((e): ToolSpec[] => {
      try {
        const schema = e.it.jsonSchema ?? (z.toJSONSchema(e.it.input, { io: "input" }) as Json);
        return [{ name: e.name, description: e.it.description, schema, ...(this.#isDeferred(e) ? { deferred: true as const } : {}) }];
      } catch (error) {
        const message = `plugin "${e.plugin}" (tools "${e.name}") has an input schema that no model can read: ${String(error)}`;
        this.#tell({ code: "plugin-bad-output", who: { plugin: e.plugin, point: "tools", name: e.name }, message });
        return [];
      }
    });
    return this.#tools;
  }
  /** Without what is hidden. */
  list(point: PointId): readonly Listed[] {
    const shown = this.#registry.all(point).filter((e) => !(e.it as { hidden?: boolean }).hidden);
    return shown.map((e) => {
      const { plugin, name, it } = e;
      const { hint, aliases } = it as Partial<Listed>;
      const summary = e.point === "tools" ? firstSentence((e as Entry<"tools">).it.description) : (it as Partial<Listed>).summary;
      const deferred = e.point === "tools" && this.#isDeferred(e as Entry<"tools">);
      return {
        ...{ plugin, name },
        ...(summary ? { summary } : {}),
        ...(hint ? { hint } : {}),
        ...(aliases ? { aliases } : {}),
        ...(deferred ? { deferred } : {}),
      };
    });
  }
  /** Where nothing can load a tool, none waits to be loaded. */
  #isDeferred(e: Entry<"tools">): boolean {
    return e.it.deferred === true && this.#registry.find("tools", TOOL_SEARCH) !== undefined;
  }
  #tell(fault: Fault): void {
    if (!this.faults.some((f) => f.message === fault.message)) this.faults.push(fault);
  }
  /** The model that a name stands for. */
  named(name: string): string {
    return meaningOf(this.#aliases, name);
  }
  target(usual: string, name: string): Target {
    return targetIn(this.#registry, usual, this.named(name));
  }
  /** What the provider says of its model. A failure counts as not knowing, and is a fault the first time. */
  info({ provider, model }: Target): ModelInfo {
    const entry = this.#registry.find("providers", provider);
    try {
      const window = entry?.it.window?.(model);
      const known = typeof window === "number" && window > 0 ? { window } : {};
      return { id: model, ...known, ...entry?.it.info?.(model) };
    } catch (error) {
      const who = { plugin: entry!.plugin, point: "providers" as const, name: entry!.name };
      const message = `${describe(who)} threw: ${error instanceof Error ? error.message : String(error)}`;
      this.#tell({ code: "plugin-threw", who, message });
      return { id: model };
    }
  }
  /** Tokens. */
  window(target: Target): number {
    return this.info(target).window ?? DEFAULT_WINDOW;
  }
}

/** At most 200 characters of it. */
function firstSentence(text: string): string {
  const sentence = /^.*?[.!?](?=\s|$)/s.exec(text.trim())?.[0] ?? text.trim();
  const line = sentence.replace(/\s+/g, " ");
  return line.length <= 200 ? line : `${line.slice(0, 199).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
