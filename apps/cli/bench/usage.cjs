// Preloaded into the measured program: writes what it used to the file that is named in HEDDLE_BENCH_USAGE.
const { writeFileSync } = require("node:fs");
process.on("exit", () => {
  if (process.env.HEDDLE_BENCH_USAGE) writeFileSync(process.env.HEDDLE_BENCH_USAGE, JSON.stringify(process.resourceUsage()));
});
