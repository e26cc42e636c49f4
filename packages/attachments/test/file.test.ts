import type { AttachmentMessage, Images } from "@heddle/kernel";
import {
  type Inputs,
  ownPlugin,
  pluginOf,
  type RunOptions,
  runTurnWith,
  type TestFiles,
  type TestHostOptions,
  testHost,
} from "@heddle/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import packageJson from "../package.json" with { type: "json" };
import plugin, { type FileData } from "../src/index.ts";
import { notAttached } from "../src/reference.ts";

type More = RunOptions &
  Pick<TestHostOptions, "at" | "fails"> & { readonly deny?: readonly string[]; readonly home?: string; readonly images?: Images };

async function attach(input: Inputs, files: TestFiles, { deny, home, at, fails, images, plugins = [], ...more }: More = {}) {
  const options = { ...(deny ? { deny } : {}), ...(home ? { home } : {}) };
  const host = { ...testHost({ files, ...(at === undefined ? {} : { at }), ...(fails ? { fails } : {}) }), ...(images ? { images } : {}) };
  const own = ownPlugin(plugin, packageJson, options);
  const { outcome, messages } = await runTurnWith({ plugins: [...plugins, own], replies: ["ok"], input, host, cwd: "/w", ...more });
  expect(outcome).toEqual({ kind: "completed" });
  const made = messages.filter((m): m is AttachmentMessage => m.role === "attachment");
  return made.map((m) => ({
    kind: m.kind,
    data: m.data as FileData,
    text: m.content.map((p) => (p.type === "text" ? p.text : "")).join(""),
  }));
}
const paths = async (input: string, files: TestFiles, more?: More): Promise<string[]> =>
  (await attach(input, files, more)).map((a) => a.data.path + (a.data.kind === "reference" ? ` (${a.data.why})` : ""));

const A = { "/w/src/a.ts": "one\ntwo\nthree\n" };

