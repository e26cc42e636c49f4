import http from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import zlib, { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { publicAddresses } from "../src/node/addresses.ts";
import { type NetworkAccess, nodeNetwork } from "../src/node/index.ts";
import { certificate } from "./support-certificate.ts";

/** Node 20 has none. */
const { zstdCompressSync } = zlib as { zstdCompressSync?: (text: string) => Buffer };

const servers: (http.Server | https.Server)[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** On the loopback address, at a port of its own. */
async function serve(answer: http.RequestListener, secure = false): Promise<number> {
  const server = secure ? https.createServer(certificate, answer) : http.createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** A resolver that knows names of the test alone, and notes what it is asked. */
function names(known: Readonly<Record<string, readonly string[]>>): Required<Pick<NetworkAccess, "resolve">> & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    resolve: async (host) => {
      asked.push(host);
      return (known[host] ?? []).map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    },
  };
}
const local = nodeNetwork({ allowPrivate: ["127.0.0.1"] });
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "answered",
    (error: { code?: unknown; name: string }) => (typeof error.code === "string" ? error.code : error.name),
  );
const text = (body: Uint8Array): string => new TextDecoder().decode(body);

describe("which addresses are public", () => {
  const isPublic = publicAddresses();
  it("tells them apart in every notation", () => {
    const closed =
      "0.0.0.0 10.1.2.3 100.64.0.1 100.100.100.200 127.0.0.1 127.9.9.9 169.254.169.254 172.16.0.1 172.31.255.255 192.168.0.1 192.0.0.192 192.0.2.1 198.19.0.1 198.51.100.7 203.0.113.7 224.0.0.1 240.0.0.1 255.255.255.255 168.63.129.16 :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:a9fe:a9fe ::ffff:0:127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1::1 2002:808:808::1 3fff::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1 5f00::1 2606:4700::1%eth0 localhost 1.2.3 0x7f.1";
    const open =
      "1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.169.0.1 223.255.255.255 2606:4700::1111 2a00:1450::1 ::ffff:8.8.8.8 64:ff9b::808:808";
    expect(closed.split(" ").filter(isPublic)).toEqual([]);
    expect(open.split(" ").filter((a) => !isPublic(a))).toEqual([]);
  });
  it("judges an IPv4 address the same when it comes mapped", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect([isPublic(`::ffff:${address}`), isPublic(`64:ff9b::${address}`)]).toEqual([isPublic(address), isPublic(address)]);
      }),
    );
  });
});

describe("what is not asked", () => {
  const nobody = nodeNetwork(names({ "rebind.test": ["127.0.0.1"], "mixed.test": ["1.1.1.1", "10.0.0.1"], "six.test": ["::1"] }));
  it.each([
    ["http://127.0.0.1/", "EPRIVATE"],
    ["http://2130706433/", "EPRIVATE"],
    ["http://0x7f.1/", "EPRIVATE"],
    ["http://0177.0.0.1/", "EPRIVATE"],
    ["http://[::1]:8080/", "EPRIVATE"],
    ["http://[::ffff:169.254.169.254]/", "EPRIVATE"],
    ["http://169.254.169.254/latest/meta-data/", "EPRIVATE"],
    ["http://rebind.test/", "EPRIVATE"],
    ["http://mixed.test/", "EPRIVATE"],
    ["https://six.test/", "EPRIVATE"],
    ["http://nowhere.test/", "ENOTFOUND"],
    ["http://me:secret@1.1.1.1/", "EINVAL"],
    ["file:///etc/passwd", "EINVAL"],
    ["ftp://1.1.1.1/", "EINVAL"],
    ["1.1.1.1", "EINVAL"],
  ])("%s: %s", async (url, code) => {
    expect(await codeOf(nobody.get(url))).toBe(code);
  });
  it("is what the names of the machine itself lead to", async () => {
    expect(await codeOf(nodeNetwork().get("http://localhost:1/"))).toBe("EPRIVATE");
  });
});

