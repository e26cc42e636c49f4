/** The observer `recorder`: writes what a model replies as a tape, whichever provider it comes from. */
import { resolve } from "node:path";
import type { FileSystem, Json, Observer } from "@heddle/kernel/plugin";
import { abstract, mapStrings } from "./placeholders.ts";
import { isReply, type Step, stepOf, stringifyTape } from "./tape.ts";

/**
 * The tape is written anew after each reply, from the conversation as it is: resuming a session goes on with its tape, a clear
 * starts it again. A second session of the same run (a sub-agent, a fork) gets a tape of its own, named `<record>.<session id>`.
 */
export function recorder(record: string | undefined, fs: FileSystem): Observer {
  const paths = new Map<string, string>();
  let writing: Promise<void> = Promise.resolve();
  return {
    name: "recorder",
    on: record === undefined ? [] : ["message.added"],
    observe(event, { session }) {
      if (record === undefined || event.type !== "message.added" || !isReply(event.message)) return undefined;
      const { id, cwd, messages } = session;
      if (!paths.has(id)) paths.set(id, resolve(cwd, paths.size === 0 ? record : `${record}.${id}`));
      const steps = messages.filter(isReply).map((m) => mapStrings(stepOf(m) as Json, (text) => abstract(text, cwd)) as Step);
      const bytes = new TextEncoder().encode(stringifyTape(steps));
      const path = paths.get(id)!;
      const turn = writing.then(() => fs.writeFile(path, bytes));
      writing = turn.catch(() => {}); // the failure is reported once, by the one whose it is
      return turn;
    },
  };
}
