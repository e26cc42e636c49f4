// What a JSON report of vitest amounts to, and the last line of `npm test`.

/**
 * A file that cannot be loaded counts as one failure. So does an exit code that no test explains: an error outside of any test, or
 * a run that did not come to its end (`report` is undefined).
 */
export function countTests(report, exitCode, root = "") {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const failures = [];
  const fail = (text) => {
    counts.failed++;
    failures.push(text);
  };
  for (const file of report?.testResults ?? []) {
    const name = file.name.replace(`${root}/`, "");
    const before = counts.failed;
    for (const test of file.assertionResults) {
      if (test.status === "failed") fail(`${name}: ${test.fullName}`);
      else counts[test.status === "passed" ? "passed" : "skipped"]++;
    }
    if (file.status === "failed" && counts.failed === before) fail(`${name}: ${file.message || "the file could not be run"}`);
  }
  if (exitCode !== 0 && counts.failed === 0)
    fail(report ? "vitest: an error outside of any test, see above" : "vitest: no report, it did not run to its end");
  return { ...counts, failures };
}

export const lastLine = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
