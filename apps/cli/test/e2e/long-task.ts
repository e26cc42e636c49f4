/** A task of twenty steps in a real git repository, with reads, searches, edits and shell commands, as a script for the server. */
import { spawnSync } from "node:child_process";
import type { Step } from "@heddle/anthropic-server";
import type { World } from "./run.ts";

export const FLAGS = ["--permission-mode", "acceptEdits", "--allowedTools", "Bash(node:*)", "Bash(sleep:*)", "Bash(git log:*)"];
export const ANSWER = "All twenty steps are done.";

export function prepare(world: World): void {
  for (let i = 0; i < 5; i++)
    world.write(`project/src/part${i}.js`, `export const part${i} = ${i};\nexport const twice${i} = ${i} + ${i};\n`);
  world.write("project/AGENTS.md", "# House rules\n\nKeep it small.\n");
  const git = (...args: string[]): void => {
    const identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"];
    const ran = spawnSync("git", [...identity, ...args], { cwd: world.cwd, env: { PATH: process.env["PATH"] ?? "", HOME: world.home } });
    if (ran.status !== 0) throw new Error(String(ran.stderr));
  };
  git("init", "-q", "-b", "main");
  git("add", ".");
  git("commit", "-qm", "start");
}

/** `{{cwd}}` stands for the project's folder. */
export function script(cwd: string): Step[] {
  const file = (i: number): string => `${cwd}/src/part${i}.js`;
  const parts = [0, 1, 2, 3, 4].flatMap((i): Step[] => [
    {
      thinking: `Part ${i} first.`,
      text: `Looking at part ${i}.`,
      calls: [
        { name: "Read", input: { file_path: file(i) } },
        { name: "Grep", input: { pattern: `twice${i}`, path: cwd, output_mode: "content" } },
      ],
    },
    { calls: [{ name: "Edit", input: { file_path: file(i), old_string: `${i} + ${i}`, new_string: `2 * ${i}` } }] },
    {
      text: "Checking.",
      calls: [
        { name: "Bash", input: { command: `node -e 'console.log(${i} * 2)'` } },
        { name: "Glob", input: { pattern: "src/*.js" } },
      ],
    },
    {
      thinking: "And a look at the history.",
      calls: [{ name: "Bash", input: { command: i === 2 ? "sleep 0.05" : "git log --oneline -3" } }],
    },
  ]);
  return [...parts.slice(0, 19), { text: ANSWER }];
}
