/** One request to a public address, which is checked after its name is resolved and before anything connects. */
import http from "node:http";
import https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { type Transform, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import zlib from "node:zlib";
import type { Network, NetworkAnswer, NetworkOptions } from "@heddle/kernel";
import { checkedAddresses, fault } from "./checked-addresses.ts";
import type { NetworkAccess } from "./network-access.ts";

const MAX_BYTES = 10 * 1024 * 1024;
const TIMEOUT_MS = 30_000;

export function requests(access: NetworkAccess = {}): Network {
  const { check, lookup } = checkedAddresses(access);
  return {
    async get(address, o = {}) {
      o.signal?.throwIfAborted();
      const url = URL.canParse(address) ? new URL(address) : undefined;
      if (!url || !/^https?:$/.test(url.protocol)) throw fault("EINVAL", `not an http or https address: ${address}`);
      if (url.username !== "" || url.password !== "") throw fault("EINVAL", "an address with a user name or password in it is not asked");
      const host = url.hostname.replace(/^\[|\]$/g, "");
      if (isIP(host)) check(host, host); // nobody looks it up
      return await ask(url, lookup, o);
    },
  };
}

/** A connection of its own, so that no request runs over one whose address was checked for another host. */
async function ask(url: URL, lookup: LookupFunction, o: NetworkOptions): Promise<NetworkAnswer> {
  const { timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES } = o;
  const late = new AbortController();
  const alarm = setTimeout(() => late.abort(fault("ETIMEDOUT", `no whole answer within ${timeoutMs / 1000} s`)), timeoutMs);
  const signal = AbortSignal.any([late.signal, ...(o.signal ? [o.signal] : [])]);
  const headers = { "accept-encoding": Object.keys(DECODERS).join(", "), ...o.headers };
  const request = (url.protocol === "https:" ? https : http).request(url, { lookup, agent: false, headers, signal });
  try {
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      request.on("error", reject).on("response", resolve).end();
    });
    return { status: response.statusCode!, headers: headersOf(response.headers), ...(await bodyOf(response, maxBytes, signal)) };
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    clearTimeout(alarm);
    request.destroy();
  }
}

const headersOf = (headers: http.IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, [value].flat().join(", ")]])));

/** What comes is unpacked as it comes, and no more of it than is kept. */
async function bodyOf(
  response: http.IncomingMessage,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Pick<NetworkAnswer, "body" | "truncated">> {
  const packed = (response.headers["content-encoding"] ?? "").toLowerCase().split(/[\s,]+/);
  const makers = packed.filter((name) => name !== "" && name !== "identity").map((name) => DECODERS[name]);
  if (makers.length > MAX_LAYERS || makers.includes(undefined))
    throw fault("EENCODING", `its content encoding "${packed.join(", ")}" is not known here`);
  const chunks: Buffer[] = [];
  let size = 0;
  const enough = new AbortController();
  const keep = new Writable({
    write(chunk: Buffer, _, done) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) enough.abort();
      done();
    },
  });
  const decoders = makers.reverse().map((make) => make!());
  await pipeline([response, ...decoders, keep], { signal: AbortSignal.any([signal, enough.signal]) }).catch((error) => {
    if (!enough.signal.aborted) throw error;
  });
  return { body: new Uint8Array(Buffer.concat(chunks).subarray(0, maxBytes)), truncated: size > maxBytes };
}

const MAX_LAYERS = 3;
/** What ends too early is taken as far as it goes, as browsers do. */
const LAX = { finishFlush: zlib.constants.Z_SYNC_FLUSH };
/** Node 20 has none. */
const { createZstdDecompress: zstd } = zlib as { createZstdDecompress?: () => Transform };
const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => zlib.createGunzip(LAX),
  "x-gzip": () => zlib.createGunzip(LAX),
  deflate: () => zlib.createInflate(LAX),
  br: () => zlib.createBrotliDecompress({ finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH }),
  ...(zstd ? { zstd } : {}),
};
