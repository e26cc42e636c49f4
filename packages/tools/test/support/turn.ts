/** Turns of the real loop in which the model makes calls of this plugin, and what they came back with. */
import { type Answer, type Ask, type Message, type Network, type NetworkAnswer, textOf } from "@heddle/kernel/plugin";
import { ownPlugin, type RunOptions, runTurnWith } from "@heddle/testkit";
import packageJson from "../../package.json" with { type: "json" };
import plugin from "../../src/index.ts";

export const tools = ownPlugin(plugin, packageJson);
export type Called = { readonly tool: string; readonly input: unknown };

export const resultsOf = (messages: readonly Message[]): string[] =>
  messages.flatMap((m) => (m.role === "tool" ? [`${m.outcome}: ${textOf(m.content)}`] : []));

/** One turn with all calls in one reply; whatever is asked is allowed unless `answer` says otherwise. */
export async function called(calls: readonly Called[], o: RunOptions = {}) {
  const ran = await runTurnWith({
    plugins: [tools],
    replies: [{ calls: calls as never }, "done"],
    answers: (): Answer => ({ kind: "allow" }),
    ...o,
  });
  return { ...ran, results: resultsOf(ran.added) };
}

/** Answers questions in order, and allows every call. */
export const answering = (...texts: readonly string[]): ((ask: Ask) => Answer) => {
  const left = [...texts];
  return (ask) => (ask.kind === "permission" ? { kind: "allow" } : { kind: "text", text: left.shift() ?? "?" });
};

type Page = Partial<Omit<NetworkAnswer, "body">> & { readonly body?: string | Uint8Array };
/** A web of these pages; a string is the code that the request fails with. */
export function webOf(pages: Readonly<Record<string, Page | string>>): Network & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    async get(url) {
      asked.push(url);
      const page = Object.hasOwn(pages, url) ? pages[url]! : "ENOTFOUND";
      if (typeof page === "string") throw Object.assign(new Error(`${page}: ${url}`), { code: page });
      const { status = 200, headers = {}, body = "", truncated = false } = page;
      return { status, headers, truncated, body: typeof body === "string" ? new TextEncoder().encode(body) : body };
    },
  };
}
