import type { FileSystem } from "@heddle/kernel/plugin";
import { describe, expect, it } from "vitest";
import { testHost } from "../src/index.ts";

describe("testHost", () => {
  const files = {
    "a.txt": "abc",
    "/etc/x": Uint8Array.of(1),
    "sub/link": { link: "../a.txt" },
    far: { link: "/etc/x" },
    pipe: { special: true },
  } as const;

  it("has text, bytes, links and pipes, in the working directory or elsewhere", async () => {
    const { fs } = testHost({ files, cwd: "/w" });
    expect(await fs.readdir("/w")).toEqual([
      { name: "a.txt", kind: "file" },
      { name: "far", kind: "symlink" },
      { name: "pipe", kind: "other" },
      { name: "sub", kind: "directory" },
    ]);
    expect([await fs.realpath("/w/sub/link"), await fs.realpath("/w/far")]).toEqual(["/w/a.txt", "/etc/x"]);
    expect(await fs.readFile("/w/far")).toEqual(Uint8Array.of(1));
    expect([(await fs.stat("/w/sub/link"))?.kind, (await fs.stat("/w/pipe"))?.kind, await fs.stat("/w/gone")]).toEqual([
      "file",
      "other",
      undefined,
    ]);
  });

  it("fails where it is told to, and for as long", async () => {
    let code: string | undefined = "EACCES";
    const { fs, text } = testHost({ files, fails: (call, path) => (`${call} ${path}`.endsWith(" /project/a.txt") ? code : undefined) });
    const calls = ["readFile", "stat", "realpath", "readdir", "writeFile"] satisfies (keyof FileSystem)[];
    for (const call of calls)
      await expect(fs[call]("/project/a.txt", new Uint8Array())).rejects.toMatchObject({
        code: "EACCES",
        message: `EACCES: ${call} "/project/a.txt"`,
      });
    code = undefined;
    await fs.writeFile("/project/a.txt", new TextEncoder().encode("new"));
    expect(text("/project/a.txt")).toBe("new");
  });

  it("ends processes as it is told, and keeps what was started", async () => {
    const host = testHost({ run: ({ command }) => (command === "git" ? { stdout: "main\n" } : Promise.reject(new Error("spawn ENOENT"))) });
    expect(await host.processes.run({ command: "git", cwd: "/" })).toMatchObject({ exitCode: 0, stdout: "main\n", ended: "exit" });
    await expect(host.processes.run({ command: "hg", cwd: "/" })).rejects.toThrow("spawn ENOENT");
    expect(host.ran).toEqual([
      { command: "git", cwd: "/" },
      { command: "hg", cwd: "/" },
    ]);
  });
});
