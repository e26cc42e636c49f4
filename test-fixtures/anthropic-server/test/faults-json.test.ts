/** Faults of the stream, met by a client that asked for plain JSON. */

import { describe, expect, it } from "vitest";
import type { AnthropicServer, FaultName } from "../src/index.ts";
import { ask, body, post, TOOL, useServers } from "./helpers.ts";

const start = useServers();
const SCRIPT = [{ text: "An answer.", calls: [{ name: "read", input: { path: "/a/b/c" } }] }, {}];
const faulty = (name: FaultName): Promise<AnthropicServer> => start({ script: SCRIPT, faults: [{ name, at: 0 }] });

describe("without a stream", () => {
  it.each(["cut-text", "no-message-stop"] as const)("%s breaks the JSON off", async (name) => {
    const response = await post(await faulty(name), body());
    expect(response.status).toBe(200);
    await expect(response.json()).rejects.toThrow();
  });

  it("sse-error becomes a status", async () => {
    expect((await post(await faulty("sse-error"), body())).status).toBe(529);
  });

  it("stall never answers", async () => {
    const server = await faulty("stall");
    const pending = post(server, body()).catch(() => "closed");
    await expect.poll(() => server.requests.length).toBe(1);
    await server.close();
    expect(await pending).toBe("closed");
  });

  it("malformed-json leaves an empty input", async () => {
    const message = await ask(await faulty("malformed-json"), body({ tools: [TOOL] }));
    expect(message.content.at(-1)).toMatchObject({ type: "tool_use", input: {} });
  });
});
