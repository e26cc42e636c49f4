/** One request to a server, and the events of its answer. */
import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { Server } from "./options.ts";
import type { JsonObject } from "./text.ts";

const PATHS = { chat: "/chat/completions", responses: "/responses" } as const;

/** Resolves with the head of the answer, of whatever status. Rejects as fetch does. */
export function send(server: Server, body: JsonObject, signal: AbortSignal): Promise<Response> {
  return server.fetch(`${bare(server)}${PATHS[server.api]}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: body["stream"] ? "text/event-stream" : "application/json",
      ...headersOf(server),
    },
    body: JSON.stringify(body),
    signal,
  });
}
export const list = (server: Server, signal: AbortSignal): Promise<Response> =>
  server.fetch(`${bare(server)}/models`, { headers: { accept: "application/json", ...headersOf(server) }, signal });

/** fetch refuses a URL with a user and a password in it; they go into a header. */
function bare(server: Server): string {
  const url = new URL(server.baseURL ?? "");
  url.username = "";
  url.password = "";
  return url.href.replace(/\/+$/, "");
}
function headersOf({ options, baseURL }: Server): Record<string, string> {
  const { username, password } = new URL(baseURL ?? "");
  const given = new Headers(options.headers);
  const basic = username === "" ? undefined : `Basic ${btoa(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)}`;
  const authorization = options.apiKey === undefined ? basic : `Bearer ${options.apiKey}`;
  if (authorization !== undefined && !given.has("authorization")) given.set("authorization", authorization);
  return Object.fromEntries(given.entries());
}

/** The events that each piece of the body completes; an empty list for one that completes none. */
export async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<EventSourceMessage[]> {
  const decoder = new TextDecoder();
  let events: EventSourceMessage[] = [];
  const parser = createParser({
    onEvent: (event) => {
      events.push(event);
    },
  });
  const drain = (text: string): EventSourceMessage[] => {
    events = [];
    parser.feed(text);
    return events;
  };
  for await (const bytes of body) yield drain(decoder.decode(bytes, { stream: true }));
  yield drain(`${decoder.decode()}\n\n`); // an event that lacks its closing blank line
}
