import type { Contributions } from "@heddle/kernel";
import { textOf } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import plugin from "../src/index.ts";
import { type Ran, run, shown } from "./harness.ts";

const more: Contributions = {
  classifiers: [
    {
      name: "slash",
      classify: ({ text }) => {
        const [, command = "", args = ""] = /^\/(\S+)\s*([\s\S]*)$/.exec(text)!;
        return { as: "command", command, args };
      },
    },
  ],
  commands: [
    { name: "deploy", kind: "local", summary: "Deploys it", hint: "<where>", run: () => ({ kind: "handled" }) },
    { name: "secret", kind: "local", summary: "Hidden", hidden: true, run: () => ({ kind: "handled" }) },
  ],
};
type Window = { parts: { label: string; size: number }[]; limit: number };
const type = (input: string, window: Window = { parts: [], limit: 1000 }): Promise<Ran> =>
  run({ plugin, capabilities: { session: { window: () => window } }, input, others: more });
const changes = (r: Ran) => r.events.flatMap((e) => (e.type === "session.changed" ? [e.change] : []));

describe("the built-in commands", () => {
  it("/help lists all that can be typed, by plugin", async () => {
    expect(shown(await type("/help"))).toMatchInlineSnapshot(`
      [
        "own
        /help                   Lists the commands
        /clear                  Starts a new conversation; the old one stays in the log
        /model [name]           Shows or changes the model
        /context                Shows what takes how much of the window
        /init [what to stress]  Writes or improves AGENTS.md
        /exit                   Leaves heddle

      other
        /deploy <where>         Deploys it

      !command runs in the shell. A leading blank sends a line as text.",
      ]
    `);
  });
  it("/clear starts a new conversation, and only when it stands alone", async () => {
    const r = await type("/clear");
    expect([shown(r), changes(r), r.requests]).toEqual([["A new conversation starts here."], [{ clear: true }], []]);
    const words = await type("/clear weather in the picture");
    expect(changes(words)).toEqual([]);
    expect(shown(words)).toEqual(["Nothing was cleared: /clear stands alone. To send the line as text, put a blank before the slash."]);
    expect(words.events.at(-1)).toMatchObject({ next: { text: " /clear weather in the picture", submit: false } });
  });
  it.each(["/exit", "/quit"])("%s leaves", async (text) => {
    const r = await type(text);
    expect([shown(r), changes(r)]).toEqual([[], [{ exit: true }]]);
  });
  it.each([
    ["/model", "The model is m-1, from fake. /model NAME changes it.", []],
    ["/model m-1", "The model is already m-1.", []],
    ["/model  m-2 ", "The model is now m-2.", [{ model: "m-2" }]],
    ["/model big one", 'A model name has no blanks: "big one". The model stays m-1.', []],
  ])("%s: %s", async (text, answer, expected) => {
    const r = await type(text);
    expect([shown(r), changes(r)]).toEqual([[answer], expected]);
  });
  it("/context draws what takes how much", async () => {
    const parts = [
      { label: "system prompt", size: 3600 },
      { label: "tools", size: 9000 },
      { label: "messages", size: 90_000 },
      { label: "empty", size: 0 },
    ];
    expect(shown(await type("/context", { parts, limit: 360_000 }))).toMatchInlineSnapshot(`
      [
        "m-1: about 28.5k of 100.0k tokens (28.5%)

      system prompt  █·····························    1.0k    1.0%
      tools          █·····························    2.5k    2.5%
      messages       ████████······················   25.0k   25.0%
      empty          ······························       0    0.0%
      free           █████████████████████·········   71.5k   71.5%",
      ]
    `);
    expect(shown(await type("/context", { parts, limit: 72_000 }))[0]).toContain("over the limit");
    expect(shown(await type("/context", { parts: [], limit: 0 }))[0]).toContain("about 0 of 0 tokens (-)");
  });
  it("/init asks the model, and passes on what the person adds", async () => {
    const plain = await type("/init");
    const text = (r: Ran): string => textOf(r.requests[0]!.messages.flatMap((m) => (m.role === "user" ? m.content : [])));
    expect(text(plain)).toMatch(/^Write an AGENTS\.md/);
    expect(plain.state.outcome).toEqual({ kind: "completed" });
    expect(text(await type("/init the tests\nmatter"))).toBe(`${text(plain)}\n\nThe person adds: the tests\nmatter`);
  });
});
