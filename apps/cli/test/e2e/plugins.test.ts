/** Plugins of others in the built program: providers beside our own, and code that fails where nobody waits for it. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { modelRules } from "@heddle/anthropic-server";
import { describe, expect, it } from "vitest";
import { type World, world } from "./run.ts";

const hello = [{ text: "Hello there." }];
const NO_MODEL = { ANTHROPIC_API_KEY: "", ANTHROPIC_BASE_URL: "" };
const NO_SERVER = { ANTHROPIC_BASE_URL: "" };

function add(w: World, name: string, contributes: object, setup: string): void {
  const heddle = { manifest: 1, api: "^1.0.0", main: "./index.js", contributes };
  w.write(`home/.heddle/plugins/${name}/package.json`, JSON.stringify({ name, version: "1.0.0", type: "module", heddle }));
  w.write(`home/.heddle/plugins/${name}/index.js`, `export default { setup: () => (${setup}) };\n`);
}
const addEcho = (w: World): void =>
  add(
    w,
    "acme-echo",
    { providers: ["echo"] },
    `{ providers: [{ name: "echo", async *stream(request) {
      yield { type: "text", part: 0, text: request.model };
      yield { type: "stop", stop: "end" };
    } }] }`,
  );

describe("a provider of others", () => {
  it.each<[string, unknown, string[], string]>([
    ["a flag", {}, ["--model", "echo/any"], "any"],
    ["the model of the settings", { model: "echo/some-model" }, [], "some-model"],
    ["the provider of the settings", { provider: { name: "echo" }, model: "m" }, [], "m"],
    ["its name alone", { provider: "echo", model: "m" }, [], "m"],
  ])("answers without a key when %s names it, and doctor says so", async (_, settings, flags, model) => {
    const w = await world();
    addEcho(w);
    w.write("home/.heddle/settings.json", JSON.stringify(settings));
    const ran = await w.run(["-p", "x", ...flags], { env: NO_MODEL });
    expect({ ...ran, ms: 0 }).toEqual({ code: 0, stdout: `${model}\n`, stderr: "", ms: 0 });
    const doctor = await w.run(["doctor", ...flags], { env: NO_MODEL });
    expect(doctor.stdout).toMatch(/^ok {4}model {5}\S+ of the provider "echo" \(plugin "acme-echo" 1\.0\.0\)$/m);
    const again = await w.run(["-c", "-p", "x", ...flags], { env: NO_MODEL });
    expect([again.code, again.stdout]).toEqual([0, `${model}\n`]);
  });

  it("that is not there is named, with those that are", async () => {
    const w = await world();
    addEcho(w);
    const said =
      /^heddle: there is no provider "nope" for the model "nope\/any"; the providers are: anthropic, openai, ollama, .*, echo; .*\n$/;
    const ran = await w.run(["-p", "x", "--model", "nope/any"], { env: NO_SERVER });
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([1, "", expect.stringMatching(said)]);
    const doctor = await w.run(["doctor", "--model", "nope/any"], { env: NO_SERVER });
    expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringMatching(/^fail {2}model .*there is no provider "nope"/m)]);
    w.write("home/.heddle/settings.json", '{ "provider": "gone" }');
    const gone = await w.run(["-p", "x"]);
    expect([gone.code, gone.stderr]).toEqual([
      1,
      expect.stringContaining('there is no provider "gone"; the providers are: anthropic, openai, '),
    ]);
  });

  it("may be what another server calls its models, which is said and done", async () => {
    const w = await world({ script: [...hello, ...hello], models: { "maker/model": modelRules("claude-haiku-5-5")! } });
    const ran = await w.run(["-p", "x", "--model", "maker/model"]);
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([
      0,
      "Hello there.\n",
      expect.stringContaining('there is no provider "maker", so http'),
    ]);
    const meant = await w.run(["-p", "x", "--model", "anthropic/maker/model"]);
    expect([meant.code, meant.stderr]).toEqual([0, ""]);
    const models = w.server.mainRequests().map((r) => (r.body as { model: string }).model);
    expect(models).toEqual(["maker/model", "maker/model"]);
  });

  it("is missed after all that may be the reason is said", async () => {
    const w = await world();
    w.write("home/.heddle/settings.json", '{ "provider": 7 }');
    add(w, "acme-broken", { providers: ["x"] }, "({}).missing.value");
    const ran = await w.run(["-p", "x"], { env: NO_MODEL });
    expect([ran.code, ran.stderr.trimEnd().split("\n")]).toEqual([
      1,
      [
        expect.stringContaining("settings.json:1:15: provider: "),
        expect.stringContaining('plugin "acme-broken"@1.0.0'),
        expect.stringMatching(/^heddle: no model\. Set ANTHROPIC_API_KEY/),
        expect.stringContaining("--model ollama/NAME"),
        expect.anything(),
      ],
    ]);
  });

  it("in the plugin folder can get options and other names from the settings", async () => {
    const w = await world();
    addEcho(w);
    const mine = { path: "~/.heddle/plugins/acme-echo", rename: { "providers/echo": "mine" } };
    w.write("home/.heddle/settings.json", JSON.stringify({ plugins: [mine], model: "mine/m" }));
    const ran = await w.run(["-p", "x"], { env: NO_MODEL });
    expect({ ...ran, ms: 0 }).toEqual({ code: 0, stdout: "m\n", stderr: "", ms: 0 });
    expect((await w.run(["doctor"], { env: NO_MODEL })).stdout).toContain('mine/m of the provider "mine"');
  });
});

describe("code that fails where nobody waits for it", () => {
  const closing = (code: string): string => `{ closers: [{ name: "c", async close() { ${code} } }] }`;
  const pause = "await new Promise((resolve) => setTimeout(resolve, 200));";

  it("does not end the session when it is a promise", async () => {
    const w = await world({ script: hello });
    add(
      w,
      "acme-stray",
      { closers: ["c"] },
      closing(`Promise.reject(new Error("left\\nalone")); Promise.reject(new Error("left\\nalone")); ${pause}`),
    );
    const ran = await w.run(["-p", "x"]);
    const said = /^heddle: plugin "acme-stray" failed where nobody waits for it: left.*alone\n$/;
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([0, "Hello there.\n", expect.stringMatching(said)]);
  });

  it("ends it in good order when it is a timer", async () => {
    const w = await world({ script: [...hello, { text: "Still here." }] });
    add(w, "acme-stray", { closers: ["c"] }, closing(`if (!process.env.CALM) setTimeout(() => { throw new Error("boom"); }); ${pause}`));
    const ran = await w.run(["-p", "x"]);
    expect([ran.code, ran.stderr.split("\n")[0]]).toEqual([
      1,
      'heddle: plugin "acme-stray" failed where nobody waits for it: boom; heddle ends',
    ]);
    expect(ran.stderr).not.toMatch(/please report|\n\s+at /);
    const projects = join(w.home, ".heddle", "projects");
    const dir = join(projects, readdirSync(projects)[0]!);
    const [log = "", ...others] = readdirSync(dir);
    const last = readFileSync(join(dir, log), "utf8").trimEnd().split("\n").at(-1)!;
    expect([others, (JSON.parse(last) as { type: string }).type]).toEqual([[], "turn.ended"]);
    const next = await w.run(["-c", "-p", "y"], { env: { CALM: "1" } });
    expect([next.code, next.stdout, next.stderr]).toEqual([0, "Still here.\n", ""]);
  });
});
