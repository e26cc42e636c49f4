import { Buffer } from "node:buffer";
import { runTurnWith, startWith, testHost } from "@heddle/testkit";
import { describe, expect, it } from "vitest";
import { called, resultsOf, tools, webOf } from "./support/turn.ts";

const html = { "content-type": "text/html" };
const fetching = (...urls: readonly string[]) => urls.map((url) => ({ tool: "WebFetch", input: { url, prompt: "what it says" } }));

async function fetched(web: ReturnType<typeof webOf>, ...urls: readonly string[]) {
  return called(fetching(...urls), { host: testHost({ network: web }) });
}

describe("WebFetch", () => {
  const latin = Buffer.from("<p>caf\xe9 \x93q\x94</p>", "latin1");
  const shiftJis = Buffer.from([0x93, 0xfa, 0x96, 0x7b]);
  const redirect = (location: string, status = 302) => ({ status, headers: { location } });
  const rows: readonly (readonly [url: string, page: Parameters<typeof webOf>[0], result: string])[] = [
    [
      "http://a.test/",
      { "http://a.test/": redirect("/b", 301), "http://a.test/b": { body: "b" } },
      "ok: [Redirected to http://a.test/b]\nb",
    ],
    [
      "http://a.test/",
      { "http://a.test/": redirect("c?x#y", 303), "http://a.test/c?x": { body: "c" } },
      "ok: [Redirected to http://a.test/c?x]\nc",
    ],
    [
      "http://a.test/",
      { "http://a.test/": redirect("https://a.test/"), "https://a.test/": { body: "s" } },
      "ok: [Redirected to https://a.test/]\ns",
    ],
    [
      "https://a.test/",
      { "https://a.test/": redirect("http://a.test/") },
      "ok: https://a.test/ redirects to another host (HTTP 302). If you want that page, fetch http://a.test/",
    ],
    [
      "http://a.test/",
      { "http://a.test/": redirect("https://b.test/x", 308) },
      "ok: http://a.test/ redirects to another host (HTTP 308). If you want that page, fetch https://b.test/x",
    ],
    [
      "http://a.test/",
      { "http://a.test/": redirect("//169.254.169.254/") },
      "ok: http://a.test/ redirects to another host (HTTP 302). If you want that page, fetch http://169.254.169.254/",
    ],
    [
      "http://a.test/",
      { "http://a.test/": redirect("http://a.test:81/") },
      "ok: http://a.test/ redirects to another host (HTTP 302). If you want that page, fetch http://a.test:81/",
    ],
    ["http://a.test/", { "http://a.test/": redirect("/") }, "error: Cannot fetch http://a.test/: it redirects more than 5 times."],
    [
      "http://a.test/",
      { "http://a.test/": redirect("file:///etc/passwd") },
      'error: Cannot fetch http://a.test/: it redirects to "file:///etc/passwd", which cannot be fetched.',
    ],
    [
      "http://a.test/",
      { "http://a.test/": redirect("http://me:pw@a.test/") },
      'error: Cannot fetch http://a.test/: it redirects to "http://me:pw@a.test/", which cannot be fetched.',
    ],
    [
      "http://127.0.0.1/",
      { "http://127.0.0.1/": "EPRIVATE" },
      "error: Cannot fetch http://127.0.0.1/: its host is on this machine or a private network, which tools do not reach. The person can name it in network.allowPrivate of their settings.",
    ],
    ["http://a.test/", { "http://a.test/": { status: 204 } }, "ok: http://a.test/ answered with HTTP 204. It has no content."],
    [
      "http://a.test/",
      { "http://a.test/": { headers: html, body: "<body><script>x()</script>" } },
      "ok: http://a.test/ answered with HTTP 200. It has no text; it may need a browser that runs scripts.",
    ],
    [
      "http://a.test/",
      { "http://a.test/": { status: 404, headers: html, body: "<h1>Gone</h1>" } },
      "error: http://a.test/ answered with HTTP 404. The page says:\n# Gone",
    ],
    [
      "http://a.test/",
      { "http://a.test/": { status: 429, headers: { "retry-after": "30" } } },
      "error: http://a.test/ answered with HTTP 429. It asks to wait before the next try: 30 s.",
    ],
    [
      "http://a.test/",
      { "http://a.test/": { status: 503, headers: { "retry-after": "Fri, 31 Dec 2027 00:00:00 GMT" } } },
      "error: http://a.test/ answered with HTTP 503. It asks to wait before the next try: Fri, 31 Dec 2027 00:00:00 GMT.",
    ],
    ["http://a.test/", { "http://a.test/": { headers: { "content-type": "text/html; charset=ISO-8859-1" }, body: latin } }, "ok: café “q”"],
    [
      "http://a.test/",
      { "http://a.test/": { headers: html, body: Buffer.concat([Buffer.from('<meta charset="Shift_JIS"><p>'), shiftJis]) } },
      "ok: 日本",
    ],
    ["http://a.test/", { "http://a.test/": { headers: { "content-type": "text/plain; charset=shift_jis" }, body: shiftJis } }, "ok: 日本"],
    [
      "http://a.test/",
      { "http://a.test/": { headers: { "content-type": "text/plain" }, body: Buffer.from("\ufeffé", "utf16le") } },
      "ok: é",
    ],
    ["http://a.test/", { "http://a.test/": { headers: html, body: latin } }, "ok: café “q”"],
    ["http://a.test/", { "http://a.test/": { headers: { "content-type": "text/plain; charset=none" }, body: "é" } }, "ok: é"],
    [
      "http://a.test/",
      { "http://a.test/": { headers: { "content-type": "application/pdf" }, body: "%PDF-1.7 …" } },
      "error: http://a.test/ is a PDF document (application/pdf, 12 bytes); WebFetch reads text only.",
    ],
    [
      "http://a.test/",
      { "http://a.test/": { headers: { "content-type": "image/png" }, body: new Uint8Array(2048), truncated: true } },
      "error: http://a.test/ is an image (image/png, over 2 KB); WebFetch reads text only.",
    ],
    [
      "http://a.test/",
      { "http://a.test/": { body: new Uint8Array([1, 0, 2]) } },
      "error: http://a.test/ is a binary file (no type given, 3 bytes); WebFetch reads text only.",
    ],
    ["http://a.test/", { "http://a.test/": { headers: { "content-type": "application/json" }, body: '{"a": 1}\n' } }, 'ok: {"a": 1}'],
    [
      "http://a.test/",
      { "http://a.test/": { body: "half", truncated: true } },
      "ok: half\n[The page goes on; it is too long to be fetched whole.]",
    ],
    ["http://a.test/", { "http://a.test/": {} }, "ok: http://a.test/ answered with HTTP 200. It has no content."],
    [
      "https://a.test/",
      { "https://a.test/": "DEPTH_ZERO_SELF_SIGNED_CERT" },
      "error: Cannot fetch https://a.test/: its certificate cannot be trusted (DEPTH_ZERO_SELF_SIGNED_CERT).",
    ],
    ["https://a.test/", { "https://a.test/": "EPROTO" }, "error: Cannot fetch https://a.test/: no secure connection comes about (EPROTO)."],
    ["https://a.test/", {}, "error: Cannot fetch https://a.test/: no such host is known."],
    [
      "https://a.test/",
      { "https://a.test/": "Z_DATA_ERROR" },
      "error: Cannot fetch https://a.test/: its answer cannot be read (Z_DATA_ERROR).",
    ],
    ["https://a.test/", { "https://a.test/": "EWHAT" }, "error: Cannot fetch https://a.test/: EWHAT: https://a.test/."],
    ["http://[2606:4700::1111]/", { "http://[2606:4700::1111]/": { body: "six" } }, "ok: six"],
    ["  http://BÜCHER.test/a b#part ", { "http://xn--bcher-kva.test/a%20b": { body: "idn" } }, "ok: idn"],
  ];
  it.each(rows)("%s with %j", async (url, pages, result) => {
    expect((await fetched(webOf(pages), url)).results).toEqual([result]);
  });

  it("refuses an address that is none, or that holds a password, before anyone is asked", async () => {
    const web = webOf({});
    const { results, asks } = await fetched(web, "a.test", "ftp://a.test/", "https://me:pw@a.test/", "file:///etc/passwd");
    expect(results.map((r) => /must (be a whole http or https address|not have a user name or password in it)/.exec(r)?.[1])).toEqual([
      "be a whole http or https address",
      "be a whole http or https address",
      "not have a user name or password in it",
      "be a whole http or https address",
    ]);
    expect([asks, web.asked]).toEqual([[], []]);
  });

  it("is judged by the address that it asks", async () => {
    const { asks } = await fetched(webOf({}), "HTTPS://A.test:443/x#y");
    expect(asks).toEqual([expect.objectContaining({ effects: [{ kind: "network", target: "https://a.test/x" }] })]);
  });

  it("keeps what it has fetched for a quarter of an hour, for its session, and no failure", async () => {
    const web = webOf({ "http://a.test/": { body: "a" }, "http://b.test/": { status: 500 } });
    const host = testHost({ network: web });
    const runtime = await startWith({
      host,
      plugins: [tools],
      answers: () => ({ kind: "allow" }),
      replies: Array.from({ length: 4 }, () => [{ calls: fetching("http://a.test/#x", "http://b.test/") as never }, "done"]).flat(),
    });
    const first = await runtime.open();
    await first.run();
    await first.run();
    expect(web.asked.splice(0)).toEqual(["http://a.test/", "http://b.test/", "http://b.test/"]);
    host.advance(15 * 60_000);
    await first.run();
    expect(web.asked.splice(0)).toEqual(["http://a.test/", "http://b.test/"]);
    expect(resultsOf((await (await runtime.open()).run()).added)[0]).toBe("ok: a");
    expect(web.asked).toEqual(["http://a.test/", "http://b.test/"]);
    await runtime.dispose();
  });

  it("says who forgot to bring a network", async () => {
    const { added } = await runTurnWith({
      plugins: [tools],
      replies: [{ calls: fetching("http://a.test/") as never }, "done"],
      answers: () => ({ kind: "allow" }),
    });
    expect(resultsOf(added)).toEqual([expect.stringContaining('capability "network" was not granted')]);
  });
});

