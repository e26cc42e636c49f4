import { type CallContext, definePlugin, type Effect } from "@heddle/kernel/plugin";
import { ownPlugin, type StartOptions, startWith, testHost } from "@heddle/testkit";
import { describe, expect, it } from "vitest";
import { answering, resultsOf, tools } from "./support/turn.ts";

/** Judges as the permission modes do, in small. */
const gate = ownPlugin(
  definePlugin({
    setup: () => ({
      gates: [
        {
          name: "modes",
          judge(_: unknown, effects: readonly Effect[], ctx: CallContext) {
            const writes = effects.some((e) => e.kind === "write");
            if (writes && ctx.session.permissionMode === "plan") return { say: "deny" as const, why: "plan mode" };
            return { say: writes ? ("allow" as const) : ("nothing" as const) };
          },
        },
      ],
    }),
  }),
  { name: "gate", version: "1.0.0", heddle: { manifest: 1, api: "^1.0.0", main: "./x.js", contributes: { gates: ["modes"] } } },
);

const enter = { tool: "EnterPlanMode", input: {} };
const exit = (plan = "1. do it") => ({ tool: "ExitPlanMode", input: { plan } });
const write = { tool: "Write", input: { file_path: "a.txt", content: "x" } };
const turn = (...calls: readonly unknown[]) => [...calls.map((call) => ({ calls: [call] })), "done"] as never[];

type MemoryHost = ReturnType<typeof testHost>;
async function session(o: Omit<StartOptions, "host"> & { host?: MemoryHost; turns: readonly (readonly unknown[])[] }) {
  const host = o.host ?? testHost();
  const runtime = await startWith({
    host,
    stateDir: "/state",
    plugins: [tools, gate],
    answers: answering(),
    replies: o.turns.flatMap((calls) => turn(...calls)),
    ...o,
  });
  return { host, runtime, ...(await runtime.open()) };
}
const planOf = (host: MemoryHost, path: string | null): string | undefined => host.text(`${path?.replace(/\.jsonl$/, "")}/plan.md`);

describe("plan mode", () => {
  it("begins when the person agrees, holds back what changes things, and ends with an accepted plan", async () => {
    const s = await session({ turns: [[enter, write, exit("# Way\n1. write"), write]], answers: answering("Yes, in the mode default") });
    const ran = await s.run();
    const path = `${s.session.path?.replace(/\.jsonl$/, "")}/plan.md`;
    expect(resultsOf(ran.added)).toEqual([
      expect.stringMatching(/^ok: Plan mode is on/),
      "denied: Denied: plan mode",
      `ok: The plan is accepted. Carry it out now. It is kept in ${path}.`,
      expect.stringMatching(/^ok: /),
    ]);
    expect(ran.asks.map((a) => (a.kind === "question" ? [a.text, a.choices] : a.effects))).toEqual([
      [{ kind: "other", target: "the permission mode: plan mode, in which nothing may be changed" }],
      ["Carry out this plan?\n\n# Way\n1. write\n", ["Yes, and accept edits", "Yes, in the mode default", "No, keep planning"]],
    ]);
    expect([s.session.permissionMode, planOf(s.host, s.session.path)]).toEqual(["default", "# Way\n1. write\n"]);
    const names = ran.requests.map((r) => r.tools.map((t) => t.name));
    expect(names.every((n) => n.join() === names[0]!.join())).toBe(true); // the prefix of a request stays
    await s.runtime.dispose();
  });

  it("does not begin where the person declines, and begins once", async () => {
    const no = await session({ turns: [[enter, write]], answers: () => ({ kind: "deny" }) });
    expect(resultsOf((await no.run()).added)).toEqual(["denied: Denied by the user.", expect.stringMatching(/^ok: /)]);
    expect(no.session.permissionMode).toBe("default");
    const twice = await session({ turns: [[enter, enter]] });
    expect(resultsOf((await twice.run()).added)).toEqual(Array.from({ length: 2 }, () => expect.stringMatching(/^ok: Plan mode is on/)));
  });

  it.each([
    [{ kind: "text", text: "No, keep planning" }, "plan", "ok: The plan was not accepted, and plan mode stays on."],
    [{ kind: "text", text: "use a queue" }, "plan", "ok: The plan was not accepted, and plan mode stays on. They say: use a queue"],
    [{ kind: "deny", reason: "not yet" }, "plan", "ok: The plan was not accepted, and plan mode stays on. They say: not yet"],
    [{ kind: "text", text: "Yes, and accept edits" }, "acceptEdits", "ok: The plan is accepted. Carry it out now."],
    [{ kind: "text", text: "y" }, "default", "ok: The plan is accepted. Carry it out now."],
    [{ kind: "allow" }, "default", "ok: The plan is accepted. Carry it out now."],
  ] as const)("that a session starts in ends as the person says: %j", async (answer, mode, result) => {
    const s = await session({ turns: [[exit()]], permissionMode: "plan", stateDir: null, answers: () => answer });
    expect(resultsOf((await s.run()).added)).toEqual([result]);
    expect(s.session.permissionMode).toBe(mode);
  });

  it("goes back to the mode that was before", async () => {
    const s = await session({ turns: [[enter, exit()]], permissionMode: "acceptEdits", answers: answering("y") });
    const { asks } = await s.run();
    expect(asks.flatMap((a) => (a.kind === "question" ? [a.choices] : []))).toEqual([["Yes, and accept edits", "No, keep planning"]]);
    expect(s.session.permissionMode).toBe("acceptEdits");
  });

  it("is not left where it is not on", async () => {
    const s = await session({ turns: [[exit()]] });
    const ran = await s.run();
    expect([resultsOf(ran.added), ran.asks]).toEqual([[expect.stringMatching(/^error: Plan mode is not on/)], []]);
  });

  it("outlives the process that it began in", async () => {
    const host = testHost();
    const first = await session({ host, turns: [[enter]] });
    await first.run();
    await first.runtime.dispose();
    const runtime = await startWith({ host, stateDir: "/state", plugins: [tools, gate], replies: turn(write), answers: answering() });
    const again = await runtime.open({ resume: first.session.id });
    expect(resultsOf((await again.run()).added)).toEqual(["denied: Denied: plan mode"]);
    expect(again.session.permissionMode).toBe("plan");
    await runtime.dispose();
  });

  it("keeps a plan for its own session and task: a new one drops it, and no request tells of it", async () => {
    const s = await session({ turns: [[enter, exit("THE OLD PLAN")], [enter]], answers: answering("y") });
    await s.run();
    expect(planOf(s.host, s.session.path)).toBe("THE OLD PLAN\n");
    await s.run();
    expect(planOf(s.host, s.session.path)).toBeUndefined();
    await s.runtime.dispose();
    const other = await session({ host: s.host, turns: [[enter]] });
    const { requests } = await other.run();
    expect(JSON.stringify(requests)).not.toContain("THE OLD PLAN");
    await other.runtime.dispose();
  });
});
