/** From an address to the answer at its end, along redirects that stay with the host that was judged. */
import type { Network, NetworkAnswer } from "@heddle/kernel/plugin";

export type Landing =
  | { readonly kind: "answer"; readonly url: URL; readonly answer: NetworkAnswer }
  /** It leads to where nobody has judged it yet. */
  | { readonly kind: "elsewhere"; readonly from: URL; readonly to: URL; readonly status: number }
  | { readonly kind: "astray"; readonly why: string };

const MAX_HOPS = 5;
const MAX_BYTES = 5 * 1024 * 1024;
const TIMEOUT_MS = 20_000;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
const HEADERS = { accept: "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5", "user-agent": "heddle" };

/** Rejects as the port does. */
export async function land(network: Network, start: URL, signal: AbortSignal): Promise<Landing> {
  let url = start;
  for (let hops = 0; hops <= MAX_HOPS; hops++) {
    const answer = await network.get(url.href, { headers: HEADERS, signal, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES });
    const location = answer.headers["location"];
    if (location === undefined || !REDIRECTS.includes(answer.status)) return { kind: "answer", url, answer };
    const to = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
    if (!to || !isWeb(to)) return { kind: "astray", why: `it redirects to "${location.slice(0, 200)}", which cannot be fetched` };
    to.hash = "";
    if (!isSame(url, to)) return { kind: "elsewhere", from: url, to, status: answer.status };
    url = to;
  }
  return { kind: "astray", why: `it redirects more than ${MAX_HOPS} times` };
}

/** With a name or a password in it, an address may be neither shown nor kept. */
export const isWeb = (url: URL): boolean => /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";

/** The same origin, or its safer form. */
const isSame = (from: URL, to: URL): boolean =>
  to.origin === from.origin ||
  (to.hostname === from.hostname && from.protocol === "http:" && to.protocol === "https:" && from.port === "" && to.port === "");
