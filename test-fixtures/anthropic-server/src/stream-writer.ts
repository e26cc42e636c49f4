/** Puts the events of a reply on the wire, whole or as far as a fault lets them go. */

import type { Exchange } from "./exchange.ts";
import { type Fault, faultErrorType } from "./faults.ts";
import { errorEvent, frame, PING, type StreamEvent, splitInsideSequences } from "./sse.ts";

export interface WriteOptions {
  fault: Fault | undefined;
  splitUtf8: boolean;
  eventMs: number;
}

const CLOSING_EVENTS = 2;
/** Without a pause the client's socket would join the two halves again before anybody reads them. */
const SPLIT_PAUSE = 4;

async function send(exchange: Exchange, text: string, splitUtf8: boolean): Promise<void> {
  const bytes = Buffer.from(text);
  for (const [i, part] of (splitUtf8 ? splitInsideSequences(bytes) : [bytes]).entries()) {
    if (i > 0) await exchange.pause(SPLIT_PAUSE);
    await exchange.write(part);
  }
}

function bytesOf(events: readonly StreamEvent[]): number {
  return events.reduce((sum, event) => sum + Buffer.byteLength(frame(event)), 0);
}

/** A fault placed behind a short reply still strikes before its end, or it would be no fault. */
function faultByte(fault: Fault, events: readonly StreamEvent[]): number {
  const wanted = fault.cutAtByte ?? fault.stallAtByte ?? fault.errorAtByte ?? Number.POSITIVE_INFINITY;
  return Math.min(wanted, bytesOf(events.slice(0, -CLOSING_EVENTS)));
}

async function strike(exchange: Exchange, fault: Fault): Promise<void> {
  if (fault.errorAtByte !== undefined) {
    const event = errorEvent(faultErrorType(fault), fault.message ?? "Overloaded", exchange.record.requestId);
    await exchange.write(frame(event));
    await exchange.endStream();
  } else if (fault.stallAtByte !== undefined) await exchange.untilClosed();
  else exchange.breakOff();
}

async function sendUntil(exchange: Exchange, events: readonly StreamEvent[], options: WriteOptions & { fault: Fault }) {
  const limit = faultByte(options.fault, events);
  const isExact = options.fault.cutAtByte !== undefined;
  let sent = 0;
  for (const event of events) {
    if (sent >= limit || exchange.isClosed) break;
    const bytes = Buffer.from(frame(event));
    await exchange.write(isExact ? bytes.subarray(0, limit - sent) : bytes);
    sent += bytes.length;
  }
  await strike(exchange, options.fault);
}

async function pingForever(exchange: Exchange, first: StreamEvent | undefined, interval: number): Promise<void> {
  if (first) await exchange.write(frame(first));
  while (!exchange.isClosed) {
    await exchange.write(frame(PING));
    await exchange.pause(interval);
  }
}

/** True when every event went out to a client that was still there. */
export async function writeStream(exchange: Exchange, events: readonly StreamEvent[], options: WriteOptions): Promise<boolean> {
  const { fault } = options;
  exchange.beginStream();
  if (fault?.pingMs !== undefined) {
    await pingForever(exchange, events[0], fault.pingMs);
    return false;
  }
  if (fault && (fault.cutAtByte ?? fault.stallAtByte ?? fault.errorAtByte) !== undefined) {
    await sendUntil(exchange, events, { ...options, fault });
    return false;
  }
  for (const event of fault?.omitsEnd ? events.slice(0, -CLOSING_EVENTS) : events) {
    await exchange.pause(fault?.eventMs ?? options.eventMs);
    if (exchange.isClosed) return false;
    await send(exchange, frame(event), options.splitUtf8);
  }
  const reached = !exchange.isClosed;
  await exchange.endStream();
  return reached && !fault?.omitsEnd;
}
