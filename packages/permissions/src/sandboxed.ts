/** What is asked for although the command runs in a sandbox, which keeps the rest of the machine and the network from it. */
import { type CommandReading, join, touches } from "./command.ts";
import { protectedPart } from "./protected.ts";
import { hasUnseen, MAX_COMMAND } from "./shell/text.ts";

/** Files that run later are protected everywhere in the workspace; a sandbox knows only some of the places. */
export async function objection(reading: CommandReading): Promise<{ readonly why: string; readonly rule?: string } | undefined> {
  const { command, narrow, found, folders } = reading;
  if (command.length > MAX_COMMAND || hasUnseen(command)) return { why: "doubt" in narrow ? narrow.doubt : "it cannot be read" };
  for (const path of "parts" in narrow
    ? await written(reading)
    : found.simple.flatMap((s) => s.opens.filter((o) => o.write).map((o) => o.text)))
    for (const folder of folders) {
      const at = await reading.locate(join(folder, path));
      const guarded = at.inside === undefined ? undefined : protectedPart(at);
      if (guarded) return { why: `${guarded} is protected: ${at.path}`, rule: `protected path ${guarded}` };
    }
  return undefined;
}

async function written(reading: CommandReading): Promise<readonly string[]> {
  const parts = "parts" in reading.narrow ? reading.narrow.parts : [];
  const all = parts.flatMap((part) =>
    [...part.redirects.filter((r) => r.kind === "write").map((r) => r.to), ...(touches(part)?.writes ?? [])].map((word) => ({
      word,
      part,
    })),
  );
  return (await Promise.all(all.map(async ({ word, part }) => (await reading.pathsOf(word, part)) ?? []))).flat();
}
