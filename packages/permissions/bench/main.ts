// `npm run bench`: how long one decision on a shell command takes. Prints median and slowest of 100 in milliseconds.
import { decide, readRules } from "../src/index.ts";
import { Folder } from "../test/fuzz/bash.ts";

const COMMANDS: { readonly [name: string]: string } = {
  "ls | head": "ls -la src | head -20",
  "git status": "git status --short",
  "a loop": "for f in a b c; do grep -n x a.txt; done > /dev/null",
  "an edit": "sed -i s/a/b/ a.txt && cat a.txt",
  "a commit": "git add -A && git commit -m 'a message; with signs' && git push",
  "10 KB": "ls -la sub && cat a.txt | head -3; "
    .repeat(270)
    .slice(0, 9_990)
    .replace(/[^;]*$/, ""),
  "100 KB": "ls -la src && cat a.txt | head -3; ".repeat(2_800),
};
const RULES = {
  allow: ["Bash(npm test:*)", "Bash(git commit:*)", "Edit(src/**)"],
  ask: ["Bash(git push:*)"],
  deny: ["Read(.env)", "Bash(rm -rf:*)", "Read(~/.ssh/**)"],
};
const texts = (rules: readonly string[]) => rules.map((rule) => ({ rule, source: "bench" }));

const folder = new Folder();
const { rules } = readRules({ allow: texts(RULES.allow), ask: texts(RULES.ask), deny: texts(RULES.deny) }, folder.home);
const place = { cwd: folder.work, directories: [], home: folder.home, fs: folder.fs };
const one = (command: string) =>
  decide({ tool: "Bash", input: { command } }, [{ kind: "execute", target: command }], rules, "default", place);
for (const [name, command] of Object.entries(COMMANDS)) {
  const times: number[] = [];
  for (let n = 0; n < 100; n++) {
    const start = performance.now();
    await one(command);
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  console.log(`${name.padEnd(12)} ${times[50]!.toFixed(2).padStart(8)} ${times[99]!.toFixed(2).padStart(8)}`);
}
folder.remove();
