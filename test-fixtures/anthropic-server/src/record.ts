/** The record of every request the server got: what it held, how it was answered, what it cost. */

import type { Breakpoint, InputUsage } from "./cache.ts";
import type { InputCost } from "./cost.ts";
import type { JsonObject } from "./json.ts";
import type { Refusal } from "./refusal.ts";
import type { RequestKind } from "./request-kind.ts";
import type { DroppedThinking } from "./validate-returned.ts";

export interface RequestRecord {
  index: number;
  requestId: string;
  method: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  /** Undefined when the request had no body or none that parses as an object. */
  body: JsonObject | undefined;
  bytes: number;
  /** The body as it came, where the server was asked to keep it. */
  text: string | undefined;
  kind: RequestKind;
  /** Times of the server's clock. */
  receivedAt: number;
  repliedAt: number | undefined;
  endedAt: number | undefined;
  /** Undefined while no answer was begun. */
  status: number | undefined;
  refusal: Refusal | undefined;
  warnings: string[];
  dropped: DroppedThinking[];
  script: number | undefined;
  step: number | undefined;
  fault: string | undefined;
  /** Content blocks of the reply as the server meant to send them. */
  reply: JsonObject[] | undefined;
  stopReason: string | undefined;
  usage: (InputUsage & { output_tokens: number }) | undefined;
  cost: InputCost | undefined;
  breakpoints: Breakpoint[];
  /** The whole reply went out. */
  delivered: boolean;
  closedByClient: boolean;
}

export type RecordStart = Pick<RequestRecord, "index" | "requestId" | "method" | "path" | "headers" | "kind" | "receivedAt">;

export function newRecord(start: RecordStart): RequestRecord {
  return {
    ...start,
    body: undefined,
    bytes: 0,
    text: undefined,
    repliedAt: undefined,
    endedAt: undefined,
    status: undefined,
    refusal: undefined,
    warnings: [],
    dropped: [],
    script: undefined,
    step: undefined,
    fault: undefined,
    reply: undefined,
    stopReason: undefined,
    usage: undefined,
    cost: undefined,
    breakpoints: [],
    delivered: false,
    closedByClient: false,
  };
}
