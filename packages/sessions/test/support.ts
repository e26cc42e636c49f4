/** A disk in memory, and lines as the runtime writes them. */
import type { AssistantMessage, Message, RuntimeEvent, ToolMessage, UserMessage } from "@heddle/kernel/protocol";
import type { Header, LogLine, Storage } from "../src/index.ts";

export const ID = "0000000001aa";
export const PATH = `/state/projects/-w/${ID}.jsonl`;
export const header: Header = { type: "session", v: 1, id: ID, cwd: "/w", at: 1, version: "1.0.0" };
export const text = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes);
export const bytesOf = (source: string): Uint8Array => new TextEncoder().encode(source);
export const jsonl = (...lines: readonly (LogLine | string)[]): string =>
  lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");

export const user = (id: string, said = id): UserMessage => ({
  role: "user",
  id,
  parentId: null,
  at: 1,
  origin: { by: "user" },
  content: [{ type: "text", text: said }],
});
export const assistant = (id: string, ...callIds: string[]): AssistantMessage => ({
  role: "assistant",
  id,
  parentId: null,
  at: 1,
  origin: { by: "model", provider: "fake", model: "m" },
  content: [
    { type: "text", text: id },
    ...callIds.map((callId) => ({ type: "tool-call" as const, callId, tool: "Echo", input: { a: 1 } })),
  ],
  stop: callIds.length > 0 ? "tool-calls" : "end",
});
export const result = (id: string, callId: string): ToolMessage => ({
  role: "tool",
  id,
  parentId: null,
  at: 1,
  origin: { by: "kernel" },
  callId,
  tool: "Echo",
  outcome: "ok",
  content: [{ type: "text", text: "done" }],
});
export const added = (message: Message): RuntimeEvent => ({ type: "message.added", message, at: 1, turn: "t", step: 0 });
export const changed = (change: object): RuntimeEvent => ({ type: "session.changed", change, at: 1, turn: null, step: 0 });

export class Disk implements Storage {
  readonly files = new Map<string, Uint8Array>();
  readonly locks = new Map<string, string>();
  readonly order: string[] = [];
  failure: string | undefined;
  readonly writes: string[] = [];

  put(path: string, content: string | Uint8Array): void {
    this.files.set(path, typeof content === "string" ? bytesOf(content) : content);
    this.order.unshift(path);
  }
  openAppend(path: string): { append(text: string): void; close(): void } {
    return {
      append: (more) => {
        if (this.failure) throw Object.assign(new Error(`${this.failure}: no space left on device`), { code: this.failure });
        this.writes.push(more);
        this.put(path, text(this.files.get(path)) + more);
      },
      close() {},
    };
  }
  async read(path: string): Promise<Uint8Array | undefined> {
    return this.files.get(path);
  }
  async list(dir: string): Promise<readonly { name: string; mtimeMs: number; size: number }[]> {
    const here = [...new Set(this.order)].filter((path) => path.startsWith(`${dir}/`) && !path.slice(dir.length + 1).includes("/"));
    return here.map((path, i) => ({ name: path.slice(dir.length + 1), mtimeMs: 1_000 - i, size: this.files.get(path)!.length }));
  }
  async folders(dir: string): Promise<readonly string[]> {
    const inside = [...this.files.keys()].filter((path) => path.startsWith(`${dir}/`));
    return [...new Set(inside.map((path) => path.slice(dir.length + 1).split("/")[0]!))];
  }
  lock(path: string): { release: () => void } | { holder: string } {
    const holder = this.locks.get(path);
    if (holder) return { holder };
    this.locks.set(path, "this process");
    return { release: () => void this.locks.delete(path) };
  }
}
