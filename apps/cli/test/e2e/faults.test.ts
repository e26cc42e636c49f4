/** What a person sees of each fault of a server: the answer or one sentence, the exit code, and how often the server was asked more. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { FaultName, FaultSpec, Script } from "@heddle/anthropic-server";
import { describe, expect, it } from "vitest";
import { lines, world } from "./run.ts";

const ANSWER = "It says alpha, and alpha is the first letter.";
const script: Script = [{ text: "Let me look.", calls: [{ name: "Read", input: { file_path: "a.txt" } }] }, { text: ANSWER }];
/** Waits of a second at most, whatever the usual one is. */
const SOON = { headers: { "retry-after-ms": "50" } };

const WATCHED = ["--settings", '{ "recovery": { "firstByteMs": 700, "idleMs": 300 } }'];

type Row = {
  fault: FaultName | FaultSpec;
  /** Requests beyond the two that it takes without a fault. */
  more?: number;
  /** All of stdout, but for the end of its line; the answer where it is not said. */
  out?: string | RegExp;
  /** The one line on stderr of a failure. */
  failure?: RegExp;
  /** Retries that stderr tells of; as many as there are further requests where it is not said. */
  told?: number;
  flags?: string[];
};
const ROWS: readonly Row[] = [
  { fault: "stall", more: 1, flags: WATCHED },
  { fault: "stall-no-headers", more: 1, flags: WATCHED },
  { fault: { name: "529-forever", ...SOON }, more: 2, failure: /overloaded/, flags: ["--settings", '{ "recovery": { "retries": 2 } }'] },
  { fault: "slow" },
  { fault: "delay-10s" },
  { fault: "429-retry-after", more: 2 },
  { fault: { name: "529", ...SOON }, more: 2 },
  { fault: { name: "500", ...SOON }, more: 2 },
  { fault: { name: "504", ...SOON, times: 1 }, more: 1 },
  { fault: { name: "409", ...SOON }, more: 1 },
  { fault: { name: "html-502", ...SOON }, more: 1 },
  { fault: { name: "529-forever", ...SOON, times: 3 }, more: 3, flags: ["--fallback-model", "claude-haiku-5-5"] },
  { fault: "529-should-not-retry", failure: /trying again will not help/ },
  { fault: "401", failure: /API key was refused .* ANTHROPIC_API_KEY/ },
  { fault: "402", failure: /no credit/ },
  { fault: "403", failure: /may not/ },
  { fault: "404", failure: /knows no model/ },
  { fault: "429-spend-limit", failure: /spend limit/ },
  { fault: "400-other", failure: /a property that the service will not accept\.\)\. Request: req_\w+\.$/ },
  // Of a conversation this short nothing can be left out; a longer one is below.
  { fault: "400-too-long", failure: /too long for claude-sonnet-5-5/ },
  { fault: "context-window-exceeded", failure: /context window is full/ },
  { fault: "413", failure: /too large/ },
  { fault: "400-input-length", more: 1, told: 0 },
  { fault: "binding-400", failure: /bound to a different conversation/ },
  { fault: "reset", more: 1 },
  { fault: "cut-text", more: 1 },
  { fault: "cut-twice", more: 2 },
  { fault: "cut-in-tool", more: 0, told: 1 },
  { fault: "sse-error", more: 1 },
  { fault: "sse-error-first", more: 1 },
  // What was complete stays, and the server of this test says it again instead of nothing.
  { fault: "no-message-stop", more: 1, out: ANSWER + ANSWER },
  { fault: "max-tokens-text", more: 1, told: 0, out: /^It says .*It says alpha, and alpha is the first letter\.$/ },
  { fault: { name: "max-tokens-text", times: 9 }, more: 3, told: 0, out: /^(It says .*){4}$/, failure: /cut off at the output limit/ },
  { fault: "refusal", more: 1, told: 0 },
  { fault: { name: "refusal", times: 9 }, more: 1, told: 0, failure: /refused to answer/ },
  { fault: "pause-turn", more: 1, told: 0, out: /is the first letter\.$/ },
  { fault: "empty-end-turn", more: 1, told: 0 },
  { fault: { name: "empty-end-turn", times: 9 }, more: 1, told: 0, failure: /without any output/ },
  { fault: { name: "malformed-json", at: 0 } },
  { fault: { name: "max-tokens-tool", at: 0 } },
  { fault: { name: "malformed-json", at: 0, times: 9 }, more: 1, told: 0, failure: /cannot be read, 3 times running \(Read: / },
  { fault: { name: "max-tokens-tool", at: 0, times: 9 }, more: 1, told: 0, failure: /3 times running \(Read: .*write less per call\)\)/ },
  { fault: { name: "unknown-tool", at: 0 } },
  { fault: { name: "bad-tool-args", at: 0 } },
];
const nameOf = ({ fault, flags }: Row): string =>
  [typeof fault === "string" ? fault : fault.name, typeof fault === "object" && fault.times, ...(flags ?? [])].filter(Boolean).join(" ");

