// Random text is shown to the gate; what it lets run unasked is run in a real bash, which must not change a thing.
// HEDDLE_FUZZ_SECONDS: how long, by default 2; HEDDLE_FUZZ_SEED: where to begin.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { check } from "../../src/index.ts";
import { Folder, hasBash } from "./bash.ts";
import { numbers, randomText, randomWords } from "./texts.ts";

const SECONDS = Number(process.env["HEDDLE_FUZZ_SECONDS"] ?? 2);
const SEED = Number(process.env["HEDDLE_FUZZ_SEED"] ?? 1);
const NO_RULES = { allow: [], ask: [], deny: [] };
const BATCH = 100;

describe.skipIf(!hasBash())("random shell text", () => {
  let folder: Folder;
  beforeAll(() => {
    folder = new Folder();
  });
  afterAll(() => folder.remove());
  const ask = (what: string) =>
    check({ what: `Bash(${what})`, rules: NO_RULES, mode: "default", cwd: folder.work, home: folder.home, fs: folder.fs });

  it(
    "that runs unasked changes nothing",
    async () => {
      const next = numbers(SEED);
      const end = performance.now() + SECONDS * 1000;
      const found: string[] = [];
      let tried = 0;
      let ran = 0;
      while (performance.now() < end) {
        const harmless: string[] = [];
        for (; harmless.length < BATCH && performance.now() < end; tried++) {
          const text = randomText(next);
          if ((await ask(text)).decision === "allow" && !/while|until/.test(text)) harmless.push(text);
        }
        ran += harmless.length;
        found.push(...folder.culprits(harmless));
      }
      console.info(`${tried} texts, ${ran} of them harmless`);
      expect(found).toEqual([]);
      expect(ran).toBeGreaterThan(0);
    },
    SECONDS * 1000 + 60_000,
  );

  it(
    "is read word by word as bash reads it",
    async () => {
      const next = numbers(SEED + 1);
      const end = performance.now() + SECONDS * 500;
      const different: unknown[] = [];
      while (performance.now() < end) {
        const read: { text: string; words: string }[] = [];
        while (read.length < BATCH && performance.now() < end) {
          const text = randomWords(next);
          const { decision, commands } = await ask(`printf '%s\\0' - ${text}`);
          if (decision === "allow" && commands.length === 1) read.push({ text, words: commands[0]! });
        }
        const real = folder.words(read.map((r) => r.text));
        for (const [i, { text, words }] of read.entries()) {
          const is = real[i] && canonical(["printf", "%s\\0", ...real[i]]);
          if (is !== words && !/[*[~]|\$[#?]/.test(text)) different.push({ text, words, is });
        }
      }
      expect(different).toEqual([]);
    },
    SECONDS * 1000 + 60_000,
  );
});

const canonical = (words: readonly string[]): string =>
  words.map((w) => (w === "" || /[\s'"]/.test(w) ? `'${w.replaceAll("'", "'\\''")}'` : w)).join(" ");
