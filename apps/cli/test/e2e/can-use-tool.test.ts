/** Whoever leads a session by stream-json decides on its tool calls. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { lines, type Running, type World, world } from "./run.ts";

const ARGS = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--permission-prompt-tool", "stdio"];
const bash = (...commands: string[]) => ({ calls: commands.map((command) => ({ name: "Bash", input: { command } })) });
const rule = { type: "addRules", rules: [{ toolName: "Bash", ruleContent: "touch one" }], behavior: "allow" };

type Asked = { request_id: string; request: Record<string, unknown> };
/** A host that answers every request with what `decide` says. */
function lead(w: World, decide: (request: Record<string, unknown>) => object, args = ARGS): Running {
  const run = w.start(args);
  const stdin = run.child.stdin!;
  let rest = "";
  run.child.stdout!.on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop()!;
    for (const line of parts.map((p) => JSON.parse(p) as { type: string })) {
      if (line.type === "result") stdin.end();
      if (line.type !== "control_request") continue;
      const { request_id, request } = line as unknown as Asked;
      stdin.write(
        `${JSON.stringify({ type: "control_response", response: { subtype: "success", request_id, response: decide(request) } })}\n`,
      );
    }
  });
  stdin.write(`${JSON.stringify({ type: "user", message: { content: "go" } })}\n`);
  return run;
}

describe("can_use_tool", () => {
  it("says what and why with the rules that would do, and keeps those that come back", async () => {
    const w = await world({ script: [bash("touch one", "touch one"), { text: "Finished." }] });
    const asked: object[] = [];
    const ran = await lead(w, (request) => {
      asked.push(request);
      return { behavior: "allow", updatedInput: request["input"], updatedPermissions: [{ ...rule, destination: "localSettings" }] };
    }).ended;
    expect(ran.code).toBe(0);
    expect(asked).toEqual([
      {
        subtype: "can_use_tool",
        tool_name: "Bash",
        input: { command: "touch one" },
        tool_use_id: expect.any(String),
        decision_reason: "no rule allows: touch one",
        permission_suggestions: [
          { ...rule, destination: "session" },
          { ...rule, destination: "localSettings" },
        ],
      },
    ]);
    expect(existsSync(join(w.cwd, "one"))).toBe(true);
    expect(readFileSync(join(w.cwd, ".heddle", "settings.local.json"), "utf8")).toContain('"Bash(touch one)"');
  });

  it.each([
    ["a no", { behavior: "deny", message: "not today" }, "not today"],
    ["changed arguments", { behavior: "allow", updatedInput: { command: "touch two" } }, "changed the arguments"],
    ["nonsense", { behaviour: "allow" }, "could not be read"],
  ])("of %s the model is told, and nothing runs", async (_name, response, told) => {
    const w = await world({ script: [bash("touch one"), { text: "Finished." }] });
    expect((await lead(w, () => response).ended).code).toBe(0);
    expect([existsSync(join(w.cwd, "one")), existsSync(join(w.cwd, "two"))]).toEqual([false, false]);
    expect(JSON.stringify(w.server.mainRequests()[1]?.body)).toContain(told);
  });

  it("is a no where stdin has ended, and is not asked without the flag", async () => {
    const w = await world({ script: [bash("touch one"), { text: "Finished." }] });
    const stdin = `${JSON.stringify({ type: "user", message: { content: "go" } })}\n`;
    expect(lines((await w.run(ARGS, { stdin })).stdout).at(-1)).toMatchObject({ type: "result", is_error: false });
    const ran = await lead(w, () => ({ behavior: "allow" }), ARGS.slice(0, 5)).ended;
    expect(ran.stdout).not.toContain("can_use_tool");
    expect(existsSync(join(w.cwd, "one"))).toBe(false);
    expect((await w.run(["-p", "x", "--permission-prompt-tool", "stdio"])).code).toBe(2);
  });
});
