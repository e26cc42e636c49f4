import { describe, expect, it } from "vitest";
// @ts-expect-error: a plain script without types
import { countTests, lastLine } from "../report.mjs";

const test = (status: string): object => ({ status, fullName: `a ${status} test` });
const file = (status: string, ...tests: object[]): object => ({ name: "/r/x.test.ts", status, message: "", assertionResults: tests });

describe("the report of npm test", () => {
  it("counts tests, and names those that failed", () => {
    const report = {
      testResults: [file("passed", test("passed"), test("skipped"), test("todo")), file("failed", test("passed"), test("failed"))],
    };
    expect(countTests(report, 1, "/r")).toEqual({ passed: 2, failed: 1, skipped: 2, failures: ["x.test.ts: a failed test"] });
  });

  it("counts a file that cannot be loaded, and one whose hooks failed", () => {
    const broken = { ...file("failed"), message: "cannot find module" };
    const report = { testResults: [broken, file("failed", test("skipped"))] };
    expect(countTests(report, 1, "/r")).toEqual({
      passed: 0,
      failed: 2,
      skipped: 1,
      failures: ["x.test.ts: cannot find module", "x.test.ts: the file could not be run"],
    });
  });

  it("never takes a bad exit for a pass", () => {
    expect(countTests({ testResults: [file("passed", test("passed"))] }, 1)).toMatchObject({ passed: 1, failed: 1 });
    expect(countTests(undefined, 137)).toMatchObject({ passed: 0, failed: 1 });
    expect(countTests({ testResults: [file("passed", test("passed"))] }, 0)).toMatchObject({ passed: 1, failed: 0 });
  });

  it("ends with the line that readers look for", () => {
    expect(lastLine({ passed: 3, failed: 0, skipped: 0 })).toBe("3 passed, 0 failed");
    expect(lastLine({ passed: 3, failed: 1, skipped: 2 })).toBe("3 passed, 1 failed, 2 skipped");
  });
});
