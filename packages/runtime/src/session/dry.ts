/** Runs input and context of a turn that never calls a model and leaves nothing behind, and hands over the request it would send. */
import {
  guard,
  type Input,
  type Json,
  type Message,
  type ModelRequest,
  type Prefix,
  type Provider,
  type RuntimeEvent,
  runTurn,
  type TurnEnv,
} from "@heddle/kernel";

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
  let found: { readonly request: ModelRequest; readonly provider: Provider } | undefined;
  const turn = runTurn(
    { ...env, record: (event) => events.push(event) },
    {
      turn: env.id("turn"),
      input: o.input,
      history: o.history,
      signal: o.signal,
      steering: () => [],
      ...(o.prefix ? { prefix: o.prefix } : {}),
      dry: (request, provider) => {
        found = { request, provider };
      },
    },
  );
  while (!(await turn.next()).done);
  if (!found) return { request: null, events };
  const { request, provider } = found;
  const plain = JSON.parse(JSON.stringify(request)) as Json;
  if (!provider.encode) return { request: plain, events };
  const entry = env.registry.all("providers").find((e) => e.it === provider);
  const who = { plugin: entry?.plugin ?? "", point: "providers" as const, name: entry?.name ?? provider.name };
  const encoded = await guard(who, { deadlineMs: ENCODE_MS, signal: o.signal, now: env.now, watch: env.watch }, () =>
    provider.encode!(request),
  );
  if (encoded.ok) return { request: encoded.value, events };
  const fault: RuntimeEvent = { type: "fault", fault: encoded.fault, at: env.now(), turn: events[0]?.turn ?? null, step: 0 };
  return { request: plain, events: [...events, fault] };
}
