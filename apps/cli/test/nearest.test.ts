/** Mistyped names and rule lists. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nearest } from "../src/nearest.ts";
import { bareTool, ruleList } from "../src/rule-list.ts";

describe("nearest", () => {
  const flags = ["print", "permission-mode", "output-format", "model", "settings", "resume"];
  it.each([
    ["permision-mode", "permission-mode"],
    ["modle", "model"],
    ["ouput-format", "output-format"],
    ["setting", "settings"],
    ["Resume", "resume"],
    ["colour", undefined],
    ["x", undefined],
  ])("%s is meant to be %s", (word, meant) => {
    expect(nearest(word, flags)).toBe(meant);
  });
});

describe("ruleList", () => {
  it.each([
    [["Read,Edit"], ["Read", "Edit"]],
    [["Read Edit"], ["Read", "Edit"]],
    [["Bash(git log:*), Read"], ["Bash(git log:*)", "Read"]],
    [["Bash(echo a,b c)"], ["Bash(echo a,b c)"]],
    [["Bash(echo (a b) c) Edit(src/**)"], ["Bash(echo (a b) c)", "Edit(src/**)"]],
    [
      ["Read", "Edit"],
      ["Read", "Edit"],
    ],
    [[" , ,"], []],
    [["Bash(open never, closed"], ["Bash(open never, closed"]],
  ])("%j gives %j", (values, rules) => {
    expect(ruleList(values)).toEqual(rules);
  });

  it("gives back any list of rules that was joined by commas or blanks", () => {
    const rule = fc.stringMatching(/^[A-Z][a-z]{0,5}(\([a-z ,:*]{1,9}\))?$/);
    fc.assert(
      fc.property(fc.array(rule), fc.constantFrom(",", " ", ", "), (rules, by) => {
        expect(ruleList([rules.join(by)])).toEqual(rules);
      }),
    );
  });

  it.each([
    ["Bash", "Bash"],
    ["Bash()", "Bash"],
    ["Bash(*)", "Bash"],
    ["Bash(rm:*)", undefined],
    ["mcp__*", undefined],
  ])("%s as a deny rule takes away %s", (rule, tool) => {
    expect(bareTool(rule)).toBe(tool);
  });
});
