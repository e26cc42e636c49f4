/** Checkpoints on a real disk: what a turn has done to files, and the undoing of it. */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { defineTool, type Effect, FORKS, z } from "@heddle/kernel";
import { beforeEach, describe, expect, it } from "vitest";
import { createRuntime, type Session } from "../src/index.ts";
import { nodeHost } from "../src/node/index.ts";
import type { FileChange, Host } from "../src/types.ts";
import { allowAll, calls, pluginOf, type Reply, says, scripted, seenBy } from "./support.ts";
import { temporaryFolders } from "./support-node.ts";

const folder = temporaryFolders();
let w: string;
let host: Host;
/** What the next calls do, by name. */
let acts: { [name: string]: () => void };
beforeEach(() => {
  w = path.join(folder(), "w");
  host = nodeHost({ watchdog: null });
  acts = {};
  fs.mkdirSync(w);
});

const at = (name: string): string => path.join(w, name);
const put = (name: string, text: string | Uint8Array, mode?: number): void => {
  fs.mkdirSync(path.dirname(at(name)), { recursive: true });
  fs.writeFileSync(at(name), text);
  if (mode !== undefined) fs.chmodSync(at(name), mode);
};
const text = (name: string): string | undefined => (fs.existsSync(at(name)) ? fs.readFileSync(at(name), "utf8") : undefined);
const git = (...args: string[]): void => void execFileSync("git", args, { cwd: w, stdio: "ignore" });

const acting = (name: string, effects: (input: { act: string; path: string }) => readonly Effect[]) =>
  defineTool({
    ...{ name, description: "", overlap: "exclusive" as const, effects },
    input: z.object({ act: z.string(), path: z.string() }),
    run: ({ act }) => {
      acts[act]!();
      return "done";
    },
  });
const tools = pluginOf("tools", {
  tools: [
    acting("Command", ({ act }) => [{ kind: "execute", target: act }]),
    acting("Put", (input) => [{ kind: "write", target: at(input.path) }]),
    acting("Look", (input) => [{ kind: "read", target: at(input.path) }]),
  ],
});
const call = (tool: string, act: string, file = ""): Reply => calls(tool, { act, path: file }, `c-${tool}-${act}`);

async function open(replies: readonly Reply[], resume?: string): Promise<Session> {
  const stateDir = path.join(path.dirname(w), "state");
  const { candidate } = scripted(replies);
  const runtime = await createRuntime({ host, cwd: w, stateDir, plugins: [candidate, allowAll, tools], provider: "fake", model: "m" });
  return runtime.open(resume === undefined ? {} : { resume });
}
/** One turn for each list of calls. */
async function turns(...lists: Reply[][]): Promise<{ session: Session; ids: string[] }> {
  const session = await open(lists.flatMap((list) => [...list, says("ok")]));
  const ids: string[] = [];
  for (const _ of lists) ids.push((await session.submit("go")).turn);
  return { session, ids };
}
const brief = (changes: readonly FileChange[]): string[] =>
  changes.map(({ path: file, before, after, by }) => {
    const what = before === null ? "made" : after === null ? "removed" : "changed";
    return `${what} ${path.relative(w, file)} by ${by.join(", ")}`;
  });
const all = async (session: Session): Promise<string[][]> => (await session.checkpoints!.list()).map((c) => brief(c.changes));
const standing = async (session: Session, turn: string, how: "plan" | "undo" = "plan"): Promise<string[]> =>
  (await session.checkpoints![how](turn)).map((c) => `${path.relative(w, c.path)}: ${c.is}`);

