import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Contributions, defineAttachment, defineTool, type ModelChunk, ModelError, type SetupContext, z } from "@heddle/kernel/plugin";
import { afterEach, describe, expect, it } from "vitest";
import { type CheckOptions, checkPlugin, type Finding, type PluginMore, plugin } from "../src/index.ts";

const tool = (over: object = {}): ReturnType<typeof defineTool> =>
  defineTool({
    name: "Echo",
    description: "Says it again",
    input: z.object({ text: z.string() }),
    overlap: "shared",
    effects: () => [],
    run: ({ text }: { text: string }) => text,
    ...over,
  });
const note = (collect: () => unknown, over: object = {}): ReturnType<typeof defineAttachment> =>
  defineAttachment({ name: "note", schema: z.object({}), when: "turn", collect: collect as () => [], render: () => "a note", ...over });
const tools = { tools: ["Echo"] };

async function findings(
  contributes: Parameters<typeof plugin>[1],
  setup: (ctx: SetupContext) => Contributions | Promise<Contributions>,
  o: CheckOptions & { more?: PluginMore } = {},
): Promise<readonly Finding[]> {
  return (await checkPlugin(plugin("acme", contributes, setup, o.more), o)).findings;
}

const made: string[] = [];
afterEach(() => {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
});
function folder(json: object, code = ""): string {
  const dir = mkdtempSync(join(tmpdir(), "heddle-check-"));
  made.push(dir);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "package.json"), JSON.stringify(json));
  writeFileSync(join(dir, "index.js"), code);
  return dir;
}

