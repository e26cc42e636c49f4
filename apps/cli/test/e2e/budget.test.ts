import { describe, expect, it } from "vitest";
import { world } from "./run.ts";

const script = [{ calls: [{ name: "Glob", input: { pattern: "*" } }] }, { text: "Nothing there." }];

describe("--max-budget-usd", () => {
  it("calls no model once it is spent, also over a resume, and says what it was", async () => {
    const w = await world({ script });
    const ran = await w.run(["-p", "what is here?", "--max-budget-usd", "0.0001"]);
    expect([ran.code, ran.stdout, w.server.mainRequests().length]).toEqual([1, "", 1]);
    expect(ran.stderr).toMatch(/^heddle: The budget of \$0\.0001 is spent: the session has cost \$0\.00\d\d\. Raise it to go on\.\n$/);
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
    expect(await w.run(["-p", "x", "--max-budget-usd", "0"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--max-budget-usd"),
    });
  });
});
