import { type AssistantMessage, type Message, type ModelRequest, textOf, unpaired } from "@heddle/kernel";
import { defineTool, z } from "@heddle/kernel/plugin";
import { ownPlugin, pluginOf, type Reply, type RunOptions, runTurnWith, scriptedModel, startWith, testHost } from "@heddle/testkit";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import definition from "../src/index.ts";

const own = ownPlugin(definition, packageJson, { dir: "/state/results" });
const TOO_LONG: Reply = { fails: { kind: "overflow", status: 400, message: "prompt is too long" } };
const base = (id: string) => ({ id, parentId: null, at: 0 });
const model = { by: "model", provider: "script", model: "scripted" } as const;
const user = (id: string, text: string, isMeta = false): Message => ({
  ...base(id),
  role: "user",
  origin: { by: "user" },
  content: [{ type: "text", text }],
  ...(isMeta ? { isMeta } : {}),
});
const says = (id: string, text: string): AssistantMessage => ({
  ...base(id),
  role: "assistant",
  origin: model,
  content: [{ type: "text", text }],
  stop: "end",
});
const asks = (id: string): AssistantMessage => ({
  ...base(`m${id}`),
  role: "assistant",
  origin: model,
  content: [{ type: "tool-call", callId: id, tool: "Big", input: {} }],
  stop: "tool-calls",
});
const answers = (id: string, text: string): Message => ({
  ...base(`r${id}`),
  role: "tool",
  origin: { by: "kernel" },
  callId: id,
  tool: "Big",
  outcome: "ok",
  content: [{ type: "text", text }],
});
const step = (id: string, size: number): Message[] => [asks(id), answers(id, `<${id}>${"x".repeat(size)}</${id}>`)];
const sizes = (r: ModelRequest): { [id: string]: number } =>
  Object.fromEntries(r.messages.map((m) => [m.id, JSON.stringify("content" in m ? m.content : "").length]));
const sizeOf = (r: ModelRequest): number => Object.values(sizes(r)).reduce((a, b) => a + b, 0);
const run = (o: RunOptions) => runTurnWith({ plugins: [own], ...o });

