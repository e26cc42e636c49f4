import { readdirSync, readFileSync } from "node:fs";
import { type TestFiles, testHost } from "@heddle/testkit";
import { describe, expect, it } from "vitest";
import { check, type Mode } from "../src/index.ts";

/** One line of a file in `cases/`: `call` is a tool with its path, `root` what a leading `/` in its rules stands for. */
type Case = {
  readonly command?: string;
  readonly call?: string;
  readonly allow?: readonly string[];
  readonly ask?: readonly string[];
  readonly deny?: readonly string[];
  readonly root?: string;
  readonly directories?: readonly string[];
  readonly mode?: Mode;
  readonly decision: string;
  readonly why: string;
};

const some = (names: string, text = "x"): TestFiles => Object.fromEntries(names.split(" ").map((name) => [name, text]));
const WORLD: TestFiles = {
  ...some("/proj/README.md /proj/notes.txt /proj/a.txt /proj/b.txt /proj/.env /proj/data.json /proj/package.json /proj/big.txt"),
  ...some("/proj/src/app.ts /proj/docs/d.md /proj/scripts/build.sh /proj/evil.sh /proj/.git/config /proj/packages/a/x.ts"),
  ...some("/home/dev/.ssh/id_rsa /home/dev/.aws/credentials /home/dev/.bashrc /home/dev/.zshrc /home/dev/.claude/.credentials.json"),
  ...some("/etc/hosts /etc/passwd /data/x /data-evil/x /tmp/y"),
  "/proj/link_env": { link: ".env" },
  "/proj/link_out": { link: "/home/dev/.ssh" },
  "/proj/link_src": { link: "src" },
  "/proj/deep": { link: "/home/dev" },
  "/proj/dangling": { link: "/home/dev/newfile" },
  "/proj/loop": { link: "loop" },
  "/proj/pipe": { special: true },
  "/dev/null": { special: true },
  "/dev/zero": { special: true },
  "/dev/tty": { special: true },
};
const { fs } = testHost({ files: WORLD });
const folder = new URL("./cases/", import.meta.url);

describe.each(readdirSync(folder))("%s", (file) => {
  const cases = readFileSync(new URL(file, folder), "utf8")
    .trim()
    .split("\n")
    .map((line): Case => JSON.parse(line) as Case);
  it.each(cases.map((c) => [c.call ?? c.command!, c.mode ?? "", c] as const))("%j %s", async (what, _, c) => {
    const texts = (rules: readonly string[] = []) => rules.map((rule) => ({ rule, source: "case", root: c.root }));
    const { decision } = await check({
      what: c.call ?? `Bash(${what})`,
      rules: { allow: texts(c.allow), ask: texts(c.ask), deny: texts(c.deny) },
      mode: c.mode ?? "default",
      cwd: "/proj",
      directories: c.directories ?? [],
      home: "/home/dev",
      fs,
    });
    expect(decision, c.why).toBe(c.decision);
  });
});

describe("long commands", () => {
  const decide = async (command: string, deny: string[] = [], mode: Mode = "default") =>
    (
      await check({
        what: `Bash(${command})`,
        rules: { allow: [], ask: [], deny: deny.map((rule) => ({ rule, source: "case" })) },
        mode,
        cwd: "/proj",
        fs,
      })
    ).decision;
  it.each([
    ["nested subshells", `${"(".repeat(400)}touch x${")".repeat(400)}`, "ask"],
    ["a chain of many parts", `${"true; ".repeat(200)}touch x`, "ask"],
    ["more than can be shown", `echo ${"a".repeat(11_000)}`, "ask"],
    ["many plain words", `ls ${Array.from({ length: 900 }, (_, i) => `f${i}`).join(" ")}`, "allow"],
  ])("%s", async (_, command, expected) => {
    expect(await decide(command)).toBe(expected);
  });
  it("are searched to their end for what a rule forbids", async () => {
    expect(await decide(`${"true; ".repeat(200)}curl x`, ["Bash(curl:*)"], "bypassPermissions")).toBe("deny");
    expect(await decide(`${"echo a; ".repeat(3000)}curl x`, ["Bash(curl:*)"], "bypassPermissions")).toBe("deny");
  });
});
