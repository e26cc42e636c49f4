import type { Message } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import { type Ran, type RunOptions, run as runTurn } from "../../kernel/test/harness.ts";
import { readInput } from "../src/session/read-input.ts";

const run = (contributions: Parameters<typeof runTurn>[0], o: RunOptions = {}): Promise<Ran> =>
  runTurn(contributions, { ...o, env: { read: readInput, ...o.env } });

const roles = (messages: readonly Message[]): string[] => messages.map((m) => m.role);

describe("input", () => {
  const classify = (answer: unknown) => ({ classifiers: [{ name: "c", classify: () => answer as never }] });
  const command = (result: unknown, kind: "local" | "prompt" = "local") => ({
    ...classify({ as: "command", command: "do", args: "x y" }),
    commands: [{ name: "do", kind, summary: "", run: () => result as never }],
  });

  it("ends a local command without the model", async () => {
    const { state, requests } = await run(command({ kind: "handled", show: "shown", context: "kept", change: { model: "other" } }));
    expect(state.outcome).toEqual({ kind: "handled", command: "do" });
    expect(state.change).toEqual({ model: "other" });
    expect(state.added).toMatchObject([
      { role: "user", isMeta: true, content: [{ text: "kept" }] },
      { role: "system", subtype: "command-output", text: "shown" },
    ]);
    expect(requests).toHaveLength(0);
  });

  it("asks the model what a prompt command expands to, under its controls", async () => {
    const controls = { model: "fake/small", allowedTools: ["Echo"], nextInput: "then this", submitNextInput: true };
    const { state, requests, events } = await run(
      command({ kind: "prompt", content: [{ type: "text", text: "expanded" }], controls }, "prompt"),
    );
    expect(requests[0]).toMatchObject({
      model: "small",
      messages: [{ content: [{ text: "expanded" }], origin: { by: "plugin", name: "do" } }],
    });
    expect(state.controls).toEqual(controls);
    expect(events.at(-1)).toMatchObject({ next: { text: "then this", submit: true } });
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("no");
      },
      "threw: no",
    ],
    ["returns rubbish", () => 42, "returned something unusable"],
  ])("tells the person when a command %s", async (_, runIt, why) => {
    const { state } = await run({ ...command(undefined), commands: [{ name: "do", kind: "local", summary: "", run: runIt as never }] });
    expect(state.outcome).toEqual({ kind: "handled", command: "do" });
    expect(state.added).toMatchObject([{ role: "system", level: "error", text: expect.stringContaining(why) }]);
  });

  it("takes a classifier that fails for silent", async () => {
    const { state } = await run({
      classifiers: [
        {
          name: "bad",
          classify: () => {
            throw new Error("x");
          },
        },
      ],
    });
    expect(state.outcome).toEqual({ kind: "completed" });
  });

  it("refuses an empty prompt", async () => {
    const { state, requests } = await run({}, { input: { text: "  \n", source: "repl" } });
    expect([state.outcome, requests.length]).toEqual([{ kind: "blocked", why: "The prompt is empty." }, 0]);
  });

  it.each([
    ["block", [], "blocked"],
    ["stop", ["user"], "blocked"],
  ])("admission: %s", async (say, kept, kind) => {
    const { state, requests } = await run({
      admission: [
        { name: "ok", admit: () => ({ say: "pass" }) },
        { name: "no", admit: () => ({ say: say as "block", why: "not now" }) },
      ],
    });
    expect(state.outcome).toEqual({ kind, why: "not now" });
    expect(roles(state.added)).toEqual([...kept, "system"]);
    expect(requests).toHaveLength(0);
  });

  it("adds what admission has to say behind the prompt", async () => {
    const { requests } = await run({ admission: [{ name: "note", admit: () => ({ say: "pass", context: "mind the gap" }) }] });
    expect(roles(requests[0]!.messages)).toEqual(["user", "attachment"]);
  });

  it("blocks when a blocker is broken, and says how to be rid of it", async () => {
    const { state } = await run({
      admission: [
        {
          name: "broken",
          admit: () => {
            throw new Error("x");
          },
        },
      ],
    });
    expect(state.outcome).toMatchObject({ kind: "blocked", why: expect.stringContaining('disable plugin "acme"') });
  });
});
