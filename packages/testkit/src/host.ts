/** A host in memory whose files can be what real disks have beside text: links, pipes, and calls that fail. */
import { posix } from "node:path";
import type { FileStat, FileSystem } from "@heddle/kernel";
import { type MemoryHost, type MemoryHostOptions, memoryHost, systemError } from "@heddle/runtime/memory";

/** A link may be relative to its folder. `special` is neither file nor folder: a pipe, a device. */
export type TestFile = string | Uint8Array | { readonly link: string } | { readonly special: true };
/** By path, absolute or relative to the working directory. Folders come with what is in them. */
export type TestFiles = Readonly<Record<string, TestFile>>;

export type TestHostOptions = Omit<MemoryHostOptions, "files" | "links"> & {
  readonly files?: TestFiles;
  /** Default `/project`. */
  readonly cwd?: string;
  /** Asked before each call of the file system: a code, such as `ENOSPC`, makes that call fail. */
  readonly fails?: (call: keyof FileSystem, path: string) => string | undefined;
};

/** `run` says how processes end, and `ran` of the host which were started. A `run` that throws stands for one that cannot be started. */
export function testHost({ files = {}, cwd = "/project", fails, ...more }: TestHostOptions = {}): MemoryHost {
  const contents: Record<string, string | Uint8Array> = {};
  const links: Record<string, string> = {};
  const special = new Set<string>();
  for (const [name, file] of Object.entries(files)) {
    const path = posix.resolve(cwd, name);
    if (typeof file === "object" && "link" in file) links[path] = posix.resolve(posix.dirname(path), file.link);
    else if (typeof file === "object" && "special" in file) {
      special.add(path);
      contents[path] = "";
    } else contents[path] = file;
  }
  const host = memoryHost({ ...more, files: contents, links });
  const { fs } = host;
  const check = (call: keyof FileSystem, path: string): void => {
    const code = fails?.(call, path);
    if (code !== undefined) throw systemError(code, `${call} "${path}"`);
  };
  const kindOf = <T extends Pick<FileStat, "kind">>(it: T, path: string): T => (special.has(path) ? { ...it, kind: "other" } : it);
  return {
    ...host,
    fs: {
      async readFile(path) {
        check("readFile", path);
        return fs.readFile(path);
      },
      async writeFile(path, bytes, options) {
        check("writeFile", path);
        return fs.writeFile(path, bytes, options);
      },
      async stat(path) {
        check("stat", path);
        const found = await fs.stat(path);
        return found && kindOf(found, await fs.realpath(path));
      },
      async realpath(path) {
        check("realpath", path);
        return fs.realpath(path);
      },
      async remove(path) {
        check("remove", path);
        return fs.remove(path);
      },
      async readdir(path) {
        check("readdir", path);
        const folder = await fs.realpath(path);
        return (await fs.readdir(folder)).map((it) => kindOf(it, posix.join(folder, it.name)));
      },
    },
  };
}