describe("a fault of the server", () => {
  it.each(ROWS.map((row) => [nameOf(row), row] as const))("%s", async (_, row) => {
    const { fault, more = 0, failure, out = failure ? "" : ANSWER, told = more, flags = [] } = row;
    const w = await world({ script, faults: [fault] });
    w.write("project/a.txt", "alpha\n");
    const ran = await w.run(["-p", "what does a.txt say?", ...flags]);
    const said = ran.stderr.split("\n").filter(Boolean);
    const retries = said.filter((line) => /^heddle: retry \d of \d+ /.test(line));
    const others = said.filter((line) => !retries.includes(line));
    expect([ran.code, ran.stdout.replace(/\n$/, ""), others, retries.length, w.server.mainRequests().length - 2]).toEqual([
      failure ? 1 : 0,
      typeof out === "string" ? out : expect.stringMatching(out),
      failure ? [expect.stringMatching(failure)] : [],
      told,
      more,
    ]);
  });

  it.each([
    ["400-too-long", 0],
    ["413", 1],
  ] as const)("%s of a long conversation costs one request more and what is left out stays readable", async (fault, told) => {
    const long: Script = [
      { calls: [{ name: "Read", input: { file_path: "a.txt" } }] },
      { calls: [{ name: "Read", input: { file_path: "b.txt" } }] },
      { text: ANSWER },
    ];
    const w = await world({ script: long, faults: [{ name: fault, at: 2 }] });
    for (const name of ["a", "b"]) w.write(`project/${name}.txt`, `${`${name} `.repeat(60)}\n`.repeat(1_500));
    const ran = await w.run(["-p", "what do they say?"]);
    expect([ran.code, ran.stdout, w.server.mainRequests().length - 3]).toEqual([0, `${ANSWER}\n`, 1]);
    expect(ran.stderr.split("\n").filter(Boolean)).toHaveLength(told);
    const [refused, again] = w.server
      .mainRequests()
      .slice(-2)
      .map((r) => JSON.stringify(r.body).length);
    expect(again!).toBeLessThan(refused! * 0.8);
  });

  it.each([
    ["that can be read", { file_path: "{{cwd}}/made.txt", content: "half of it" }],
    ["of which nothing came", {}],
  ])("that is the limit on output runs no call %s", async (_, input) => {
    const calls = [{ name: "Write", input }];
    const w = await world();
    w.server.setScript(JSON.parse(JSON.stringify([{ calls, stop_reason: "max_tokens" }, { text: ANSWER }]).replaceAll("{{cwd}}", w.cwd)));
    const ran = await w.run(["-p", "write it", "--permission-mode", "acceptEdits"]);
    expect([ran.code, ran.stdout, existsSync(join(w.cwd, "made.txt"))]).toEqual([0, `${ANSWER}\n`, false]);
    expect(JSON.stringify(w.server.mainRequests()[1]!.body)).toContain("the reply was cut off within them (the output limit was hit");
  });

  it("is told as records in stream-json, and what was said before it is void", async () => {
    const w = await world({ script, faults: ["cut-text"] });
    w.write("project/a.txt", "alpha\n");
    const ran = await w.run(["-p", "what does a.txt say?", "--output-format", "stream-json"]);
    const out = lines(ran.stdout);
    expect([ran.code, ran.stderr, out.at(-1)?.["result"]]).toEqual([0, "", ANSWER]);
    const session = out[0]?.["session_id"];
    const named = { type: "system", session_id: session, uuid: expect.any(String) };
    expect(out.filter((l) => l["type"] === "system" && l["subtype"] !== "init")).toEqual([
      { ...named, subtype: "message_voided", message_id: expect.any(String), why: "The reply was cut off." },
      {
        ...named,
        subtype: "api_retry",
        attempt: 1,
        max_retries: 6,
        retry_delay_ms: expect.any(Number),
        error_status: null,
        cause: "network",
        error: expect.stringContaining("ended before the reply was complete"),
      },
    ]);
  });

  it("that leaves half an answer is an error with a result in json", async () => {
    const w = await world({ script, faults: [{ name: "max-tokens-text", times: 9 }] });
    w.write("project/a.txt", "alpha\n");
    const ran = await w.run(["-p", "what does a.txt say?", "--output-format", "json"]);
    expect([ran.code, ran.stderr, JSON.parse(ran.stdout)]).toEqual([
      1,
      "",
      expect.objectContaining({
        ...{ subtype: "success", is_error: true, stop_reason: "max_tokens", result: expect.stringMatching(/^It says/) },
        errors: [expect.stringContaining("cut off at the output limit")],
      }),
    ]);
  });

  it("without a retry left leaves what was said, in words and in json", async () => {
    const faults = [{ name: "cut-text" as const, times: 9 }];
    const flags = ["--settings", '{ "recovery": { "retries": 0 } }'];
    const [words, json] = await Promise.all(
      [[], ["--output-format", "json"]].map(async (format) => {
        const w = await world({ script, faults });
        w.write("project/a.txt", "alpha\n");
        return w.run(["-p", "what does a.txt say?", ...flags, ...format]);
      }),
    );
    expect([words!.code, words!.stdout, words!.stderr]).toEqual([
      1,
      expect.stringMatching(/^It says/),
      expect.stringMatching(/^heddle: The connection to \S+ ended before the reply was complete .*\n$/),
    ]);
    expect([json!.code, JSON.parse(json!.stdout)]).toEqual([
      1,
      expect.objectContaining({
        ...{ subtype: "error_during_execution", is_error: true, terminal_reason: "api_error", result: words!.stdout.trimEnd() },
        errors: [expect.stringContaining("ended before the reply was complete")],
      }),
    ]);
  });

  it("that is one of the model, over and over, has its own reason, and the session goes on", async () => {
    const w = await world({ script, faults: [{ name: "malformed-json", at: 0, times: 3 }] });
    w.write("project/a.txt", "alpha\n");
    const bad = await w.run(["-p", "what does a.txt say?", "--output-format", "json"]);
    expect([bad.code, JSON.parse(bad.stdout)]).toEqual([1, expect.objectContaining({ terminal_reason: "malformed_tool_use_exhausted" })]);
    const good = await w.run(["-p", "again", "--continue"]);
    expect([good.code, good.stderr]).toEqual([0, ""]);
  });

  it("has its status in stream-json", async () => {
    const w = await world({ script, faults: [{ name: "529", ...SOON, times: 1 }] });
    w.write("project/a.txt", "alpha\n");
    const ran = await w.run(["-p", "what does a.txt say?", "--output-format", "stream-json"]);
    expect(lines(ran.stdout).flatMap((l) => (l["subtype"] === "api_retry" ? [l["error_status"]] : []))).toEqual([529]);
  });
});
