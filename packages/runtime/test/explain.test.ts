import type { EventBody, RuntimeEvent } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import { explain, explainData } from "../src/index.ts";
import { allowAll, calls, echo, pluginOf, says, scripted, start } from "./support.ts";

const at = (body: EventBody, more: Partial<RuntimeEvent> = {}): RuntimeEvent =>
  ({ ...body, at: 1_000, turn: "t1", step: 0, ...more }) as RuntimeEvent;
const stage = (point: string, plugin: string, name: string, more: object = {}): RuntimeEvent =>
  at({ type: "stage.ran", record: { point, plugin, name, status: "no-op", ms: 3, changes: [], ...more } as never });
const started = at({ type: "turn.started", input: { text: "fix the bug", source: "repl" }, model: "m", permissionMode: "default" });

describe("explain", () => {
  it("prints the table of a turn with a tool", async () => {
    const { candidate } = scripted([calls("Echo", { text: "x" }), says("done")]);
    const facts = pluginOf("context", {
      systemPrompt: [{ name: "identity", placement: "system", build: () => "You are heddle. ".repeat(10) }],
    });
    const { runtime } = await start([candidate, echo(), allowAll, facts]);
    const session = await runtime.open();
    const events: RuntimeEvent[] = [];
    session.subscribe((e) => void events.push(e));
    await session.submit("hi");
    expect(`\n${explain(events, { times: false })}`).toMatchInlineSnapshot(`
      "
      turn "hi"
           sdk, m, default

      input
        message       user               user        hi

      context
        systemPrompt  context/identity   ran         added 1 (64 tokens)
        prefix                           built       system 45 tokens, context 0 tokens

      sampling
        request       fake/m             sent        121 tokens: tools 54, system 59, context 1, messages
                                                     9; 1 message, 1 tool
        reply                            tool-calls  tokens: in 8, out 4
        message                          model       Echo {"text":"x"}

      gating
        gates         permissions/rules  ran         allow: everything
        decision      Echo               allow       by permissions: everything

      executing
        tool          Echo               ok

      sampling (step 2)
        request       fake/m             sent        148 tokens: tools 54, system 59, context 1, messages
                                                     36; 3 messages, 1 tool
        reply                            end         tokens: in 10, out 2, cache read 5
        message                          model       done

      ended: completed; 2 model calls; tokens in 18, out 6, cache read 5, written 0
      "
    `);
  });

  it("shows times, sizes, cache, who decided by which rule, asks, faults, and how it ended", () => {
    const long =
      'plugin "git" (attachments "status") gave no answer within 1000 ms, and goes on to say a lot of things about why that was so';
    const events = [
      started,
      at({ type: "turn.phase", from: "input", to: "context" }),
      stage("attachments", "git", "status", { status: "failed", ms: 1_000, fault: { code: "plugin-timeout", message: long } }),
      stage("attachments", "attachments", "date", { status: "ran", changes: [{ op: "add", id: "a1", size: 36 }] }),
      stage("compaction", "compaction", "micro", {
        status: "ran",
        changes: [
          { op: "remove", id: "m1", size: 7_200 },
          { op: "replace", id: "m2", size: 360, was: 36_000 },
        ],
      }),
      at({ type: "turn.phase", from: "context", to: "sampling" }),
      at({
        type: "model.requested",
        provider: "anthropic",
        model: "big",
        messages: 12,
        tools: ["Bash"],
        size: { tools: 3_600, system: 360, context: 36, messages: 36_000 },
      }),
      at({
        type: "model.replied",
        id: "a",
        stop: "tool-calls",
        ms: 4_210,
        firstMs: 800,
        usage: { input: 12, output: 1_234, cacheRead: 9_000, cacheWrite: 50 },
      }),
      at({ type: "turn.phase", from: "sampling", to: "gating" }),
      at({
        type: "ask.opened",
        ask: {
          kind: "permission",
          id: "q",
          call: { type: "tool-call", callId: "c", tool: "Bash", input: {} },
          effects: [],
          why: "runs a command",
          by: "permissions",
        },
      }),
      at({ type: "ask.closed", id: "q", answer: { kind: "deny", reason: "not now" } }),
      at({
        type: "tool.decided",
        decision: { callId: "c", tool: "Bash", say: "deny", by: "user", why: "Denied: not now", rule: "Bash(*)" },
      }),
      at({ type: "turn.ended", outcome: { kind: "aborted", reason: "interrupted" }, steps: 1 }, { at: 6_500 }),
      stage("observers", "otel", "spans", { status: "failed", fault: { code: "plugin-threw", message: "no route" } }),
    ];
    const text = explain(events);
    expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(`\n${text}`).toMatchInlineSnapshot(`
      "
      turn "fix the bug"
           repl, m, default

      context
        attachments  attachments/date  ran             3 ms  added 1 (10 tokens)
        attachments  git/status        failed      1,000 ms  plugin "git" (attachments "status") gave no
                                                             answer within 1000 ms, and goes on to say a
                                                             lot of things about why that was so
        compaction   compaction/micro  ran             3 ms  removed 1 (2,000 tokens), replaced 1 (10,000
                                                             to 100 tokens)

      sampling
        request      anthropic/big     sent                  11,110 tokens: tools 1,000, system 100,
                                                             context 10, messages 10,000; 12 messages, 1
                                                             tool
        reply                          tool-calls  4,210 ms  first after 800 ms; tokens: in 12, out 1,234,
                                                             cache read 9,000, written 50

      gating
        ask          Bash              opened                runs a command (permissions)
        answer                         deny                  not now
        decision     Bash              deny                  by user: Bash(*): Denied: not now

      observers
        observers    otel/spans        failed          3 ms  no route

      ended: aborted (interrupted); 1 model call; tokens in 12, out 1,234, cache read 9,000, written 50;
      5,500 ms
      "
    `);
  });

  it("is the same text whichever of the contributions that run together was faster", () => {
    const stages = [stage("attachments", "b", "two"), stage("memory", "a", "one"), stage("systemPrompt", "z", "three")];
    const text = (list: RuntimeEvent[]) => explain([started, ...list], { times: false });
    expect(text(stages)).toBe(text(stages.toReversed()));
  });

  it("bears events of no turn at all", () => {
    expect(explainData([])).toEqual({
      turn: null,
      input: "",
      source: "",
      model: "",
      permissionMode: "",
      sections: [{ phase: "input", step: 0, rows: [] }],
      outcome: null,
      modelCalls: 0,
      usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      ms: 0,
    });
    expect(explain([])).toContain("not yet, or cut off");
  });
});
