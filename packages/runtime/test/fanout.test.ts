import type { RuntimeEvent } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import { Fanout } from "../src/session/fanout.ts";
import { gateway } from "./support.ts";

const delta = (id: string, part: number, text: string): RuntimeEvent => ({
  type: "message.delta",
  id,
  part,
  of: "text",
  text,
  at: 1,
  turn: "t",
  step: 0,
});
const phase = (to: "context" | "sampling"): RuntimeEvent => ({ type: "turn.phase", from: "input", to, at: 1, turn: "t", step: 0 });
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("fan-out", () => {
  it("hands each event to a quick subscriber as it is, in order", async () => {
    const fanout = new Fanout(() => {});
    const seen: RuntimeEvent[] = [];
    fanout.add((e) => void seen.push(e));
    const events = [delta("a", 0, "x"), phase("context"), delta("a", 0, "y")];
    for (const e of events) {
      fanout.push(e);
      await Promise.resolve();
    }
    expect(seen).toEqual(events);
  });

  it("merges deltas of one part while a subscriber is slow, drops nothing else, and keeps the order", async () => {
    const fanout = new Fanout(() => {});
    const door = gateway();
    const slow: RuntimeEvent[] = [];
    const quick: RuntimeEvent[] = [];
    fanout.add(async (e) => {
      slow.push(e);
      await door.promise;
    });
    fanout.add((e) => void quick.push(e));
    fanout.push(phase("context"));
    await settled();
    const more = [
      delta("a", 0, "1"),
      delta("a", 0, "2"),
      delta("a", 1, "3"),
      delta("a", 1, "4"),
      phase("sampling"),
      delta("a", 1, "5"),
      delta("b", 1, "6"),
    ];
    for (const e of more) fanout.push(e);
    await settled();
    expect([slow.length, quick.length >= 6]).toEqual([1, true]);
    door.open();
    await settled();
    expect(slow).toEqual([
      phase("context"),
      delta("a", 0, "12"),
      delta("a", 1, "34"),
      phase("sampling"),
      delta("a", 1, "5"),
      delta("b", 1, "6"),
    ]);
  });

  it("takes no longer per event when more of them wait", async () => {
    const drained = async (n: number): Promise<number> => {
      const fanout = new Fanout(() => {});
      const all = gateway();
      let seen = 0;
      fanout.add(async () => {
        if (++seen === n) all.open();
      });
      for (let i = 0; i < n; i++) fanout.push(phase("context"));
      const started = performance.now();
      await all.promise;
      return performance.now() - started;
    };
    await drained(1_000);
    expect(await drained(80_000)).toBeLessThan(2_000); // 27 s where what waits is copied for each event
  });

  it("reports what a subscriber throws once, and goes on with it and with the others", async () => {
    const errors: unknown[] = [];
    const fanout = new Fanout((e) => void errors.push(String(e)));
    let calls = 0;
    const seen: RuntimeEvent[] = [];
    fanout.add(() => {
      calls++;
      throw new Error("sync");
    });
    fanout.add(async () => Promise.reject(new Error("async")));
    fanout.add((e) => void seen.push(e));
    fanout.push(phase("context"));
    fanout.push(phase("sampling"));
    await settled();
    expect([errors, calls, seen.length]).toEqual([["Error: sync", "Error: async"], 2, 2]);
  });

  it("hands over nothing after the end of a subscription, not even what waited", async () => {
    const fanout = new Fanout(() => {});
    const seen: RuntimeEvent[] = [];
    const end = fanout.add((e) => {
      seen.push(e);
      end();
    });
    fanout.push(phase("context"));
    fanout.push(phase("sampling"));
    await settled();
    expect(seen).toEqual([phase("context")]);
  });
});
