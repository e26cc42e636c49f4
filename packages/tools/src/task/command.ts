/** The command /agents: which agents there are, which were started in this session, and an end to one that runs. */
import { type Command, type CommandResult, FORKS, type ForkState } from "@heddle/kernel/plugin";
import { plural } from "../answer.ts";
import { definitionsOf } from "./agents.ts";

export const agentsCommand = (home: string | undefined): Command => ({
  name: "agents",
  kind: "local",
  summary: "Lists agents and what they do; ends one",
  hint: "[stop ID]",
  async run(args, ctx): Promise<CommandResult> {
    const forks = ctx.capability(FORKS);
    const started = forks.list();
    const [verb, id] = args.split(/\s+/);
    if (verb === "") {
      const known = (await definitionsOf(ctx, home)).map((d) => `  ${d.name}: ${d.description}`);
      return {
        kind: "handled",
        show: ["Agents:", ...known, ...(started.length > 0 ? ["", "Started:", ...started.map(lineOf)] : [])].join("\n"),
      };
    }
    const running = started.filter((f) => f.running);
    const wrong = (why: string): CommandResult => ({ kind: "handled", level: "error", show: `${why} ${listOf(running)}` });
    if (verb !== "stop" || id === undefined) return wrong("/agents lists, /agents stop ID ends one.");
    const one = running.find((f) => f.id === id);
    if (!one) return wrong(`No agent "${id}" is running.`);
    forks.stop(one.id);
    return { kind: "handled", show: `Stopped: ${one.title}` };
  },
});

const lineOf = ({ id, title, running, steps }: ForkState): string =>
  `  ${id}  ${running ? "running" : "ended"} after ${plural(steps, "model call")}: ${title}`;
const listOf = (running: readonly ForkState[]): string =>
  running.length === 0 ? "None is running." : `Running:\n${running.map(lineOf).join("\n")}`;
