/** A command that prints a key: when it runs, for how long its key is kept, and what is said when it gives none. */
import { nodeProcesses } from "@heddle/runtime/node";
import { describe, expect, it } from "vitest";
import { credentials, helperTtl } from "../src/credentials.ts";
import { type HelperOptions, keyHelper } from "../src/key-helper.ts";

type Result = Awaited<ReturnType<HelperOptions["run"]>>;
const ended: Result = { exitCode: 0, signal: null, stdout: "", stderr: "", output: "", droppedBytes: 0, ended: "exit" };
function helper(result: (n: number) => Partial<Result>, ttlMs = 1_000) {
  const clock = { now: 0, runs: 0 };
  const run: HelperOptions["run"] = async () => ({ ...ended, ...result(++clock.runs) });
  return { clock, ...keyHelper({ command: "print-key", cwd: "/", env: {}, ttlMs, run, now: () => clock.now }) };
}

describe("a key helper", () => {
  it("runs once for all that ask at a time, and again when its key is old or refused", async () => {
    const h = helper((n) => ({ stdout: `key-${n}\n` }));
    expect(await Promise.all([h.get(false), h.get(false)])).toEqual(["key-1", "key-1"]);
    h.clock.now = 999;
    expect(await h.get(false)).toBe("key-1");
    h.clock.now = 1_000;
    expect(await h.get(false)).toBe("key-2");
    expect([await h.get(true), await h.get(false)]).toEqual(["key-3", "key-3"]);
  });

  it("keeps no failure, and nothing at all where the time is 0", async () => {
    const h = helper((n) => (n === 1 ? { exitCode: 1 } : { stdout: "key" }), 0);
    await expect(h.get(false)).rejects.toThrow();
    expect([await h.get(false), await h.get(false), h.clock.runs]).toEqual(["key", "key", 3]);
  });

  const how = 'Run it by itself, or correct "apiKeyHelper" in your settings.';
  it.each<[string, Partial<Result>, string]>([
    ["an exit code", { exitCode: 3, stderr: "no\n  token" }, `ended with exit code 3 (no token). ${how}`],
    ["a signal", { exitCode: null, signal: "SIGKILL" }, `was ended by SIGKILL. ${how}`],
    ["nothing", { stdout: " \n" }, `printed nothing. ${how}`],
    ["a hang", { ended: "timeout", exitCode: null }, `had not ended after 30 s; it has no terminal to ask at. ${how}`],
    [
      "more than a key",
      { stdout: "Welcome!\nsk-hidden", stderr: "+ echo sk-hidden" },
      `printed something that is no key: it has to be one word on stdout, and nothing else (+ echo ***). ${how}`,
    ],
    ["a long story", { exitCode: 1, stderr: "x".repeat(900) }, `ended with exit code 1 (…${"x".repeat(300)}). ${how}`],
    ["the key in a failure", { exitCode: 1, stdout: "sk-hidden", stderr: "key sk-hidden" }, `ended with exit code 1 (key ***). ${how}`],
  ])("tells of %s", async (_, result, said) => {
    await expect(helper(() => result).get(false)).rejects.toThrow(new Error(`its command ${said}`));
  });

  it.each([
    "sk-ant-api03-abcdef",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11ABCDEFG0",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP",
    "AKIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
    "8f14e45fceea167a5a36dedd4bea2543",
    "TOKEN=hunter22",
    "Authorization: Bearer hunter22",
  ])("shows no other key that its command met: %s", async (key) => {
    const error = await helper(() => ({ exitCode: 1, stderr: `in /usr/lib/python3.11/site-packages/keyring_of_vault-2: ${key} is bad` }))
      .get(false)
      .catch((e: Error) => e.message);
    expect(error).toMatch(/in \/usr\/lib\/python3\.11\/site-packages\/keyring_of_vault-2: (TOKEN=|Authorization: Bearer )?\*\*\* is bad/);
  });

  it("is a command line of the shell, with the variables of the settings", async () => {
    const { run } = nodeProcesses({ env: { PATH: process.env["PATH"], ANTHROPIC_API_KEY: "other" } });
    const command = 'test -z "$ANTHROPIC_API_KEY" && printf "%s" "$PROFILE" | tr a-z A-Z';
    const h = keyHelper({ command, cwd: "/", env: { PROFILE: "key" }, ttlMs: 1, run, now: () => 0 });
    expect(await h.get(false)).toBe("KEY");
  });
});

describe("where it stands", () => {
  const config = { env: {}, provider: { options: {} }, apiKeyHelper: "print-key" };
  it("gives way to any key or token that is there", () => {
    expect(credentials(config, {})).toEqual({ helper: "print-key" });
    expect(credentials(config, { ANTHROPIC_BASE_URL: "http://a" })).toEqual({ helper: "print-key", baseURL: "http://a" });
    expect(credentials(config, { ANTHROPIC_API_KEY: "k" })).toEqual({ apiKey: "k" });
    expect(credentials({ ...config, env: { ANTHROPIC_AUTH_TOKEN: "t" } }, {})).toEqual({ authToken: "t" });
  });

  it("has its time from the environment or the settings", () => {
    const name = "CLAUDE_CODE_API_KEY_HELPER_TTL_MS";
    expect([helperTtl(config, {}), helperTtl(config, { [name]: "0" }), helperTtl({ env: { [name]: "7" } }, {})]).toEqual([
      { ttlMs: 300_000 },
      { ttlMs: 0 },
      { ttlMs: 7 },
    ]);
    expect(helperTtl(config, { [name]: "soon" })).toEqual({
      ttlMs: 300_000,
      notice: `${name} is "soon", which is no number of milliseconds: 300000 is used`,
    });
  });
});
