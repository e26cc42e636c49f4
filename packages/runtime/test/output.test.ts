/** What becomes of results that are longer than their budget. */
import { type Content, type Tool, textOf, z } from "@heddle/kernel";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memoryHost } from "../src/memory.ts";
import { cutMiddle } from "../src/tools/cut.ts";
import { calls, pluginOf, says, scripted, start } from "./support.ts";

const toolOf = (run: Tool["run"], more: Partial<Tool> = {}) =>
  pluginOf("third-party", {
    tools: [{ name: "Long", description: "Long.", input: z.object({}), overlap: "shared", effects: () => [], run, ...more }],
  });

async function resultOf(run: Tool["run"], more: Partial<Tool> = {}, o: { stateDir?: null; host?: ReturnType<typeof memoryHost> } = {}) {
  const { candidate, requests } = scripted([calls("Long", {}, "call/1"), says("ok")]);
  const { host, runtime } = await start([candidate, toolOf(run, more)], o);
  const session = await runtime.open();
  const { messages } = await session.submit("go");
  const result = messages.find((m) => m.role === "tool")!;
  const folder = session.path?.replace(/\.jsonl$/, "");
  return { host, folder, outcome: result.outcome, content: result.content, text: textOf(result.content), requests };
}
const numbered = (n: number): string => Array.from({ length: n }, (_, i) => `line ${i + 1}\n`).join("");

