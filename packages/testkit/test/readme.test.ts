/** The plugins that the READMEs show start, run and pass the checks. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../../..");
/** The first block of a language behind a heading. */
function block(file: string, heading: string, language: string): string {
  const text = readFileSync(join(root, file), "utf8");
  const found = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(text.slice(text.indexOf(`\n## ${heading}\n`)));
  if (!found) throw new Error(`${file} has no ${language} block behind "${heading}"`);
  return found[1]!;
}

const made: string[] = [];
afterEach(() => {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true, force: true });
});
function check(packageJson: string, code: string, samples: object): string {
  const dir = mkdtempSync(join(tmpdir(), "heddle-readme-"));
  made.push(dir);
  mkdirSync(join(dir, "node_modules/@heddle"), { recursive: true });
  symlinkSync(join(root, "packages/kernel"), join(dir, "node_modules/@heddle/kernel"));
  writeFileSync(join(dir, "package.json"), packageJson);
  writeFileSync(join(dir, "index.js"), code);
  const testkit = new URL("../src/index.ts", import.meta.url).href;
  const script = `import { checkPlugin } from ${JSON.stringify(testkit)};
    process.stdout.write((await checkPlugin(${JSON.stringify(dir)}, ${JSON.stringify({ samples })})).text, () => process.exit(0));`;
  const args = ["--conditions=@heddle/source", "--import", "tsx", "--input-type=module", "-e", script];
  const ran = spawnSync(process.execPath, args, { encoding: "utf8", cwd: root });
  return ran.stderr + ran.stdout;
}

describe("the plugin in the README", () => {
  it("of the repository passes", () => {
    const heading = "Write a plugin";
    const samples = { tools: { Words: [{ text: "one two" }] } };
    const text = check(block("README.md", heading, "json"), block("README.md", heading, "js"), samples);
    expect(text).toBe('plugin "acme-words": all checks passed');
  });

  it("of the kernel passes", () => {
    const file = "packages/kernel/README.md";
    const contributes = /with `"contributes": (\{.*\})` in the manifest/.exec(readFileSync(join(root, file), "utf8"))![1]!;
    const heddle = { manifest: 1, api: "^1.0.0", main: "./index.js", contributes: JSON.parse(contributes) as object };
    const packageJson = JSON.stringify({ name: "acme-all", version: "1.0.0", type: "module", heddle });
    const text = check(packageJson, block(file, "What a plugin contributes", "js"), { commands: { shout: ["hello"] } });
    expect(text).toBe('plugin "acme-all": all checks passed');
  });
});