describe.each(["in a work tree of git", "in a plain folder"])("%s", (where) => {
  beforeEach(() => {
    if (where.includes("git")) git("init", "-q");
    put("kept.txt", "kept");
  });

  it("all that tools and commands did is undone: bytes, modes, links, what was made and what was removed", async () => {
    put("edited.txt", "one\r\n");
    put("sub/run.sh", "#!/bin/sh\n", 0o755);
    put("binary", Uint8Array.of(0, 255, 1, 254));
    put("mode", "m", 0o644);
    fs.symlinkSync("kept.txt", at("link"));
    acts = {
      edit: () => put("edited.txt", "two"),
      make: () => put("new/deep.txt", "new"),
      command() {
        fs.rmSync(at("sub"), { recursive: true });
        put("binary", "text");
        fs.chmodSync(at("mode"), 0o600);
        fs.rmSync(at("link"));
        fs.symlinkSync("edited.txt", at("link"));
        put("made.txt", "made");
      },
    };
    const { session, ids } = await turns([
      call("Put", "edit", "edited.txt"),
      call("Put", "make", "new/deep.txt"),
      call("Command", "command"),
    ]);
    expect(await all(session)).toEqual([
      [
        "changed binary by Command",
        "changed edited.txt by Put",
        "changed link by Command",
        "made made.txt by Command",
        "changed mode by Command",
        "made new/deep.txt by Put",
        "removed sub/run.sh by Command",
      ],
    ]);
    expect(await standing(session, ids[0]!)).toEqual(
      ["binary", "edited.txt", "link", "made.txt", "mode", "new/deep.txt", "sub/run.sh"].map((name) => `${name}: undo`),
    );
    expect(new Set((await standing(session, ids[0]!, "undo")).map((line) => line.split(": ")[1]))).toEqual(new Set(["undone"]));
    expect({
      edited: text("edited.txt"),
      script: [text("sub/run.sh"), fs.statSync(at("sub/run.sh")).mode & 0o777],
      binary: [...fs.readFileSync(at("binary"))],
      mode: fs.statSync(at("mode")).mode & 0o777,
      link: fs.readlinkSync(at("link")),
      made: [text("made.txt"), text("new/deep.txt")],
      kept: text("kept.txt"),
    }).toEqual({
      edited: "one\r\n",
      script: ["#!/bin/sh\n", 0o755],
      binary: [0, 255, 1, 254],
      mode: 0o644,
      link: "kept.txt",
      made: [undefined, undefined],
      kept: "kept",
    });
  });

  it("what someone else does between turns is of no turn, and is not undone", async () => {
    put("a.txt", "a");
    acts = { first: () => put("a.txt", "agent"), second: () => put("b.txt", "agent") };
    const session = await open([call("Command", "first"), says("ok"), call("Command", "second"), says("ok")]);
    const first = await session.submit("go");
    put("a.txt", "a person");
    put("c.txt", "a person");
    const second = await session.submit("go");
    expect(await all(session)).toEqual([["changed a.txt by Command"], ["made b.txt by Command"]]);
    expect([await standing(session, first.turn, "undo"), await standing(session, second.turn, "undo")]).toEqual([
      ["a.txt: touched"],
      ["b.txt: undone"],
    ]);
    expect([text("a.txt"), text("b.txt"), text("c.txt")]).toEqual(["a person", undefined, "a person"]);
  });

  it("turns that changed one file are undone from the last on, also in a session that is resumed", async () => {
    put("a.txt", "0");
    acts = { one: () => put("a.txt", "1"), two: () => put("a.txt", "2") };
    const { session, ids } = await turns([call("Put", "one", "a.txt")], [call("Command", "two")]);
    expect(await standing(session, ids[0]!, "undo")).toEqual(["a.txt: later"]);
    await session.dispose();
    const again = await open([], session.id);
    expect(await all(again)).toEqual([["changed a.txt by Put"], ["changed a.txt by Command"]]);
    expect([await standing(again, ids[1]!, "undo"), text("a.txt")]).toEqual([["a.txt: undone"], "1"]);
    expect([await standing(again, ids[0]!, "undo"), text("a.txt")]).toEqual([["a.txt: undone"], "0"]);
  });

  it("what a command does around a tool is of the turn, what happens when none ran is not", async () => {
    put("a.txt", "0");
    acts = { put: () => put("a.txt", "1"), command: () => put("a.txt", "2"), look: () => put("a.txt", "a person") };
    const { session, ids } = await turns([call("Put", "put", "a.txt"), call("Look", "look", "a.txt")]);
    expect(await standing(session, ids[0]!)).toEqual(["a.txt: touched"]);
    put("a.txt", "0");
    const both = await turns(
      [call("Command", "command"), call("Put", "put", "a.txt")],
      [call("Put", "put", "a.txt"), call("Command", "command")],
    );
    expect(await all(both.session)).toEqual([["changed a.txt by Put, Command"], ["changed a.txt by Put, Command"]]);
    expect([await standing(both.session, both.ids[1]!, "undo"), text("a.txt")]).toEqual([["a.txt: undone"], "1"]);
    expect([await standing(both.session, both.ids[0]!, "undo"), text("a.txt")]).toEqual([["a.txt: undone"], "0"]);
  });

  it("what someone else does to a file between two writes of it is not undone, unless a command of the turn may have done it", async () => {
    put("a.txt", "0");
    put("b.txt", "0");
    acts = {
      one: () => put("a.txt", "1"),
      person: () => put("a.txt", "1 and a person's"),
      two: () => put("a.txt", "2 and a person's"),
      other: () => put("b.txt", "1"),
      three: () => put("a.txt", "3"),
      command: () => put("a.txt", "4"),
      four: () => put("a.txt", "5"),
    };
    const { session, ids } = await turns(
      [call("Put", "one", "a.txt"), call("Look", "person"), call("Put", "two", "a.txt"), call("Put", "other", "b.txt")],
      [call("Put", "three", "a.txt"), call("Command", "command"), call("Put", "four", "a.txt")],
    );
    expect(await all(session)).toEqual([["changed a.txt by Put", "changed b.txt by Put"], ["changed a.txt by Put"]]);
    await session.dispose();
    const again = await open([], session.id);
    expect([await standing(again, ids[1]!, "undo"), text("a.txt")]).toEqual([["a.txt: undone"], "2 and a person's"]);
    expect(await standing(again, ids[0]!)).toEqual(["a.txt: touched", "b.txt: undo"]);
    expect(await standing(again, ids[0]!, "undo")).toEqual(["a.txt: touched", "b.txt: undone"]);
    expect([text("a.txt"), text("b.txt")]).toEqual(["2 and a person's", "0"]);
  });

  it("a write that fails before a person's is no write of the turn", async () => {
    put("a.txt", "0");
    acts = { none: () => {}, person: () => put("a.txt", "a person's"), put: () => put("a.txt", "1") };
    const { session, ids } = await turns([call("Put", "none", "a.txt"), call("Look", "person"), call("Put", "put", "a.txt")]);
    expect([await standing(session, ids[0]!, "undo"), text("a.txt")]).toEqual([["a.txt: undone"], "a person's"]);
  });

  it("nothing outside the workspace is looked at or written, whatever a link says", async () => {
    const outside = path.join(path.dirname(w), "outside");
    fs.mkdirSync(outside);
    fs.writeFileSync(path.join(outside, "x.txt"), "theirs");
    put("dir/a.txt", "a");
    acts = { away: () => fs.writeFileSync(path.join(outside, "x.txt"), "changed"), put: () => put("dir/a.txt", "b") };
    const { session, ids } = await turns([call("Put", "away", "../outside/x.txt"), call("Put", "put", "dir/a.txt")]);
    expect(await all(session)).toEqual([["changed dir/a.txt by Put"]]);
    fs.rmSync(at("dir"), { recursive: true });
    fs.symlinkSync(outside, at("dir"));
    fs.writeFileSync(path.join(outside, "a.txt"), "b");
    expect(await standing(session, ids[0]!, "undo")).toEqual(["dir/a.txt: outside"]);
    expect(fs.readFileSync(path.join(outside, "a.txt"), "utf8")).toBe("b");
  });

  it("a change that keeps size and times is seen", async () => {
    put("a.txt", "abc");
    acts = {
      command() {
        const { atime, mtime } = fs.statSync(at("a.txt"));
        fs.writeFileSync(at("a.txt"), "xyz");
        fs.utimesSync(at("a.txt"), atime, mtime);
      },
    };
    const { session, ids } = await turns([call("Command", "command")]);
    expect([await standing(session, ids[0]!, "undo"), text("a.txt")]).toEqual([["a.txt: undone"], "abc"]);
  });

  it("a turn that only looks leaves nothing, and is not waited for", async () => {
    acts = { look: () => {}, command: () => {} };
    const { session } = await turns([call("Look", "look")], [call("Command", "command")]);
    expect(await all(session)).toEqual([]);
    expect(fs.existsSync(path.join(session.path!.replace(/\.jsonl$/, ""), "checkpoints"))).toBe(false);
  });
});

