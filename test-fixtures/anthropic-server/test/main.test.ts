/** The runnable server, started as a process of its own. */

import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it } from "vitest";
import { body, HEADERS } from "./helpers.ts";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function run(content: unknown) {
  const folder = await mkdtemp(join(tmpdir(), "anthropic-server-"));
  cleanups.push(() => rm(folder, { recursive: true }));
  const file = join(folder, "script.json");
  await writeFile(file, JSON.stringify(content));
  const child = spawn(process.execPath, ["--import", "tsx", MAIN, file], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = new Promise<number | null>((resolve) => {
    child.once("exit", resolve);
  });
  cleanups.push(() => child.kill());
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.once("data", (data: Buffer) => resolve(String(data).trim()));
    child.once("exit", () => reject(new Error("The server ended before it said where it listens")));
  });
  return { url, child, exited };
}

it("runs from a script file, shows its record, and ends on a signal", async () => {
  const { url, child, exited } = await run({ script: [{ text: "at {{cwd}}" }], window: 5000 });
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const response = await fetch(`${url}/v1/messages`, { method: "POST", headers: HEADERS, body: JSON.stringify(body()) });
  expect(await response.json()).toMatchObject({ content: [{ type: "text", text: `at ${process.cwd()}` }] });
  expect(await (await fetch(`${url}/__requests`)).json()).toMatchObject([{ kind: "main" }]);
  child.kill("SIGTERM");
  expect(await exited).toBe(0);
});
