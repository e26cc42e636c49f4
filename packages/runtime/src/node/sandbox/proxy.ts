/** The way out of a sandbox without a network: an HTTP proxy on a socket, which connects to the hosts of a list and to no others. */
import http from "node:http";
import { connect, isIP, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { checkedAddresses, covers } from "../checked-addresses.ts";
import type { NetworkAccess } from "../network-access.ts";
import type { SandboxNetwork } from "./policy.ts";

type Hosts = Exclude<SandboxNetwork, string>;

/** Whether a list lets a host pass. What is no plain name or IPv4 address passes never. */
export function passes({ allow, deny }: Hosts, host: string): boolean {
  if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(host)) return false;
  const named = (list: readonly string[]): boolean => list.some((one) => one === "*" || covers(one.toLowerCase(), host));
  return named(allow) && !named(deny);
}

/** Listens until the process ends, and does not keep it alive. Rejects when it cannot listen. */
export function startProxy(path: string, hosts: Hosts, access: NetworkAccess): Promise<void> {
  const { check, lookup } = checkedAddresses(access);
  const target = (url: string): { host: string; port: number } | undefined => {
    const [, name = "", port = ""] = /^([^:/@]+):(\d{1,5})$/.exec(url) ?? [];
    const host = name.toLowerCase().replace(/\.$/, "");
    if (!passes(hosts, host)) return undefined;
    if (isIP(host)) check(host, host);
    return { host, port: Number(port) };
  };
  const server = http.createServer((request, response) => {
    const refuse = (status: number, why: string): void => {
      if (response.headersSent) response.destroy();
      else response.writeHead(status, { "content-type": "text/plain", "x-heddle-sandbox": "refused" }).end(`${why}\n`);
    };
    try {
      const url = new URL(request.url ?? "");
      const to = url.protocol === "http:" ? target(`${url.hostname}:${url.port || 80}`) : undefined;
      if (!to) return refuse(403, REFUSED);
      const { "proxy-connection": _, "proxy-authorization": __, ...rest } = request.headers;
      const headers = { ...rest, host: url.host, connection: "close" };
      const onward = http.request({ ...to, path: `${url.pathname}${url.search}`, method: request.method, headers, lookup, agent: false });
      onward.on("response", (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.on("error", () => response.destroy()).pipe(response);
      });
      onward.on("error", (error) => refuse(502, error.message));
      response.on("close", () => onward.destroy());
      request.pipe(onward);
    } catch (error) {
      refuse(403, (error as Error).message);
    }
  });
  server.on("connect", (request, socket: Duplex, head: Buffer) => {
    const end = (line: string): void => void socket.end(`HTTP/1.1 ${line}\r\nx-heddle-sandbox: refused\r\n\r\n`);
    socket.on("error", () => {});
    let onward: Socket | undefined;
    try {
      const to = target(request.url ?? "");
      if (!to || to.port === 0 || to.port > 65_535) return end(`403 ${REFUSED}`);
      onward = connect({ ...to, lookup });
    } catch {
      return end(`403 ${REFUSED}`);
    }
    const out = onward;
    out.once("connect", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      out.write(head);
      socket.pipe(out).pipe(socket);
    });
    out.on("error", () => (out.bytesRead > 0 ? socket.destroy() : end("502 Bad Gateway")));
    socket.on("close", () => out.destroy());
  });
  server.on("clientError", (_, socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.unref();
      resolve();
    });
  });
}

const REFUSED = "the settings of the sandbox do not open this host";