it("what git ignores is covered where a tool writes it, and never taken for new when it is ignored no longer", async () => {
  git("init", "-q");
  put(".gitignore", "*.secret\n");
  put("a.secret", "theirs");
  put("b.secret", "theirs");
  const { look } = host.disk!;
  const longAgo = async (paths: readonly string[]) =>
    (await look(paths)).map((it, n) => (it && paths[n] === at("a.secret") ? { ...it, born: it.born - 60_000 } : it));
  host = { ...host, disk: { ...host.disk!, look: longAgo } };
  acts = {
    put: () => put("b.secret", "agent"),
    command: () => put(".gitignore", ""),
  };
  const { session, ids } = await turns([call("Put", "put", "b.secret"), call("Command", "command")]);
  expect(await standing(session, ids[0]!, "undo")).toEqual([".gitignore: undone", "a.secret: unknown", "b.secret: undone"]);
  expect([text("a.secret"), text("b.secret"), text(".gitignore")]).toEqual(["theirs", "theirs", "*.secret\n"]);
});

it("a file that a command moves comes back, and what it was moved to goes", async () => {
  put("a.txt", "a");
  acts = { move: () => fs.renameSync(at("a.txt"), at("b.txt")) };
  const { session, ids } = await turns([call("Command", "move")]);
  expect(await standing(session, ids[0]!, "undo")).toEqual(["a.txt: undone", "b.txt: undone"]);
  expect([text("a.txt"), text("b.txt")]).toEqual(["a", undefined]);
});

