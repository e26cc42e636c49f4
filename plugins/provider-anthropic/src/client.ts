/** The connection to the API. Loaded with the first call: the SDK costs more than all the rest of a start. */
import { BaseAnthropic } from "@anthropic-ai/sdk/client";
import type { Ready } from "./options.ts";
import type { Body } from "./wire.ts";

export type Connection = {
  /** Resolves with the head of a response that has status 2xx; anything else throws an error of the SDK. */
  send(body: Body, signal: AbortSignal): Promise<Response>;
};

class Client extends BaseAnthropic {
  constructor({ apiKey, authToken, baseURL, headers, maxRetries, timeoutMs, fetch }: Ready) {
    // What is null or given here is what the SDK would otherwise look up in the environment.
    super({
      apiKey: apiKey ?? null,
      authToken: apiKey === undefined ? (authToken ?? null) : null,
      webhookKey: null,
      baseURL,
      maxRetries,
      logLevel: "off",
      openTelemetry: false,
      ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
      ...(fetch === undefined ? {} : { fetch: fetch as typeof globalThis.fetch }),
    });
    // It adds headers from the environment without a way to say no.
    Object.assign(this, { _options: { ...this.#own(), defaultHeaders: headers } });
  }
  #own(): object {
    return (this as unknown as { _options: object })._options;
  }
  /** Nor may it look for credentials of other programs where only headers were given. */
  protected override _shouldResolveDefaultCredentials(): boolean {
    return false;
  }
}

export function connect(options: Ready): Connection {
  const client = new Client(options);
  return {
    send: (body, signal) => client.post("/v1/messages", { body, stream: body.stream ?? false, signal }).asResponse(),
  };
}
