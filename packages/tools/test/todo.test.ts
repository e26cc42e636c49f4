import type { CallContext, Message } from "@heddle/kernel/plugin";
import { definePlugin } from "@heddle/kernel/plugin";
import { ownPlugin, startWith, testHost } from "@heddle/testkit";
import { describe, expect, it } from "vitest";
import { TODOS, type Todo } from "../src/index.ts";
import { todosOf } from "../src/todo/todos.ts";
import { called, resultsOf, tools } from "./support/turn.ts";

const write = (todos: unknown) => ({ tool: "TodoWrite", input: { todos } });
const one = { content: "read", status: "completed", activeForm: "Reading" } as const;
const two = { content: "write", status: "in_progress" } as const;
const three = { content: "test", status: "pending" } as const;

describe("TodoWrite", () => {
  it("takes the whole list, asks nobody, and says how it stands", async () => {
    const { results, asks } = await called([write([one, two, three]), write([]), write([three])]);
    expect(results).toEqual(["ok: Noted: 1 of 3 done; in progress: write.", "ok: The list is empty now.", "ok: Noted: 0 of 1 done."]);
    expect(asks).toEqual([]);
  });

  it("says what is wrong with a list, and leaves the one before", async () => {
    const { results, messages } = await called([write([two]), write([{ content: " ", status: "done" }]), write("read")]);
    expect(results.slice(1)).toEqual([
      expect.stringMatching(/^error: .*todos\.0\.content.*todos\.0\.status/),
      expect.stringMatching(/^error: .*todos: /),
    ]);
    expect(todosOf(messages)).toEqual([two]);
  });

  it("has the list again after a resume, for other plugins too, and none after a clear", async () => {
    const host = testHost();
    const seen: (readonly Todo[])[] = [];
    const look = ownPlugin(
      definePlugin({
        setup: () => ({
          closers: [
            {
              name: "look",
              close: (_: readonly Message[], ctx: CallContext) => {
                seen.push(ctx.use(TODOS).of(ctx.session.messages));
                return undefined;
              },
            },
          ],
        }),
      }),
      { name: "look", version: "1.0.0", heddle: { manifest: 1, api: "^1.0.0", main: "./x.js", contributes: { closers: ["look"] } } },
    );
    const start = (replies: readonly unknown[]) =>
      startWith({ host, stateDir: "/state", plugins: [tools, look], answers: () => ({ kind: "allow" }), replies: replies as never });
    const first = await start([{ calls: [write([one]), write([two, three])] }, "done"]);
    const session = await first.open();
    expect(resultsOf((await session.run()).added)).toHaveLength(2);
    const { id } = session.session;
    await first.dispose();
    const again = await start(["hello"]);
    const resumed = await again.open({ resume: id });
    await resumed.run();
    expect(seen).toEqual([
      [two, three],
      [two, three],
    ]);
    expect(todosOf([])).toEqual([]);
    await again.dispose();
  });
});
