// Turns the `.md` prompt files beside a package's code into `src/prompts.generated.ts`, so that bundles and plain builds carry them.
// `node scripts/prompts.mjs` writes; `--check` exits 1 when a generated file is out of date.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const check = process.argv.includes("--check");
const stale = [];

function markdown(dir) {
  return readdirSync(dir, { withFileTypes: true }).flatMap((e) => {
    const path = join(dir, e.name);
    if (e.isDirectory()) return markdown(path);
    return e.name.endsWith(".md") ? [path] : [];
  });
}

for (const group of ["packages", "plugins", "apps"]) {
  for (const name of existsSync(join(root, group)) ? readdirSync(join(root, group)) : []) {
    const src = join(root, group, name, "src");
    if (!existsSync(src)) continue;
    const files = markdown(src).sort();
    if (files.length === 0) continue;
    const rows = files.map((f) => `  ${JSON.stringify(basename(f, ".md"))}: ${JSON.stringify(readFileSync(f, "utf8").trim())},`);
    const text = `// Made by scripts/prompts.mjs from the .md files of this folder. Edit those.\nexport const prompts = {\n${rows.join("\n")}\n} as const;\n`;
    const out = join(src, "prompts.generated.ts");
    if (existsSync(out) && readFileSync(out, "utf8") === text) continue;
    if (check) stale.push(`${group}/${name}`);
    else writeFileSync(out, text);
  }
}
if (stale.length > 0) {
  console.error(`prompts.generated.ts is out of date in ${stale.join(", ")}: run \`node scripts/prompts.mjs\``);
  process.exit(1);
}
