/** Runs the server from a script file, so that any client can be pointed at it: `main.ts <script.json> [port]`. */

import { readFile } from "node:fs/promises";
import process from "node:process";
import { type ServerOptions, startOpenAIServer } from "./index.ts";

const [file, port] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write("usage: main.ts <script.json> [port]\nThe file holds a list of steps, or an object of options.\n");
  process.exit(2);
}
const content: unknown = JSON.parse(await readFile(file, "utf8"));
const options = (Array.isArray(content) ? { script: content } : content) as ServerOptions;
const server = await startOpenAIServer({ ...options, port: Number(port ?? options.port ?? 0) });
process.stdout.write(`${server.url}\n`);

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void server.close());