describe("shorten", () => {
  const history = [user("u1", "read it all"), ...step("a", 30_000), ...step("b", 30_000), ...step("c", 1_000), says("s1", "done")];

  it("leaves a view alone that was not refused, however large", async () => {
    const { requests, events } = await run({ history, replies: scriptedModel(["fine"], { windowTokens: 100 }) });
    expect(requests[0]?.messages.slice(0, history.length)).toEqual(history);
    expect(events.flatMap((e) => (e.type === "stage.ran" && e.record.point === "compaction" ? [e.record.status] : []))).toEqual(["no-op"]);
  });

  it("cuts the oldest results first, and no more of them than it has to, with the whole of each in a file of its own", async () => {
    const host = testHost();
    const { requests, outcome, refused } = await run({ host, stateDir: "/s", history, replies: [TOO_LONG, "fine"] });
    const [before, after] = requests.map(sizes);
    expect([outcome, refused]).toEqual([{ kind: "completed" }, []]);
    expect({ ...after, ra: 0 }).toEqual({ ...before, ra: 0 });
    const cut = requests[1]?.messages.find((m) => m.id === "ra");
    const text = cut?.role === "tool" ? textOf(cut.content) : "";
    expect(text).toMatch(
      /^<a>x+\n\n\[28207 of 30007 characters left out, because .* The full text is in \/state\/results\/a\.txt\.\]\n\nx+<\/a>$/,
    );
    expect([host.text("/state/results/a.txt"), host.text("/state/results/b.txt")]).toEqual([`<a>${"x".repeat(30_000)}</a>`, undefined]);
    expect((await host.fs.stat("/state/results/a.txt"))?.mode).toBe(0o600);
  });

  it("goes under 70 % of a limit that was passed, and to 60 % of a view that was refused below the limit", async () => {
    const many = [user("u1", "go"), ...Array.from({ length: 20 }, (_, i) => step(`c${i}`, 5_000)).flat(), says("s1", "done")];
    const replies = (windowTokens: number) => scriptedModel([TOO_LONG, "fine"], { windowTokens });
    const known = await run({ history: many, replies: replies(20_000) });
    const wrong = await run({ history: many, replies: replies(200_000) });
    const share = (r: readonly ModelRequest[], of: number): number => Math.ceil((sizeOf(r[1]!) / of) * 10) / 10;
    expect([share(known.requests, 20_000 * 3.6), share(wrong.requests, sizeOf(wrong.requests[0]!))]).toEqual([0.7, 0.6]);
  });

  it("spares what the model is about to read, unless nothing else is left", async () => {
    const big = pluginOf("big", {
      tools: [
        defineTool({
          name: "Big",
          description: "",
          input: z.object({}),
          overlap: "shared",
          effects: () => [],
          outputLimit: 100_000,
          run: () => "y".repeat(40_000),
        }),
      ],
    });
    const call = { calls: [{ tool: "Big", input: {}, callId: "now" }] };
    const both = await run({ plugins: [own, big], history, replies: [call, TOO_LONG, "fine"] });
    const last = both.requests.at(-1)!;
    const resultOf = (id: string): number => JSON.stringify(last.messages.find((m) => m.role === "tool" && m.callId === id)).length;
    expect([resultOf("a") < 3_000, resultOf("now") > 40_000]).toEqual([true, true]);
    const alone = await run({ plugins: [own, big], replies: [call, TOO_LONG, "fine"] });
    expect([alone.outcome, sizeOf(alone.requests[2]!) < 3_000]).toEqual([{ kind: "completed" }, true]);
  });

  it("drops the oldest turns behind an attachment when results are not enough", async () => {
    const talk = [1, 2, 3, 4].flatMap((n) => [user(`u${n}`, "q".repeat(5_000)), says(`s${n}`, "a".repeat(5_000))]);
    const { requests, outcome, refused } = await run({ history: talk, input: "and now?", replies: [TOO_LONG, "fine"] });
    const shown = requests[1]!.messages.map((m) => (m.role === "attachment" ? m.kind : m.role === "user" ? textOf(m.content)[0] : m.id));
    expect([outcome, refused, shown]).toEqual([{ kind: "completed" }, [], ["q", "left-out", "s3", "q", "s4", "a"]]);
  });

  it("gives the same bytes in every later request, without being refused again", async () => {
    const runtime = await startWith({ plugins: [own], replies: [TOO_LONG, "one", "two", "three"] });
    const session = await runtime.open({ history });
    const first = await session.run("a");
    const later = await session.run(["b", "c"]);
    const before = first.requests[1]!.messages;
    for (const r of later.requests) expect(JSON.stringify(r.messages.slice(0, before.length))).toBe(JSON.stringify(before));
    expect(later.requests).toHaveLength(2);
    await runtime.dispose();
  });

  it("does not wait for the next refusal when a view grows as large as one that was refused", async () => {
    const runtime = await startWith({ plugins: [own], replies: [TOO_LONG, "one", "two"] });
    const session = await runtime.open({ history });
    await session.run("a");
    const { requests } = await session.run("z".repeat(60_000));
    expect(requests.map((r) => sizeOf(r) < 66_000)).toEqual([true]);
    await runtime.dispose();
  });

  it("says how to get a result again when its file cannot be written", async () => {
    const host = testHost({ fails: (call) => (call === "writeFile" ? "ENOSPC" : undefined) });
    const { requests, logs } = await run({ host, stateDir: "/s", history, replies: [TOO_LONG, "fine"] });
    expect(JSON.stringify(requests[1]?.messages)).toContain("Make the call again if they are needed.");
    expect(logs.map((l) => l.text)).toEqual([expect.stringContaining('the full result of call "a" cannot be kept in /state/results')]);
  });

  it("never makes a view that the kernel refuses or that is larger, and never parts a call from its result", async () => {
    const turn = fc.record({
      prompt: fc.nat(6_000),
      steps: fc.array(fc.record({ size: fc.nat(20_000), image: fc.boolean() }), { maxLength: 4 }),
      steered: fc.boolean(),
      reply: fc.nat(6_000),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(turn, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 50, max: 60_000 }),
        fc.integer({ min: 1, max: 2 }),
        async (turns, windowTokens, times) => {
          let n = 0;
          const messages = turns.flatMap((t) => {
            const steps = t.steps.flatMap(({ size, image }) => {
              const [call, result] = step(`k${++n}`, size) as [Message, Message & { role: "tool" }];
              const picture = { type: "image" as const, mimeType: "image/png", data: "A".repeat(8_000) };
              return [call, image ? { ...result, content: [...result.content, picture] } : result];
            });
            const steered = t.steered && steps.length > 0 ? [user(`t${++n}`, "wait")] : [];
            return [user(`u${++n}`, `p${"q".repeat(t.prompt)}`), ...steps, ...steered, says(`s${++n}`, `r${"a".repeat(t.reply)}`)];
          });
          const replies = scriptedModel([...Array.from({ length: times }, () => TOO_LONG), "fine"], { windowTokens });
          const { requests, refused, events } = await run({ history: messages, replies });
          const failed = events.filter((e) => e.type === "stage.ran" && e.record.point === "compaction" && e.record.status === "failed");
          expect([refused, failed, requests.map((r) => unpaired(r.messages))]).toEqual([
            [],
            [],
            requests.map(() => ({ open: [], orphan: [] })),
          ]);
          for (const [i, r] of requests.entries()) if (i > 0) expect(sizeOf(r)).toBeLessThanOrEqual(sizeOf(requests[i - 1]!));
        },
      ),
      { numRuns: 60 },
    );
  });
});
