/** The only place where foreign code is called. It can throw, hang, return rubbish or answer late: the caller gets a value or a Fault. */
import type { Fault, FaultCode, ModelFault, Who } from "./protocol.ts";

export type Ran<T> = ({ ok: true; value: T } | { ok: false; fault: Fault; aborted: boolean }) & { ms: number };

/** Sees every foreign call from outside; a host uses it to find code that blocks the thread. `stop` ends the call as timed out. */
export type Watch = <T>(who: Who, stop: (why: string) => void, call: () => T | Promise<T>) => Promise<T>;

/** `graceMs`: how long a call may go on after an abort, to hand over what it has. */
export type GuardOptions = { deadlineMs: number; signal: AbortSignal; now: () => number; graceMs?: number; watch?: Watch | undefined };

/** What a running call knows of its own run. `live` turns false once the call is settled. */
export type CallScope = {
  signal: AbortSignal;
  live(): boolean;
  /** Starts the deadline anew: for calls that show signs of life. */
  touch(): void;
  /** Stops the deadline, while a person is being asked. Returns what starts it again. */
  pause(): () => void;
};

/** Thrown by the kernel's own checks of what a contribution returned. */
export class BadOutput extends Error {}

export const describe = (w: Who): string => `plugin "${w.plugin}" (${w.point} "${w.name}")`;

/** Never rejects. `call` may throw, reject, hang or ignore its signal; whatever it does after the deadline is ignored. */
export async function guard<T>(who: Who, o: GuardOptions, call: (scope: CallScope) => T | Promise<T>): Promise<Ran<T>> {
  const started = o.now();
  const fail = (code: FaultCode, message: string, aborted = false, model?: ModelFault): Ran<T> => ({
    ok: false,
    aborted,
    ms: o.now() - started,
    fault: { code, who, message: `${describe(who)} ${message}`, ...(model ? { model } : {}) },
  });
  if (o.signal.aborted) return fail("plugin-threw", "was not started: the turn was aborted", true);

  const inner = new AbortController();
  let settled = false;
  let pauses = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stop: (end: { code: FaultCode; why: string; aborted: boolean }) => void = () => {};
  const stopped = new Promise<{ code: FaultCode; why: string; aborted: boolean }>((resolve) => {
    stop = resolve;
  });
  const arm = (): void => {
    if (inner.signal.aborted) return; // from then on the timer is that of the grace
    clearTimeout(timer);
    if (settled || pauses > 0 || !Number.isFinite(o.deadlineMs)) return;
    timer = setTimeout(
      () => stop({ code: "plugin-timeout", why: `gave no answer within ${o.deadlineMs} ms`, aborted: false }),
      o.deadlineMs,
    );
  };
  const scope: CallScope = {
    signal: inner.signal,
    live: () => !settled,
    touch: arm,
    pause() {
      pauses++;
      if (!inner.signal.aborted) clearTimeout(timer);
      return () => {
        pauses--;
        arm();
      };
    },
  };
  const onAbort = (): void => {
    inner.abort(o.signal.reason);
    const end = (): void => stop({ code: "plugin-threw", why: "was aborted", aborted: true });
    clearTimeout(timer);
    if (o.graceMs) timer = setTimeout(end, o.graceMs);
    else end();
  };
  const outer = AbortSignal.any([o.signal]); // of our own: many calls at one time are no leak to warn of
  outer.addEventListener("abort", onAbort, { once: true });
  arm();
  const run = async (): Promise<T> => call(scope);
  const work = o.watch ? o.watch(who, (why) => stop({ code: "plugin-timeout", why, aborted: false }), run) : run();
  try {
    const first = await Promise.race([work.then((value) => ({ value })), stopped]);
    if ("code" in first) return fail(first.code, first.why, first.aborted);
    return { ok: true, value: first.value, ms: o.now() - started };
  } catch (error) {
    if (error instanceof BadOutput) return fail("plugin-bad-output", `returned something unusable: ${error.message}`);
    const { message, model } = readError(error);
    return fail("plugin-threw", model ? message : `threw: ${message}`, o.signal.aborted, model);
  } finally {
    settled = true;
    clearTimeout(timer);
    outer.removeEventListener("abort", onAbort);
    inner.abort();
  }
}

/** An error is foreign too: its getters may throw, it may be no Error at all. */
function readError(error: unknown): { message: string; model?: ModelFault } {
  try {
    if (!(error instanceof Error)) return { message: String(error) };
    const model = (error as { model?: ModelFault }).model;
    const known = error.name === "ModelError" && typeof model?.kind === "string";
    return { message: String(error.message), ...(known ? { model: JSON.parse(JSON.stringify(model)) } : {}) };
  } catch {
    return { message: "something that cannot be shown" };
  }
}
