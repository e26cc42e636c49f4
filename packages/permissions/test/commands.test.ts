// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are shell
import { type TestFiles, testHost } from "@heddle/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide, type Mode, type RuleTexts, readRules } from "../src/index.ts";
import { PROJECT, rules } from "./calls.ts";

const { fs } = testHost({ files: { ...PROJECT, "/proj/link": { link: "/home/dev/.ssh" }, "/proj/alias.txt": { link: ".env" } } });
async function judge(
  command: string,
  texts: Parameters<typeof rules>[0] = {},
  mode: Mode = "default",
): Promise<[string, string | undefined]> {
  const read = readRules(rules(texts) as unknown as RuleTexts, "/home/dev").rules;
  const place = { cwd: "/proj", directories: [], home: "/home/dev", fs };
  const v = await decide({ tool: "Bash", input: { command } }, [{ kind: "execute", target: command }], read, mode, place);
  return [v.say, v.rule];
}

describe("commands that only look run unasked", () => {
  it.each([
    "ls",
    "ls -la src packages",
    "pwd",
    "cat README.md src/app.ts",
    "head -n 20 README.md",
    "tail -5 README.md",
    "wc -l src/app.ts",
    "grep -rn 'a;b|c' src",
    'grep -E "foo|bar" README.md',
    "grep -e x -C 2 README.md",
    "echo 'rm -rf / && $(x)' \"it's\"",
    "echo git push",
    "which node",
    "git status --short",
    "git log --oneline -5 -- src",
    "git diff --stat HEAD~1",
    "git show HEAD:package.json",
    "git branch --show-current",
    "find . -name '*.ts' -not -path './node_modules/*'",
    "find src \\( -name a -o -name b \\) -type f",
    "sed -n '1,20p' README.md",
    "ls | wc -l",
    "ls -la; pwd",
    "cat README.md || true",
    "cd src && ls && cat app.ts",
    "cd /proj && git status",
    "sort README.md | uniq -c | sort -rn | head -3",
    "cat /proj/src/../README.md",
    "diff README.md package.json",
    "ls # a comment",
    "! ls",
    "time ls",
    "(ls; pwd)",
    "{ ls; }",
    "if ls; then ls; fi",
    "for x in a b; do ls; done",
    "while true; do ls; done",
    "cat .e?v",
    "cat src/*.ts",
    "ls 2>/dev/null",
    "cat README.md 2>&1 | head -3 >&2",
    "wc -l < README.md",
    "cat <<'EOF'\n$(x)\nEOF",
    "grep -c x <<< 'a b'",
    "LC_ALL=C sort README.md",
    "timeout 5 ls src",
    "test -f README.md && echo yes",
    "[ -d src ] || echo no",
    'echo "at $(git rev-parse --short HEAD)"',
    "git --no-pager log -3",
    "git stash list",
    "sed 's/;/,/g' README.md",
    "rg -n 'a|b' src",
    "jq '.name' package.json",
    "printf '%s\\n' a b",
    "node --version",
    "cat $HOME/../../proj/README.md",
    "ls \\\n  -la",
  ])("%s", async (command) => {
    expect(await judge(command)).toEqual(["allow", "read-only command"]);
    expect(await judge(command, {}, "plan")).toEqual(["allow", "read-only command"]);
  });
});

