/** Runs input and context of a turn that never calls a model and leaves nothing behind, and hands over the request it would send. */
import {
  type Entry,
  guard,
  type Input,
  type Json,
  type Message,
  type ModelRequest,
  POINT_IDS,
  type Prefix,
  type RuntimeEvent,
  runTurn,
  type TurnEnv,
} from "@heddle/kernel";
import { changed } from "../plugins/registry.ts";

export type DryOptions = {
  readonly input: Input;
  readonly history: readonly Message[];
  readonly prefix: Prefix | undefined;
  readonly signal: AbortSignal;
};
const ENCODE_MS = 10_000;

/** `request` is the provider's own encoding where it has one, the kernel's request where not, and null when no model would be called. */
export async function dryRun(env: TurnEnv, o: DryOptions): Promise<{ request: Json | null; events: readonly RuntimeEvent[] }> {
  const events: RuntimeEvent[] = [];
  const stop = new AbortController();
  let found: { readonly request: ModelRequest; readonly entry: Entry<"providers"> } | undefined;
  const ask = (entry: Entry<"providers">, request: ModelRequest): void => {
    found = { request, entry };
    stop.abort("the request is known");
  };
  const turn = runTurn(
    { ...env, registry: without(env.registry, ask), record: (event) => found || events.push(event) },
    {
      turn: env.id("turn"),
      input: o.input,
      history: o.history,
      signal: AbortSignal.any([o.signal, stop.signal]),
      steering: () => [],
      ...(o.prefix ? { prefix: o.prefix } : {}),
    },
  );
  while (!(await turn.next()).done);
  if (!found) return { request: null, events };
  const { request, entry } = found;
  events.push({ type: "turn.ended", outcome: { kind: "completed" }, steps: 0, at: env.now(), turn: events[0]?.turn ?? null, step: 0 });
  const plain = JSON.parse(JSON.stringify(request)) as Json;
  const { encode } = entry.it;
  if (!encode) return { request: plain, events };
  const { plugin, point, name } = entry;
  const options = { deadlineMs: ENCODE_MS, signal: o.signal, now: env.now, watch: env.watch };
  const encoded = await guard({ plugin, point, name }, options, () => encode.call(entry.it, request));
  if (encoded.ok) return { request: encoded.value, events };
  const fault: RuntimeEvent = { type: "fault", fault: encoded.fault, at: env.now(), turn: events[0]?.turn ?? null, step: 0 };
  return { request: plain, events: [...events, fault] };
}

/** Providers hand over what they are asked, local commands are named and not run, and nobody looks on. */
function without(registry: TurnEnv["registry"], ask: (entry: Entry<"providers">, request: ModelRequest) => void): TurnEnv["registry"] {
  return changed(registry, POINT_IDS, (e) => {
    if (e.point === "observers") return undefined;
    if (e.point === "providers") {
      const entry = e as Entry<"providers">;
      const stream = async function* (request: ModelRequest) {
        ask(entry, request);
        yield* [];
      };
      return { ...entry, it: { ...entry.it, stream } };
    }
    const { it, name } = e as Entry<"commands">;
    if (e.point !== "commands" || it.kind !== "local") return e;
    return { ...e, it: { ...it, run: () => ({ kind: "handled" as const, show: `/${name} runs without the model.` }) } };
  });
}
