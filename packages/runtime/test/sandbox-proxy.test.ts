import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeProcesses, type SandboxSettings, sandboxedProcesses } from "../src/node/index.ts";
import { passes, startProxy } from "../src/node/sandbox/proxy.ts";

const hosts = { allow: ["good.test", "*.wide.test", "inner.test"], deny: ["bad.wide.test"] };
/** All names lead to this machine, which two of them may. */
const access = { allowPrivate: ["good.test", "*.wide.test"], resolve: async () => [{ address: "127.0.0.1", family: 4 }] };

const dir = mkdtempSync(join(tmpdir(), "proxy-test-"));
const server = http.createServer((request, response) => response.end(`${request.headers.host?.split(":")[0]} ${request.url}`));
const path = join(dir, "proxy");
let port = 0;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
  await startProxy(path, hosts, access);
});
afterAll(() => {
  server.close();
  rmSync(dir, { recursive: true, force: true });
});

/** What comes back for bytes that are sent to the proxy; the first and the last line of it. */
const say = (text: string): Promise<string> =>
  new Promise((resolve) => {
    let got = "";
    const socket = net.connect(path, () => socket.write(text));
    socket.on("data", (chunk) => {
      got += chunk;
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(got.trim()));
  });
const get = (url: string): Promise<string> => say(`GET ${url} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
const tunnel = (to: string): Promise<string> =>
  say(`CONNECT ${to} HTTP/1.1\r\nhost: ${to}\r\n\r\nGET /in HTTP/1.1\r\nhost: tunnel\r\nconnection: close\r\n\r\n`);

describe("the proxy of a sandbox", () => {
  it("takes requests and tunnels to the hosts of the list", async () => {
    expect(await get(`http://good.test:${port}/a?b`)).toMatch(/^HTTP\/1\.1 200[\s\S]*good\.test \/a\?b/);
    expect(await get(`http://a.wide.test:${port}/`)).toContain("a.wide.test /");
    expect(await tunnel(`GOOD.test.:${port}`)).toMatch(/^HTTP\/1\.1 200 Connection established[\s\S]*tunnel \/in/);
  });
  it("takes nothing to others, nor to a private address that a name of the list leads to", async () => {
    for (const host of ["evil.test", "bad.wide.test", "wide.test", "127.0.0.1", "good.test.evil.test"]) {
      expect(await get(`http://${host}:${port}/`), host).toMatch(/^HTTP\/1\.1 403/);
      expect(await tunnel(`${host}:${port}`), host).toMatch(/^HTTP\/1\.1 403/);
    }
    expect(await get(`http://inner.test:${port}/`)).toMatch(/^HTTP\/1\.1 502[\s\S]*no address of the public internet/);
    expect(await tunnel(`inner.test:${port}`)).toMatch(/^HTTP\/1\.1 502/);
  });
  it("refuses names that are none, and an empty list lets nothing pass", () => {
    for (const host of ["", "evil.test\0.good.test", "evil.test\0good.test", "a b", "[::1]", "good.test ", "-", ".good.test", "gööd.test"])
      expect(passes({ allow: ["*", ...hosts.allow], deny: [] }, host), host).toBe(false);
    expect(passes({ allow: [], deny: [] }, "good.test")).toBe(false);
    expect(passes({ allow: ["*"], deny: ["*.test"] }, "good.test")).toBe(false);
    expect(passes({ allow: ["*"], deny: ["*.test"] }, "good.com")).toBe(true);
  });
  it("closes what speaks no HTTP", async () => {
    expect(await say("\0\x01\x02\r\n\r\n")).toBe("");
    expect(await tunnel(`evil.test\0.good.test:${port}`)).not.toContain("200");
  });
});

const settings: SandboxSettings = { roots: ["/usr/share"], home: "/root", state: "/root/.heddle", temporary: dir, network: hosts };
const processes = sandboxedProcesses(nodeProcesses(), settings, [], access);
const problem = process.platform === "linux" ? await processes.sandboxProblem?.() : "not on Linux";
it.skipIf(problem !== undefined)(`is the only way out of a sandbox${problem === undefined ? "" : ` (skipped: ${problem})`}`, async () => {
  const code = `
    const http = require("node:http"), say = (what) => (e) => console.log(what, e.statusCode ?? e.code);
    const ask = (host, path) => new Promise((done) => {
      const [, at, port] = /\\/\\/(.*):(\\d+)/.exec(host);
      http.get({ host: at, port, path }, (r) => { say(path)(r); r.resume().on("end", done); }).on("error", (e) => { say(path)(e); done(); });
    });
    (async () => {
      await ask(process.env.HTTP_PROXY, "http://good.test:${port}/");
      await ask(process.env.HTTP_PROXY, "http://evil.test:${port}/");
      await ask("//127.0.0.1:${port}", "/direct");
      process.exit(7);
    })();`;
  const ran = await processes.run({ command: process.execPath, args: ["-e", code], cwd: "/usr/share", sandbox: true });
  expect([ran.output, ran.exitCode]).toEqual([`http://good.test:${port}/ 200\nhttp://evil.test:${port}/ 403\n/direct ECONNREFUSED\n`, 7]);
});