describe("git in a repository that runs programs of its own", () => {
  const at = async (files: TestFiles): Promise<string> => {
    const place = { cwd: "/proj", directories: [], home: "/home/dev", fs: testHost({ files: { ...PROJECT, ...files } }).fs };
    const none = readRules({ allow: [], ask: [], deny: [] }).rules;
    return (await decide({ tool: "Bash", input: { command: "git diff" } }, [], none, "default", place)).say;
  };
  it.each<[string, TestFiles, string]>([
    ["plain", { "/proj/.git/config": '[core]\n\tbare = false\n[remote "origin"]\n\turl = git@x:y\n' }, "allow"],
    ["a file system monitor", { "/proj/.git/config": "[core]\n\tfsmonitor = touch x" }, "ask"],
    ["git's own monitor", { "/proj/.git/config": "[core]\n\tfsmonitor = true\n" }, "allow"],
    ["a filter", { "/proj/.git/config": '[filter "x"]\nclean = touch x' }, "ask"],
    ["a key beside its section", { "/proj/.git/config": "[diff] external = touch x" }, "ask"],
    ["another file", { "/proj/.git/config": "[include]\npath = ../evil" }, "ask"],
    ["a hook", { "/proj/.git/hooks/post-index-change": "" }, "ask"],
    ["a hook elsewhere", { "/proj/.git/config": "[core]\nhooksPath = .husky", "/proj/.husky/post-index-change": "" }, "ask"],
    ["other hooks", { "/proj/.git/config": "[core]\nhooksPath = .husky", "/proj/.husky/pre-commit": "" }, "allow"],
  ])("%s", async (_, files, expected) => {
    expect(await at(files)).toBe(expected);
  });
  it("a further work tree obeys the repository that it belongs to", async () => {
    const linked = { "/proj/.git": "gitdir: /repo/.git/worktrees/proj\n", "/repo/.git/config": "[diff]\nexternal = touch x" };
    const files = Object.fromEntries(Object.entries({ ...PROJECT, ...linked }).filter(([name]) => !name.startsWith("/proj/.git/")));
    const place = { cwd: "/proj", directories: [], fs: testHost({ files }).fs };
    const none = readRules({ allow: [], ask: [], deny: [] }).rules;
    expect((await decide({ tool: "Bash", input: { command: "git status" } }, [], none, "default", place)).say).toBe("ask");
  });
});

describe("commands that look harmless and are not are asked for", () => {
  it.each([
    "ls > out.txt",
    "ls >> .git/config",
    "ls; touch x",
    "ls\ntouch x",
    "ls & touch x",
    "ls |& touch x",
    "ls $(touch x)",
    'echo "`touch x`"',
    "echo ${x:=$(touch x)}",
    "cat <(touch x)",
    "cat <<EOF\n$(touch x)\nEOF",
    "ls \\\n# ; touch x",
    "PATH=. ls",
    "A=1",
    "$CMD",
    "'ls' $X",
    "./ls",
    "/proj/ls",
    "ls\u200b",
    "ls\u00a0-l",
    "ls \u202e",
    "\u0441at README.md",
    "ls \r",
    "echo 'open",
    'echo "open',
    "ls &&",
    "",
    "cat /etc/hosts",
    "cat ../x",
    "cat ~/.bashrc",
    "cat link/id_rsa",
    "cat *",
    "cd .. && cat etc/hosts",
    "cd src; cat ../../etc/hosts",
    "cd - && ls",
    "cd src && git status",
    "grep -f /etc/hosts README.md",
    "grep x /etc/hosts",
    "grep -R x .",
    "sort -o x README.md",
    "sort --compress-program=./x README.md",
    "sort --comp=./x README.md",
    "uniq README.md out",
    "find . -delete",
    "find . -exec touch x ;",
    "find . -\\delete",
    "find . -fprint x",
    "find /etc -name x",
    "sed -i s/a/b/ README.md",
    "sed -n '1w x' README.md",
    "sed 's/a/b/e' README.md",
    "tail -f README.md",
    "wc --files0-from=/etc/hosts",
    "date -s 2020-01-01",
    "date 01010101",
    "git push",
    "git branch new",
    "git branch -D x",
    "git diff --output=x",
    "git diff --outp=x",
    "git log --format --output=x",
    "git log --format='%G?'",
    "git -c core.fsmonitor=x status",
    "git -C /tmp status",
    "git diff --no-index README.md /etc/hosts",
    "git diff README.md /etc/hosts",
    "git status --exec=x",
    "awk 1 README.md",
    "env",
    "printenv KEY",
    "xargs ls",
    "timeout 5 touch x",
    "hostname",
    "getent hosts example.com",
    `ls ${"x".repeat(10_001)}`,
  ])("%j", async (command) => {
    expect((await judge(command))[0]).toBe("ask");
    expect((await judge(command, {}, "plan"))[0]).toBe("deny");
  });
});

