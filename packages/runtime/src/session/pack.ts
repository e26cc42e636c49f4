/** The view of the history that goes to the model: each stage of the point `compaction` gets what the one before it returned. */
import {
  type AttachmentMessage,
  attachment,
  BadOutput,
  type Change,
  type Content,
  type Json,
  type Message,
  must,
  Returns,
  runOne,
  type StageEnv,
  sizeOf,
  type TurnEnv,
  total,
  unpaired,
} from "@heddle/kernel";

/** `limit` in characters of JSON; `overflowed`: the API has refused the last view as too long. */
export async function pack(env: StageEnv, log: readonly Message[], limit: number, overflowed: boolean): Promise<readonly Message[]> {
  let view = log;
  for (const e of env.registry.all("compaction")) {
    const before = Object.freeze([...view]);
    const make = (kind: string, content: Content, data?: Json): AttachmentMessage => ({
      ...attachment(env, e, kind, content, data),
      parentId: null,
    });
    const ran = await runOne(env, e, async (ctx, _, saw) => {
      const after = await e.it.compact(before, { limit, size: total(env, before), overflowed }, make, ctx);
      if (after === before) return after;
      checkView(before, after);
      saw({ changes: diff(env, before, after) });
      return after;
    });
    if (ran.ok) view = ran.value; // a stage that failed is as if it were not there
  }
  return view;
}

/** A stage may drop messages, shorten results and add attachments; it may not invent or alter what the person or the model said. */
function checkView(before: readonly Message[], after: readonly Message[]): void {
  if (!Array.isArray(after)) throw new BadOutput("not a list of messages");
  const places = new Map(before.map((m, i) => [m.id, i]));
  let last = -1;
  for (const m of after as readonly Message[]) {
    const place = places.get(m?.id) ?? -1;
    const old = before[place];
    const shown = `${String(m?.role)} message "${String(m?.id)}"`;
    if (!old && m?.role === "attachment") must(Returns.content, m.content);
    else if (!old) throw new BadOutput(`a ${shown} that was not there before`);
    else if (place <= last) throw new BadOutput(`a ${shown} that is there twice or in another order`);
    else if (old !== m && m.role === "tool" && old.role === "tool" && m.callId === old.callId) must(Returns.content, m.content);
    else if (old !== m) throw new BadOutput(`an altered ${shown}`);
    last = Math.max(last, place);
  }
  if (!after.some((m) => m.role === "user")) throw new BadOutput("a view without a prompt");
  const { open, orphan } = unpaired(after);
  if (open.length + orphan.length > 0) throw new BadOutput(`calls parted from their results: ${[...open, ...orphan].join(", ")}`);
}

function diff(env: TurnEnv, before: readonly Message[], after: readonly Message[]): Change[] {
  const was = new Map(before.map((m) => [m.id, m]));
  const is = new Set(after.map((m) => m.id));
  const removed = before.filter((m) => !is.has(m.id)).map((m): Change => ({ op: "remove", id: m.id, size: sizeOf(env, m) }));
  const rest = after.flatMap((m): Change[] => {
    const old = was.get(m.id);
    if (!old) return [{ op: "add", id: m.id, size: sizeOf(env, m) }];
    return old === m ? [] : [{ op: "replace", id: m.id, size: sizeOf(env, m), was: sizeOf(env, old) }];
  });
  return [...removed, ...rest];
}
