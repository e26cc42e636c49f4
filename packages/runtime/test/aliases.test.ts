/** Names that stand for a model, wherever one may be named. */
import { describe, expect, it } from "vitest";
import { circlesOf } from "../src/index.ts";
import { linesOf, pluginOf, says, scripted, start } from "./support.ts";
import { BUSY, play } from "./support-recovery.ts";

const modelAliases = { fast: "haiku", haiku: "small-1", local: "spare/big", here: "there", there: "here" };
const spare = pluginOf("spare", { providers: [{ name: "spare", stream: () => (async function* () {})() }] });
const pick = pluginOf("pick", {
  classifiers: [{ name: "all", classify: ({ text }) => ({ as: "command", command: text, args: "" }) }],
  commands: [
    { name: "ask", kind: "prompt", summary: "", run: () => ({ kind: "prompt", content: [{ type: "text", text: "hi" }] }) },
    {
      name: "quick",
      kind: "prompt",
      summary: "",
      run: () => ({ kind: "prompt", content: [{ type: "text", text: "hi" }], controls: { model: "fast" } }),
    },
    { name: "elsewhere", kind: "local", summary: "", run: () => ({ kind: "handled", change: { model: "local" } }) },
  ],
});

describe("an alias", () => {
  it("that leads in a circle is found, each circle once", () => {
    expect(circlesOf({ ...modelAliases, self: "self", to: "here" })).toEqual([
      ["here", "there", "here"],
      ["self", "self"],
    ]);
  });
  it("is the model of a session, of a turn, or of a change, over any number of steps", async () => {
    const { candidate, requests } = scripted([says("a"), says("b"), says("c")]);
    const { runtime, host } = await start([candidate, spare, pick], { model: "fast", modelAliases });
    const session = await runtime.open();
    expect(session.model).toBe("small-1");
    await session.submit("ask");
    session.setModel("haiku");
    session.setModel("plain");
    await session.submit("ask");
    await session.submit("quick");
    expect(requests.map((r) => r.model)).toEqual(["small-1", "plain", "small-1"]);
    await session.submit("elsewhere");
    expect(session.model).toBe("spare/big");
    expect(linesOf(host).flatMap((l) => (l.type === "session.changed" ? [l["change"]] : []))).toEqual([
      { model: "plain" },
      { model: "local" },
    ]);
    await session.dispose();
    expect((await runtime.open({ resume: session.id })).model).toBe("spare/big");
  });
  it("may lead to a fallback model", async () => {
    const ran = await play([BUSY, BUSY, BUSY, says("ok")], { recovery: { fallbackModels: ["fast"] }, modelAliases });
    expect(ran.requests.map((r) => r.model)).toEqual(["m", "m", "m", "small-1"]);
  });
  it("that leads in a circle, or to nothing known, is passed on as it is", async () => {
    const { candidate } = scripted([]);
    const { runtime } = await start([candidate], { modelAliases });
    const session = await runtime.open();
    const names = ["here", "nobody/knows", "constructor"].map((name) => {
      session.setModel(name);
      return session.model;
    });
    expect(names).toEqual(["here", "nobody/knows", "constructor"]);
  });
});
