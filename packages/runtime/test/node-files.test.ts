import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { FileSystem } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import { memoryHost } from "../src/memory.ts";
import { nodeFiles } from "../src/node/index.ts";
import { temporaryFolders } from "./support-node.ts";

const folder = temporaryFolders();
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("files on Node", () => {
  it("writes as a whole, makes folders, keeps the mode, and leaves nothing else behind", async () => {
    const fs = nodeFiles();
    const dir = folder();
    const file = path.join(dir, "a/b/c.sh");
    await fs.writeFile(file, bytes("one"), { mode: 0o755 });
    expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual(["one", 0o755]);
    chmodSync(file, 0o640);
    await fs.writeFile(file, bytes("two"), { mode: 0o777 });
    expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777, readdirSync(path.dirname(file))]).toEqual(["two", 0o640, ["c.sh"]]);
  });

  it("keeps every bit of the mode, for secrets and for programs that run as another", async () => {
    const fs = nodeFiles();
    const file = path.join(folder(), "s.sh");
    writeFileSync(file, "one");
    for (const mode of [0o600, 0o755, 0o2755, 0o4711]) {
      chmodSync(file, mode);
      await fs.writeFile(file, bytes("two"));
      expect(statSync(file).mode & 0o7777).toBe(mode);
    }
  });

  it("writes through a chain of symlinks, also to what does not exist yet, and leaves the links", async () => {
    const fs = nodeFiles();
    const dir = folder();
    mkdirSync(path.join(dir, "real"));
    writeFileSync(path.join(dir, "real/f"), "old");
    symlinkSync("real/f", path.join(dir, "l1"));
    symlinkSync("l1", path.join(dir, "l2"));
    symlinkSync("real/new", path.join(dir, "dangling"));
    await fs.writeFile(path.join(dir, "l2"), bytes("new"));
    await fs.writeFile(path.join(dir, "dangling"), bytes("made"));
    expect([readFileSync(path.join(dir, "real/f"), "utf8"), readFileSync(path.join(dir, "real/new"), "utf8")]).toEqual(["new", "made"]);
    expect(["l1", "l2", "dangling"].map((l) => lstatSync(path.join(dir, l)).isSymbolicLink())).toEqual([true, true, true]);
  });

  it("leaves the old bytes and no temporary file when it cannot write", async () => {
    const dir = folder();
    mkdirSync(path.join(dir, "d"));
    await expect(nodeFiles().writeFile(path.join(dir, "d"), bytes("x"))).rejects.toMatchObject({ code: "EISDIR" });
    writeFileSync(path.join(dir, "f"), "x");
    await expect(nodeFiles().writeFile(path.join(dir, "f/g"), bytes("x"))).rejects.toMatchObject({
      code: expect.stringMatching(/ENOTDIR|EEXIST/),
    });
    expect(readdirSync(dir)).toEqual(["d", "f"]);
  });

  it("gives up on links that run in a circle", async () => {
    const dir = folder();
    symlinkSync("b", path.join(dir, "a"));
    symlinkSync("a", path.join(dir, "b"));
    await expect(nodeFiles().realpath(path.join(dir, "a"))).rejects.toMatchObject({ code: "ELOOP" });
    expect(existsSync(path.join(dir, "a"))).toBe(false);
  });
});

describe.each<[string, () => { fs: FileSystem; dir: string }]>([
  [
    "Node",
    () => {
      const dir = folder();
      mkdirSync(path.join(dir, "sub"));
      writeFileSync(path.join(dir, "sub/file"), "text");
      symlinkSync(path.join(dir, "sub"), path.join(dir, "link"));
      symlinkSync(path.join(dir, "nowhere"), path.join(dir, "gone"));
      return { fs: nodeFiles(), dir };
    },
  ],
  [
    "memory",
    () => ({ fs: memoryHost({ files: { "/d/sub/file": "text" }, links: { "/d/link": "/d/sub", "/d/gone": "/d/nowhere" } }).fs, dir: "/d" }),
  ],
])("the file port: %s", (_, make) => {
  it("tells what is there", async () => {
    const { fs, dir } = make();
    expect(new TextDecoder().decode(await fs.readFile(`${dir}/link/file`))).toBe("text");
    expect(await fs.stat(`${dir}/sub/file`)).toMatchObject({ kind: "file", size: 4, mode: 0o644 });
    expect([(await fs.stat(`${dir}/link`))?.kind, await fs.stat(`${dir}/none`), await fs.stat(`${dir}/gone`)]).toEqual([
      "directory",
      undefined,
      undefined,
    ]);
    expect(await fs.readdir(dir)).toEqual([
      { name: "gone", kind: "symlink" },
      { name: "link", kind: "symlink" },
      { name: "sub", kind: "directory" },
    ]);
  });

  it("resolves links, and keeps what does not exist", async () => {
    const { fs, dir } = make();
    expect(await Promise.all(["link/file", "link/x/y", "gone/z", "sub/../sub"].map((p) => fs.realpath(`${dir}/${p}`)))).toEqual([
      `${dir}/sub/file`,
      `${dir}/sub/x/y`,
      `${dir}/nowhere/z`,
      `${dir}/sub`,
    ]);
  });

  it("rejects with the system's codes", async () => {
    const { fs, dir } = make();
    await expect(fs.readFile(`${dir}/none`)).rejects.toMatchObject({ code: "ENOENT" });
    await expect(fs.readFile(`${dir}/sub`)).rejects.toMatchObject({ code: "EISDIR" });
    await expect(fs.readdir(`${dir}/sub/file`)).rejects.toMatchObject({ code: "ENOTDIR" });
    await expect(fs.writeFile(`${dir}/sub`, bytes("x"))).rejects.toMatchObject({ code: "EISDIR" });
  });
});