describe("a result over its budget", () => {
  it("keeps head and tail on whole lines, and says where all of it is and how to read it", async () => {
    const whole = numbered(10_000);
    const { host, folder, text, outcome } = await resultOf(() => whole);
    const path = `${folder}/outputs/call%2f1.txt`;
    const [, head = "", left, all, chars, offset, tail = ""] =
      /^(.*\n)\n\[(\d+) of (\d+) lines \((\d+) characters\) left out here\. The whole output is in \S+\. Read it from offset (\d+) on, or search it with Grep\.\]\n\n(.*)$/s.exec(
        text,
      ) ?? [];
    expect({ outcome, named: text.includes(path), fits: text.length <= 30_000, kept: host.text(path) === whole, all }).toEqual({
      outcome: "ok",
      named: true,
      fits: true,
      kept: true,
      all: "10000",
    });
    expect(whole.startsWith(head) && whole.endsWith(tail) && head.length > tail.length && tail.length > 10_000).toBe(true);
    expect(head.length + tail.length + Number(chars)).toBe(whole.length);
    expect(Number(left) + head.split("\n").length - 1 + tail.split("\n").length - 1).toBe(10_000);
    expect(head.split("\n").length).toBe(Number(offset));
    expect((await host.fs.stat(path))?.mode).toBe(0o600);
  });

  it("says what is missing where nothing is kept, or nothing can be", async () => {
    const gone = await resultOf(() => numbered(10_000), {}, { stateDir: null });
    expect(gone.text).toMatch(/\[\d+ of 10000 lines \(\d+ characters\) left out here\. They are kept nowhere; ask for less/);
    const host = memoryHost();
    const full = { ...host, fs: { ...proxied(host.fs), writeFile: () => Promise.reject(new Error("ENOSPC: no space left")) } };
    const lost = await resultOf(() => numbered(10_000), {}, { host: full as typeof host });
    expect(lost.outcome).toBe("ok");
    expect(lost.text).toContain("They could not be kept: ENOSPC: no space left]");
  });

  it("keeps images and the rest of the result", async () => {
    const image = { type: "image", mimeType: "image/png", data: "AAAA" } as const;
    const content: Content = [{ type: "text", text: numbered(5_000) }, image, { type: "text", text: "the end" }];
    const result = await resultOf(() => ({ content, isError: true }));
    expect(result.outcome).toBe("error");
    expect(result.content).toEqual([{ type: "text", text: expect.stringMatching(/left out here.*the end$/s) }, image]);
  });

  it("may be longer or shorter where its tool says so, and what fits stays as it is", async () => {
    const text = numbered(4_000);
    expect((await resultOf(() => text, { outputLimit: 100_000 })).text).toBe(text);
    expect((await resultOf(() => text, { outputLimit: 2_000 })).text.length).toBeLessThanOrEqual(2_000);
    const exact = "x".repeat(30_000);
    const { host, text: same } = await resultOf(() => exact);
    expect(same).toBe(exact);
    expect([...host.files.keys()].filter((path) => path.includes("outputs"))).toEqual([]);
  });

  it("counts for what a tool throws", async () => {
    const { outcome, text, host, folder } = await resultOf(() => {
      throw new Error(numbered(10_000));
    });
    expect(outcome).toBe("error");
    expect(text).toMatch(/^plugin "third-party" \(tools "Long"\) threw: line 1\n.*left out here\..*line 10000\n$/s);
    expect(host.text(`${folder}/outputs/call%2f1.txt`)).toBe(numbered(10_000));
  });

  it("does not write over what another call of the same id has left", async () => {
    const { candidate } = scripted([calls("Long", {}), says("ok"), calls("Long", {}), says("ok")]);
    const clear = pluginOf("clear", {
      classifiers: [{ name: "c", classify: ({ text }) => (text === "/c" ? { as: "command", command: "c", args: "" } : undefined) }],
      commands: [{ name: "c", kind: "local", summary: "", run: () => ({ kind: "handled", change: { clear: true } }) }],
    });
    const { host, runtime } = await start([candidate, clear, toolOf(() => numbered(9_000))]);
    const session = await runtime.open();
    for (const input of ["go", "/c", "go"]) await session.submit(input);
    const names = [...host.files.keys()].filter((path) => path.includes("/outputs/")).map((path) => path.split("/").at(-1));
    expect(names).toEqual(["c1.txt", "c1_2.txt"]);
  });

  it("runs a tool that is an object of a class as its own self", async () => {
    class Own {
      readonly #text = "mine";
      readonly name = "Long";
      readonly description = "Long.";
      readonly input = z.object({});
      readonly overlap = "shared";
      get jsonSchema() {
        return { type: "object", title: this.#text };
      }
      effects() {
        return this.#text === "mine" ? [] : [{ kind: "other", target: "x" } as const];
      }
      run() {
        return this.#text;
      }
    }
    const { candidate, requests } = scripted([calls("Long", {}), says("ok")]);
    const { runtime } = await start([candidate, pluginOf("own", { tools: [new Own()] })]);
    const { messages } = await (await runtime.open()).submit("go");
    expect(messages.flatMap((m) => (m.role === "tool" ? [textOf(m.content)] : []))).toEqual(["mine"]);
    expect(requests[0]!.tools).toEqual([{ name: "Long", description: "Long.", schema: { type: "object", title: "mine" } }]);
  });
});

/** A copy that another object can be spread over. */
const proxied = <T extends object>(it: T): T =>
  Object.fromEntries(
    ["readFile", "writeFile", "stat", "realpath", "readdir", "remove"].map((key) => [
      key,
      ((it as never)[key] as (...a: unknown[]) => unknown).bind(it),
    ]),
  ) as T;

describe("a cut", () => {
  it("gives back the text with its middle, keeps to the limit and parts no code point", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "\n", "\r\n", "😀", "é", "long line "), maxLength: 300 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 200 }), (all, limit) => {
        const cut = cutMiddle(all, limit);
        if (!cut) {
          expect(all.length).toBeLessThanOrEqual(limit);
          return;
        }
        const { head, tail, chars } = cut;
        expect(head.length + tail.length).toBeLessThanOrEqual(limit);
        expect([all.startsWith(head), all.endsWith(tail), head.length + tail.length + chars.left]).toEqual([true, true, all.length]);
        expect(head.isWellFormed() && tail.isWellFormed()).toBe(true);
        if (cut.wholeLines) expect(cut.lines.left).toBe(all.slice(head.length, all.length - tail.length).split("\n").length - 1);
      }),
    );
  });
  it("goes within a line only where a line is too long", () => {
    expect(cutMiddle(`${"a\n".repeat(50)}`, 20)).toMatchObject({ head: "a\n".repeat(6), tail: "a\n".repeat(4), wholeLines: true, line: 7 });
    expect(cutMiddle(`${"a".repeat(50)}b`, 20)).toMatchObject({ head: "a".repeat(12), tail: `${"a".repeat(7)}b`, wholeLines: false });
  });
});
