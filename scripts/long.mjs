// `npm run test:long`: the property tests with many more runs than `npm test` takes time for, and the fuzzer for a minute.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { install, quietEnv, root } from "./install.mjs";

if (install() !== 0) process.exit(1);
const windows = process.platform === "win32";
const vitest = join(root, "node_modules", ".bin", windows ? "vitest.CMD" : "vitest");
const env = {
  ...quietEnv,
  HEDDLE_WALKS: process.env.HEDDLE_WALKS ?? "10000",
  HEDDLE_FUZZ_SECONDS: process.env.HEDDLE_FUZZ_SECONDS ?? "60",
};
process.exit(
  spawnSync(vitest, ["run", "apps/cli/test/walks", "packages/permissions/test/fuzz"], { cwd: root, stdio: "inherit", env, shell: windows })
    .status ?? 1,
);
