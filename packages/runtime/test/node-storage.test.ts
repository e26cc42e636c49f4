import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { idMaker, nodeFiles, nodeStorage } from "../src/node/index.ts";
import { temporaryFolders } from "./support-node.ts";

const folder = temporaryFolders();
const mode = (file: string): number => statSync(file).mode & 0o777;

describe("storage", () => {
  it("appends at once, in folders and files that only their owner reads", async () => {
    const file = path.join(folder(), "a/b/s.jsonl");
    const open = nodeStorage().openAppend(file);
    open.append("ein\n");
    expect(readFileSync(file, "utf8")).toBe("ein\n");
    open.append("zwei €\n");
    open.close();
    expect([new TextDecoder().decode(await nodeStorage().read(file)), mode(file), mode(path.dirname(file))]).toEqual([
      "ein\nzwei €\n",
      0o600,
      0o700,
    ]);
  });

  it.runIf(process.platform === "linux")("gives up where no folder can be made, as in /proc", async () => {
    expect(() => nodeStorage().openAppend("/proc/nobody/deep/x.log")).toThrow(/ENOENT/);
    expect(() => nodeStorage().lock("/proc/nobody/deep/x.lock")).toThrow(/ENOENT/);
    await expect(nodeFiles().writeFile("/proc/nobody/deep/x", new Uint8Array())).rejects.toThrow(/ENOENT/);
  });
  it("lists files newest first and folders by name, and nothing where nothing is", async () => {
    const dir = folder();
    const storage = nodeStorage();
    for (const name of ["a", "b"]) writeFileSync(path.join(dir, name), name);
    for (const name of ["y", "x"]) mkdirSync(path.join(dir, name));
    spawnSync("touch", ["-d", "2020-01-01", path.join(dir, "b")]);
    expect((await storage.list(dir)).map((f) => [f.name, f.size])).toEqual([
      ["a", 1],
      ["b", 1],
    ]);
    expect(await storage.folders!(dir)).toEqual(["x", "y"]);
    expect([await storage.list(`${dir}/none`), await storage.folders!(`${dir}/none`), await storage.read(`${dir}/none`)]).toEqual([
      [],
      [],
      undefined,
    ]);
  });

  it("throws the system's error where it cannot write", () => {
    const dir = folder();
    writeFileSync(path.join(dir, "file"), "");
    expect(() => nodeStorage().openAppend(path.join(dir, "file/s.jsonl"))).toThrow(/ENOTDIR|EEXIST/);
  });

  it("gives a lock to one at a time, and names this process", () => {
    const file = path.join(folder(), "d/l");
    const first = nodeStorage().lock(file);
    expect(nodeStorage().lock(file)).toEqual({ holder: "this process" });
    if ("release" in first) first.release();
    expect(nodeStorage().lock(file)).toHaveProperty("release");
  });

  it("names another living process, and takes the lock over when it has died", async () => {
    const file = path.join(folder(), "l");
    const other = spawn("sleep", ["30"]);
    const began = readFileSync(`/proc/${other.pid}/stat`, "utf8").split(") ")[1]!.split(" ")[19];
    writeFileSync(file, `${other.pid} ${began} aa\n`);
    expect(nodeStorage().lock(file)).toEqual({ holder: `process ${other.pid}` });
    other.kill("SIGKILL");
    await once(other, "exit");
    expect(nodeStorage().lock(file)).toHaveProperty("release");
  });

  it.each([
    ["of a process whose number is used again", `${process.pid} 1 aa\n`],
    ["that is empty", ""],
    ["that is rubbish", "\0\0\0"],
  ])("takes over a lock %s", (_, content) => {
    const dir = folder();
    const file = path.join(dir, "l");
    writeFileSync(file, content);
    expect(nodeStorage().lock(file)).toHaveProperty("release");
    expect(nodeStorage().lock(file)).toEqual({ holder: "this process" });
  });
});

describe("ids", () => {
  it("are unique, sort by time also within a millisecond, and are made of few characters", () => {
    let now = 1_800_000_000_000;
    const id = idMaker(() => now);
    const made = Array.from({ length: 5_000 }, (_, i) => {
      if (i % 1_000 === 0) now += i === 3_000 ? -5 : 1;
      return id("session");
    });
    expect([new Set(made).size, made.toSorted()]).toEqual([made.length, made]);
    expect(made.every((x) => /^[a-z0-9]{19}$/.test(x))).toBe(true);
    expect(id("Some kind")).toMatch(/^some-kind-[a-z0-9]{19}$/);
  });
});
