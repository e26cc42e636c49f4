import { describe, expect, it } from "vitest";
import { memoryHost } from "../src/memory.ts";
import { discoverPlugins } from "../src/node/index.ts";

const heddle = { manifest: 1, api: "^1.0.0", main: "./dist/index.js" };
const json = (value: unknown): string => JSON.stringify(value);

describe("discovery", () => {
  it("reads folders of plugins and named packages, and nothing else that is installed", async () => {
    const host = memoryHost({
      files: {
        "/p/b/package.json": json({ name: "@acme/b", version: "1.2.3", heddle }),
        "/p/a/package.json": json({ name: "a", heddle }),
        "/p/other/package.json": json({ name: "other" }),
        "/p/.git/package.json": json({ name: "git", heddle }),
        "/p/readme.md": "",
        "/w/node_modules/@acme/named/package.json": json({ name: "@acme/named", version: "2.0.0", heddle }),
        "/w/node_modules/installed/package.json": json({ name: "installed", heddle }),
        "/node_modules/above/package.json": json({ name: "above", version: "3.0.0", heddle }),
      },
      links: { "/p/linked": "/w/node_modules/installed" },
    });
    const { candidates, problems } = await discoverPlugins({
      host,
      dirs: ["/p", "/none"],
      packages: ["@acme/named", "above"],
      resolveFrom: "/w",
    });
    expect(candidates.map(({ load: _, ...c }) => c)).toEqual([
      { id: "a", version: "0.0.0", from: "folder /p/a", dir: "/p/a", manifest: heddle },
      { id: "@acme/b", version: "1.2.3", from: "folder /p/b", dir: "/p/b", manifest: heddle },
      { id: "installed", version: "0.0.0", from: "folder /p/linked", dir: "/w/node_modules/installed", manifest: heddle },
      { id: "@acme/named", version: "2.0.0", from: "package @acme/named", dir: "/w/node_modules/@acme/named", manifest: heddle },
      { id: "above", version: "3.0.0", from: "package above", dir: "/node_modules/above", manifest: heddle },
    ]);
    expect(problems).toEqual([]);
  });

  it("makes a problem of what cannot be a plugin, one line each", async () => {
    const host = memoryHost({
      files: {
        "/p/a/package.json": "{",
        "/p/b/package.json": json({ heddle }),
        "/p/c/package.json": json({ name: "c", heddle: { ...heddle, main: "../../etc/x.js" } }),
        "/w/node_modules/plain/package.json": json({ name: "plain" }),
        "/file": "",
      },
    });
    const { candidates, problems } = await discoverPlugins({
      host,
      dirs: ["/p", "/file"],
      packages: ["plain", "gone", "../../p/a"],
      resolveFrom: "/w",
    });
    expect(candidates).toEqual([]);
    expect(problems.map((p) => p.message)).toEqual([
      expect.stringMatching(/^plugin "a" \(folder \/p\/a\): its package.json cannot be read: .*JSON/),
      'plugin "b" (folder /p/b): its package.json is wrong: name: Invalid input: expected string, received undefined',
      'plugin "c" (folder /p/c): heddle.main "../../etc/x.js" is outside of its folder',
      'the plugin folder /file cannot be read: ENOTDIR: not a directory, "/file"',
      'plugin "plain": /w/node_modules/plain is no heddle plugin: its package.json has no "heddle" key',
      'plugin "gone": is not installed in /w; run "npm install gone" there, or take it out of the settings',
      'plugin "../../p/a": is not the name of an npm package; correct it in the settings',
    ]);
  });
});
