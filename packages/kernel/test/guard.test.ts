import { describe, expect, it } from "vitest";
import { BadOutput, guard } from "../src/guard.ts";
import { ModelError } from "../src/plugin.ts";

const who = { plugin: "p", point: "tools" as const, name: "T" };
const never = new AbortController().signal;
const options = { deadlineMs: 20, signal: never, now: () => 0 };
const forever = (): Promise<never> => new Promise(() => {});

describe("guard", () => {
  it("returns what the call returns", async () => {
    expect(await guard(who, options, () => 7)).toEqual({ ok: true, value: 7, ms: 0 });
    expect(await guard(who, options, async () => "x")).toEqual({ ok: true, value: "x", ms: 0 });
  });

  it.each<[string, () => unknown, string, string]>([
    [
      "a sync throw",
      () => {
        throw new Error("bad");
      },
      "plugin-threw",
      'plugin "p" (tools "T") threw: bad',
    ],
    [
      "a rejection",
      async () => {
        throw new Error("bad");
      },
      "plugin-threw",
      'plugin "p" (tools "T") threw: bad',
    ],
    [
      "a thrown string",
      () => {
        throw "just text";
      },
      "plugin-threw",
      'plugin "p" (tools "T") threw: just text',
    ],
    [
      "a thrown object that cannot be shown",
      () => {
        throw {
          toString: () => {
            throw new Error("no");
          },
        };
      },
      "plugin-threw",
      'plugin "p" (tools "T") threw: something that cannot be shown',
    ],
    ["a hang", forever, "plugin-timeout", 'plugin "p" (tools "T") gave no answer within 20 ms'],
    [
      "bad output",
      () => {
        throw new BadOutput("not a list");
      },
      "plugin-bad-output",
      'plugin "p" (tools "T") returned something unusable: not a list',
    ],
  ])("names the culprit of %s", async (_, call, code, message) => {
    expect(await guard(who, options, call)).toMatchObject({ ok: false, aborted: false, fault: { code, who, message } });
  });

  it("keeps what a model error knows", async () => {
    const ran = await guard(who, options, () => {
      throw new ModelError("too many", { kind: "rate-limit", status: 429 });
    });
    expect(ran).toMatchObject({
      ok: false,
      fault: { message: 'plugin "p" (tools "T") too many', model: { kind: "rate-limit", status: 429 } },
    });
  });

  it("does not start a call after an abort", async () => {
    const stop = new AbortController();
    stop.abort();
    let started = false;
    const ran = await guard(who, { ...options, signal: stop.signal }, () => {
      started = true;
    });
    expect([started, ran.ok, !ran.ok && ran.aborted]).toEqual([false, false, true]);
  });

  it("returns at once on an abort, even if the call ignores its signal", async () => {
    const stop = new AbortController();
    const ran = guard(who, { ...options, deadlineMs: 60_000, signal: stop.signal }, forever);
    stop.abort();
    expect(await ran).toMatchObject({ ok: false, aborted: true });
  });

  it("gives an aborted call its grace to hand over what it has", async () => {
    const stop = new AbortController();
    const ran = guard(
      who,
      { ...options, graceMs: 1_000, signal: stop.signal },
      (scope) => new Promise((resolve) => scope.signal.addEventListener("abort", () => resolve("partial"))),
    );
    stop.abort();
    expect(await ran).toMatchObject({ ok: true, value: "partial" });
  });

  it("lets no grace last for ever", async () => {
    const stop = new AbortController();
    const ran = guard(who, { ...options, graceMs: 5, signal: stop.signal }, forever);
    stop.abort();
    expect(await ran).toMatchObject({ ok: false, aborted: true });
  });

  it("stands still while paused and starts anew when touched", async () => {
    const ran = await guard(who, options, async (scope) => {
      const resume = scope.pause();
      await new Promise((r) => setTimeout(r, 60));
      resume();
      for (let i = 0; i < 4; i++) {
        scope.touch();
        await new Promise((r) => setTimeout(r, 10));
      }
      return "alive";
    });
    expect(ran).toMatchObject({ ok: true, value: "alive" });
  });

  it("tells a call that comes back late that it is over", async () => {
    let live: (() => boolean) | undefined;
    let signal: AbortSignal | undefined;
    await guard(who, options, (scope) => {
      live = scope.live;
      signal = scope.signal;
      return forever();
    });
    expect([live!(), signal!.aborted]).toEqual([false, true]);
  });

  it("ends a call that the watch stops", async () => {
    const watch = <T>(_: unknown, stop: (why: string) => void): Promise<T> => {
      stop("blocked the process");
      return forever();
    };
    expect(await guard(who, { ...options, watch }, () => 1)).toMatchObject({
      ok: false,
      fault: { code: "plugin-timeout", message: 'plugin "p" (tools "T") blocked the process' },
    });
  });
});
