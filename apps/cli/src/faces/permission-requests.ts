/** Asks for permission over stream-json: a `can_use_tool` request for each ask, whose response is the answer. */
import { isDeepStrictEqual } from "node:util";
import type { Answer, Ask, RuntimeEvent } from "@heddle/kernel/protocol";
import * as z from "zod";
import type { Engine } from "../engine.ts";
import { PERMISSION_MODES } from "../options.ts";

type Permission = Extract<Ask, { kind: "permission" }>;

const Rule = z.object({ toolName: z.string().min(1), ruleContent: z.string().optional() });
const Update = z.union([
  z.object({
    type: z.literal("addRules"),
    behavior: z.literal("allow"),
    destination: z.enum(["session", "localSettings"]),
    rules: z.array(Rule),
  }),
  z.object({ type: z.literal("setMode"), destination: z.literal("session"), mode: z.enum(PERMISSION_MODES) }),
]);
const Decided = z.discriminatedUnion("behavior", [
  z.object({ behavior: z.literal("allow"), updatedInput: z.unknown().optional(), updatedPermissions: z.array(z.unknown()).nullish() }),
  z.object({ behavior: z.literal("deny"), message: z.string().default(""), interrupt: z.boolean().optional() }),
]);
const Response = z.discriminatedUnion("subtype", [
  z.object({ subtype: z.literal("success"), request_id: z.string(), response: z.unknown() }),
  z.object({ subtype: z.literal("error"), request_id: z.string(), error: z.string().default("") }),
]);
type Allowed = Extract<z.infer<typeof Decided>, { behavior: "allow" }>;

export class PermissionRequests {
  readonly #engine: Engine;
  readonly #write: (line: unknown) => void;
  readonly #warn: (why: string) => void;
  readonly #open = new Map<string, Permission>();
  #ended = false;

  constructor(engine: Engine, write: (line: unknown) => void, warn: (why: string) => void) {
    this.#engine = engine;
    this.#write = write;
    this.#warn = warn;
    engine.session.subscribe((event) => this.#see(event));
  }

  /** What came in a line of the type `control_response`. */
  async take(given: unknown): Promise<void> {
    const response = Response.safeParse(given);
    if (!response.success) return this.#warn("a control_response cannot be read: it has to be {subtype, request_id, response}");
    const ask = this.#open.get(response.data.request_id);
    if (!ask) return;
    this.#open.delete(ask.id);
    const { session } = this.#engine;
    if (response.data.subtype === "error") return session.answer(ask.id, { kind: "deny", reason: response.data.error });
    const decided = Decided.safeParse(response.data.response);
    if (!decided.success) return session.answer(ask.id, { kind: "deny", reason: "the answer to can_use_tool could not be read" });
    if (decided.data.behavior === "allow") return session.answer(ask.id, await this.#allowed(ask, decided.data));
    const { message, interrupt } = decided.data;
    session.answer(ask.id, message === "" ? { kind: "deny" } : { kind: "deny", reason: message });
    if (interrupt) session.abort("interrupted");
  }
  /** Nobody will answer any more. */
  end(): void {
    this.#ended = true;
    const left = [...this.#open.keys()];
    this.#open.clear();
    for (const id of left) this.#engine.session.answer(id, GONE);
  }

  #see(event: RuntimeEvent): void {
    if (event.type === "ask.closed" && this.#open.delete(event.id)) this.#write({ type: "control_cancel_request", request_id: event.id });
    if (event.type !== "ask.opened" || event.ask.kind !== "permission") return;
    const { ask } = event;
    if (this.#ended) this.#engine.session.answer(ask.id, GONE);
    else {
      this.#open.set(ask.id, ask);
      this.#write({ type: "control_request", request_id: ask.id, request: requestOf(ask) });
    }
  }
  async #allowed({ call }: Permission, { updatedInput, updatedPermissions }: Allowed): Promise<Answer> {
    if (updatedInput !== undefined && !isDeepStrictEqual(updatedInput, call.input))
      return { kind: "deny", reason: "whoever allowed it changed the arguments, and heddle runs only what was asked for" };
    const rules: string[] = [];
    for (const given of updatedPermissions ?? []) {
      const update = Update.safeParse(given);
      if (!update.success) this.#warn("an entry of updatedPermissions is not used: rules that allow, and a mode for the session, are");
      else if (update.data.type === "setMode") this.#engine.session.setPermissionMode(update.data.mode);
      else rules.push(...(await this.#kept(update.data.destination, update.data.rules)));
    }
    return rules.length > 0 ? { kind: "allow", rules } : { kind: "allow" };
  }
  async #kept(destination: "session" | "localSettings", given: readonly z.infer<typeof Rule>[]): Promise<string[]> {
    const rules = given.map((r) => (r.ruleContent === undefined ? r.toolName : `${r.toolName}(${r.ruleContent})`));
    if (destination === "localSettings")
      await this.#engine.saveRules(rules).catch((error: Error) => this.#warn(`not saved, and allowed for this session: ${error.message}`));
    return rules;
  }
}

const GONE: Answer = { kind: "deny", reason: "nobody can be asked any more; stdin has ended" };

/** `permission_suggestions` are the rules that were offered, for the session or to be saved; sent back, they are what is kept. */
function requestOf({ call, why, agent, offer = [] }: Permission): object {
  const rules = offer.map((rule) => {
    const [, toolName = rule, ruleContent] = /^(\w+)\(([\s\S]*)\)$/.exec(rule) ?? [];
    return { toolName, ...(ruleContent === undefined ? {} : { ruleContent }) };
  });
  const suggestions = ["session", "localSettings"].map((destination) => ({ type: "addRules", rules, behavior: "allow", destination }));
  return {
    subtype: "can_use_tool",
    tool_name: call.tool,
    input: call.input,
    tool_use_id: call.callId,
    decision_reason: why,
    ...(agent === undefined ? {} : { agent_id: agent }),
    ...(rules.length > 0 ? { permission_suggestions: suggestions } : {}),
  };
}