describe("allow rules", () => {
  const cases: [string, string, "allow" | "ask"][] = [
    ["Bash", "anything > goes", "allow"],
    ["Bash(*)", "anything > goes", "allow"],
    ["Bash(npm run build)", "npm run build", "allow"],
    ["Bash(npm run build)", "npm run build --x", "ask"],
    ["Bash(npm run test:*)", "npm run test", "allow"],
    ["Bash(npm run test:*)", "npm   run\t'test' -t \"a && b\"", "allow"],
    ["Bash(npm run test:*)", "npm run test:unit", "ask"],
    ["Bash(npm run test:*)", "npm run tests", "ask"],
    ["Bash(npm run test:*)", "'npm run test'", "ask"],
    ["Bash(npm run test:*)", "npm 'run test'", "ask"],
    ["Bash(npm run test:*)", "npm run test; touch x", "ask"],
    ["Bash(npm run test:*)", "npm run test | head -5", "allow"],
    ["Bash(npm run test:*)", "cd src && npm run test", "allow"],
    ["Bash(npm run test:*)", "timeout 60 nice -n 5 npm run test", "allow"],
    ["Bash(npm run test:*)", "timeout -s KILL 60 npm run test", "allow"],
    ["Bash(npm run test:*)", "NODE_ENV=test npm run test", "allow"],
    ["Bash(npm run test:*)", "if npm run test; then echo ok; fi", "allow"],
    ["Bash(npm run test:*)", "npm run test > x", "ask"],
    ["Bash(npm run test:*)", "npm run test 2>&1 | tee x", "ask"],
    ["Bash(grep:*)", "ls | xargs grep -l x", "allow"],
    ["Bash(grep:*)", "ls | xargs -n1 grep -l x", "ask"],
    ["Edit(out/**)", "ls > out/list", "allow"],
    ["Edit(**)", "ls > .git/hooks/x", "ask"],
    ["Bash(npm run test:*)", "NODE_OPTIONS=-r./x npm run test", "ask"],
    ["Bash(npm run test:*)", "npm --prefix /x run test", "ask"],
    ["Bash(npm run test:*)", "npm run test $(touch x)", "ask"],
    ["Bash(npm run test:*)", "npm run te?t", "ask"],
    ["Bash(ls *)", "lsof", "ask"],
    ["Bash(mk*)", "mkfoo", "allow"],
    ["Bash(git * main)", "git merge main", "allow"],
    ["Bash(git * main)", "git -c alias.x=!y x main", "ask"],
    ["Bash(flock *)", "flock /tmp/l npm test", "ask"],
    ["Bash(find *)", "find . -exec x ;", "ask"],
    ["Bash(find . -delete)", "find . -delete", "ask"],
    ["Bash(find build -delete)", "find build -delete", "allow"],
    ["Bash(git:* push)", "git push", "ask"],
    ["Bash(git commit:*)", "git commit -m 'fix: `npm i`; use &&' -m \"costs \\$5\"", "allow"],
    ["Bash(git commit:*)", "git commit -m 'it'; touch x", "ask"],
    ["Bash(a*a*a*a*a*a*a*a*b)", "a".repeat(5000), "ask"],
    ["Bash(constructor:*)", "toString", "ask"],
  ];
  it.each(cases)("%s: %s -> %s", async (rule, command, expected) => {
    expect((await judge(command, { allow: [rule] }))[0]).toBe(expected);
  });
});

