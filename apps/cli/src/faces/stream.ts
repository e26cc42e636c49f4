/** A session that is led by lines of JSON on stdin: one turn for each user message, and a few control requests. */
import type { ImagePart } from "@heddle/kernel/protocol";
import * as z from "zod";
import { wrongText } from "../config/wrong.ts";
import { type Engine, openEngine } from "../engine.ts";
import { EXIT, type ExitCode, UsageError } from "../exit.ts";
import type { Io } from "../io.ts";
import { PERMISSION_MODES, type SessionArgs } from "../options.ts";
import { plainJson } from "../plain.ts";
import { STDIN_LIMIT } from "../stdin.ts";
import { PermissionRequests } from "./permission-requests.ts";
import { Printer } from "./print.ts";

const Image = z.object({
  type: z.literal("image"),
  source: z.object({ type: z.literal("base64"), media_type: z.string(), data: z.string() }),
});
const Text = z.object({ type: z.literal("text"), text: z.string() });
const Block = z.discriminatedUnion("type", [Text, Image]);
const Line = z.discriminatedUnion("type", [
  z.object({ type: z.literal("user"), message: z.object({ content: z.union([z.string(), z.array(Block)]) }) }),
  z.object({
    type: z.literal("control_request"),
    request_id: z.string(),
    request: z.looseObject({ subtype: z.string(), mode: z.string().optional(), model: z.string().optional() }),
  }),
  z.object({ type: z.literal("keep_alive") }),
  z.object({ type: z.literal("control_response"), response: z.unknown() }),
  z.object({ type: z.literal("control_cancel_request") }),
]);
type User = Extract<z.infer<typeof Line>, { type: "user" }>;
type Control = Extract<z.infer<typeof Line>, { type: "control_request" }>;

/** Why a line is none. `waits`: whoever sent it may wait for the result of a turn. */
type Unread = { why: string; waits: boolean };

/** A bad line gives an error record, and an error result where one may be waited for; the session goes on, and fails in the end. Ends when stdin does, after the turns that were asked for. */
export async function streamed(args: SessionArgs, io: Io): Promise<ExitCode> {
  const engine = await openEngine(args, io, { headless: true, decides: args.asksHost });
  const printer = new Printer(engine, io, "stream-json", args.verbose);
  const write = (line: unknown): void => void io.stdout.write(`${plainJson(line)}\n`);
  const warn = (why: string): void => printer.informational("warning", why);
  const requests = args.asksHost ? new PermissionRequests(engine, write, warn) : undefined;
  let turns: Promise<ExitCode> = Promise.resolve(EXIT.done);
  let ran = 0;
  let isBad = false;
  let number = 0;
  io.signal.addEventListener("abort", () => io.stdin.destroy(), { once: true });
  for await (const text of lines(io.stdin)) {
    number++;
    if (io.signal.aborted) break;
    if (text.trim() === "") continue;
    const line = parse(text);
    if ("why" in line) {
      isBad = true;
      const why = `stdin line ${number}: ${line.why}`;
      turns = turns.then(() => printer.unread(why, line.waits));
    } else if (line.type === "control_request") write(control(line, engine));
    else if (line.type === "control_response") void requests?.take(line.response);
    else if (line.type === "user") {
      ran++;
      turns = turns.then(async (before) => Math.max(before, await printer.turn(inputOf(line))) as ExitCode);
    }
  }
  requests?.end();
  const code = await turns;
  await engine.dispose();
  if (ran === 0 && !isBad && !io.signal.aborted) throw new UsageError("no user message came through stdin");
  return code;
}

function parse(text: string): z.infer<typeof Line> | Unread {
  if (text.length > STDIN_LIMIT) return { why: "over the limit of 10 MB, dropped", waits: true };
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return { why: "not JSON", waits: true };
  }
  const line = Line.safeParse(given);
  if (line.success) return line.data;
  const { type, message } = (given ?? {}) as { type?: unknown; message?: { content?: unknown } };
  if (!KINDS.includes(String(type)))
    return { why: `a line of type ${JSON.stringify(type)} cannot be read: ${KINDS.join(", ")} can`, waits: false };
  const content = message?.content;
  const why = type === "user" && Array.isArray(content) ? blocksProblem(content) : undefined;
  return { why: why ?? issueText(line.error), waits: type === "user" };
}
const KINDS = Line.options.map((o) => o.shape.type.value as string);

/** The first block that cannot be read, and why. */
function blocksProblem(blocks: readonly unknown[]): string | undefined {
  for (const [i, block] of blocks.entries()) {
    const { error } = Block.safeParse(block);
    if (!error) continue;
    const type = (block as { type?: unknown } | null)?.type;
    const isKnown = type === "text" || type === "image";
    return `message.content.${i}: ${isKnown ? issueText(error) : `a block of type ${JSON.stringify(type)} cannot be read: text and image can`}`;
  }
  return undefined;
}
function issueText({ issues }: z.ZodError): string {
  const [issue] = issues;
  return [issue!.path.join("."), wrongText(issue!)].filter(Boolean).join(": ");
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
