/** Where the flags of a command line end and the prompt begins. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UsageError } from "../src/exit.ts";
import { SESSION_OPTIONS, SETUP_OPTIONS } from "../src/options.ts";
import { looksLikeRules } from "../src/rule-list.ts";
import { partWords } from "../src/words.ts";

const FLAGS = { ...SETUP_OPTIONS, ...SESSION_OPTIONS, help: { alias: "h", type: "boolean" } } as const;
const part = (...argv: string[]): string[] => partWords(argv, FLAGS, true);

describe("a prompt", () => {
  it.each([
    [
      ["-p", "- fix the list"],
      ["--print", "--", "- fix the list"],
    ],
    [
      ["-p", "-1 is wrong"],
      ["--print", "--", "-1 is wrong"],
    ],
    [
      ["-p", "-x or -y, which one"],
      ["--print", "--", "-x or -y, which one"],
    ],
    [
      ["-p", "---"],
      ["--print", "--", "---"],
    ],
    [
      ["-p", "-"],
      ["--print", "--", "-"],
    ],
    [["-p=hi"], ["--print", "--", "hi"]],
    [
      ["--print=true", "hi"],
      ["--print=true", "--", "hi"],
    ],
    [
      ["say", "help"],
      ["--", "say", "help"],
    ],
    [
      ["a", "--trust", "b"],
      ["--trust", "--", "a", "b"],
    ],
    [
      ["-pc", "more"],
      ["--print", "--continue", "--", "more"],
    ],
    [
      ["--", "-p", "--", "x"],
      ["--", "-p", "--", "x"],
    ],
  ])("%j", (argv, parted) => {
    expect(part(...argv)).toEqual(parted);
  });

  it("may be anything after --", () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1 }), (words) => {
        expect(part("-p", "--", ...words)).toEqual(["--print", "--", ...words]);
      }),
    );
  });
});

describe("values", () => {
  it.each([
    [
      ["--model", "m", "hi"],
      ["--model=m", "--", "hi"],
    ],
    [
      ["--system-prompt", "- be brief", "hi"],
      ["--system-prompt=- be brief", "--", "hi"],
    ],
    [["--max-turns", "-1"], ["--max-turns=-1"]],
    [["-r"], ["--resume="]],
    [
      ["-r", "-p", "hi"],
      ["--resume=", "--print", "--", "hi"],
    ],
    [["-rabc"], ["--resume=abc"]],
    [
      ["--allowedTools", "Bash(git status:*)", "Edit", "-p", "hi"],
      ["--allowedTools=Bash(git status:*)", "--allowedTools=Edit", "--print", "--", "hi"],
    ],
    [
      ["-p", "--allowedTools", "Read", "mcp__x__y", "*", "fix it"],
      ["--print", "--allowedTools=Read", "--allowedTools=mcp__x__y", "--allowedTools=*", "--", "fix it"],
    ],
    [
      ["--disallowedTools", "Bash,Write", "Fix It Now"],
      ["--disallowedTools=Bash,Write", "--", "Fix It Now"],
    ],
    [
      ["--allowedTools=Read", "Explain"],
      ["--allowedTools=Read", "--", "Explain"],
    ],
    [
      ["--add-dir", "a", "b"],
      ["--add-dir=a", "--", "b"],
    ],
  ])("%j", (argv, parted) => {
    expect(part(...argv)).toEqual(parted);
  });

  it.each([
    "--model",
    "--settings",
    "--allowedTools",
    "--disallowedTools",
    "--add-dir",
    "--max-turns",
    "--output-format",
    "--permission-mode",
  ])("%s alone is refused", (flag) => {
    for (const argv of [[flag], [flag, "--trust"], [flag, "--", "x"]])
      expect(() => part(...argv)).toThrow(
        new UsageError(`${flag} needs a value${argv.length > 1 ? `; one that begins with a dash goes after "=": ${flag}=…` : ""}`),
      );
  });
});

describe("looksLikeRules", () => {
  it.each([
    ["Edit", true],
    ["Bash(git log:*)", true],
    ["Read, Edit", true],
    ["Bash(echo a, b),Read", true],
    ["mcp__x", true],
    ["*", true],
    ["fix", false],
    ["Fix It", false],
    ["Fix it, please", false],
    ["", false],
  ])("%j: %s", (word, is) => {
    expect(looksLikeRules(word)).toBe(is);
  });
});
