/** The tool Glob: files by name, newest first. */
import { join } from "node:path";
import { defineTool, FS, type Tool, type ToolContext, type ToolOutput, z } from "@heddle/kernel/plugin";
import { answering, failed } from "../answer.ts";
import { lenient } from "../input.ts";
import { newestFirst } from "../newest.ts";
import { absolute, locate, missing, neither, place, shown } from "../paths.ts";
import { prompts } from "../prompts.generated.ts";
import { complaints, search } from "../ripgrep.ts";
import { leanSchema } from "../schema.ts";
import { plan } from "./plan.ts";

const LIMIT = 100;

const input = lenient({ pattern: z.string().min(1), path: z.string().min(1).optional().describe("folder; default: the project folder") });
type Input = z.output<typeof input>;

export const globTool = (ripgrep: string): Tool =>
  defineTool({
    name: "Glob",
    description: prompts.glob,
    input,
    jsonSchema: () => leanSchema(input),
    overlap: "shared",
    effects: async (i, ctx) => [{ kind: "read", target: plan(await rootOf(ctx, i), i.pattern).base }],
    run(i, ctx) {
      return answering(`search ${i.path ?? ctx.session.cwd}`, () => glob(i, ctx, ripgrep));
    },
  });

const rootOf = (ctx: Pick<ToolContext, "session" | "capability">, i: Input): Promise<string> =>
  locate(ctx.capability(FS), absolute(ctx.session.cwd, i.path ?? "."));

async function glob(i: Input, ctx: ToolContext, ripgrep: string): Promise<ToolOutput> {
  const fs = ctx.capability(FS);
  const { cwd } = ctx.session;
  const root = await rootOf(ctx, i);
  const rootStat = await fs.stat(root);
  if (!rootStat) return failed(await missing(fs, cwd, i.path ?? ".", root));
  if (rootStat.kind !== "directory" && rootStat.kind !== "file") return failed(neither(cwd, root));
  if (rootStat.kind !== "directory") return failed(`${shown(cwd, root)} is a file, not a folder.`);
  const { base, matches } = plan(root, i.pattern);
  const none = `No files match ${i.pattern} in ${place(cwd, root)}.`;
  if ((await fs.stat(base))?.kind !== "directory") return { content: `${none} There is no folder ${shown(cwd, base)}.` };

  const found: string[] = [];
  const list = (args: readonly string[]): ReturnType<typeof search> =>
    search(ctx, {
      ripgrep,
      cwd: base,
      args: ["--files", "--hidden", "--null", ...(inGit(base) ? [] : ["--glob=!.git"]), ...args, "--", "./"],
      separator: "\0",
      record: (name) => {
        const path = name.startsWith("./") ? name.slice(2) : name;
        if (matches(path)) found.push(path);
        return true;
      },
    });
  let listed = await list([]);
  if (!listed.found && base !== cwd) listed = await list(["--no-ignore"]);
  const warning = listed.failed ? `\n[${complaints(listed.problem)}]` : "";
  if (found.length === 0) return { content: none + warning, ...(listed.failed && !listed.found ? { isError: true } : {}) };
  const { sorted, order } = await newestFirst(fs, base, found);
  const names = sorted.slice(0, LIMIT).map((path) => shown(cwd, join(base, path)));
  const notice = found.length > LIMIT ? `\n[${LIMIT} of ${found.length} files, ${order}. Narrow the pattern to see others.]` : "";
  return { content: names.join("\n") + notice + warning };
}

const inGit = (path: string): boolean => path.split(/[/\\]/).includes(".git");