describe("HTML as Markdown", () => {
  const read = async (body: string) =>
    (await fetched(webOf({ "https://x.test/a/b": { headers: html, body } }), "https://x.test/a/b")).results[0];

  it("keeps what a reader sees, with whole addresses", async () => {
    const page = `<html><head><title>A &amp;
      <b>B</title><base href="/base/"><style>p{}</style></head><body><!-- no --><nav><a href=/>home</a></nav><h1>Hi</h1>
      <p>See <a href="../c?q=(1)">the
      c</a>, <a href="#x">x</a>, <a href="javascript:alert(1)">js</a> <img src=i.png alt="pic"><img src=j.png> <s>old</s></p>
      <script>var a = "</p><p>no";</script>
      <ol start=3><li>one<ul><li>two</li></ul></li><li><input type=checkbox checked>t</li></ol>
      <pre><code class="language-js">let a = 1;\n  b</code></pre>`;
    expect(await read(page)).toBe(`ok: # A & B

# Hi

See [the c](https://x.test/c?q=%281%29), x, js ![pic](https://x.test/base/i.png) ~~old~~

3. one
  - two
4. [x] t

\`\`\`js
let a = 1;
  b
\`\`\``);
  });

  it("makes tables of tables, and none of those that only lay out", async () => {
    const page = `<table><tr><td><table><thead><tr><th>a</th><th>b|c</th></tr></thead><tr><td>1<br>2</td><td><p>x</p><p>y</p></td></tr></table></td><td>out</td></tr></table>`;
    expect(await read(page)).toBe("ok: | a | b\\|c |\n| --- | --- |\n| 1 2 | x y |\n\nout");
  });

  it("says where a page was too long, and shows what is nested too deep all the same", async () => {
    const long = await read(`<p>start</p>${"<p>a b c d e f g</p>".repeat(20_000)}`);
    expect([long?.slice(0, 9), long?.endsWith("[The page goes on; it is too long to be fetched whole.]")]).toEqual(["ok: start", true]);
    expect(await read(`${"<div><b>".repeat(200)}in${"</b></div>".repeat(200)}<h2>after</h2>`)).toMatch(/in[*\s]*## after$/);
  });

  it.each([
    ["unclosed elements", "<b>"],
    ["deep boxes", "<div>x"],
    ["lists in lists", "<ul><li>x"],
    ["tables in tables", "<table><tr><td>x"],
    ["quotes in quotes", "<blockquote>x"],
    ["unclosed navigation", "<nav>x"],
    ["half tags", "<a <b"],
    ["half comments", "<!--"],
    ["ends without beginnings", "</p></div>"],
    ["ends in the wrong order", "<b><div></b><p>"],
    ["links around boxes", "<a href=x><div>x"],
    ["letters set anew in each paragraph", "<p><b id=1><i id=2><u id=3>x"],
  ])(
    "does not hang on %s without end",
    async (_, piece) => {
      expect(await read(`<p>start</p>${piece.repeat(30_000)}`)).toMatch(/^ok: start/);
    },
    20_000,
  );
});