describe("checkPlugin", () => {
  it("passes a good plugin, with samples of its tools and commands", async () => {
    const greet = {
      name: "greet",
      kind: "local" as const,
      summary: "Greets",
      run: (args: string) => ({ kind: "handled" as const, show: args }),
    };
    const setup = (): Contributions => ({ tools: [tool()], commands: [greet], attachments: [note(() => [{}])] });
    const report = await checkPlugin(plugin("acme", { ...tools, commands: ["greet"], attachments: ["note"] }, setup), {
      samples: { tools: { Echo: [{ text: "a" }] }, commands: { greet: ["Ada"] } },
    });
    expect(report).toEqual({ plugin: "acme", ok: true, findings: [], warnings: [], text: 'plugin "acme": all checks passed' });
  });

  it("names a manifest that does not match, and one that is wrong", async () => {
    const from = 'plugin "acme"@1.0.0 (the test): ';
    expect(await findings({ tools: ["Other"] }, () => ({ tools: [tool()] }))).toEqual([
      {
        check: "setup",
        message: `${from}setup returns tools "Echo", but heddle.contributes.tools in package.json does not name it; heddle.contributes.tools in package.json names "Other", but setup does not return it`,
      },
    ]);
    const wrong = await findings(tools, () => ({ tools: [tool()] }), { more: { api: "^9.0.0" } });
    expect(wrong.map((f) => f.check)).toEqual(["manifest"]);
    expect(wrong[0]?.message).toContain(`${from}was built for plugin API ^9.0.0`);
  });

  it("names a setup that hangs or throws", async () => {
    const hangs = await findings({}, () => new Promise(() => {}), { setupMs: 50 });
    const throws = await findings({}, () => Promise.reject(new Error("no key")));
    expect([...hangs, ...throws]).toEqual([
      { check: "setup", message: 'plugin "acme"@1.0.0 (the test): its setup gave no answer within 50 ms' },
      { check: "setup", message: 'plugin "acme"@1.0.0 (the test): its setup threw: no key' },
    ]);
  });

  it("names a second setup that fails or gives something else", async () => {
    let open = 0;
    const once = await findings({}, () => {
      if (open++ > 0) throw new Error("port 80 is taken");
      return {};
    });
    expect(once.filter((f) => f.check === "setup twice").map((f) => f.message)).toEqual([
      'set up while it was active already: plugin "acme"@1.0.0 (the test): its setup threw: port 80 is taken; keep all state in what setup makes',
      'set up after its dispose: plugin "acme"@1.0.0 (the test): its setup threw: port 80 is taken; keep all state in what setup makes',
    ]);
  });

  it("names handles that are left, and a dispose that throws", async () => {
    const timers: ReturnType<typeof setInterval>[] = [];
    const leaks = await findings({}, () => {
      timers.push(setInterval(() => {}, 60_000));
      return {};
    });
    for (const t of timers) clearInterval(t);
    expect(leaks.map((f) => [f.check, f.message.replace(/ \d+ times/, "")])).toEqual([
      ["handles", 'plugin "acme" leaves a timer (Timeout) after its dispose; end it in a function given to ctx.onDispose()'],
    ]);
    const clean = await findings({}, (ctx) => {
      const timer = setInterval(() => {}, 60_000);
      ctx.onDispose(() => clearInterval(timer));
      return {};
    });
    expect(clean).toEqual([]);
    const throws = await findings({}, (ctx) => {
      ctx.onDispose(() => {
        throw new Error("already closed");
      });
      return {};
    });
    expect(throws).toEqual([{ check: "dispose", message: 'plugin "acme"@1.0.0 (the test): its dispose threw: already closed' }]);
  });

  it("names schemas that no model can read, and deadlines that never end", async () => {
    const bad = tool({ input: z.object({ at: z.date() }) });
    const list = tool({ name: "List", input: z.array(z.string()) });
    const slow = note(() => [], { deadlineMs: 1e9, schema: z.bigint() });
    const found = await findings({ tools: ["Echo", "List"], attachments: ["note"] }, () => ({ tools: [bad, list], attachments: [slow] }));
    expect(found.filter((f) => f.check !== "call")).toEqual([
      { check: "deadline", message: 'attachments "note" has a deadline of 1000000000 ms; choose one above 0 and up to 600000' },
      {
        check: "schema",
        message: 'the input schema of tool "Echo" cannot be turned into a JSON Schema: Date cannot be represented in JSON Schema',
      },
      { check: "schema", message: 'the input schema of tool "List" is not that of an object; model APIs take nothing else' },
      {
        check: "schema",
        message: 'the schema of attachment "note" cannot be turned into a JSON Schema: BigInt cannot be represented in JSON Schema',
      },
    ]);
  });

  it("names a contribution that throws, returns rubbish or hangs in a turn, and a sample that fails", async () => {
    const call = async (collect: () => unknown): Promise<readonly Finding[]> =>
      findings({ attachments: ["note"] }, () => ({ attachments: [note(collect)] }), { turnMs: 100 });
    const who = 'plugin "acme" (attachments "note")';
    expect([
      ...(await call(() => {
        throw new Error("boom");
      })),
      ...(await call(() => 42)),
      ...(await call(() => new Promise(() => {}))),
    ]).toEqual([
      { check: "call", message: `${who} threw: boom` },
      { check: "call", message: `${who} returned something unusable: value: Invalid input: expected array, received number` },
      { check: "call", message: `${who} gave no answer within 100 ms` },
    ]);
    expect(await findings(tools, () => ({ tools: [tool()] }), { samples: { tools: { Echo: [{ text: 1 }] } } })).toEqual([
      {
        check: "call",
        message:
          'tool "Echo" answered its sample with an error: The call was not run, because its arguments are wrong. text: Invalid input: expected string, received number',
      },
    ]);
  });

  it("names a gate, an afterTool, a prompt part and a classifier that throw on what is made up", async () => {
    const boom = (): never => {
      throw new Error("boom");
    };
    const contributions = {
      classifiers: [{ name: "c", classify: boom }],
      systemPrompt: [{ name: "p", placement: "system" as const, build: boom }],
      closers: [{ name: "e", close: boom }],
      gates: [{ name: "g", judge: boom }],
    };
    const points = { classifiers: ["c"], systemPrompt: ["p"], gates: ["g"], closers: ["e"] };
    expect((await findings(points, () => contributions)).map((f) => f.message).sort()).toEqual(
      ['classifiers "c"', 'closers "e"', 'gates "g"', 'systemPrompt "p"'].map((what) => `plugin "acme" (${what}) threw: boom`),
    );
    expect(await findings({ afterTool: ["a"] }, () => ({ afterTool: [{ name: "a", after: boom }] }))).toEqual([
      { check: "call", message: 'plugin "acme" (afterTool "a") threw: boom' },
    ]);
    const judged: string[] = [];
    const judge = (_: { tool: string }, effects: readonly { kind: string }[]) => {
      judged.push(...effects.map((e) => e.kind));
      return { say: "deny" as const, why: "never" };
    };
    expect(await findings({ gates: ["g"] }, () => ({ gates: [{ name: "g", judge }] }))).toEqual([]);
    expect(judged).toEqual(["read", "write", "execute", "network", "other"]);
  });

  it("asks each provider something small, and stops one that does not answer", async () => {
    const ask = async (stream: () => AsyncIterable<ModelChunk>, more: object = {}): Promise<string> => {
      const provider = { name: "x", stream, ...more };
      return (
        await checkPlugin(
          plugin("acme", { providers: ["x"] }, () => ({ providers: [provider] })),
          { turnMs: 100 },
        )
      ).text;
    };
    const who = 'plugin "acme" (providers "x")';
    const good = async function* (): AsyncIterable<ModelChunk> {
      yield { type: "text", part: 0, text: "hi" };
      yield { type: "stop", stop: "end" };
    };
    expect([
      await ask(good),
      await ask(() => {
        throw new Error("never works");
      }),
      await ask(async function* () {
        yield* [];
      }),
      await ask(async function* () {
        await new Promise(() => {});
        yield* [];
      }),
      await ask(() => {
        throw new ModelError("no key", { kind: "auth" });
      }),
      await ask(good, {
        window() {
          throw new Error("what model?");
        },
      }),
      await ask(good, {
        encode() {
          throw new Error("too odd");
        },
      }),
    ]).toEqual([
      'plugin "acme": all checks passed',
      `call: ${who} threw: never works`,
      `call: ${who} returned something unusable: a stream that ends without a stop chunk`,
      'plugin "acme": all checks passed',
      `plugin "acme": all checks passed, but:\nwarning, call: ${who} no key`,
      `call: ${who} threw: what model?`,
      `call: ${who} threw: too odd`,
    ]);
  });

  it("runs each command without arguments, which it may refuse, but not on a sample", async () => {
    const run = (args: string): never => {
      throw new Error(`what is "${args}"?`);
    };
    const usage = {
      name: "usage",
      kind: "local" as const,
      summary: "",
      run: () => ({ kind: "handled" as const, level: "error" as const, show: "how" }),
    };
    const spin = {
      ...usage,
      name: "spin",
      run: () => ({ kind: "handled" as const, controls: { nextInput: "/spin", submitNextInput: true } }),
    };
    const candidate = plugin("acme", { commands: ["c", "usage", "spin"] }, () => ({
      commands: [{ name: "c", kind: "local" as const, summary: "", run }, usage, spin],
    }));
    const who = 'plugin "acme" (commands "c")';
    const warning = { check: "call", message: `${who} threw: what is ""?` };
    expect(await checkPlugin(candidate)).toEqual({
      plugin: "acme",
      ok: true,
      findings: [],
      warnings: [warning],
      text: `plugin "acme": all checks passed, but:\nwarning, call: ${who} threw: what is ""?`,
    });
    const report = await checkPlugin(candidate, { samples: { commands: { c: ["x"] } } });
    expect([report.ok, report.findings, report.warnings]).toEqual([
      false,
      [{ check: "call", message: `${who} threw: what is "x"?` }],
      [warning],
    ]);
  });

  it("reads a folder as it is", async () => {
    const heddle = { manifest: 1, api: "^1.0.0", main: "./index.js" };
    const good = folder({ name: "x", version: "1.0.0", type: "module", heddle }, "export default { setup: () => ({}) };");
    expect(await checkPlugin(good)).toEqual({ plugin: "x", ok: true, findings: [], warnings: [], text: 'plugin "x": all checks passed' });
    const none = folder({ name: "x", version: "1.0.0" });
    expect((await checkPlugin(none)).text).toBe(
      `manifest: ${join(none, "package.json")} has no "heddle" key, so it is not a plugin; add one`,
    );
    const anonymous = folder({ heddle });
    expect((await checkPlugin(anonymous)).text).toBe(
      `manifest: ${join(anonymous, "package.json")} has no "name" or no "version"; add them`,
    );
    expect((await checkPlugin(join(good, "gone"))).text).toMatch(/^manifest: .*package\.json cannot be read: ENOENT/);
  });

  it("names a socket and what a module opens when it is loaded", () => {
    const heddle = { manifest: 1, api: "^1.0.0", main: "./index.js" };
    const dir = folder(
      { name: "x", version: "1.0.0", type: "module", heddle },
      `import { createServer } from "node:net";\ncreateServer().listen(0);\nexport default { setup: () => ({}) };`,
    );
    const script = `import { checkPlugin } from ${JSON.stringify(new URL("../src/index.ts", import.meta.url).href)};\nprocess.stdout.write((await checkPlugin(${JSON.stringify(dir)})).text, () => process.exit(0));`;
    const args = ["--conditions=@heddle/source", "--import", "tsx", "--input-type=module", "-e", script];
    const ran = spawnSync(process.execPath, args, { encoding: "utf8", cwd: join(import.meta.dirname, "../../..") });
    expect(ran.stderr + ran.stdout).toBe(
      'handles: plugin "x" leaves a server that listens (TCPServerWrap) after its dispose; end it in a function given to ctx.onDispose()',
    );
  });
});