describe("a mentioned file", () => {
  it("comes with line numbers, and its data says what it is", async () => {
    expect(await attach("explain @src/a.ts please", A)).toEqual([
      {
        kind: "file",
        data: { kind: "text", path: "/w/src/a.ts", lines: 3, bytes: 14, from: 1, text: ["one", "two", "three"] },
        text: "The user mentions /w/src/a.ts:\n     1\tone\n     2\ttwo\n     3\tthree",
      },
    ]);
  });

  it.each([
    ["#L2-3", { from: 2, to: 3 }, ["two", "three"], ", lines 2-3 of 3:\n     2\ttwo\n     3\tthree"],
    ["#L2", { from: 2, to: 2 }, ["two"], ", lines 2-2 of 3:\n     2\ttwo"],
    ["#L3-L2", { from: 2, to: 3 }, ["two", "three"], ", lines 2-3 of 3:\n     2\ttwo\n     3\tthree"],
    ["#L0-1", { from: 1, to: 1 }, ["one"], ", lines 1-1 of 3:\n     1\tone"],
    ["#L3-900", { from: 3, to: 900 }, ["three"], ", lines 3-3 of 3:\n     3\tthree"],
  ])("with %s comes in part", async (suffix, range, text, shown) => {
    expect(await attach(`@src/a.ts${suffix}.`, A)).toEqual([
      {
        kind: "file",
        data: { kind: "text", path: "/w/src/a.ts", range, lines: 3, bytes: 14, from: range.from, text },
        text: `The user mentions /w/src/a.ts${shown}`,
      },
    ]);
  });

  it("is said to be shorter than the line that was asked for, or empty", async () => {
    expect((await attach("@src/a.ts#L9", A))[0]!.text).toBe("The user mentions line 9 of /w/src/a.ts, which has only 3 lines.");
    expect((await attach("@e", { "/w/e": "" }))[0]!.text).toBe("The user mentions /w/e, which is empty.");
  });

  it("is cut after 2,000 lines", async () => {
    const [it] = await attach("@long", { "/w/long": "x\n".repeat(2_500) });
    expect(it!.data).toMatchObject({ lines: 2_500, from: 1 });
    expect(it!.text.split("\n").length).toBe(2_002);
    expect(it!.text).toContain("/w/long, lines 1-2000 of 2500:");
    expect(it!.text).toMatch(/ {2}2000\tx\n\(cut after 2000 lines; read on from line 2001 if you need it\)$/);
  });

  it("loses carriage returns and the byte order mark, and nothing else", async () => {
    const [it] = await attach("@a", { "/w/a": "\uFEFFone\r\n\r\n two\t\r\n" });
    expect(it!.data).toMatchObject({ text: ["one", "", " two\t"] });
  });

  it("is there once in a turn, however it is named", async () => {
    const files = { ...A, "/w/link.ts": { link: "src/a.ts" } };
    expect(await paths("@src/a.ts @./src/a.ts @/w/src/a.ts @link.ts @src/a.ts#L1", files)).toEqual(["/w/src/a.ts"]);
    expect(await paths("@src/a.ts#L1 @src/a.ts#L1-1 @src/a.ts#L2", A)).toEqual(["/w/src/a.ts", "/w/src/a.ts"]);
  });

  it("is not sent again in later turns and steps", async () => {
    const calls = [{ tool: "Gone", input: {} }];
    const plugins = [ownPlugin(plugin, packageJson)];
    const input = ["@src/a.ts", "and now?"];
    const { messages } = await runTurnWith({ plugins, replies: [{ calls }, "ok", "ok"], input, files: A, cwd: "/w" });
    expect(messages.map((m) => m.role)).toEqual(["user", "attachment", "assistant", "tool", "assistant", "user", "assistant"]);
  });

  it("counts as read for the tools that ask, and what is only named does not", async () => {
    const seen: unknown[] = [];
    const saw = (session: string, real: string, bytes: Uint8Array, how: unknown): void =>
      void seen.push([session, real, bytes.length, how]);
    const plugins = [pluginOf("tools", {}, { provides: { "heddle.files": { saw } } })];
    const files = { ...A, "/w/link": { link: "src/a.ts" }, "/w/bin": Uint8Array.of(0), "/w/.env": "KEY", "/x": "out" };
    await attach("@link#L1 @bin @.env @/x @src", files, { plugins, at: 7, deny: [".env"] });
    expect(seen).toEqual([[expect.stringMatching(/^session-/), "/w/src/a.ts", 14, { at: 7, by: "read", text: "one\ntwo\nthree\n" }]]);
  });

  it("is rendered to the same bytes from the same data", async () => {
    const contributions = await plugin.setup({ options: { deny: [] } } as never);
    const [kind] = contributions.attachments!;
    for (const { data, text } of await attach("@src/a.ts#L1-2 @src @nothing", A)) expect(kind!.render(kind!.schema.parse(data))).toBe(text);
  });
});

