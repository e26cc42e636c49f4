import { describe, expect, it } from "vitest";
import { terminal } from "./pty.ts";
import { world } from "./run.ts";

const script = [{ calls: [{ name: "Glob", input: { pattern: "*" } }] }, { text: "Nothing there." }];

describe("--max-budget-usd", () => {
  it("calls no model once it is spent, also over a resume, and says what it was", async () => {
    const w = await world({ script });
    const ran = await w.run(["-p", "what is here?", "--max-budget-usd", "0.0001"]);
    expect([ran.code, ran.stdout, w.server.mainRequests().length]).toEqual([1, "", 1]);
    expect(ran.stderr).toMatch(
      /^heddle: The budget of \$0\.0001 is spent: the session has cost \$0\.00\d\d\. Raise it to go on: heddle -c --max-budget-usd N goes on .*\n$/,
    );
    const again = await w.run(["-c", "-p", "go on", "--max-budget-usd", "0.0001", "--output-format", "json"]);
    expect([again.code, JSON.parse(again.stdout), w.server.mainRequests().length]).toEqual([
      1,
      expect.objectContaining({ subtype: "error_max_budget_usd", is_error: true, total_cost_usd: expect.any(Number) }),
      1,
    ]);
    const raised = await w.run(["-c", "-p", "go on", "--max-budget-usd", "1"]);
    expect([raised.code, raised.stdout]).toEqual([0, "Nothing there.\n"]);
  });
  it("is not kept by guessing: a model without a price is not called twice", async () => {
    const w = await world({ script });
    const ran = await w.run(["-p", "what is here?", "--max-budget-usd", "5", "--model", "claude-opus-9"]);
    expect([ran.code, w.server.mainRequests().length]).toEqual([1, 1]);
    expect(ran.stderr).toContain("the price of anthropic/claude-opus-9 is not known");
  });
  it("knows the price of a model that it fell back to", async () => {
    const faults = [{ name: "529" as const, at: 0, times: 3, headers: { "retry-after-ms": "20" } }];
    const w = await world({ script, faults });
    const flags = ["--max-budget-usd", "5", "--fallback-model", "claude-haiku-5-5", "--output-format", "json"];
    const ran = await w.run(["-p", "what is here?", ...flags]);
    const { modelUsage } = JSON.parse(ran.stdout) as { modelUsage: Record<string, { costUSD?: number }> };
    expect([ran.code, Object.keys(modelUsage)]).toEqual([0, ["claude-haiku-5-5"]]);
    expect(modelUsage["claude-haiku-5-5"]?.costUSD).toBeGreaterThan(0);
  });
  it("needs a number above nothing", async () => {
    const w = await world();
    for (const no of ["0", "Infinity"])
      expect(await w.run(["-p", "x", "--max-budget-usd", no])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("--max-budget-usd"),
      });
  });
  it("may stand in the settings", async () => {
    const w = await world({ script });
    w.write("home/.heddle/settings.json", '{ "maxBudgetUsd": 0.0001 }');
    const ran = await w.run(["-p", "what is here?"]);
    expect([ran.code, ran.stderr, w.server.mainRequests().length]).toEqual([
      1,
      expect.stringContaining("The budget of $0.0001 is spent"),
      1,
    ]);
  });
});

describe("--ask-budget-usd", () => {
  it("asks in a terminal: a yes goes on, a no ends the turn and leaves the session", async () => {
    const write = { calls: [{ name: "Write", input: { file_path: "a.txt", content: "one\ntwo\n" } }] };
    const w = await world({ script: [write, { text: "Written." }, { text: "Once more." }] });
    const t = terminal(w, ["--ask-budget-usd", "0.0001", "--permission-mode", "acceptEdits"]);
    await t.shows(/^>$/m);
    t.type("write\r");
    await t.shows(
      /heddle asks: The session has cost \$0\.0\d+\. Go on\?\n {2}1 go on, and ask again at \$0\.0\d+\n {2}2 stop\nA number, or words of your own\n\?/,
    );
    expect(w.server.mainRequests().length).toBe(1);
    t.type("/cost\r");
    await t.shows(/\? \/cost\n {2}1 or y goes on, 2 or n stops; what you typed is kept until then\n\?/);
    t.type("1\r");
    await t.shows("Written.");
    await t.shows(/^> \/cost$/m);
    t.type("\x15");
    await t.shows(/2 model calls/);
    t.type("again\r");
    await t.shows(/again[\s\S]*Go on\?[\s\S]*\?$/);
    t.type("2\r");
    await t.shows(/interrupted: the session has cost \$0\.0\d+, and the next turn asks again/);
    await t.shows(/^>$/m);
    t.type("/effort high\r");
    await t.shows("The effort is now high.");
    t.type("once more\r");
    await t.shows(/once more\n[\s\S]*Go on\?[\s\S]*\?$/);
    t.type("y\r");
    await t.shows("Once more.");
    await t.shows(/1 model call /);
    t.type("\x04");
    expect(await t.ended).toBe(0);
    expect(t.text()).toMatch(/^cost \$0\.0\d+ · \+2 -0 lines · \d+\.\d s of waiting for models · \d+\.\d s in all$/m);
    expect(w.server.mainRequests().length).toBe(3);
  });
  it("stops where nobody can be asked, and says what to do; the settings say it too", async () => {
    const w = await world({ script });
    const ran = await w.run(["-p", "what is here?", "--ask-budget-usd", "0.0001", "--output-format", "json"]);
    const result = JSON.parse(ran.stdout) as { subtype: string; errors: string[] };
    expect([ran.code, result.subtype, result.errors.length]).toEqual([1, "error_max_budget_usd", 1]);
    expect(result.errors[0]).toMatch(/^The budget of \$0\.0001 that needs no asking is spent: .* Raise it, or go on where somebody can\.$/);
    w.write("home/.heddle/settings.json", '{ "askBudgetUsd": 0.0001 }');
    w.write("project/.heddle/settings.json", '{ "askBudgetUsd": 5 }');
    const again = await w.run(["-c", "-p", "go on"]);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("askBudgetUsd of")]);
    expect(again.stderr).toContain("The budget of $0.0001 that needs no asking is spent");
    expect((await w.run(["-c", "-p", "go on", "--ask-budget-usd", "5"])).stdout).toBe("Nothing there.\n");
  });
});

describe("a resumed session", () => {
  it("thinks as much as it did, unless it is told otherwise", async () => {
    const w = await world({ script: [{ text: "1" }, { text: "2" }, { text: "3" }, { text: "4" }] });
    await w.run(["-p", "a", "--effort", "low"]);
    await w.run(["-c", "-p", "b"]);
    await w.run(["-c", "-p", "c", "--effort", "max"]);
    await w.run(["-c", "-p", "d"]);
    const efforts = w.server.mainRequests().map((r) => (r.body as { output_config?: { effort?: string } }).output_config?.effort);
    expect(efforts).toEqual(["low", "low", "max", "max"]);
  });
});
