/** One request and its answer on the wire: reading the body, sending JSON, streaming events, breaking off. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { gunzipSync } from "node:zlib";
import type { JsonObject } from "./json.ts";
import type { RequestRecord } from "./record.ts";
import type { Refusal } from "./refusal.ts";
import { refuse } from "./refusal.ts";
import { MAX_BODY_BYTES } from "./request-bytes.ts";

export type Clock = () => number;

/** Reads to the end even when the body is too large, since a client still writing would only see a broken pipe. */
export async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  if (size > MAX_BODY_BYTES) return Buffer.alloc(size);
  const bytes = Buffer.concat(chunks);
  if (request.headers["content-encoding"] !== "gzip") return bytes;
  try {
    return gunzipSync(bytes);
  } catch {
    return refuse("The request body is not valid JSON: invalid gzip data");
  }
}

export class Exchange {
  readonly request: IncomingMessage;
  readonly record: RequestRecord;
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  #endedByServer = false;
  #closed = false;

  constructor(request: IncomingMessage, response: ServerResponse, record: RequestRecord, clock: Clock) {
    this.request = request;
    this.record = record;
    this.#response = response;
    this.#clock = clock;
    // Writing to a client that just left is an error event, and an unheard one would end the whole process.
    response.on("error", () => {});
    response.on("close", () => {
      this.#closed = true;
      record.endedAt = clock();
      record.closedByClient = !this.#endedByServer;
    });
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** What ends from now on is the server's doing, not the client's. */
  disown(): void {
    this.#endedByServer = true;
  }

  sendJson(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
    this.sendText(status, JSON.stringify(body), { "content-type": "application/json", ...headers });
  }

  sendText(status: number, text: string, headers: Readonly<Record<string, string>>): void {
    if (this.#closed) return;
    this.disown();
    this.#begin(status, { ...headers, "content-length": String(Buffer.byteLength(text)) });
    this.#response.end(this.request.method === "HEAD" ? undefined : text);
  }

  sendError(status: number, error: JsonObject, headers: Readonly<Record<string, string>> = {}): void {
    this.sendJson(status, { type: "error", error, request_id: this.record.requestId }, headers);
  }

  refuse(refusal: Refusal): void {
    this.record.refusal = refusal;
    this.sendError(refusal.status, { type: refusal.type, message: refusal.message }, { "x-should-retry": "false" });
  }

  beginStream(): void {
    if (this.#closed) return;
    this.#begin(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
    this.#response.flushHeaders();
  }

  /** Resolves when the bytes have left, or at once when the client is gone. */
  write(bytes: Buffer | string): Promise<void> {
    return new Promise((resolve) => {
      if (this.#closed) resolve();
      else this.#response.write(bytes, () => resolve());
    });
  }

  endStream(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#closed) {
        resolve();
        return;
      }
      this.disown();
      this.#response.end(() => resolve());
    });
  }

  /** Sends the beginning of a JSON answer and then breaks the connection. */
  async sendPart(text: string): Promise<void> {
    if (this.#closed) return;
    const bytes = Buffer.from(text);
    this.#begin(200, { "content-type": "application/json", "content-length": String(bytes.length) });
    await this.write(bytes.subarray(0, Math.floor(bytes.length / 2)));
    this.breakOff();
  }

  breakOff(): void {
    this.disown();
    this.#response.socket?.destroy();
  }

  /** Resolves when the client hangs up or the server stops. */
  untilClosed(): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((resolve) => {
      this.#response.once("close", resolve);
    });
  }

  /** A client that hangs up ends the wait early, so that no timer outlives its request. */
  pause(milliseconds: number): Promise<void> {
    if (this.#closed || milliseconds <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#response.off("close", done);
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      this.#response.once("close", done);
    });
  }

  #begin(status: number, headers: Readonly<Record<string, string>>): void {
    this.record.status = status;
    this.record.repliedAt = this.#clock();
    this.#response.writeHead(status, { "request-id": this.record.requestId, ...headers });
  }
}
