/** A session that is led by lines of JSON on stdin: one turn for each user message, and a few control requests. */
import type { ImagePart } from "@heddle/kernel/protocol";
import * as z from "zod";
import { type Engine, openEngine } from "../engine.ts";
import { EXIT, type ExitCode, UsageError } from "../exit.ts";
import type { Io } from "../io.ts";
import { PERMISSION_MODES, type SessionArgs } from "../options.ts";
import { plainJson } from "../plain.ts";
import { STDIN_LIMIT } from "../stdin.ts";
import { Printer } from "./print.ts";

const Image = z.object({
  type: z.literal("image"),
  source: z.object({ type: z.literal("base64"), media_type: z.string(), data: z.string() }),
});
const Block = z.union([z.object({ type: z.literal("text"), text: z.string() }), Image]);
const Line = z.discriminatedUnion("type", [
  z.object({ type: z.literal("user"), message: z.object({ content: z.union([z.string(), z.array(Block)]) }) }),
  z.object({
    type: z.literal("control_request"),
    request_id: z.string(),
    request: z.looseObject({ subtype: z.string(), mode: z.string().optional(), model: z.string().optional() }),
  }),
  z.object({ type: z.literal("keep_alive") }),
]);
type User = Extract<z.infer<typeof Line>, { type: "user" }>;
type Control = Extract<z.infer<typeof Line>, { type: "control_request" }>;

/** A bad line gives an error record, and the session goes on. Ends when stdin does, after the turns that were asked for. */
export async function streamed(args: SessionArgs, io: Io): Promise<ExitCode> {
  const engine = await openEngine(args, io, { headless: true });
  const printer = new Printer(engine, io, "stream-json", args.verbose);
  let turns: Promise<ExitCode> = Promise.resolve(EXIT.done);
  let ran = 0;
  let number = 0;
  io.signal.addEventListener("abort", () => io.stdin.destroy(), { once: true });
  for await (const text of lines(io.stdin)) {
    number++;
    if (io.signal.aborted) break;
    if (text.trim() === "") continue;
    const line = parse(text);
    if (typeof line === "string") printer.informational("error", `stdin line ${number}: ${line}`);
    else if (line.type === "control_request") io.stdout.write(`${plainJson(control(line, engine))}\n`);
    else if (line.type === "user") {
      ran++;
      turns = turns.then(async (before) => Math.max(before, await printer.turn(inputOf(line))) as ExitCode);
    }
  }
  const code = await turns;
  await engine.dispose();
  if (ran === 0 && !io.signal.aborted) throw new UsageError("no user message came through stdin");
  return code;
}

/** The line, or why it is none. */
function parse(text: string): z.infer<typeof Line> | string {
  if (text.length > STDIN_LIMIT) return "over the limit of 10 MB, dropped";
  try {
    const line = Line.safeParse(JSON.parse(text));
    if (line.success) return line.data;
    const issue = line.error.issues[0]!;
    return `${issue.path.join(".") || "line"}: ${issue.message}`;
  } catch {
    return "not JSON";
  }
}

function inputOf(line: User): { text: string; source: "sdk"; images?: ImagePart[] } {
  const { content } = line.message;
  if (typeof content === "string") return { text: content, source: "sdk" };
  const text = content.flatMap((b) => (b.type === "text" ? [b.text] : [])).join("\n");
  const images = content.flatMap((b): ImagePart[] =>
    b.type === "image" ? [{ type: "image", mimeType: b.source.media_type, data: b.source.data }] : [],
  );
  return { text, source: "sdk", ...(images.length > 0 ? { images } : {}) };
}

function control({ request_id, request }: Control, { session, runtime }: Engine): unknown {
  const done = (response: unknown): unknown => ({ type: "control_response", response: { subtype: "success", request_id, response } });
  const refused = (error: string): unknown => ({ type: "control_response", response: { subtype: "error", request_id, error } });
  switch (request.subtype) {
    case "initialize": {
      const commands = runtime.plugins.flatMap((p) =>
        p.contributes
          .filter((c) => c.point === "commands" && !c.hidden)
          .map(({ name, summary, hint }) => ({ name, description: summary ?? "", argumentHint: hint ?? "" })),
      );
      return done({ commands, output_style: "default", agents: [] });
    }
    case "interrupt":
      session.abort("interrupted");
      return done({});
    case "set_model":
      if (!request.model) return refused("set_model needs model");
      session.setModel(request.model);
      return done({});
    case "set_permission_mode":
      if (!(PERMISSION_MODES as readonly string[]).includes(request.mode ?? ""))
        return refused(`mode must be one of ${PERMISSION_MODES.join(", ")}`);
      session.setPermissionMode(request.mode!);
      return done({});
    default:
      return refused(`unknown request "${request.subtype}"`);
  }
}

/** A stream that is closed early has ended, and that is no error. */
async function* untilClosed(input: NodeJS.ReadableStream): AsyncGenerator<string | Buffer> {
  try {
    yield* input;
  } catch (error) {
    if ((error as { code?: string }).code !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
  }
}

/** Lines as they come, also a last one without an end. What is over the limit is cut, never gathered. */
async function* lines(input: NodeJS.ReadableStream): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of untilClosed(input)) {
    const parts = (typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true })).split("\n");
    parts[0] = rest.length > STDIN_LIMIT ? rest : rest + parts[0]!;
    rest = parts.pop()!;
    yield* parts;
  }
  if (rest !== "") yield rest;
}