it("what a sub-agent does is of the turn of its session", async () => {
  put("a.txt", "a");
  acts = { edit: () => put("a.txt", "b"), command: () => put("c.txt", "c") };
  const agent = defineTool({
    ...{ name: "Agent", description: "", overlap: "shared" as const, input: z.object({}), effects: () => [] },
    run: async (_, ctx) => {
      const { end } = ctx.capability(FORKS).start({ title: "t", prompt: "go", from: { kind: "new", system: "s" } });
      return (await end).text;
    },
  });
  const { candidate } = scripted([
    calls("Agent", {}, "c1"),
    call("Put", "edit", "a.txt"),
    call("Command", "command"),
    says("changed"),
    says("ok"),
  ]);
  const plugins = [candidate, allowAll, tools, pluginOf("agent", { tools: [agent] }, { manifest: { capabilities: ["forks"] } })];
  const stateDir = path.join(path.dirname(w), "state");
  const session = await (await createRuntime({ host, cwd: w, stateDir, plugins, provider: "fake", model: "m" })).open();
  const { turn, text: said } = await session.submit("go");
  expect([said, await all(session)]).toEqual(["ok", [["changed a.txt by Put", "made c.txt by Command"]]]);
  expect(await standing(session, turn, "undo")).toEqual(["a.txt: undone", "c.txt: undone"]);
});

