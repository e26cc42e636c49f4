import { describe, expect, it } from "vitest";
import { FailureBreaker } from "../src/session/breaker.ts";

const who = { plugin: "p", point: "tools" as const, name: "T" };

describe("the breaker", () => {
  it("opens on the third failure in a row, and says so once", () => {
    const breaker = new FailureBreaker();
    expect([breaker.record(who, false), breaker.record(who, false), breaker.record(who, true)]).toEqual([false, false, false]);
    expect([breaker.record(who, false), breaker.record(who, false), breaker.isOpen(who)]).toEqual([false, false, false]);
    expect([breaker.record(who, false), breaker.isOpen(who), breaker.record(who, false)]).toEqual([true, true, false]);
    expect(breaker.isOpen({ ...who, name: "Other" })).toBe(false);
  });
});