describe("deny rules reach what would run", () => {
  it.each([
    "npm publish",
    "npm   publish --tag x",
    "'npm' publish",
    '"npm" pub\\lish',
    "n\\\npm publish",
    "$'\\x6epm' publish",
    "/usr/bin/npm publish",
    "A=1 npm publish",
    "env -u A B=2 npm publish",
    "sudo -u me npm publish",
    "timeout -k 1 5 nice nohup npm publish",
    "command npm publish",
    "exec -a ls npm publish",
    "ls && npm publish",
    "ls; npm publish &",
    "ls\nnpm publish",
    "! npm publish",
    "(npm publish)",
    "{ npm publish; }",
    "if true; then npm publish; fi",
    "f() { npm publish; }; f",
    "echo $(npm publish)",
    'echo "`npm publish`"',
    "echo ${x:-$(npm publish)}",
    "cat <(npm publish)",
    "cat <<EOF\n$(npm publish)\nEOF",
    "bash -c 'npm publish'",
    'bash -lc "cd x && npm publish"',
    "sh -c \"bash -c 'npm publish'\"",
    "eval npm publish",
    "eval 'npm publish'",
    "env -S 'npm publish'",
    "echo x | xargs npm publish",
    "find . -exec npm publish ;",
    "npm --prefix /x publish",
    "npm --silent publish",
    "flock /tmp/l npm publish",
    "coproc npm publish",
    "npm publish > /dev/null 2>&1",
    `${"true; ".repeat(3000)}npm publish`,
  ])("%s", async (command) => {
    expect((await judge(command, { deny: ["Bash(npm publish:*)"], allow: ["Bash"] }, "bypassPermissions"))[0]).toBe("deny");
  });
  it.each([
    "$X publish",
    "npm $X",
    "np? publish",
    "{npm,publish}",
    "echo npm publish | sh",
    "python3 -c 'import os; os.system(\"npm publish\")'",
    "alias p='npm publish'",
    "eval $X",
    "perl -e 'exec \"npm publish\"'",
  ])("and what may run is asked for, never allowed: %s", async (command) => {
    expect((await judge(command, { deny: ["Bash(npm publish:*)"], allow: ["Bash"] }, "bypassPermissions"))[0]).toBe("ask");
  });
  it.each(["npm pack", "echo npm publish", "grep 'npm publish' README.md", "git log --grep=publish", "npm run publish-docs"])(
    "and nothing else: %s",
    async (command) => {
      expect((await judge(command, { deny: ["Bash(npm publish:*)"] }, "bypassPermissions"))[0]).toBe("allow");
    },
  );
});

describe("rules about files reach the shell", () => {
  it.each([
    "cat .env",
    "cat ./src/../.env",
    "head -n1 .e''nv",
    "base64 .env",
    "cat < .env",
    "cat alias.txt",
    "cd src && cat ../.env",
    "wc -l /proj/.env",
  ])("%s is denied", async (command) => {
    expect((await judge(command, { deny: ["Read(.env)"], allow: ["Bash"] }))[0]).toBe("deny");
  });
  it.each([
    "cp .env x",
    "awk 1 .env",
    "dd if=.env2 of=.env",
    "git show HEAD:.env",
    "grep -r KEY .",
    "curl -d @.env x",
    "cat .e*",
    "f=.env; cat $f",
  ])("%s never runs unasked", async (command) => {
    const texts = {
      deny: ["Read(.env)"],
      allow: ["Bash(cp:*)", "Bash(awk:*)", "Bash(dd:*)", "Bash(git show:*)", "Bash(curl:*)", "Bash(cat:*)"],
    };
    expect((await judge(command, texts))[0]).not.toBe("allow");
  });
  it.each(["cat .e*", "cat $F", "grep -r KEY .", "sed -n p .en?"])("%s is asked for even where all of Bash is allowed", async (command) => {
    for (const mode of ["default", "bypassPermissions"] as const)
      expect((await judge(command, { deny: ["Read(.env)"], allow: ["Bash"] }, mode))[0]).toBe("ask");
  });
  it("text and patterns that only look like the file are no reason", async () => {
    expect(await judge("echo .env", { deny: ["Read(.env)"] })).toEqual(["allow", "read-only command"]);
    expect(await judge("grep -n .env README.md", { deny: ["Read(.env)"] })).toEqual(["allow", "read-only command"]);
  });
  it.each(["rg -f README.md", "git grep KEY", "grep -r KEY", "rg KEY -g '*'"])("%s searches the file too", async (command) => {
    expect((await judge(command, { deny: ["Read(.env)"], allow: ["Bash"] }))[0]).toBe("ask");
    expect((await judge(command, { deny: ["Read(nothing/**)"] }))[0]).toBe("allow");
  });
  it("an Edit deny leaves reading alone", async () => {
    expect((await judge("python3 x.py < src/app.ts", { deny: ["Edit(src/**)"], allow: ["Bash(python3:*)"] }))[0]).toBe("allow");
  });
  it("an Edit deny covers redirections", async () => {
    expect((await judge("echo x > src/a", { deny: ["Edit(src/**)"], allow: ["Bash"] }))[0]).toBe("deny");
  });
});