it("nothing is undone while a turn changes files", async () => {
  put("a.txt", "a");
  let tried: Promise<unknown> | undefined;
  let session!: Session;
  acts = {
    edit: () => put("a.txt", "b"),
    undo() {
      tried = session.checkpoints!.undo("x").catch((error: Error) => `${error.name}: ${error.message}`);
    },
  };
  session = await open([call("Look", "undo"), call("Put", "edit", "a.txt"), call("Look", "undo"), says("ok")]);
  const seen: unknown[] = [];
  session.subscribe(async (e) => {
    if (e.type === "tool.finished" && e.tool === "Look") seen.push(await tried);
  });
  await session.submit("go");
  expect(seen).toEqual([[], "SessionError: nothing can be undone while tools of a turn change files; abort it or wait for its end"]);
});

it("nothing is ever written but by an undo", async () => {
  put("a.txt", "a");
  acts = { edit: () => put("a.txt", "b"), move: () => fs.renameSync(at("a.txt"), at("b.txt")), none: () => {} };
  const { session } = await turns([call("Put", "edit", "a.txt")], [call("Command", "move")], [call("Command", "none")]);
  expect([text("a.txt"), text("b.txt")]).toEqual([undefined, "b"]);
  expect(await all(session)).toEqual([["changed a.txt by Put"], ["removed a.txt by Command", "made b.txt by Command"]]);
});

it("what is kept is for its owner alone, and files too large for it are said not to be known", async () => {
  put("large", "x".repeat(5 * 1024 * 1024));
  put("small", "x");
  acts = {
    command() {
      put("large", "y");
      put("small", "y");
    },
    put: () => put("large", "z".repeat(5 * 1024 * 1024)),
  };
  const { session, ids } = await turns([call("Command", "command")], [call("Put", "put", "large")]);
  expect(await standing(session, ids[0]!)).toEqual(["large: later", "small: undo"]);
  expect(await standing(session, ids[1]!, "undo")).toEqual(["large: undone"]);
  expect(await standing(session, ids[0]!)).toEqual(["large: unknown", "small: undo"]);
  const dir = path.join(session.path!.replace(/\.jsonl$/, ""), "checkpoints");
  const modes = new Set(fs.readdirSync(dir).map((name) => (fs.statSync(path.join(dir, name)).mode & 0o777).toString(8)));
  expect([(fs.statSync(dir).mode & 0o777).toString(8), modes]).toEqual(["700", new Set(["600"])]);
});

it("a failure costs the checkpoint and nothing else, and is told once", async () => {
  const { disk } = host;
  host = { ...host, disk: { ...disk!, look: () => Promise.reject(new Error("EIO: the disk is gone")) } };
  acts = { put: () => put("a.txt", "1"), command: () => put("b.txt", "1") };
  const session = await open([call("Put", "put", "a.txt"), call("Command", "command"), says("ok"), call("Command", "command"), says("ok")]);
  const seen = seenBy(session);
  expect([(await session.submit("go")).outcome, (await session.submit("go")).outcome]).toEqual([
    { kind: "completed" },
    { kind: "completed" },
  ]);
  expect([text("a.txt"), text("b.txt"), await all(session)]).toEqual(["1", "1", []]);
  const told = seen.flatMap((e) => (e.type === "message.added" && e.message.role === "system" ? [e.message.text] : []));
  expect(told).toEqual(["What this session does to files can be undone only in part: EIO: the disk is gone"]);
});

it("a workspace with too many files is said to be covered only where tools write", async () => {
  host = {
    ...host,
    fs: { ...host.fs, readdir: async () => Array.from({ length: 20_001 }, (_, n) => ({ name: `${n}`, kind: "file" as const })) },
  };
  put("a.txt", "0");
  acts = { put: () => put("a.txt", "1"), command: () => put("b.txt", "1") };
  const session = await open([call("Put", "put", "a.txt"), call("Command", "command"), says("ok")]);
  const seen = seenBy(session);
  const { turn } = await session.submit("go");
  expect(await standing(session, turn)).toEqual(["a.txt: undo"]);
  const told = seen.flatMap((e) => (e.type === "message.added" && e.message.role === "system" ? [e.message.text] : []));
  expect(told).toEqual([
    "What commands change cannot be undone, only what tools write themselves: the workspace has more than 20000 files.",
  ]);
});
