/** Random trees of forks, some of which fail, hang or are aborted: nothing is left open, nothing is left running. */
import { type ModelChunk, ModelError, type RuntimeEvent, unpaired } from "@heddle/kernel";
import fc from "fast-check";
import { expect, it } from "vitest";
import { allowAll, start } from "./support.ts";
import { brain, spawner } from "./support-forks.ts";

type End = "says" | "fails" | "hangs" | "refuses" | "cuts";
type Node = { readonly end: End; readonly background: boolean; readonly copy: boolean; readonly children: readonly Node[] };
const { tree } = fc.letrec<{ tree: Node }>((tie) => ({
  tree: fc.record({
    end: fc.oneof({ weight: 4, arbitrary: fc.constant<End>("says") }, fc.constantFrom<End>("fails", "hangs", "refuses", "cuts")),
    background: fc.boolean(),
    copy: fc.boolean(),
    children: fc.oneof({ maxDepth: 4, depthSize: "small" }, fc.constant([]), fc.array(tie("tree"), { maxLength: 3 })),
  }),
}));
/** Every node by its path, which is its prompt. */
function nodes(node: Node, path: string, all = new Map<string, Node>()): Map<string, Node> {
  all.set(path, node);
  for (const [i, child] of node.children.entries()) nodes(child, `${path}.${i}`, all);
  return all;
}
const usage = { input: 1, output: 1 };

function reply(
  node: Node | undefined,
  path: string,
  onHang: () => void,
): readonly ModelChunk[] | ((signal: AbortSignal) => AsyncIterable<ModelChunk>) {
  if (node && node.children.length > 0)
    return [
      ...node.children.map((child, i): ModelChunk => {
        const from = child.copy ? { kind: "fork" } : { kind: "new", system: "s" };
        return {
          type: "call",
          part: i,
          callId: `${path}.${i}`,
          tool: "Spawn",
          input: { prompt: `${path}.${i}`, background: child.background, from },
        };
      }),
      { type: "stop", stop: "tool-calls", usage },
    ];
  switch (node?.end) {
    case "fails":
      throw new ModelError("no", { kind: "invalid" });
    case "refuses":
      return [{ type: "stop", stop: "refusal", usage }];
    case "cuts":
      return [{ type: "text", part: 0, text: "cut" }];
    case "hangs":
      return async function* (signal) {
        yield { type: "text", part: 0, text: "so far" };
        onHang();
        if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      };
    default:
      return [
        { type: "text", part: 0, text: `end of ${path}` },
        { type: "stop", stop: "end", usage },
      ];
  }
}

it("leave no call open, no fork running and no request that a server would refuse", async () => {
  await fc.assert(
    fc.asyncProperty(tree, fc.option(fc.nat(150)), async (root, abortAt) => {
      const all = nodes(root, "n");
      let hung = (): void => {};
      const model = brain((said) => reply(all.get(said), said, () => hung()));
      const { runtime } = await start([model.candidate, spawner, allowAll]);
      const session = await runtime.open();
      const open = new Map<string, number>();
      let seen = 0;
      session.subscribe((e) => {
        const note = (event: RuntimeEvent): void => {
          if (event.type === "fork.started") open.set(event.fork, (open.get(event.fork) ?? 0) + 1);
          else if (event.type === "fork.ended") open.set(event.fork, open.get(event.fork)! - 1);
          else if (event.type === "fork.event") note(event.event);
        };
        note(e);
        if (++seen === abortAt) session.abort();
      });
      hung = () => setImmediate(() => session.abort());
      await session.submit("n");
      await session.idle();
      expect(unpaired(session.messages)).toEqual({ open: [], orphan: [] });
      await runtime.dispose();
      await new Promise((resolve) => setImmediate(resolve));
      expect([...open].filter(([, n]) => n !== 0)).toEqual([]);
      for (const { messages } of model.requests) {
        expect(unpaired(messages)).toEqual({ open: [], orphan: [] });
        expect(messages.at(-1)?.role).not.toBe("assistant");
      }
      const paid = session.cost.models.reduce((n, m) => n + m.calls, 0);
      expect(paid).toBeLessThanOrEqual(model.requests.length);
    }),
    { numRuns: 150 },
  );
}, 60_000);
