/** `heddle -p` through the built program: what is printed where, and how it exits. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { lines, world } from "./run.ts";

const hello = [{ text: "Hello there." }];
const reading = [{ text: "Let me look.", calls: [{ name: "Read", input: { file_path: "{{cwd}}/a.txt" } }] }, { text: "It says alpha." }];
const lastText = (body: unknown): string => JSON.stringify((body as { messages: unknown[] }).messages.at(-1));

describe("text", () => {
  it("prints the answer and nothing else", async () => {
    const w = await world({ script: hello });
    const ran = await w.run(["-p", "hi"]);
    expect({ ...ran, ms: 0 }).toEqual({ code: 0, stdout: "Hello there.\n", stderr: "", ms: 0 });
  });

  it("asks what the words and stdin say, in this order", async () => {
    const w = await world({ script: hello });
    await w.run(["-p", "explain", "this"], { stdin: "line one\nline two\n" });
    expect(lastText(w.server.mainRequests()[0]?.body)).toContain("explain this\\n\\nline one\\nline two");
  });

  it("needs no -p where there is no terminal, and takes stdin alone", async () => {
    const w = await world({ script: hello });
    const ran = await w.run([], { stdin: "just this" });
    expect([ran.code, ran.stdout]).toEqual([0, "Hello there.\n"]);
    expect(lastText(w.server.mainRequests()[0]?.body)).toContain("just this");
  });

  it("takes the last of what is said twice", async () => {
    const w = await world({ script: hello });
    await w.run(["-p", "-p", "x", "--model", "claude-opus-5-5", "--model", "claude-haiku-5-5"]);
    expect(w.server.mainRequests()[0]?.body).toMatchObject({ model: "claude-haiku-5-5" });
  });

  it("takes what follows -- as words", async () => {
    const w = await world({ script: hello });
    await w.run(["-p", "--", "--why"]);
    expect(lastText(w.server.mainRequests()[0]?.body)).toContain("--why");
  });

  it("runs a command without a model", async () => {
    const w = await world({ script: hello });
    const ran = await w.run(["-p", "/help"]);
    expect([ran.code, ran.stderr, w.server.requests.length]).toEqual([0, "", 0]);
    expect(ran.stdout).toContain("/help");
  });

  it("calls an empty answer a failure", async () => {
    const w = await world({ script: [{ text: "" }], faults: [{ name: "empty-end-turn", at: 0, times: 9 }] });
    const ran = await w.run(["-p", "hi"]);
    expect([ran.code, ran.stdout]).toEqual([1, ""]);
    expect(ran.stderr.split("\n").length).toBe(2);
  });
});

describe("json", () => {
  it("prints one result object", async () => {
    const w = await world({ script: hello });
    const ran = await w.run(["-p", "hi", "--output-format", "json"]);
    expect([ran.code, ran.stderr]).toEqual([0, ""]);
    const result = JSON.parse(ran.stdout) as Record<string, unknown>;
    expect(result).toEqual({
      type: "result",
      subtype: "success",
      is_error: false,
      duration_ms: expect.any(Number),
      duration_api_ms: expect.any(Number),
      num_turns: 1,
      result: "Hello there.",
      stop_reason: "end_turn",
      usage: {
        input_tokens: expect.any(Number),
        output_tokens: expect.any(Number),
        cache_read_input_tokens: expect.any(Number),
        cache_creation_input_tokens: expect.any(Number),
      },
      total_cost_usd: expect.any(Number),
      modelUsage: {
        "claude-sonnet-5-5": {
          inputTokens: expect.any(Number),
          outputTokens: expect.any(Number),
          cacheReadInputTokens: expect.any(Number),
          cacheCreationInputTokens: expect.any(Number),
          costUSD: expect.any(Number),
        },
      },
      permission_denials: [],
      terminal_reason: "completed",
      session_id: expect.any(String),
      uuid: expect.any(String),
    });
  });

  it("lists what was denied, and goes on", async () => {
    const w = await world({
      script: [{ calls: [{ name: "Write", input: { file_path: "{{cwd}}/x.txt", content: "x" } }] }, { text: "I may not." }],
    });
    const ran = await w.run(["-p", "write", "--output-format", "json"]);
    const result = JSON.parse(ran.stdout) as { permission_denials: { tool_name: string }[]; result: string };
    expect([ran.code, result.result, result.permission_denials.map((d) => d.tool_name)]).toEqual([0, "I may not.", ["Write"]]);
  });

  it("is an error object when the model cannot be reached", async () => {
    const w = await world({ script: hello }, true);
    const ran = await w.run(["-p", "hi", "--output-format", "json", "--settings", '{ "recovery": { "retries": 1 } }'], {
      env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:9" },
    });
    const result = JSON.parse(ran.stdout) as Record<string, unknown>;
    expect([ran.code, result["subtype"], result["is_error"], result["terminal_reason"]]).toEqual([
      1,
      "error_during_execution",
      true,
      "api_error",
    ]);
  });
});

describe("stream-json", () => {
  it("prints init, every message, and the result", async () => {
    const w = await world();
    w.write("project/a.txt", "alpha\n");
    w.server.setScript(JSON.parse(JSON.stringify(reading).replaceAll("{{cwd}}", w.cwd)) as typeof reading);
    const ran = await w.run(["-p", "look", "--output-format", "stream-json"]);
    const out = lines(ran.stdout);
    expect(ran.code).toBe(0);
    expect(
      out.map((l) => [
        l["type"],
        (l["subtype"] as string) ?? (l["message"] as { content: { type: string }[] }).content.map((c) => c.type).join(),
      ]),
    ).toEqual([
      ["system", "init"],
      ["assistant", "text"],
      ["assistant", "tool_use"],
      ["user", "tool_result"],
      ["assistant", "text"],
      ["result", "success"],
    ]);
    expect(new Set(out.map((l) => l["uuid"])).size).toBe(out.length);
    expect(new Set(out.map((l) => l["session_id"])).size).toBe(1);
    expect(out[0]).toMatchObject({
      cwd: w.cwd,
      permissionMode: "default",
      apiKeySource: "ANTHROPIC_API_KEY",
      plugins: [],
      plugin_errors: [],
    });
    expect(out[0]?.["tools"]).toEqual(expect.arrayContaining(["Read", "Write", "Edit", "Glob", "Grep", "Bash"]));
    expect(JSON.stringify(out[3])).toContain("alpha");
  });

  it("takes a turn for each user line of stdin, in order, and survives bad lines", async () => {
    const w = await world({ script: [{ text: "one" }, { text: "two" }] });
    const user = (text: string): string => JSON.stringify({ type: "user", message: { role: "user", content: [{ type: "text", text }] } });
    const unread = [
      ["text", { type: "text", text: "a" }, { type: "document", source: {} }],
      [{ type: "image", source: { type: "url", url: "http://x" } }],
    ].map((content) => JSON.stringify({ type: "user", message: { role: "user", content: content.filter((b) => typeof b !== "string") } }));
    unread.push('{"type":"user","message":{}}', '{"type":"control_response","response":{}}');
    const stdin = ["", user("first"), "{nonsense", '{"type":"other"}', user("second"), ...unread].join("\r\n");
    const ran = await w.run(["-p", "--input-format", "stream-json", "--output-format", "stream-json"], { stdin });
    const out = lines(ran.stdout);
    const errors = [
      "stdin line 3: not JSON",
      'stdin line 6: message.content.1: a block of type "document" cannot be read: text and image can',
      "stdin line 7: message.content.0: source.type: it has to be one of base64",
      "stdin line 8: message.content: it has to be a text or a list",
    ];
    const other =
      'stdin line 4: a line of type "other" cannot be read: user, control_request, keep_alive, control_response, control_cancel_request can';
    expect(ran.code).toBe(1);
    const results = out.filter((l) => l["type"] === "result");
    const [first, ...others] = errors.map((e) => [e]);
    expect(results.map((l) => (l["is_error"] ? l["errors"] : l["result"]))).toEqual(["one", first, "two", ...others]);
    expect(out.filter((l) => l["level"] === "error").map((l) => l["content"])).toEqual([errors[0], other, ...errors.slice(1)]);
    expect(JSON.stringify(w.server.mainRequests()[1]?.body)).toMatch(/first.*one.*second/);
  });

  it("answers control requests while a turn runs", async () => {
    const w = await world({ script: [{ text: "slow" }, { text: "quick" }], faults: [{ name: "stall", at: 0 }] });
    const running = w.start(["-p", "--input-format", "stream-json", "--output-format", "stream-json"]);
    const send = (line: unknown): boolean => running.child.stdin!.write(`${JSON.stringify(line)}\n`);
    const request = (id: string, more: object): boolean => send({ type: "control_request", request_id: id, request: more });
    send({ type: "user", message: { role: "user", content: "go" } });
    while (w.server.mainRequests().length === 0) await new Promise((r) => setTimeout(r, 10));
    request("c1", { subtype: "set_permission_mode", mode: "plan" });
    request("c2", { subtype: "no_such_thing" });
    request("c3", { subtype: "interrupt" });
    await running.seen("stdout", '"terminal_reason"');
    send({ type: "user", message: { role: "user", content: "again" } });
    running.child.stdin!.end();
    const ran = await running.ended;
    const out = lines(ran.stdout);
    expect(out.filter((l) => l["type"] === "control_response").map((l) => (l["response"] as { subtype: string }).subtype)).toEqual([
      "success",
      "error",
      "success",
    ]);
    expect(out.filter((l) => l["type"] === "result").map((l) => [l["subtype"], l["terminal_reason"]])).toEqual([
      ["error_during_execution", "aborted_streaming"],
      ["success", "completed"],
    ]);
    expect(out.filter((l) => l["subtype"] === "init").map((l) => l["permissionMode"])).toEqual(["default", "plan"]);
  });
});

describe("sessions", () => {
  it("goes on with the newest one, or a named one", async () => {
    const w = await world({ script: [{ text: "My name is Ada." }, { text: "Ada, as I said." }, { text: "Still Ada." }] });
    const first = JSON.parse((await w.run(["-p", "who are you?", "--output-format", "json"])).stdout) as { session_id: string };
    const second = await w.run(["-c", "-p", "again?"]);
    expect(second.stdout).toBe("Ada, as I said.\n");
    const third = JSON.parse((await w.run(["-r", first.session_id, "-p", "and?", "--output-format", "json"])).stdout) as {
      session_id: string;
    };
    expect(third.session_id).toBe(first.session_id);
    expect(JSON.stringify(w.server.mainRequests()[2]?.body)).toMatch(/who are you.*My name is Ada.*again.*as I said.*and\?/);
  });

  it("says which session is not there", async () => {
    const w = await world();
    const ran = await w.run(["-r", "nonsense", "-p", "x"]);
    expect([ran.code, ran.stdout]).toEqual([1, ""]);
    expect(ran.stderr).toMatch(/^heddle: .*nonsense.*\n$/);
  });

  it("stops after --max-turns model calls", async () => {
    const w = await world({ script: () => ({ calls: [{ name: "Glob", input: { pattern: "*" } }] }) });
    const ran = await w.run(["-p", "loop", "--max-turns", "2", "--output-format", "json"]);
    const result = JSON.parse(ran.stdout) as Record<string, unknown>;
    expect([ran.code, result["subtype"], result["num_turns"], w.server.mainRequests().length]).toEqual([1, "error_max_turns", 2, 2]);
  });

  it("sends what the flags say", async () => {
    const w = await world({ script: hello });
    const prompt = ["--system-prompt", "You are a tester.", "--append-system-prompt", "Be brief."];
    await w.run(["-p", "x", "--model", "claude-opus-5-5", "--disallowedTools", "Bash,Write", ...prompt]);
    const body = w.server.mainRequests()[0]?.body as { model: string; system: unknown; tools: { name: string }[] };
    expect(body.model).toBe("claude-opus-5-5");
    expect(JSON.stringify(body.system)).toMatch(/You are a tester\..*Be brief\./);
    const tools = body.tools.map((t) => t.name);
    expect(tools).toEqual(expect.arrayContaining(["Edit", "Glob", "Grep", "Read"]));
    expect(tools.filter((name) => name === "Bash" || name === "Write")).toEqual([]);
  });

  it("keeps a log that one can read, for its owner alone", async () => {
    const w = await world({ script: hello });
    await w.run(["-p", "hi"]);
    const explained = await w.run(["explain"]);
    expect([explained.code, explained.stderr]).toEqual([0, ""]);
    expect(explained.stdout).toContain("ended: completed; 1 model call");
    const json = JSON.parse((await w.run(["explain", "1", "--json"])).stdout) as { input: string };
    expect(json.input).toBe("hi");
    const dir = join(w.home, ".heddle", "projects");
    const log = readdirSync(dir, { recursive: true })
      .map(String)
      .find((f) => f.endsWith(".jsonl"))!;
    expect(statSync(join(dir, log)).mode & 0o077).toBe(0);
    expect(readFileSync(join(dir, log), "utf8")).not.toContain("test-key");
  });
});