describe("what is a mention", () => {
  it.each([
    ['see @"my notes.md".', "/w/my notes.md"],
    ["see @my\\ notes.md, then", "/w/my notes.md"],
    ['@"my notes.md"#L1', "/w/my notes.md"],
    ["(@a.md)", "/w/a.md"],
    ["is it @a.md?", "/w/a.md"],
    ["“@a.md”", "/w/a.md"],
    ["look:@a.md", "/w/a.md"],
    ["看@a.md。", "/w/a.md"],
    ["@scope/pkg", "/w/scope/pkg"],
    ["@odd,", "/w/odd,"],
    ["@ref#L1", "/w/ref#L1"],
    ["@~/h.md", "/home/u/h.md (outside)"],
  ])("%s", async (input, expected) => {
    const files = { "/w/my notes.md": "n", "/w/a.md": "a", "/w/scope/pkg": "p", "/w/odd,": "o", "/w/ref#L1": "r", "/home/u/h.md": "h" };
    expect(await paths(input, files, { home: "/home/u" })).toEqual([expected]);
  });

  it.each([
    "mail ada@a.md",
    "@Component()\nclass X {}",
    "npm i @scope/pkg@1.2.3",
    "`@a.md`",
    "HEAD@{1} and @{u}",
    "user+tag@a.md",
    "at @ a.md",
    "@gone.md",
    "@~/h.md",
    '@""',
  ])("not %s", async (input) => {
    expect(await paths(input, { "/w/a.md": "a", "/w/b/c": "" })).toEqual([]);
  });

  it.each([
    [{ source: "repl" }, 1],
    [{ source: "system" }, 0],
    [{ source: "repl", isMeta: true }, 0],
  ] as const)("is looked for in what a person wrote, not in what heddle says: %j", async (more, count) => {
    expect(await attach({ text: "@src/a.ts", ...more }, A)).toHaveLength(count);
  });

  it("is looked for fifty times at most", async () => {
    const files = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`/w/f${i}`, "x"]));
    const input = Array.from({ length: 60 }, (_, i) => `@f${i}`).join(" ");
    expect((await paths(input, files)).length).toBe(50);
  });

  it("never fails, whatever is typed", async () => {
    const piece = fc.constantFrom("@", '"', "src/a.ts", "#L", "1", "-", "\\ ", " ", "~/", "..", "/", "\u202f", "\n", "é", "`", "\ud800");
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 12 }), async (parts) => {
        const made = await attach(`x ${parts.join("")}`, A, { deny: ["*.key"] });
        for (const { data } of made) expect(["/w", "/w/src", "/w/src/a.ts", "/"]).toContain(data.path);
      }),
      { numRuns: 200 },
    );
  });
});

describe("a name that only looks like the one on disk", () => {
  it.each([
    ["a narrow no-break space", "Shot 9.05.11\u202fPM.txt", "Shot 9.05.11 PM.txt"],
    ["a no-break space", "Sní\u00a013.05.txt", "Sní 13.05.txt"],
    ["decomposed letters and a curly apostrophe", "Résumé d’été.txt".normalize("NFD"), "Résumé d'été.txt".normalize("NFC")],
    ["composed letters", "Résumé.txt".normalize("NFC"), "Résumé.txt".normalize("NFD")],
  ])("finds %s", async (_, onDisk, typed) => {
    const files = { [`/w/in ${onDisk}/${onDisk}`]: "CANARY" };
    expect(await attach(`@"in ${typed}/${typed}"`, files)).toMatchObject([
      { data: { path: `/w/in ${onDisk}/${onDisk}`, text: ["CANARY"] } },
    ]);
  });

  it("takes the exact one first, and none when two look the same", async () => {
    const files = { "/w/a b": "plain", "/w/a\u00a0b": "no-break", "/w/a\u202fb": "narrow" };
    expect(await paths('@"a b"', files)).toEqual(["/w/a b"]);
    expect(await paths("@a\u00a0b", files)).toEqual(["/w/a\u00a0b"]);
    expect(await paths('@"a\u2009b"', files)).toEqual([]);
  });
});

describe("a mentioned folder", () => {
  it("is listed", async () => {
    const files = { "/w/src/b.ts": "", "/w/src/sub/c.ts": "", "/w/src/a.ts": "" };
    expect(await attach("what is in @src/?", files)).toEqual([
      {
        kind: "file",
        data: { kind: "directory", path: "/w/src", names: ["a.ts", "b.ts", "sub/"], total: 3 },
        text: "The user mentions the folder /w/src, which holds:\na.ts\nb.ts\nsub/",
      },
    ]);
  });
  it("is cut after 200 names", async () => {
    const files = Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`/w/d/${1_000 + i}`, ""]));
    const [it] = await attach("@d", files);
    expect(it!.data).toMatchObject({ total: 250 });
    expect(it!.text).toMatch(/\n1199\n\(cut: 50 more of 250 names\)$/);
  });
});

