/** Finds and reads the instruction files of the user and the project, with what they import. */
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { FileSystem } from "@heddle/kernel/plugin";
import { readMarkdown } from "./markdown.ts";
import { ancestors, type Repository } from "./repository.ts";

/** Hops from a file over its imports. */
export const MAX_IMPORT_DEPTH = 4;
export const MAX_FILES = 64;
const MAX_BYTES = 4 * 1024 * 1024;

/** `path` as it was named, not as links resolve it. */
export type InstructionFile = { readonly path: string; readonly text: string };
/** `notes` say what was left out and why, for the model and the log. */
export type Instructions = { readonly files: readonly InstructionFile[]; readonly notes: readonly string[] };

/** `home` and `main` may be absent. `cwd` and `home` are absolute. */
export type Where = { readonly cwd: string; readonly home?: string | undefined; readonly repository?: Repository | undefined };

/** `folder` is the one it speaks for. `free`: a user file, which may import from anywhere. */
type Source = { readonly path: string; readonly folder: string; readonly free: boolean };

/** From broad to near. A file that cannot be read is as if it were not there. */
export async function readInstructions(fs: FileSystem, where: Where): Promise<Instructions> {
  return new Reader(fs, where).read();
}

/** Where instruction files may stand, from the file-system root down to `cwd`, after those of the user. */
async function sources(fs: FileSystem, { cwd, home, repository }: Where): Promise<Source[]> {
  const user = home ? [join(home, ".claude", "CLAUDE.md"), join(home, ".heddle", "AGENTS.md")] : [];
  const main = repository?.main;
  // A worktree inside its own repository has the files of the main work tree too.
  const doubled = (folder: string): boolean =>
    main !== undefined &&
    main !== repository!.root &&
    within(main, folder) &&
    within(main, repository!.root) &&
    !within(repository!.root, folder);
  const perFolder = await Promise.all(
    ancestors(cwd)
      .filter((folder) => !doubled(folder))
      .map(async (folder): Promise<Source[]> => {
        const names = ["CLAUDE.md", join(".claude", "CLAUDE.md"), "CLAUDE.local.md", "AGENTS.md"].map((n) => join(folder, n));
        const [shared, dotted, local, agents] = await Promise.all(names.map(async (n) => ((await isFile(fs, n)) ? [n] : [])));
        const project = [...shared!, ...dotted!];
        return [...(project.length > 0 ? project : agents!), ...local!].map((path) => ({ path, folder, free: false }));
      }),
  );
  return [...user.map((path) => ({ path, folder: dirname(path), free: true })), ...perFolder.flat()];
}

class Reader {
  readonly #fs: FileSystem;
  readonly #where: Where;
  readonly #seen = new Set<string>();
  readonly #texts = new Set<string>();
  readonly #files: InstructionFile[] = [];
  readonly #notes: string[] = [];
  #project: readonly string[] = [];

  constructor(fs: FileSystem, where: Where) {
    this.#fs = fs;
    this.#where = where;
  }
  async read(): Promise<Instructions> {
    const { cwd, repository } = this.#where;
    const roots = [repository?.root ?? cwd, ...(repository?.main ? [repository.main] : [])];
    this.#project = await Promise.all(roots.map((root) => this.#real(root)));
    for (const source of await sources(this.#fs, this.#where)) {
      if (await this.#allowed(source, source.path)) await this.#load(source, 0);
      else this.#notes.push(`${source.path} was not loaded, because it is a link to a file outside of the project.`);
    }
    return { files: this.#files, notes: this.#notes };
  }

  async #load(source: Source, depth: number): Promise<void> {
    const real = await this.#real(source.path);
    if (this.#seen.has(real)) return;
    if (this.#seen.size === MAX_FILES)
      this.#notes.push(`${source.path} and what comes after it were not loaded: ${MAX_FILES} files are the limit.`);
    this.#seen.add(real);
    if (this.#seen.size > MAX_FILES) return;
    const raw = await this.#text(source.path);
    if (raw === undefined) return;
    const linked = depth === 0 ? await this.#linkAsText(source, raw) : undefined;
    if (linked) return this.#load(linked, depth);
    const { text, imports } = readMarkdown(raw);
    const found: { token: string; source: Source }[] = [];
    for (const token of imports) {
      const path = await this.#importPath(source, real, token);
      if (path === undefined) continue;
      const free = source.free && !this.#project.some((root) => within(root, path));
      found.push({ token, source: { path, folder: source.folder, free } });
    }
    const loads = depth < MAX_IMPORT_DEPTH ? found : [];
    const alone = loads.reduce((rest, { token }) => rest.replace(`@${token}`, ""), text).trim();
    if (alone !== "" && !this.#texts.has(text)) this.#files.push({ path: source.path, text });
    this.#texts.add(text);
    for (const it of loads) await this.#load(it.source, depth + 1);
  }

  /** A checkout without symlinks has the link's target as its text. */
  async #linkAsText(source: Source, raw: string): Promise<Source | undefined> {
    const target = raw.trim();
    if (!/^[\w./-]+\.md$/.test(target)) return undefined;
    const path = resolve(dirname(source.path), target);
    return path !== source.path && (await isFile(this.#fs, path)) && (await this.#allowed(source, path)) ? { ...source, path } : undefined;
  }

  /** Undefined for what is no file, or not to be imported from here: it stays as text. */
  async #importPath(source: Source, real: string, token: string): Promise<string | undefined> {
    const { home } = this.#where;
    const spoken = token.replaceAll("\\ ", " ");
    for (const name of new Set([spoken, spoken.replace(/[.,;:!?)\]}>'"*_]+$/, "")])) {
      if (name === "" || (name.startsWith("~/") && !home)) continue;
      for (const folder of new Set([dirname(source.path), dirname(real)])) {
        const path = name.startsWith("~/") ? join(home!, name.slice(2)) : resolve(folder, name);
        if ((await isFile(this.#fs, path)) && (await this.#allowed(source, path))) return path;
      }
    }
    return undefined;
  }

  async #allowed(source: Source, path: string): Promise<boolean> {
    if (source.free) return true;
    const real = await this.#real(path);
    return [await this.#real(source.folder), ...this.#project].some((root) => within(root, real));
  }
  async #real(path: string): Promise<string> {
    return this.#fs.realpath(path).catch(() => path);
  }
  async #text(path: string): Promise<string | undefined> {
    const stat = await this.#fs.stat(path).catch(() => undefined);
    if (stat?.kind !== "file") return undefined;
    if (stat.size > MAX_BYTES) {
      this.#notes.push(`${path} was not loaded, because it is larger than 4 MiB.`);
      return undefined;
    }
    const bytes = await this.#fs.readFile(path).catch(() => undefined);
    if (!bytes || bytes.includes(0)) return undefined;
    return new TextDecoder().decode(bytes).replaceAll("\r\n", "\n");
  }
}

async function isFile(fs: FileSystem, path: string): Promise<boolean> {
  return (await fs.stat(path).catch(() => undefined))?.kind === "file";
}

function within(root: string, path: string): boolean {
  const rest = relative(root, path);
  return rest === "" || (rest !== ".." && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}
