import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["@heddle/source"] },
  ssr: { resolve: { conditions: ["@heddle/source", "node"], externalConditions: ["@heddle/source", "node"] } },
  test: {
    include: [
      "packages/*/test/**/*.test.ts",
      "plugins/*/test/**/*.test.ts",
      "apps/*/test/**/*.test.ts",
      "test-fixtures/*/test/**/*.test.ts",
      "scripts/test/**/*.test.ts",
    ],
    exclude: ["**/node_modules/**", "test-fixtures/repos/**"],
    testTimeout: 30_000,
    pool: "forks",
  },
});