describe("a mentioned image", () => {
  /** Bytes that begin with 1 are an image of so many pixels as they are long, of which 4 fit. */
  const images: Images = {
    size: (bytes) => (bytes[0] === 1 ? { mimeType: "image/png", width: bytes.length, height: 1 } : undefined),
    async fit(bytes) {
      if (bytes[0] !== 1) return { why: "it is broken" };
      const [was, fits] = [bytes.length, bytes.slice(0, 4)];
      return { mimeType: "image/png", bytes: fits, width: fits.length, height: 1, was: { width: was, height: 1, bytes: was } };
    },
  };
  const image = (length: number): Uint8Array => Uint8Array.from({ length }, (_, i) => (i === 0 ? 1 : 0));
  const shown = async (input: string, files: TestFiles, more: More = {}): Promise<unknown[]> => {
    const host = { ...testHost({ files }), images };
    const { messages } = await runTurnWith({ plugins: [ownPlugin(plugin, packageJson)], replies: ["ok"], input, host, cwd: "/w", ...more });
    return messages.flatMap((m) => (m.role === "attachment" ? [m.content] : []));
  };

  it("is shown behind a line with its path and size, whatever its name", async () => {
    expect(await shown("@a.png @b", { "/w/a.png": image(3), "/w/b": image(9) })).toEqual([
      [
        { type: "text", text: "The user mentions /w/a.png, an image of 3x1 pixels:" },
        { type: "image", mimeType: "image/png", data: "AQAA" },
      ],
      [
        { type: "text", text: "The user mentions /w/b, an image of 9x1 pixels, scaled to 4x1:" },
        { type: "image", mimeType: "image/png", data: "AQAAAA==" },
      ],
    ]);
  });

  it("may be larger than a text", async () => {
    expect(await paths("@a.png @b.TXT", { "/w/a.png": image(300_000), "/w/b.TXT": image(300_000) }, { images })).toEqual([
      "/w/a.png",
      "/w/b.TXT (huge)",
    ]);
  });

  it("is named with the reason when it cannot be shown, and the person gets the same", async () => {
    const files = { "/w/a.png": Uint8Array.of(0, 7), "/w/t.png": "text" };
    const told = async (more: More): Promise<unknown[]> => (await attach("@a.png @t.png", files, more)).map((a) => a.text);
    expect([await told({ images }), await told({})]).toEqual(
      ["it is broken", "there is nothing here that looks at images"].map((why) => [
        `The user mentions /w/a.png, 2 bytes (not attached: image left out: ${why}).`,
        "The user mentions /w/t.png:\n     1\ttext",
      ]),
    );
    const message = (data: object) => ({ role: "attachment", kind: "file", data }) as unknown as AttachmentMessage;
    expect([
      notAttached(message({ kind: "reference", path: "/w/a", why: "unfit", detail: "it is broken" })),
      notAttached(message({ kind: "reference", path: "/w/a", why: "outside" })),
      notAttached(message({ kind: "directory", path: "/w/a", names: [], total: 0 })),
    ]).toEqual(["/w/a is not attached: image left out: it is broken", "/w/a is not attached: it is outside the workspace", undefined]);
  });

  it("comes with at most nine others", async () => {
    const files = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`/w/${i}.png`, image(2)]));
    const made = await attach(
      Object.keys(files)
        .map((f) => `@${f}`)
        .join(" "),
      files,
      { images },
    );
    expect(made.map((a) => a.data.kind)).toEqual([...Array(10).fill("image"), "reference", "reference"]);
    expect(made.at(-1)!.text).toBe("The user mentions /w/11.png, 2 bytes (not attached: only 10 images come with one prompt).");
  });
});