describe("any text", () => {
  const piece = fc.constantFrom(
    ..."safe|evil|safe go|safe x|rm|ls|'|\"|\\|;|&|&&|\n|`|A=1 |*|~| |\t|$(evil)|`evil`|;evil|&evil|\nevil|'a b'|\"a;b\"|-x|é|\r".split(
      "|",
    ),
    "|",
    "||",
    "| evil",
  );
  /** What a shell sees outside quotes, quoted text replaced by `q`; undefined where a quote stays open. */
  function unquoted(text: string): string | undefined {
    const bare = text.replace(/\\[^\n]|'[^']*'|"(?:[^"\\$`]|\\[^\n])*"/g, "q");
    return /['"\\]/.test(bare) ? undefined : bare;
  }
  it("with an operator outside quotes is never allowed by a prefix rule unless every part matches", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 9 }), async (pieces) => {
        const command = pieces.join("");
        const [say] = await judge(command, { allow: ["Bash(safe:*)"] });
        if (say !== "allow") return;
        const bare = unquoted(command);
        expect(bare).toBeDefined();
        expect(bare).not.toMatch(/[`\r]|\$[^\s|&;]/);
        for (const part of bare!.split(/[&|;\n]+/)) if (part.trim() !== "") expect(part.trim()).toMatch(/^[safelq]+($|\s)/);
      }),
      { numRuns: 3000 },
    );
  });
  it("is never allowed when a deny rule stands on a part that runs", async () => {
    const wrap = fc.constantFrom(
      (c: string) => `sudo ${c}`,
      (c: string) => `env A=1 ${c}`,
      (c: string) => `ls; ${c}`,
      (c: string) => `ls | ${c} -x`,
      (c: string) => `(${c})`,
      (c: string) => `$(${c})`,
      (c: string) => `echo "$(${c})"`,
      (c: string) => `bash -c '${c.replaceAll("'", "'\\''")}'`,
      (c: string) => `timeout 5 ${c}`,
      (c: string) => `A=1 ${c}`,
      (c: string) => `if true; then ${c}; fi`,
      (c: string) => `ls && ${c} > /dev/null`,
      (c: string) => `f() { ${c}; }; f`,
    );
    await fc.assert(
      fc.asyncProperty(fc.array(wrap, { maxLength: 5 }), async (wraps) => {
        const command = wraps.reduce((c, w) => w(c), "evil now");
        expect((await judge(command, { allow: ["Bash"], deny: ["Bash(evil:*)"] }, "bypassPermissions"))[0]).not.toBe("allow");
      }),
      { numRuns: 500 },
    );
  });
  it.each([
    "$(".repeat(3000),
    "${a:-".repeat(3000),
    "(".repeat(3000),
    "`".repeat(3001),
    "eval ".repeat(2000),
    `env ${"-a ".repeat(3000)}`,
    "cat <<A\n".repeat(1000),
    `echo ${"a".repeat(200_000)}`,
  ])("however deep or long, is judged: case %#", async (command) => {
    expect((await judge(command, { deny: ["Bash(x y:*)", "Read(.env)"] }))[0]).not.toBe("allow");
  });
  it("gives a verdict and does not throw", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 60 }), async (command) => {
        expect(["allow", "ask", "deny"]).toContain((await judge(command, { deny: ["Bash(x:*)", "Read(.env)"] }))[0]);
      }),
      { numRuns: 500 },
    );
  });
});
