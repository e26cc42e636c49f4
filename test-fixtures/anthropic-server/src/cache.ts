/** The prompt cache: what a request reads from it, writes to it, and is billed for. */

import { automaticMark, explicitMarks } from "./cache-marks.ts";
import type { JsonObject } from "./json.ts";
import type { ModelRules } from "./models.ts";
import type { Prompt, PromptUnit } from "./prompt.ts";
import { ttlOf } from "./validate-cache-control.ts";

const LOOKBACK = 20;
const LIFE = { "5m": 300_000, "1h": 3_600_000 } as const;

export type Ttl = keyof typeof LIFE;

export interface InputUsage {
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  cache_creation: { ephemeral_5m_input_tokens: number; ephemeral_1h_input_tokens: number };
}

export interface Breakpoint {
  path: string;
  ttl: Ttl;
  /** Index of the unit among all units of the prompt. */
  position: number;
  /** Tokens of the prompt up to and with that unit. */
  tokens: number;
}

export interface CachePlan {
  usage: InputUsage;
  breakpoints: Breakpoint[];
  /** To be called when the reply begins: an entry is of no use to others before that. */
  commit(): void;
}

interface Entry {
  ttl: Ttl;
  expires: number;
}

export function breakpointsOf(body: JsonObject, prompt: Prompt): Breakpoint[] {
  const positions = new Map(prompt.units.map((unit, position) => [unit.path, position]));
  const automatic = automaticMark(body);
  const found: Breakpoint[] = [];
  for (const mark of automatic ? [...explicitMarks(body), automatic] : explicitMarks(body)) {
    const position = positions.get(mark.unit);
    const unit = position === undefined ? undefined : prompt.units[position];
    if (position !== undefined && unit) found.push({ path: mark.unit, ttl: ttlOf(mark.control), position, tokens: unit.total });
  }
  return found.sort((a, b) => a.position - b.position);
}

export class PromptCache {
  readonly #entries = new Map<string, Entry>();

  plan(body: JsonObject, prompt: Prompt, model: ModelRules, startedAt: number): CachePlan {
    const breakpoints = breakpointsOf(body, prompt);
    const hit = this.#hit(prompt.units, breakpoints, startedAt);
    const read = hit === undefined ? 0 : (prompt.units[hit]?.total ?? 0);
    const writes = breakpoints.filter((point) => point.tokens >= model.cacheMinimum && point.tokens > read);
    const until = writes.at(-1)?.tokens ?? read;
    const longUntil = writes.findLast((point) => point.ttl === "1h")?.tokens ?? read;
    return {
      breakpoints,
      usage: {
        input_tokens: prompt.tokens - until,
        cache_creation_input_tokens: until - read,
        cache_read_input_tokens: read,
        cache_creation: {
          ephemeral_5m_input_tokens: until - longUntil,
          ephemeral_1h_input_tokens: longUntil - read,
        },
      },
      commit: () => {
        this.#refresh(prompt.units, breakpoints, hit, startedAt);
        for (const { position, ttl } of writes) {
          const unit = prompt.units[position];
          if (unit) this.#entries.set(unit.prefix, { ttl, expires: startedAt + LIFE[ttl] });
        }
      },
    };
  }

  #isLive(unit: PromptUnit | undefined, now: number): boolean {
    const entry = unit && this.#entries.get(unit.prefix);
    return entry !== undefined && entry.expires > now;
  }

  #hit(units: readonly PromptUnit[], breakpoints: readonly Breakpoint[], now: number): number | undefined {
    for (const { position } of [...breakpoints].reverse()) {
      for (let at = position; at >= 0 && at > position - LOOKBACK; at--) if (this.#isLive(units[at], now)) return at;
    }
    return undefined;
  }

  /** Reading a long prefix also touches the shorter ones inside it that this request marks. */
  #refresh(units: readonly PromptUnit[], points: readonly Breakpoint[], hit: number | undefined, now: number): void {
    if (hit === undefined) return;
    for (const at of [hit, ...points.map(({ position }) => position).filter((position) => position < hit)]) {
      const entry = this.#entries.get(units[at]?.prefix ?? "");
      if (entry && entry.expires > now) entry.expires = Math.max(entry.expires, now + LIFE[entry.ttl]);
    }
  }
}