describe("what is only named", () => {
  it.each([
    ["binary", Uint8Array.of(137, 80, 78, 71, 0, 1), "The user mentions /w/f, 6 bytes (not attached: it is no text)."],
    ["binary", Uint8Array.of(0xff, 0xfe, 0x41), "The user mentions /w/f, 3 bytes (not attached: it is no text)."],
    [
      "huge",
      "x".repeat(256 * 1024 + 1),
      "The user mentions /w/f, 262145 bytes (not attached: it is larger than 256 KB; read the part you need).",
    ],
  ])("%s", async (why, content, text) => {
    const bytes = content.length;
    expect(await attach("@f", { "/w/f": content })).toEqual([
      { kind: "file", data: { kind: "reference", path: "/w/f", why, bytes }, text },
    ]);
  });

  it("what is too much together", async () => {
    const files = { "/w/a": "x".repeat(200 * 1024), "/w/b": "x".repeat(200 * 1024), "/w/c": "small" };
    expect(await paths("@a @b @c", files)).toEqual(["/w/a", "/w/b (enough)", "/w/c"]);
  });

  it("what is outside the workspace, also through a link", async () => {
    const files = { ...A, "/etc/x": "X", "/w/link": { link: "/etc/x" }, "/more/m": "m", "/w/dir": { link: "/etc" } };
    const input = "@/etc/x @../etc @link @/more/m @dir";
    expect(await paths(input, files)).toEqual(["/etc/x (outside)", "/etc (outside)", "/more/m (outside)"]);
    expect(await paths("@/more/m", files, { directories: ["/more"] })).toEqual(["/more/m"]);
    expect((await attach("@link", files))[0]!.text).toBe(
      "The user mentions /w/link (not attached: it is outside the workspace; read it if you need it).",
    );
  });

  it("what is inside the workspace when one of its folders is a link", async () => {
    const files = { "/real/a": "a", "/w": { link: "/real" } };
    const calls: string[] = [];
    // the runtime cannot follow the link when it starts, so that the working directory stays one
    const fails = (call: string): string | undefined => (call === "realpath" && calls.push(call) === 1 ? "EIO" : undefined);
    expect(await paths("@a", files, { fails })).toEqual(["/w/a"]);
    expect(await paths("@/w/a", files, { cwd: "/x", directories: ["/w"] })).toEqual(["/w/a"]);
  });
});

describe("deny rules", () => {
  const files = {
    "/w/.env": "KEY",
    "/w/p/.env": "KEY",
    "/w/secrets/k": "KEY",
    "/w/p/secrets/k": "KEY",
    "/w/ok": { link: ".env" },
    "/more/.env": "KEY",
    "/home/u/x": "KEY",
  };
  it.each([
    [".env", "@.env", true],
    [".env", "@p/.env", true],
    [".env", "@ok", true],
    [".env", "@/more/.env", true],
    ["./.env", "@p/.env", false],
    ["/.env", "@.env", true],
    ["/.env", "@p/.env", false],
    ["p/.env", "@p/.env", true],
    ["secrets/**", "@secrets/k", true],
    ["secrets/**", "@p/secrets/k", true],
    ["secrets/", "@secrets", true],
    ["/secrets/**", "@p/secrets/k", false],
    ["//w/p/**", "@p/.env", true],
    ["//more", "@/more/.env", true],
    ["~/x", "@~/x", true],
    ["*.pem", "@.env", false],
    [".ENV", "@.env", true],
  ])("%s for %s: %s", async (rule, input, denied) => {
    const [it] = await attach(input, files, { deny: [rule], home: "/home/u", directories: ["/more"] });
    const why = it!.data.kind === "reference" ? it!.data.why : "attached";
    expect(why).toBe(denied ? "denied" : "attached");
    if (denied) expect(it!.text).toMatch(/^The user mentions \/\S+ \(not attached: denied by a rule\)\.$/);
  });
  it("take the working directory as a name, not as a pattern", async () => {
    const odd = { "/w [a] !#/.env": "KEY", "/w a !#/.env": "KEY" };
    expect(await paths("@.env", odd, { deny: ["/.env"], cwd: "/w [a] !#" })).toEqual(["/w [a] !#/.env (denied)"]);
  });
});
