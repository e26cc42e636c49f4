import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { textOf } from "@heddle/kernel";
import { INTERRUPTED } from "@heddle/sessions";
import { expect, it } from "vitest";
import { createRuntime } from "../src/index.ts";
import { nodeHost } from "../src/node/index.ts";
import { allowAll, echo, says, scripted } from "./support.ts";
import { temporaryFolders } from "./support-node.ts";

const folder = temporaryFolders();

/** Runs a fixture as a process of its own; rejects when it hangs. */
function run(name: string, ...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const file = fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
  const child = spawn(process.execPath, ["--conditions=@heddle/source", "--import", "tsx", file, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 25_000,
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, stdout, stderr })));
}

it("ends plugins that loop without an end, names them, and the process goes on to its end", async () => {
  const { code, stdout, stderr } = await run("watchdog-child.ts");
  const blocked = expect.stringMatching(/^plugin "looper" \(tools "Loop\w*"\) blocked the process for \d+\.\d s and was stopped$/);
  expect([code, stderr]).toEqual([0, ""]);
  expect(JSON.parse(stdout)).toEqual({
    problems: [
      expect.stringMatching(/^plugin "loops-in-setup"@1\.0\.0 \(folder .*\): its setup blocked the process for \d+\.\d s and was stopped$/),
    ],
    outcome: { kind: "completed" },
    results: [
      ["Loop", "timeout", { type: "text", text: blocked }],
      ["LoopAfterAwait", "timeout", { type: "text", text: blocked }],
      ["LoopInTimer", "timeout", { type: "text", text: blocked }],
      ["LoopInImmediate", "timeout", { type: "text", text: blocked }],
      ["LoopInTick", "timeout", { type: "text", text: blocked }],
      ["LoopInContext", "timeout", { type: "text", text: blocked }],
      ["LoopInRegex", "timeout", { type: "text", text: blocked }],
      ["Fine", "ok", { type: "text", text: "fine" }],
    ],
  });
});

it("has on disk what a killed process had accepted and begun, and lets another process go on", async () => {
  const [cwd, stateDir] = [folder(), folder()];
  expect((await run("killed-child.ts", cwd, stateDir)).code).toBe(null);
  const { candidate, requests } = scripted([says("so it goes")]);
  const runtime = await createRuntime({
    host: nodeHost(),
    cwd,
    stateDir,
    provider: "fake",
    model: "m",
    plugins: [candidate, echo(), allowAll],
  });
  const session = await runtime.open({ resume: "latest" });
  expect(session.notices).toEqual([
    "1 tool call was interrupted and may or may not have taken effect",
    'not yet answered when the process ended: "typed while it ran"',
  ]);
  expect(session.pendingInputs).toEqual([{ text: "typed while it ran", source: "sdk" }]);
  await session.submit("what happened?");
  expect(requests[0]!.messages.map((m) => (m.role === "tool" ? textOf(m.content) : m.role))).toEqual([
    "user",
    "assistant",
    INTERRUPTED,
    "user",
  ]);
  await runtime.dispose();
});
