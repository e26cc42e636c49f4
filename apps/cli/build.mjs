// Bundles the CLI into dist/: heddle.js, which answers --version and loads the whole as one script, the demo project, and the licences
// of what is inside.
// `--if-stale` does nothing when dist is newer than everything it is made of.
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { stale, workspace } from "./stale.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");

/** Rarely needed and large: installed beside heddle, and loaded by the first file that needs them. */
const BESIDE = ["ajv", "ajv-formats", "chardet", "iconv-lite", "turndown", "unbash", "unpdf", "yaml"];

const always = !process.argv.includes("--if-stale");
const lock = join(here, "node_modules", ".dist-lock");

if (always || stale()) {
  await take();
  try {
    if (always || stale()) await bundle();
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

/** One build at a time. A lock older than a minute belongs to a build that was killed. */
async function take() {
  for (;;) {
    try {
      return mkdirSync(lock);
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
      const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
      if (age > 60_000) rmSync(lock, { recursive: true, force: true });
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

async function bundle() {
  const { build } = await import("esbuild");
  // Built aside and moved into place, so that a running test or a second build never meets half of it.
  const out = join(here, "node_modules", `.dist-${process.pid}`);
  try {
    const common = {
      absWorkingDir: here,
      outdir: out,
      bundle: true,
      format: "cjs",
      platform: "node",
      target: "node20",
      minify: true,
      legalComments: "none",
      conditions: ["@heddle/source"],
      // jsonc-parser's main is a UMD file that no bundler can follow.
      mainFields: ["module", "main"],
      plugins: [oneLocale()],
      alias: { "string-width": join(here, "lazy-string-width.mjs") },
      external: ["@vscode/ripgrep", "sharp", ...BESIDE],
      metafile: true,
      logLevel: "warning",
    };
    const whole = await build({
      ...common,
      entryPoints: { whole: "src/start.ts" },
      entryNames: "[name]-[hash]",
      outExtension: { ".js": ".cjs" },
      define: { "import.meta.url": "__heddleUrl" },
    });
    const name = basename(Object.keys(whole.metafile.outputs)[0]);
    forCache(join(out, name));
    const main = await build({ ...common, entryPoints: { heddle: "src/main.ts" }, define: { HEDDLE_WHOLE: JSON.stringify(name) } });
    // The package is made of modules; what is built is CommonJS, which starts faster and can be cached compiled on every Node.
    writeFileSync(join(out, "package.json"), '{ "type": "commonjs" }\n');
    chmodSync(join(out, "heddle.js"), 0o755);
    assets(join(out, "assets"));
    writeFileSync(join(out, "THIRD-PARTY-LICENSES.txt"), licences(Object.keys({ ...whole.metafile.inputs, ...main.metafile.inputs })));
    const old = join(here, "node_modules", `.dist-old-${process.pid}`);
    if (existsSync(dist)) renameSync(dist, old);
    renameSync(out, dist);
    rmSync(old, { recursive: true, force: true });
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

/** Plugins get all of zod, so nothing of it can be shaken off; its 50 languages, half of its size, are left out here. */
function oneLocale() {
  const filter = /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/;
  const contents = 'export { default as en } from "./en.js";';
  return { name: "one-locale", setup: (build) => build.onLoad({ filter }, () => ({ contents, loader: "js" })) };
}

/**
 * Makes it fit for the code cache: nothing but ASCII (esbuild leaves other characters in regular expressions, where an escape means
 * the same), and what is imported by a name known only when it runs, which is plugins, goes through the loader.
 */
function forCache(path) {
  const text = readFileSync(path, "utf8");
  if (/\\[^\x00-\x7f]/.test(text)) throw new Error("a character that is not ASCII is escaped in the source: write it as \\u");
  const ascii = text.replace(/[^\x00-\x7f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const imports = new RegExp(`\\bimport\\((?=[^'"\`]|["'\`](?:${BESIDE.join("|")})["'\`]\\))`, "g");
  writeFileSync(path, ascii.replace(imports, "__heddleImport("));
}

function assets(to) {
  mkdirSync(to, { recursive: true });
  const repos = join(workspace, "test-fixtures", "repos");
  if (existsSync(repos)) cpSync(repos, to, { recursive: true });
}

/** One section for each package that is in the bundle: name, version, licence, and its licence text. */
function licences(inputs) {
  const folders = new Set();
  for (const input of inputs) {
    const parts = input.split("/");
    const at = parts.lastIndexOf("node_modules");
    if (at < 0) continue;
    const name = parts[at + 1].startsWith("@") ? parts.slice(at + 1, at + 3) : parts.slice(at + 1, at + 2);
    folders.add(join(here, ...parts.slice(0, at + 1), ...name));
  }
  const sections = [...folders].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const files = readdirSync(folder).filter((f) => /^(licen[cs]e|notice|copying)/i.test(f));
    const texts = files.map((f) => readFileSync(join(folder, f), "utf8").trim());
    return { title: `${name} ${version} (${license})`, text: texts.join("\n\n") || "No licence file in the package." };
  });
  sections.sort((a, b) => a.title.localeCompare(b.title));
  const head = "heddle's bundle contains code of these packages, under their own licences.";
  return `${[head, ...sections.map((s) => `${"=".repeat(80)}\n${s.title}\n${"=".repeat(80)}\n${s.text}`)].join("\n\n")}\n`;
}
