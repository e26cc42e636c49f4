import { type AttachmentMessage, defineTool, type Message, ModelError, type Tool, z } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import { calls, of, type Ran, type RunOptions, run as runTurn, says } from "../../kernel/test/harness.ts";
import { pack } from "../src/session/pack.ts";

const run = (contributions: Parameters<typeof runTurn>[0], o: RunOptions = {}): Promise<Ran> =>
  runTurn(contributions, { ...o, env: { pack: (env, log, overflowed) => pack(env, log, 720_000, overflowed), ...o.env } });

const echo = (): Tool =>
  defineTool({
    name: "Echo",
    description: "",
    input: z.object({}),
    overlap: "shared",
    effects: () => [],
    run: () => "empty",
  });
const roles = (messages: readonly Message[]): string[] => messages.map((m) => m.role);

describe("compaction", () => {
  const history: Message[] = ["a", "b", "c"].map((id, i) => ({
    role: "user",
    id,
    parentId: i === 0 ? null : "x",
    at: 0,
    origin: { by: "user" },
    content: [{ type: "text", text: id }],
  }));
  const stage = (compact: (view: readonly Message[], make: (kind: string, content: never) => AttachmentMessage) => unknown) => ({
    compaction: [{ name: "s", compact: (view: readonly Message[], _: unknown, make: never) => compact(view, make) as readonly Message[] }],
  });
  it("sends a smaller view and keeps the log", async () => {
    const { requests, state, events } = await run(
      stage((view, make) => [make("summary", [{ type: "text", text: "short" }] as never), ...view.slice(2)]),
      { history },
    );
    expect(requests[0]!.messages.map((m) => m.role)).toEqual(["attachment", "user", "user"]);
    expect(roles(state.added)).toEqual(["user", "assistant"]);
    expect(
      of(events, "stage.ran")
        .find((e) => e.record.point === "compaction")!
        .record.changes.map((c) => c.op),
    ).toEqual(["remove", "remove", "add"]);
  });
  it.each([
    ["invents a prompt", (view: readonly Message[]) => [...view, { ...view[0]!, id: "new" }]],
    ["changes what was said", (view: readonly Message[]) => view.map((m) => ({ ...m, content: [{ type: "text", text: "other" }] }))],
    ["returns no list", () => "nope"],
    ["returns a list of nothing", () => [undefined]],
  ])("discards a view that %s", async (_, compact) => {
    const { requests, events } = await run(stage(compact as never), { history });
    expect(requests[0]!.messages.map((m) => m.id)).toEqual(["a", "b", "c", "user-1"]);
    expect(of(events, "fault")[0]!.fault).toMatchObject({ who: { point: "compaction" } });
  });
  it("discards a view that parts a call from its result", async () => {
    const { state, requests } = await run(
      { tools: [echo()], ...stage((view) => view.filter((m) => m.role !== "tool")) },
      { replies: [calls(["c", "Echo"]), says("done")] },
    );
    expect(state.outcome).toEqual({ kind: "completed" });
    expect(roles(requests[1]!.messages)).toEqual(["user", "assistant", "tool"]);
  });
  it("sends a smaller view when the model says it is too long, and fails when there is none", async () => {
    const tooLong = (): AsyncIterable<never> => {
      throw new ModelError("prompt is too long", { kind: "overflow", status: 400 });
    };
    const drop = {
      name: "drop",
      compact: (view: readonly Message[], budget: { overflowed: boolean }) => (budget.overflowed ? view.slice(1) : view),
    };
    const history: Message[] = [
      { role: "user", id: "old", parentId: null, at: 0, origin: { by: "user" }, content: [{ type: "text", text: "old" }] },
    ];
    const healed = await run({ compaction: [drop] }, { replies: [tooLong, says("ok")], history });
    expect(healed.state.outcome).toEqual({ kind: "completed" });
    expect(healed.requests.map((r) => r.messages.length)).toEqual([2, 1]);
    const stuck = await run({}, { replies: [tooLong, tooLong, tooLong], history });
    expect(stuck.state.outcome).toMatchObject({ kind: "failed", fault: { model: { kind: "overflow" } } });
    expect(stuck.requests).toHaveLength(3);
  });
  it.each([
    [
      "edits in place",
      (view: Message[]) => {
        view.splice(0, 1);
        return view;
      },
    ],
    ["drops every prompt", () => []],
    ["turns the order round", (view: Message[]) => [...view].reverse()],
    ["says a thing twice", (view: Message[]) => [...view, view[0]]],
    ["adds an attachment without content", (view: Message[]) => [...view, { role: "attachment", id: "x" }]],
  ])("a compaction that %s is discarded", async (_, compact) => {
    const history: Message[] = ["a", "b"].map((id) => ({
      role: "user",
      id,
      parentId: null,
      at: 0,
      origin: { by: "user" },
      content: [{ type: "text", text: id }],
    }));
    const { requests, events } = await run({ compaction: [{ name: "s", compact: compact as never }] }, { history });
    expect(requests[0]!.messages.map((m) => m.id)).toEqual(["a", "b", "user-1"]);
    expect(of(events, "stage.ran").find((e) => e.record.point === "compaction")!.record.status).toBe("failed");
  });
});