describe("a request", () => {
  it("gives status, headers and body, and follows nothing", async () => {
    const port = await serve((request, response) => {
      response.writeHead(302, { location: "http://elsewhere.test/", "x-two": ["a", "b"], date: "now", connection: "close" });
      response.end(`${request.headers["x-of"]} ${request.headers.host}`);
    });
    const answer = await local.get(`http://127.0.0.1:${port}/`, { headers: { "x-of": "test" } });
    expect({ ...answer, body: text(answer.body) }).toEqual({
      status: 302,
      headers: { location: "http://elsewhere.test/", "x-two": "a, b", date: "now", connection: "close", "transfer-encoding": "chunked" },
      body: `test 127.0.0.1:${port}`,
      truncated: false,
    });
  });
  it("goes to the address that was checked, which is looked up once", async () => {
    const port = await serve((_, response) => response.end("here"));
    const own = names({ "git.corp": ["127.0.0.1"], "a.b.corp": ["127.0.0.1"] });
    const network = nodeNetwork({ ...own, allowPrivate: ["GIT.corp", "*.b.corp"] });
    expect(text((await network.get(`http://git.corp:${port}/`)).body)).toBe("here");
    expect(text((await network.get(`http://a.b.corp:${port}/`)).body)).toBe("here");
    expect(await codeOf(network.get(`http://127.0.0.1:${port}/`))).toBe("EPRIVATE");
    expect(own.asked).toEqual(["git.corp", "a.b.corp"]);
  });
  it("unpacks what comes packed, several times too", async () => {
    const plain = "words ".repeat(100);
    const packed: Record<string, Buffer> = {
      gzip: gzipSync(plain),
      "x-gzip": gzipSync(plain),
      deflate: deflateSync(plain),
      br: brotliCompressSync(plain),
      ...(zstdCompressSync ? { zstd: zstdCompressSync(plain) } : {}),
      identity: Buffer.from(plain),
      "gzip, br": brotliCompressSync(gzipSync(plain)),
    };
    const port = await serve((request, response) => {
      const name = decodeURIComponent(request.url!.slice(1));
      response.writeHead(200, { "content-encoding": name }).end(packed[name]);
    });
    for (const name of Object.keys(packed)) {
      const { body, truncated } = await local.get(`http://127.0.0.1:${port}/${encodeURIComponent(name)}`);
      expect([name, text(body), truncated]).toEqual([name, plain, false]);
    }
  });
  it("refuses an encoding that it does not know, and more layers than anyone needs", async () => {
    const port = await serve((request, response) =>
      response.writeHead(200, { "content-encoding": String(request.headers["x-as"]) }).end("x"),
    );
    const as = (encoding: string) => codeOf(local.get(`http://127.0.0.1:${port}/`, { headers: { "x-as": encoding } }));
    expect([await as("compress"), await as("gzip, gzip, gzip, gzip")]).toEqual(["EENCODING", "EENCODING"]);
  });
  it("takes an empty body as it is, whatever it is said to be packed with", async () => {
    const port = await serve((_, response) => response.writeHead(204, { "content-encoding": "gzip" }).end());
    const { status, body } = await local.get(`http://127.0.0.1:${port}/`);
    expect([status, body.length]).toEqual([204, 0]);
  });
  it("stops at the limit, also within what unpacks to far more", async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024));
    const port = await serve((request, response) => {
      if (request.url === "/bomb") response.writeHead(200, { "content-encoding": "gzip" }).end(bomb);
      else response.end("0123456789");
    });
    const got = async (path: string, maxBytes: number) => {
      const { body, truncated } = await local.get(`http://127.0.0.1:${port}${path}`, { maxBytes });
      return [body.length, truncated];
    };
    expect([await got("/bomb", 1000), await got("/", 9), await got("/", 10)]).toEqual([
      [1000, true],
      [9, true],
      [10, false],
    ]);
  });
  it("ends at its time limit before the head and within the body, and when it is aborted", async () => {
    const port = await serve((request, response) => {
      if (request.url === "/body") response.write("a beginning");
    });
    const at = `http://127.0.0.1:${port}`;
    expect(await codeOf(local.get(`${at}/head`, { timeoutMs: 30 }))).toBe("ETIMEDOUT");
    expect(await codeOf(local.get(`${at}/body`, { timeoutMs: 30 }))).toBe("ETIMEDOUT");
    const controller = new AbortController();
    const asked = codeOf(local.get(`${at}/body`, { signal: controller.signal }));
    controller.abort(new Error("enough"));
    expect(await asked).toBe("Error");
    expect(await codeOf(local.get(at, { signal: controller.signal }))).toBe("Error");
  });
  it("fails when the server breaks off", async () => {
    const port = await serve((request, response) => {
      if (request.url === "/body") response.writeHead(200, { "content-length": "100" }).write("half");
      setImmediate(() => request.socket.destroy());
    });
    expect(await codeOf(local.get(`http://127.0.0.1:${port}/`))).toBe("ECONNRESET");
    expect(await codeOf(local.get(`http://127.0.0.1:${port}/body`))).toBe("ECONNRESET");
  });
  it("does not trust a certificate that nobody vouches for", async () => {
    const port = await serve((_, response) => response.end("secret"), true);
    const network = nodeNetwork({ ...names({ "self.test": ["127.0.0.1"] }), allowPrivate: ["self.test"] });
    expect(await codeOf(network.get(`https://self.test:${port}/`))).toBe("DEPTH_ZERO_SELF_SIGNED_CERT");
  });
});
