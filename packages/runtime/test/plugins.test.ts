import { type Capability, type Contributions, FS, PROCESS, SESSION, type Service, type SetupContext, service, z } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import type { Candidate } from "../src/index.ts";
import { Catalog } from "../src/session/catalog.ts";
import { gateway, pluginOf } from "./support.ts";
import { BAD, command, doing, fine, ids, said, setup, start } from "./support-plugins.ts";

describe("order", () => {
  const p = (id: string, manifest: object = {}): Candidate => pluginOf(id, {}, { manifest });

  it("is the list's, but for what is required or to come after", async () => {
    expect(await ids([p("a", { requires: { c: "*" } }), p("b", { after: ["d", "nobody"] }), p("c"), p("d")])).toEqual(["c", "a", "d", "b"]);
  });
  it("lets a circle of `after` be", async () => {
    expect(await ids([p("a", { after: ["b"] }), p("b", { after: ["a"] })])).toEqual(["b", "a"]);
  });
  it("names a circle of requirements and leaves the others alone", async () => {
    const plugins = [p("a", { requires: { b: "*" } }), p("b", { requires: { c: "*" } }), p("c", { requires: { a: "*" } }), p("d")];
    expect(await said(plugins)).toEqual(
      ["a", "b", "c"].map((id) => `order: plugin "${id}"@1.0.0 (built in): is in a circle of requirements: a -> b -> c -> a`),
    );
    expect(await ids(plugins)).toEqual(["d"]);
  });
  it("does not start what requires a plugin that did not start", async () => {
    const needs = pluginOf("needs", {}, { manifest: { requires: { bad: "*" } } });
    const needsMore = pluginOf("more", {}, { manifest: { requires: { needs: "*" } } });
    expect(
      await said([
        needsMore,
        needs,
        setup(() => {
          throw new Error("x");
        }),
      ]),
    ).toEqual([
      `setup: ${BAD}its setup threw: x`,
      'requires: plugin "needs"@1.0.0 (built in): not started, because it requires "bad", which did not start',
      'requires: plugin "more"@1.0.0 (built in): not started, because it requires "needs", which did not start',
    ]);
  });
  it("uses the first of two with one name", async () => {
    const second = pluginOf("fine", {}, { from: "folder /q" });
    const started = await start([fine, second]);
    expect(started.problems.map((x) => x.message)).toEqual([
      'plugin "fine"@1.0.0 (folder /q): not used, because the one from built in comes first; remove one of them',
    ]);
    expect(started.plugins.map((x) => x.from)).toEqual(["built in"]);
  });
});

