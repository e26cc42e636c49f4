import { definePlugin, z } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import type { Candidate } from "../src/index.ts";
import { pluginOf } from "./support.ts";

import { BAD, command, doing, fine, said, setup, start } from "./support-plugins.ts";

describe("a broken plugin is one line, and the rest goes on", () => {
  it.each<[string, Candidate, string]>([
    [
      "throws in setup",
      setup(() => {
        throw new Error("no\nluck");
      }),
      "setup: its setup threw: no luck",
    ],
    ["rejects in setup", setup(async () => Promise.reject("nothing")), "setup: its setup threw: nothing"],
    ["hangs in setup", setup(() => new Promise(() => {})), "setup: its setup gave no answer within 30 ms"],
    [
      "cannot be loaded",
      setup(() => ({}), {
        load: async () => {
          throw new Error("Unexpected token");
        },
      }),
      "load: loading its code threw: Unexpected token",
    ],
    [
      "does not find what it imports",
      setup(() => ({}), {
        dir: "/p/bad",
        load: async () => {
          throw Object.assign(new Error("Cannot find package '@heddle/kernel' imported from /p/bad/index.js"), {
            code: "ERR_MODULE_NOT_FOUND",
          });
        },
      }),
      "load: loading its code threw: Cannot find package '@heddle/kernel' imported from /p/bad/index.js; run \"npm install\" in /p/bad",
    ],
    [
      "exports no plugin",
      setup(() => ({}), { load: async () => ({ activate() {} }) }),
      "load: the default export of its main is not what definePlugin({ setup }) returns",
    ],
    ["returns nothing", setup(() => undefined), "contributes: setup returned undefined, not an object of contributions"],
    ["returns a list", setup(() => []), "contributes: setup returned a list, not an object of contributions"],
    ["returns no list at a point", setup(() => ({ tools: {} })), "contributes: setup returned tools that are not a list"],
    [
      "returns null as a contribution",
      setup(() => ({ gates: [null] })),
      "contributes: gates number 1: Invalid input: expected object, received null",
    ],
    [
      "returns a tool without functions",
      setup(() => ({ tools: [{ name: "T", description: "", input: {}, overlap: "shared", effects: () => [] }] })),
      'contributes: tools "T": input is not a zod schema; run is not a function',
    ],
    [
      "has a getter that throws",
      setup(() => ({
        gates: [
          {
            get name() {
              throw new Error("ha");
            },
          },
        ],
      })),
      "setup: its setup threw: ha",
    ],
    ["returns one twice", setup(() => ({ commands: [command("a"), command("a")] })), 'contributes: commands "a" is returned twice'],
    [
      "returns what it does not declare",
      setup(() => ({ commands: [command("a")] })),
      'contributes: setup returns commands "a", but heddle.contributes.commands in package.json does not name it',
    ],
    [
      "declares what it does not return",
      setup(() => ({}), { manifest: { contributes: { commands: ["b"] } } }),
      'contributes: heddle.contributes.commands in package.json names "b", but setup does not return it',
    ],
    [
      "has a manifest with a typo",
      setup(() => ({}), { manifest: { contribute: {} } }),
      'manifest: its package.json is wrong: heddle: Unrecognized key: "contribute"',
    ],
    [
      "has a range that is none",
      setup(() => ({}), { manifest: { api: "latest" } }),
      'manifest: "latest" is not a version range; write one like "^1.0.0"',
    ],
    [
      "is for another API",
      setup(() => ({}), { manifest: { api: "^2.0.0" } }),
      "api: was built for plugin API ^2.0.0, and this is 1.1.0; install a version that fits",
    ],
    [
      "contributes without code",
      setup(() => ({}), { manifest: { main: undefined, contributes: { tools: ["T"] } } }),
      "manifest: heddle.contributes names contributions, but there is no heddle.main to make them",
    ],
    [
      "requires what is not there",
      setup(() => ({}), { manifest: { requires: { gone: "^1.0.0" } } }),
      'requires: requires "gone" ^1.0.0, which is not installed or not enabled; install or enable it',
    ],
    [
      "requires another version",
      setup(() => ({}), { manifest: { requires: { fine: "^2.0.0" } } }),
      'requires: requires "fine" ^2.0.0, but 1.0.0 is installed',
    ],
    [
      "gets options it does not take",
      setup(() => ({}), { options: { a: 1 } }),
      "setup: it takes no options, but the settings give it some; remove them",
    ],
  ])("%s", async (_, bad, message) => {
    const started = await start([bad, fine]);
    const [stage, ...rest] = message.split(": ");
    expect(started.problems).toEqual([{ plugin: "bad", stage, message: BAD + rest.join(": ") }]);
    expect(started.plugins).toEqual([
      { id: "fine", version: "1.0.0", from: "built in", contributes: [{ point: "commands", name: "fine" }] },
    ]);
    expect(started.registry.find("commands", "fine")?.plugin).toBe("fine");
  });

  it("names the path of a wrong option, and hands over the parsed ones", async () => {
    let seen: unknown;
    const withOptions = (options: unknown): Candidate =>
      pluginOf(
        "bad",
        {},
        {
          from: "folder /p/bad",
          options,
          load: async () =>
            definePlugin({
              options: z.object({ server: z.object({ port: z.number().default(80) }) }),
              setup: (ctx) => {
                seen = ctx.options;
                return {};
              },
            }),
        },
      );
    expect(await said([withOptions({ server: { port: "x" } })])).toEqual([
      `setup: ${BAD}the settings do not fit it: options.server.port: Invalid input: expected number, received string`,
    ]);
    expect(await said([withOptions({ server: {} })])).toEqual([]);
    expect(seen).toEqual({ server: { port: 80 } });
  });

  it("fails the start when it is essential, after disposing what had started", async () => {
    const disposed: string[] = [];
    const first = doing("first", (ctx) => ctx.onDispose(() => void disposed.push("first")));
    await expect(
      start([
        first,
        setup(
          () => {
            throw new Error("x");
          },
          { essential: true },
        ),
      ]),
    ).rejects.toThrow(`heddle cannot start:\n${BAD}its setup threw: x`);
    expect(disposed).toEqual(["first"]);
  });

  it("loads no code of a plugin without a main, and tells where its folders are", async () => {
    const skills: Candidate = {
      id: "texts",
      version: "2.0.0",
      from: "folder /p/texts",
      dir: "/p/texts",
      manifest: { manifest: 1, api: "^1.0.0", skills: ["skills"] },
      load: async () => {
        throw new Error("must not be called");
      },
    };
    const started = await start([skills]);
    expect([started.problems, started.plugins, started.roots.size]).toEqual([
      [],
      [{ id: "texts", version: "2.0.0", from: "folder /p/texts", dir: "/p/texts", skills: ["skills"], commands: [], contributes: [] }],
      0,
    ]);
  });
});
