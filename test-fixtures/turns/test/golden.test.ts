import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineAttachment, defineTool, z } from "@heddle/kernel/plugin";
import type { Candidate } from "@heddle/runtime";
import { goldenTurns, plugin } from "@heddle/testkit";
import { describe, expect, it } from "vitest";

const firstParty = ["input-pipeline", "commands", "tools", "permissions", "context", "attachments"].map((name): Candidate => {
  const file = fileURLToPath(import.meta.resolve(`@heddle/${name}/package.json`));
  const { version, heddle: manifest } = JSON.parse(readFileSync(file, "utf8"));
  const load = async (): Promise<unknown> => ((await import(`@heddle/${name}`)) as { default: unknown }).default;
  return { id: `@heddle/${name}`, version, from: "built in", manifest, essential: true, load };
});

/** Fails at each of its points. */
const broken = plugin("broken", { tools: ["Broken"], attachments: ["broken"], gates: ["broken"], closers: ["broken"] }, () => {
  const fail = (): never => {
    throw new Error("broken, as always");
  };
  return {
    tools: [defineTool({ name: "Broken", description: "", input: z.object({}), overlap: "shared", effects: () => [], run: fail })],
    attachments: [defineAttachment({ name: "broken", schema: z.object({}), when: "turn", collect: fail, render: fail })],
    gates: [{ name: "broken", judge: fail }],
    closers: [{ name: "broken", close: fail }],
  };
});

describe("golden turns", () => {
  const dir = fileURLToPath(new URL("..", import.meta.url));
  for (const turn of goldenTurns(dir, { plugins: (name) => (name === "broken-plugin" ? [...firstParty, broken] : firstParty) })) {
    it(turn.name, async () => {
      const { actual, expected, result } = await turn.run();
      expect(result.problems).toEqual([]);
      expect(actual).toBe(expected);
    });
  }
});
