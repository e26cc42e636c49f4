import { textOf, unpaired } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import { SessionError } from "../src/index.ts";
import { allowAll, calls, echo, linesOf, pluginOf, says, scripted, start } from "./support.ts";

const prompt = (text: string) => pluginOf("prompt", { systemPrompt: [{ name: "n", placement: "system", build: () => text }] });

describe("resuming", () => {
  it("goes on with the history, the prefix byte for byte, and the settings", async () => {
    const one = scripted([calls("Echo", { text: "x" }), says("done")]);
    const first = await start([one.candidate, echo(), allowAll, prompt("as it was")]);
    const session = await first.runtime.open();
    await session.submit("hi");
    session.setModel("big");
    session.setPermissionMode("plan");
    await first.runtime.dispose();

    const two = scripted([says("again")]);
    const second = await start([two.candidate, echo(), allowAll, prompt("now different")], { host: first.host });
    const resumed = await second.runtime.open({ resume: "latest" });
    expect({
      id: resumed.id,
      path: resumed.path,
      messages: resumed.messages,
      model: resumed.model,
      mode: resumed.permissionMode,
      notices: resumed.notices,
    }).toEqual({
      id: session.id,
      path: session.path,
      messages: session.messages,
      model: "big",
      mode: "plan",
      notices: [],
    });
    await resumed.submit("and?");
    expect(JSON.stringify(two.requests[0]!.prefix)).toBe(JSON.stringify(one.requests[0]!.prefix));
    expect(JSON.stringify(two.requests[0]!.messages.slice(0, 4))).toBe(JSON.stringify(session.messages));
    expect(linesOf(second.host).filter((l) => l.type === "session")).toHaveLength(1);
  });

  it("remembers how much the model thinks, as it began and as it was changed", async () => {
    const one = scripted([says("1"), says("2")]);
    const first = await start([one.candidate], { effort: "high" });
    const session = await first.runtime.open();
    await session.submit("hi");
    await session.submit("more");
    await first.runtime.dispose();
    expect(linesOf(first.host).filter((l) => l.type === "session.changed")).toMatchObject([{ change: { effort: "high" } }]);
    const two = scripted([says("3"), says("4")]);
    const second = await start([two.candidate], { host: first.host, effort: "low" });
    const resumed = await second.runtime.open({ resume: "latest" });
    await resumed.submit("and?");
    resumed.setEffort("max");
    await resumed.submit("now?");
    expect([...one.requests, ...two.requests].map((r) => r.effort)).toEqual(["high", "high", "high", "max"]);
    await second.runtime.dispose();
    const third = await start([scripted([]).candidate], { host: first.host });
    expect((await third.runtime.open({ resume: "latest" })).effort).toBe("max");
  });

  it("changes nothing on disk by looking", async () => {
    const one = scripted([says("done")]);
    const { runtime, host } = await start([one.candidate]);
    const session = await runtime.open();
    await session.submit("hi");
    await session.dispose();
    const before = new Map(host.stored);
    const resumed = await runtime.open({ resume: session.id });
    await resumed.dispose();
    expect(host.stored).toEqual(before);
  });

  it("has one result for each call, and every input, wherever the process died", async () => {
    const one = scripted([calls("Echo", { text: "x" }), says("done")]);
    const first = await start([one.candidate, echo(), allowAll]);
    const session = await first.runtime.open();
    await session.submit("hi");
    await first.runtime.dispose();
    const lines = linesOf(first.host).map((line) => JSON.stringify(line));
    for (let cut = 2; cut <= lines.length; cut++) {
      const kept = `${lines.slice(0, cut).join("\n")}\n{"type":"mess`;
      first.host.stored.set(session.path!, new TextEncoder().encode(kept));
      const { runtime } = await start([scripted([says("again")]).candidate, echo(), allowAll], { host: first.host });
      const resumed = await runtime.open({ resume: session.id });
      const said = resumed.messages.flatMap((m) => (m.role === "user" ? [textOf(m.content)] : []));
      expect([...said, ...resumed.pendingInputs.map((i) => i.text)]).toEqual(["hi"]);
      expect(unpaired(resumed.messages)).toEqual({ open: [], orphan: [] });
      expect(resumed.notices[0]).toMatch(/1 broken piece of the log left out/);
      expect((await resumed.submit("go on")).outcome).toEqual({ kind: "completed" });
      const seen = JSON.stringify(resumed.messages);
      await resumed.dispose();
      expect(JSON.stringify((await runtime.open({ resume: session.id })).messages)).toBe(seen);
      await runtime.dispose();
      expect(new TextDecoder().decode(first.host.stored.get(session.path!)).startsWith(kept)).toBe(true);
    }
  });

  it("refuses what it cannot do, and says what to do", async () => {
    const one = scripted([says("done")]);
    const { runtime, host } = await start([one.candidate]);
    await expect(runtime.open({ resume: "latest" })).rejects.toThrow(
      new SessionError("there is no session of /w to resume; start one without --resume, or name a session by its id"),
    );
    const session = await runtime.open();
    await session.submit("hi");
    await expect(runtime.open({ resume: session.id })).rejects.toThrow(`session "${session.id}" is in use by this process; go on there`);
    const nothing = await start([one.candidate], { host, stateDir: null });
    await expect(nothing.runtime.open({ resume: "x" })).rejects.toThrow(
      'session "x" cannot be resumed, because no sessions are kept; set a state folder',
    );
  });

  it("refuses a session that is still being read when the runtime is disposed, and lets go of its lock", async () => {
    const one = scripted([says("done")]);
    const { runtime, host } = await start([one.candidate]);
    const session = await runtime.open();
    await session.submit("hi");
    await session.dispose();
    const opening = runtime.open({ resume: "latest" });
    const disposing = runtime.dispose();
    await expect(opening).rejects.toThrow(new SessionError("the runtime is disposed; create another one to open a session"));
    await disposing;
    const next = await start([scripted([]).candidate], { host });
    expect((await next.runtime.open({ resume: "latest" })).id).toBe(session.id);
  });

  it("keeps nothing without a state folder", async () => {
    const one = scripted([says("done")]);
    const { runtime, host } = await start([one.candidate], { stateDir: null });
    const session = await runtime.open();
    expect((await session.submit("hi")).text).toBe("done");
    expect([session.path, session.notices, host.stored.size]).toEqual([null, [], 0]);
  });

  it("finds the sessions of a folder that is reached through a symlink", async () => {
    const one = scripted([says("done")]);
    const first = await start([one.candidate]);
    const session = await first.runtime.open();
    await session.submit("hi");
    await first.runtime.dispose();
    const host = { ...first.host, fs: { ...first.host.fs, realpath: async (path: string) => path.replace("/link", "/w") } };
    const second = await start([scripted([]).candidate], { host, cwd: "/link" });
    expect((await second.runtime.open({ resume: "latest" })).id).toBe(session.id);
  });
});