describe("names", () => {
  const tool = (name: string, aliases?: string[]) => ({
    name,
    description: "",
    input: z.object({}),
    overlap: "shared" as const,
    effects: () => [],
    run: () => name,
    ...(aliases ? { aliases } : {}),
  });
  const renderer = { name: "card", surface: "tui", render: () => "" };
  const one = pluginOf("one", { tools: [tool("Echo", ["Say"])], commands: [command("deploy")], renderers: [renderer] });

  it.each<[string, Contributions, string, string]>([
    ["a tool", { tools: [tool("Echo")] }, 'tools "Echo"', '{"plugins":[{"package":"@acme/two","rename":{"tools/Echo":"AcmeEcho"}}]}'],
    [
      "an alias",
      { tools: [tool("Other", ["Say"])] },
      'tools "Say"',
      '{"plugins":[{"package":"@acme/two","rename":{"tools/Say":"AcmeSay"}}]}',
    ],
    [
      "a command",
      { commands: [command("deploy")] },
      'commands "deploy"',
      '{"plugins":[{"package":"@acme/two","rename":{"commands/deploy":"acme-deploy"}}]}',
    ],
    [
      "a renderer",
      { renderers: [renderer] },
      'renderers "card"',
      '{"plugins":[{"package":"@acme/two","rename":{"renderers/card":"acme-card"}}]}',
    ],
  ])("refuses a second owner of %s, names both and the line that helps", async (_, contributions, what, line) => {
    const second = pluginOf("@acme/two", contributions);
    expect(await said([one, second])).toEqual([
      `contributes: plugin "@acme/two"@1.0.0 (built in): ${what} is already the name of one of plugin "one"; rename one of them in the settings, for example ${line}`,
    ]);
    const { rename } = (JSON.parse(line) as { plugins: [{ rename: Record<string, string> }] }).plugins[0];
    expect(await said([one, { ...second, rename }])).toEqual([]);
  });

  it("names one in a folder by its path", async () => {
    const second = pluginOf("two", { commands: [command("deploy")] }, { dir: "/p/two" });
    expect((await said([one, second]))[0]).toContain('{"plugins":[{"path":"/p/two","rename":{"commands/deploy":"two-deploy"}}]}');
    const installed = pluginOf("two", { commands: [command("deploy")] }, { dir: "/p/node_modules/two" });
    expect((await said([one, installed]))[0]).toContain('{"plugins":[{"package":"two",');
  });

  it("lets one name be at two points, and twice where nothing is looked up by name", async () => {
    const two = pluginOf("two", {
      gates: [{ name: "Echo", judge: () => ({ say: "nothing" }) }],
      closers: [{ name: "x", close: () => undefined }],
    });
    expect(await said([one, two, { ...pluginOf("three", { closers: [{ name: "x", close: () => undefined }] }) }])).toEqual([]);
  });

  it("renames what the plugin still sees as its own", async () => {
    class Counter {
      #n = 0;
      readonly name = "Count";
      readonly description = "";
      readonly input = z.object({});
      readonly overlap = "shared" as const;
      effects = () => [];
      run(): string {
        return String(++this.#n);
      }
    }
    const it = new Counter();
    const { registry, plugins } = await start([pluginOf("c", { tools: [it] }, { rename: { "tools/Count": "AcmeCount" } })]);
    const entry = registry.find("tools", "AcmeCount")!;
    expect([entry.name, it.name, registry.find("tools", "Count")]).toEqual(["AcmeCount", "Count", undefined]);
    expect([entry.it.run({}, {} as never), entry.it.run({}, {} as never)]).toEqual(["1", "2"]);
    expect(plugins[0]!.contributes).toEqual([{ point: "tools", name: "AcmeCount" }]);
  });

  it("renames what is frozen, also its aliases", async () => {
    class Counter {
      #n = 0;
      readonly name = "Count";
      readonly aliases = Object.freeze(["Tally"]);
      readonly description = "";
      readonly input = z.object({});
      readonly overlap = "shared" as const;
      effects = () => [];
      run(): string {
        return String(++this.#n);
      }
    }
    const rename = { "tools/Count": "AcmeCount", "tools/Tally": "AcmeTally" };
    const { registry } = await start([pluginOf("c", { tools: [Object.freeze(new Counter())] }, { rename })]);
    const entry = registry.find("tools", "AcmeTally")!;
    expect([new Catalog(registry).list("tools"), registry.find("tools", "AcmeCount"), registry.find("tools", "Tally")]).toEqual([
      [{ plugin: "c", name: "AcmeCount", aliases: ["AcmeTally"] }],
      entry,
      undefined,
    ]);
    expect([entry.it.run({}, {} as never), entry.it.run({}, {} as never), entry.it.effects({}, {} as never)]).toEqual(["1", "2", []]);
    const one = await start([pluginOf("c", { tools: [Object.freeze(new Counter())] }, { rename: { "tools/Count": "Other" } })]);
    expect(one.registry.find("tools", "Tally")!.it.run({}, {} as never)).toBe("1");
  });

  it("says when the settings rename nothing, and keeps the plugin", async () => {
    const started = await start([{ ...one, rename: { "tools/Ecko": "X" } }]);
    expect(started.problems.map((x) => x.message)).toEqual([
      'plugin "one"@1.0.0 (built in): the settings rename "tools/Ecko", but it has nothing of that name',
    ]);
    expect(started.registry.find("tools", "Echo")?.plugin).toBe("one");
  });

  it("leaves out tools that nobody wants", async () => {
    const started = await start([one], { withoutTools: ["Say"] });
    expect([started.registry.all("tools"), started.registry.all("commands").length]).toEqual([[], 1]);
  });
});

describe("what setup may use", () => {
  const greeting: Service<string> = service("test/greeting");
  const provider = doing("provider", (ctx) => ctx.provide(greeting, "hello"));
  const bad = { from: "folder /p/bad" };
  const user = (manifest: object) => doing("bad", (ctx) => expect(ctx.use(greeting)).toBe("hello"), { ...bad, manifest });

  it("is a service of a plugin that it requires", async () => {
    const started = await start([user({ requires: { provider: "^1.0.0" } }), provider]);
    expect([started.problems, started.registry.use(greeting)]).toEqual([[], "hello"]);
  });
  it("is not a service of any other", async () => {
    expect(await said([provider, user({})])).toEqual([
      `setup: ${BAD}its setup threw: wants the service "test/greeting" of plugin "provider", which heddle.requires does not name`,
    ]);
    expect(await said([user({})])).toEqual([
      `setup: ${BAD}its setup threw: wants the service "test/greeting", which no plugin before it provides; name its provider in heddle.requires`,
    ]);
  });
  it("is a service that nobody else provides", async () => {
    const second = doing("bad", (ctx) => ctx.provide(greeting, "x"), bad);
    expect(await said([provider, second])).toEqual([
      `setup: ${BAD}its setup threw: provides the service "test/greeting", which plugin "provider" provides already`,
    ]);
  });
  it("is a capability that its manifest names and the host has", async () => {
    const wants = (token: Capability<unknown>, capabilities: string[]) =>
      doing("bad", (ctx) => void ctx.capability(token), { ...bad, manifest: { capabilities } });
    expect(await said([wants(FS, ["fs"])])).toEqual([]);
    expect(await said([wants(PROCESS, ["fs"])])).toEqual([
      `setup: ${BAD}its setup threw: wants the capability "process", which heddle.capabilities does not name`,
    ]);
    expect(await said([wants(SESSION, ["session"])])).toEqual([
      `setup: ${BAD}its setup threw: the capability "session" is not there during setup; ask for it in a call`,
    ]);
  });
  it("is its context no longer, once setup is over", async () => {
    let kept: SetupContext | undefined;
    await start([
      doing("bad", (ctx) => {
        kept = ctx;
      }),
    ]);
    expect(() => kept!.provide(greeting, "x")).toThrow('plugin "bad" used its setup context after setup was over');
  });
});

describe("dispose", () => {
  const leaving = (id: string, ...fns: (() => void | Promise<void>)[]): Candidate =>
    doing(id, (ctx) => {
      for (const fn of fns) ctx.onDispose(fn);
    });

  it("runs backwards, past what throws or hangs, and only once", async () => {
    const order: string[] = [];
    const note = (text: string) => () => void order.push(text);
    const hang = () => new Promise<void>(() => {});
    const started = await start([
      leaving("a", note("a1"), note("a2")),
      leaving("b", note("b1"), hang),
      leaving(
        "c",
        () => {
          throw new Error("x");
        },
        note("c2"),
      ),
    ]);
    const problems = await started.dispose();
    expect(order).toEqual(["c2", "b1", "a2", "a1"]);
    expect(problems.map((p) => `${p.stage}: ${p.message}`)).toEqual([
      'dispose: plugin "c"@1.0.0 (built in): its dispose threw: x',
      'dispose: plugin "b"@1.0.0 (built in): its dispose gave no answer within 30 ms',
    ]);
    expect(await started.dispose()).toBe(problems);
    expect(order).toHaveLength(4);
  });

  it("also cleans up after a setup that failed, and at once after one that was too late", async () => {
    const late = gateway();
    const closed: string[] = [];
    const failing = setup((ctx: SetupContext) => {
      ctx.onDispose(() => void closed.push("failed"));
      throw new Error("x");
    });
    const slow = pluginOf(
      "slow",
      {},
      {
        load: async () => ({
          setup: async (ctx: SetupContext) => {
            await late.promise;
            ctx.onDispose(() => void closed.push("late"));
            return {};
          },
        }),
      },
    );
    await start([failing, slow]);
    expect(closed).toEqual(["failed"]);
    late.open();
    await new Promise((resolve) => setImmediate(resolve));
    expect(closed).toEqual(["failed", "late"]);
  });
});
