/** The tool WebFetch: pages of the web as text. */
import { defineTool, NETWORK, type Tool, type ToolContext, type ToolOutput, z } from "@heddle/kernel/plugin";
import { codeOf, failed } from "../answer.ts";
import { lenient } from "../input.ts";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";
import { isWeb, land } from "./hops.ts";
import { pageOf } from "./page.ts";
import type { PageCache } from "./page-cache.ts";

const input = lenient({
  url: z
    .string()
    .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), "must be a whole http or https address")
    .refine((text) => !URL.canParse(text) || isWeb(new URL(text)), "must not have a user name or password in it"),
  prompt: z.string().optional().describe("what to look for"),
});
type Input = z.output<typeof input>;

export const webFetchTool = (cache: PageCache): Tool =>
  defineTool({
    name: "WebFetch",
    description: prompts["web-fetch"],
    input,
    jsonSchema: () => leanSchema(input),
    overlap: "shared",
    effects: (i) => [{ kind: "network", target: addressOf(i).href }],
    run: (i, ctx) => fetchPage(addressOf(i), ctx, cache),
  });

/** Servers never see what comes behind the #. */
function addressOf({ url }: Input): URL {
  const address = new URL(url);
  address.hash = "";
  return address;
}

async function fetchPage(url: URL, ctx: ToolContext, cache: PageCache): Promise<ToolOutput> {
  const known = cache.get(ctx.session.id, url.href, ctx.now());
  if (known) return { content: known.text };
  const network = ctx.capability(NETWORK);
  try {
    const landing = await land(network, url, ctx.signal);
    if (landing.kind === "astray") return failed(`Cannot fetch ${url.href}: ${landing.why}.`);
    if (landing.kind === "elsewhere") {
      const { from, to, status } = landing;
      return { content: `${from.href} redirects to another host (HTTP ${status}). If you want that page, fetch ${to.href}` };
    }
    const { text, failed: isError } = await pageOf(landing.answer, landing.url);
    if (isError) return failed(text);
    const moved = landing.url.href === url.href ? "" : `[Redirected to ${landing.url.href}]\n`;
    const page = { text: `${moved}${text}`, at: ctx.now() };
    cache.set(ctx.session.id, url.href, page);
    return { content: page.text };
  } catch (error) {
    const code = codeOf(error);
    if (ctx.signal.aborted || code === undefined) throw error;
    return failed(`Cannot fetch ${url.href}: ${WORDS[code] ?? wordsOf(code) ?? (error as Error).message}.`);
  }
}

const WORDS: Readonly<Record<string, string>> = {
  EPRIVATE:
    "its host is on this machine or a private network, which tools do not reach. The person can name it in network.allowPrivate of their settings",
  ENOTFOUND: "no such host is known",
  EAI_AGAIN: "the name of the host cannot be looked up now; the network may be down",
  ECONNREFUSED: "nothing listens there",
  ECONNRESET: "the server broke the connection off",
  EPIPE: "the server broke the connection off",
  ETIMEDOUT: "the server did not answer in time",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the network cannot be reached",
};

function wordsOf(code: string): string | undefined {
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code)) return `its certificate cannot be trusted (${code})`;
  if (/SSL|EPROTO|TLS/.test(code)) return `no secure connection comes about (${code})`;
  return /^(HPE_|Z_|ERR_)/.test(code) ? `its answer cannot be read (${code})` : undefined;
}
