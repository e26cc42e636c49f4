import { type ModelChunk, type ModelFaultKind, unpaired } from "@heddle/kernel";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MemoryHost } from "../src/memory.ts";
import type { Reply } from "./support.ts";
import { call, clock, fails, half, hangs, play, whole } from "./support-recovery.ts";

const KINDS: readonly ModelFaultKind[] = [
  "network",
  "overloaded",
  "rate-limit",
  "server",
  "protocol",
  "stall",
  "auth",
  "invalid",
  "overflow",
  "too-large",
];
const STOPS = ["end", "tool-calls", "length", "refusal", "pause", "overflow"] as const;
type Walk = readonly ((host: MemoryHost, n: number) => Reply)[];

/** What a reply has brought when it ends: nothing, half a text, a text, a call, more than one of them. */
const content = fc.constantFrom<(n: number) => readonly ModelChunk[]>(
  () => [],
  () => half("half"),
  () => whole("whole"),
  (n) => call(`c${n}`),
  (n) => [...whole("whole"), ...call(`c${n}`, 1), ...half("more", 2)],
  (n) => [{ type: "call", part: 0, callId: `c${n}`, tool: "Echo", input: "{", malformed: "torn" }],
);
const step = fc.oneof(
  fc.record({ chunks: content, stop: fc.constantFrom(...STOPS) }).map(
    ({ chunks, stop }) =>
      (_: MemoryHost, n: number): Reply => [...chunks(n), { type: "stop", stop }],
  ),
  fc
    .record({
      chunks: content,
      kind: fc.constantFrom(...KINDS),
      retryAfterMs: fc.option(fc.nat(90_000), { nil: undefined }),
      status: fc.boolean(),
    })
    .map(
      ({ chunks, kind, retryAfterMs, status }) =>
        (_: MemoryHost, n: number): Reply =>
          fails(kind, { ...(retryAfterMs === undefined ? {} : { retryAfterMs }), ...(status ? { status: 500 } : {}) }, chunks(n)),
    ),
  content.map(
    (chunks) =>
      (host: MemoryHost, n: number): Reply =>
        hangs(host, 300_000, chunks(n)),
  ),
  content.map(
    (chunks) =>
      (_: MemoryHost, n: number): Reply =>
        chunks(n),
  ),
);

describe("any sequence of failures", () => {
  it("ends, leaves a history that every API takes, keeps within its budget, and leaves the session usable", async () => {
    const walk: fc.Arbitrary<Walk> = fc.array(step, { maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(walk, fc.boolean(), fc.option(fc.nat(6), { nil: undefined }), async (steps, headless, abortAfter) => {
        const host = clock();
        const replies = [
          ...steps.map((make, n) => make(host, n)),
          ...Array.from({ length: 5 }, (): Reply => [...half("done"), { type: "stop", stop: "end" }]),
        ];
        let seen = 0;
        let over = false;
        const ran = await play(replies, {
          host,
          headless,
          recovery: { fallbackModels: ["small"] },
          onEvent: (e, session) => {
            if (e.type === "model.retry" && !over && seen++ === abortAfter) session.abort();
          },
        });
        over = true;
        const retries = ran.events.flatMap((e) => (e.type === "model.retry" && !e.message.endsWith("goes on from there.") ? [e] : []));
        const waited = retries.reduce((n, e) => n + e.waitMs, 0);
        expect(ran.events.at(-1)?.type).toBe("turn.ended");
        expect(unpaired(ran.session.messages)).toEqual({ open: [], orphan: [] });
        for (const { messages } of ran.requests)
          expect([unpaired(messages), messages.at(-1)?.role === "assistant"]).toEqual([{ open: [], orphan: [] }, false]);
        expect(retries.map((e) => e.attempt)).toEqual(retries.map((_, i) => i + 1));
        expect(retries.length).toBeLessThanOrEqual(headless ? 6 : 10);
        if (headless) expect(waited).toBeLessThanOrEqual(32_000 + 60_000);
        expect((await ran.session.submit("again")).outcome.kind).not.toBe("aborted");
        expect(unpaired(ran.session.messages)).toEqual({ open: [], orphan: [] });
      }),
      { numRuns: 300 },
    );
  });
});
