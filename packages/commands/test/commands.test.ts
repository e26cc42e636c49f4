import { type Contributions, defineTool, type Provider, textOf, z } from "@heddle/kernel";
import { type Inputs, ownPlugin, pluginOf, type RunOptions, type RunResult, runTurnWith, scriptedModel } from "@heddle/testkit";
import { describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import plugin from "../src/index.ts";

const slash: Contributions = {
  classifiers: [
    {
      name: "slash",
      classify: ({ text }) => {
        const [, command, args = ""] = /^\/(\S+)\s*([\s\S]*)$/.exec(text) ?? [];
        return command === undefined ? undefined : { as: "command", command, args };
      },
    },
  ],
  commands: [
    { name: "deploy", kind: "local", summary: "Deploys it", hint: "<where>", run: () => ({ kind: "handled" }) },
    { name: "secret", kind: "local", summary: "Hidden", hidden: true, run: () => ({ kind: "handled" }) },
  ],
};
const type = (input: Inputs, o: RunOptions = {}, others = slash): Promise<RunResult> =>
  runTurnWith({ plugins: [ownPlugin(plugin, packageJson), pluginOf("other", others)], replies: ["done"], model: "m-1", input, ...o });
const changes = (r: RunResult) => r.events.flatMap((e) => (e.type === "session.changed" ? [e.change] : []));

describe("the built-in commands", () => {
  it("/help lists all that can be typed, by plugin", async () => {
    expect((await type("/help")).shown).toMatchInlineSnapshot(`
      [
        "@heddle/commands
        /help                   Lists the commands
        /clear                  Starts a new conversation; the old one stays in the log
        /model [name]           Shows or changes the model
        /effort [low … max]     Shows or changes how much the model thinks
        /context                Shows what takes how much of the window
        /cost                   Shows what the session has cost
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
    expect([r.shown, changes(r), r.requests]).toEqual([["A new conversation starts here."], [{ clear: true }], []]);
    const words = await type("/clear weather in the picture");
    expect(changes(words)).toEqual([]);
    expect(words.shown).toEqual(["Nothing was cleared: /clear stands alone. To send the line as text, put a blank before the slash."]);
    expect(words.events.at(-1)).toMatchObject({ next: { text: " /clear weather in the picture", submit: false } });
  });
  it.each(["/exit", "/quit"])("%s leaves", async (text) => {
    const r = await type(text);
    expect([r.shown, changes(r)]).toEqual([[], [{ exit: true }]]);
  });
  it.each([
    ["/model", "The model is m-1, from script. /model NAME changes it.", []],
    ["/model m-1", "The model is already m-1.", []],
    ["/model  m-2 ", "The model is now m-2.", [{ model: "m-2" }]],
    ["/model big one", 'A model name has no blanks: "big one". The model stays m-1.', []],
  ])("%s: %s", async (text, answer, expected) => {
    const r = await type(text);
    expect([r.shown, changes(r)]).toEqual([[answer], expected]);
  });
  it("/model lists the names that are known, and says what they stand for", async () => {
    const models = { fast: "m-1", sharp: "script/m-2", "other/m-3": "other/m-3" };
    const own = [ownPlugin(plugin, packageJson, { models }), pluginOf("other", slash)];
    const ran = async (text: string, o: RunOptions = {}) => {
      const r = await type(text, { plugins: own, modelAliases: models, ...o });
      return [r.shown, changes(r)];
    };
    const list = ["  fast       m-1", "  sharp      script/m-2", "  other/m-3"].join("\n");
    expect(await ran("/model")).toEqual([[`The model is m-1, from script. /model NAME changes it.\n${list}`], []]);
    expect(await ran("/model fast")).toEqual([["The model is already m-1."], []]);
    expect(await ran("/model sharp")).toEqual([["The model is now script/m-2."], [{ model: "sharp" }]]);
  });
  it.each([
    ["/effort", "The effort is that of the model. /effort LEVEL changes it: low, medium, high, xhigh, max.", []],
    ["/effort  high ", "The effort is now high.", [{ effort: "high" }]],
    ["/effort huge", 'There is no effort "huge", only low, medium, high, xhigh, max. It stays that of the model.', []],
  ])("%s: %s", async (text, answer, expected) => {
    const r = await type(text);
    expect([r.shown, changes(r)]).toEqual([[answer], expected]);
  });
  it("/cost names what broke the cached prefix, and what that cost", async () => {
    const usage = { input: 1_100, output: 1 };
    const tiers = [{ input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 }];
    const shop: Provider = {
      name: "shop",
      async *stream() {
        yield { type: "text", part: 0, text: "hi" };
        yield { type: "stop", stop: "end", usage };
      },
      info: (id) => ({ id, ...(id === "m-1" ? { prices: { at: "2026-01-01", tiers } } : {}) }),
    };
    const inputs = ["x".repeat(3600), "/model free", "hi", "/model m-1", "hi", "/cost"];
    const r = await type(inputs, { provider: "shop" }, { ...slash, providers: [shop] });
    expect(r.shown.at(-1)!.split("\n\n")[2]).toMatchInlineSnapshot(`
      "Paid for anew, because the cached beginning of the request changed, more than reading it would have cost:
        the model changed from m-1 to free: about 1,016 tokens, price unknown
        the model changed from free to m-1: about 1,032 tokens, $0.0024"
    `);
  });
  it("/cost says what each model has cost", async () => {
    expect((await type("/cost")).shown).toEqual(["No model has been called yet."]);
    const usage = { input: 1200, output: 34, cacheRead: 5000, cacheWrite: 600 };
    const tiers = [{ input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 }];
    const asked = (more: Partial<Provider>): Promise<RunResult> => {
      const shop: Provider = {
        name: "shop",
        async *stream() {
          yield { type: "text", part: 0, text: "hi" };
          yield { type: "stop", stop: "end", usage };
        },
        ...more,
      };
      return type(["hi", "/cost"], { provider: "shop" }, { ...slash, providers: [shop] });
    };
    expect((await asked({ info: (id) => ({ id, prices: { at: "2026-01-01", tiers } }) })).shown).toMatchInlineSnapshot(`
      [
        "$0.0052 · 0.0 s of waiting for models

      model     calls  input  cache read  cache write  output     USD
      shop/m-1      1  1,200       5,000          600      34  0.0052",
      ]
    `);
    expect((await asked({})).shown).toMatchInlineSnapshot(`
      [
        "Cost not known · 0.0 s of waiting for models

      model     calls  input  cache read  cache write  output  USD
      shop/m-1      1  1,200       5,000          600      34    ?

      No price is known of shop/m-1: "models" of the settings takes one.",
      ]
    `);
  });
  it("/context draws what takes how much", async () => {
    const upTo = (size: number, around: unknown): string => "x".repeat(size - JSON.stringify(around).length);
    const schema = { type: "object" };
    const description = upTo(9000, { name: "Big", description: "", schema });
    const rules = upTo(3600, [{ plugin: "other", name: "rules", text: "" }]);
    const full: Contributions = {
      ...slash,
      systemPrompt: [{ name: "rules", placement: "system", build: () => rules }],
      tools: [
        defineTool({
          name: "Big",
          description,
          input: z.object({}),
          jsonSchema: schema,
          overlap: "shared",
          effects: () => [],
          run: () => "",
        }),
      ],
    };
    const context = (windowTokens: number): Promise<RunResult> => {
      const replies = scriptedModel(["done"], { windowTokens });
      return type([upTo(90_000, [{ type: "text", text: "" }]), "/context"], { replies }, full);
    };
    expect((await context(100_000)).shown).toMatchInlineSnapshot(`
      [
        "m-1: about 28.5k of 100.0k tokens (28.5%)

      tools          █·····························    2.5k    2.5%
      system prompt  █·····························    1.0k    1.0%
      context        █·····························       1    0.0%
      your messages  ████████······················   25.0k   25.0%
      replies        █·····························       9    0.0%
      tool results   ······························       0    0.0%
      attachments    ······························       0    0.0%
      free           █████████████████████·········   71.5k   71.5%",
      ]
    `);
    expect((await context(20_000)).shown[0]).toContain("over the limit");
    const replies = scriptedModel([], { windowTokens: 0 });
    expect((await type("/context", { replies })).shown[0]).toContain("of 200.0k tokens (0.0%)");
  });
  it("/init asks the model, and passes on what the person adds", async () => {
    const plain = await type("/init");
    const text = (r: RunResult): string => textOf(r.requests[0]!.messages.flatMap((m) => (m.role === "user" ? m.content : [])));
    expect(text(plain)).toMatch(/^Write an AGENTS\.md/);
    expect(plain.outcome).toEqual({ kind: "completed" });
    expect(text(await type("/init the tests\nmatter"))).toBe(`${text(plain)}\n\nThe person adds: the tests\nmatter`);
  });
});
