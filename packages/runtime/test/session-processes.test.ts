import { PROCESS, type Processes, type ProcessOptions, type ProcessResult, z } from "@heddle/kernel";
import { describe, expect, it } from "vitest";
import { type MemoryHost, memoryHost } from "../src/memory.ts";
import { SessionProcesses } from "../src/session/session-processes.ts";
import { allowAll, calls, pluginOf, says, scripted, start } from "./support.ts";

const ended = (how: ProcessResult["ended"]): ProcessResult => ({
  exitCode: null,
  signal: null,
  stdout: "",
  stderr: "",
  output: "",
  droppedBytes: 0,
  ended: how,
});
/** Each runs until it is aborted, and then a moment longer. */
const endless = (): Processes & { seen: string[] } => {
  const seen: string[] = [];
  const run = async ({ command, signal }: ProcessOptions): Promise<ProcessResult> => {
    if (signal!.aborted) return ended("abort");
    seen.push(`${command} begins`);
    await new Promise<void>((resolve) => signal!.addEventListener("abort", () => resolve()));
    await new Promise(setImmediate);
    seen.push(`${command} has ended`);
    return ended("abort");
  };
  return { seen, run };
};

describe("the processes of a session", () => {
  it("end with it, and none starts afterwards", async () => {
    const port = endless();
    const processes = new SessionProcesses(port);
    const stop = new AbortController();
    const one = processes.run({ command: "one", cwd: "/", signal: stop.signal });
    const two = processes.run({ command: "two", cwd: "/" });
    stop.abort();
    await one;
    expect(port.seen).toEqual(["one begins", "two begins", "one has ended"]);
    await processes.end();
    expect(port.seen.slice(3)).toEqual(["two has ended"]);
    expect([(await two).ended, (await processes.run({ command: "three", cwd: "/" })).ended]).toEqual(["abort", "abort"]);
    expect(port.seen).toHaveLength(4);
  });

  it("are gone when its disposal is over, also those that a call has left running", async () => {
    const port = endless();
    const tool = {
      name: "Start",
      description: "starts",
      input: z.object({}),
      overlap: "shared" as const,
      effects: () => [],
      run: (_: unknown, ctx: { capability: (token: typeof PROCESS) => Processes }) => {
        void ctx.capability(PROCESS).run({ command: "server", cwd: "/" });
        return "started";
      },
    };
    const { candidate } = scripted([calls("Start", {}), says("done")]);
    const starter = pluginOf("starter", { tools: [tool as never] }, { manifest: { capabilities: ["process"] } });
    const { runtime } = await start([candidate, allowAll, starter], { host: { ...memoryHost(), processes: port } as MemoryHost });
    const session = await runtime.open();
    await session.submit("go");
    expect(port.seen).toEqual(["server begins"]);
    await session.dispose();
    expect(port.seen).toEqual(["server begins", "server has ended"]);
  });
});
