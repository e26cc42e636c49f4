/** One request and its answer on the wire. */

import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Fault } from "./faults.ts";
import { STREAM_ERROR } from "./faults.ts";
import type { JsonObject } from "./json.ts";
import type { RequestRecord } from "./options.ts";

export async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

export class Exchange {
  readonly record: RequestRecord;
  readonly #response: ServerResponse;
  #ours = false;

  constructor(record: RequestRecord, response: ServerResponse) {
    this.record = record;
    this.#response = response;
    response.on("error", () => {});
    response.on("close", () => {
      record.closedByClient = !this.#ours;
    });
  }
  /** What ends from now on is the server's doing. */
  disown(): void {
    this.#ours = true;
  }
  send(status: number, body: JsonObject | string, headers: Readonly<Record<string, string>> = {}): void {
    this.#ours = true;
    this.record.status = status;
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const type = typeof body !== "string" ? "application/json" : body.startsWith("<") ? "text/html" : "text/plain";
    this.#response.writeHead(status, { "content-type": type, "x-request-id": `req_${this.record.path.length}`, ...headers });
    this.#response.end(text);
  }
  reset(): void {
    this.#ours = true;
    this.#response.socket?.resetAndDestroy();
  }
  /** Writes every event on its own, and each multi-byte character in two pieces. */
  async stream(events: readonly string[], fault: Fault | undefined, inEvent: boolean): Promise<void> {
    this.record.status = 200;
    this.#response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "x-request-id": "req_stream" });
    const sent =
      fault?.omits === undefined ? events : events.filter((it) => !/finish_reason":"|\[DONE\]|response\.(?:completed|incomplete)/.test(it));
    for (const [n, event] of sent.entries()) {
      if (n === fault?.cutAt) return this.reset();
      if (n === fault?.stallAt) return undefined;
      if (n === fault?.errorAt) {
        await this.#write(errorEvent(fault.error ?? STREAM_ERROR, inEvent));
        break;
      }
      await this.#write(event);
    }
    this.#ours = true;
    this.#response.end();
    return undefined;
  }
  async #write(text: string): Promise<void> {
    const bytes = Buffer.from(text, "utf8");
    const cut = bytes.findIndex((byte) => byte >= 0xc0) + 1;
    for (const piece of cut > 0 ? [bytes.subarray(0, cut), bytes.subarray(cut)] : [bytes])
      await new Promise<void>((resolve) => {
        if (this.#response.destroyed) resolve();
        else this.#response.write(piece, () => resolve());
      });
  }
}

function errorEvent(error: JsonObject, inEvent: boolean): string {
  if (!inEvent) return `data: ${JSON.stringify({ error, choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }] })}\n\n`;
  const { message = "error", code = null } = error;
  return `event: error\ndata: ${JSON.stringify({ type: "error", code: code === null ? null : String(code), message, param: null, sequence_number: 9 })}\n\n`;
}
