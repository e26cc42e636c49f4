/** Which folders the person trusts, and with what: kept in a file of the user's own, by the real path of the folder. */
import { realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { editFile } from "./edit-file.ts";
import { readSettingsFile } from "./file.ts";
import type { ProjectFile, Trust } from "./read.ts";
import { idOf, pluginWants, type Want, wantsOf } from "./wants.ts";

const ids = z.array(z.string()).default([]);
const Store = z.object({ folders: z.record(z.string(), z.object({ trusted: ids, refused: ids })).default({}) });
type Store = z.infer<typeof Store>;

/** `left`: the person gave no answer. */
export type Choice = "trust" | "session" | "no" | "left";
/** `folder` is a real path. `changed`: it was trusted, and these are new. `lasting`: the answer can be kept. */
export type TrustQuestion = {
  readonly folder: string;
  readonly wants: readonly Want[];
  readonly changed: boolean;
  readonly lasting: boolean;
};

export type TrustPlace = { readonly cwd: string; readonly userDir: string; readonly home: string };
const storeOf = ({ home }: TrustPlace): string => join(home, "trust.json");

/** The start folder itself counts, not what it says that it belongs to, such as the repository of a worktree. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
/** A home or a root holds too much that others write. */
export const isLasting = ({ cwd, userDir }: TrustPlace): boolean => ![realOf(userDir), "/"].includes(realOf(cwd));

/** Everything of this folder that needs trust. */
export const allWants = (place: TrustPlace, files: readonly ProjectFile[]): Want[] => [
  ...files.flatMap(({ settings, path }) => wantsOf(settings, path, place.cwd, place.userDir)),
  ...(join(place.cwd, ".heddle") === place.home ? [] : pluginWants(place.cwd)),
];

/** Without `ask` nobody can be asked, and what is not known is not trusted. */
export async function judge(
  place: TrustPlace,
  files: readonly ProjectFile[],
  ask?: (question: TrustQuestion) => Promise<Choice>,
): Promise<Trust> {
  const wants = allWants(place, files);
  if (wants.length === 0) return { trusted: false, rules: new Set(), notices: [] };
  const folder = realOf(place.cwd);
  const { store, notices } = readStore(storeOf(place));
  const { trusted, refused } = entryOf(store, folder);
  const known = (want: Want): boolean => trusted.includes(idOf(want));
  const fresh = wants.filter((w) => !known(w));
  const said = (yes: boolean): Trust => {
    const rules = wants.filter((w) => w.kind === "rule" && (yes || known(w)));
    return { trusted: yes, rules: new Set(rules.map((r) => r.value)), notices };
  };
  if (fresh.length === 0) return said(true);
  if (!ask || fresh.every((w) => refused.includes(idOf(w)))) return said(false);
  const lasting = isLasting(place);
  const choice = await ask({ folder, wants: fresh, changed: trusted.length > 0, lasting });
  if (lasting && (choice === "trust" || choice === "no"))
    await remember(place, fresh, choice).catch((error: Error) => notices.push(`the answer counts for this session only: ${error.message}`));
  return said(choice === "trust" || choice === "session");
}

/** Adds to what is known of the folder. */
export function remember(place: TrustPlace, wants: readonly Want[], as: "trust" | "no"): Promise<void> {
  const folder = realOf(place.cwd);
  const added = wants.map(idOf);
  return edit(place, (store) => {
    const { trusted, refused } = entryOf(store, folder);
    const others = refused.filter((id) => !added.includes(id));
    store.folders[folder] =
      as === "trust" ? { trusted: [...new Set([...trusted, ...added])], refused: others } : { trusted, refused: [...others, ...added] };
  });
}

/** Rules of the person's own, which count in this folder whoever else wants something. */
export const accept = (place: TrustPlace, rules: readonly string[]): Promise<void> =>
  remember(
    place,
    rules.map((value) => ({ kind: "rule", value, from: "" })),
    "trust",
  );

/** False when nothing was known of it. */
export async function forget(place: TrustPlace): Promise<boolean> {
  const folder = realOf(place.cwd);
  let was = false;
  await edit(place, (store) => {
    was = Object.hasOwn(store.folders, folder);
    delete store.folders[folder];
  });
  return was;
}

const entryOf = (store: Store, folder: string): Store["folders"][string] =>
  Object.hasOwn(store.folders, folder) ? store.folders[folder]! : { trusted: [], refused: [] };

function edit(place: TrustPlace, change: (store: Store) => void): Promise<void> {
  const path = storeOf(place);
  return editFile(path, () => {
    const { store } = readStore(path);
    change(store);
    return `${JSON.stringify(store, null, 2)}\n`;
  });
}

/** What others could have written says nothing. */
function readStore(path: string): { store: Store; notices: string[] } {
  const none: Store = { folders: {} };
  const wrong = (why: string): { store: Store; notices: string[] } => ({
    store: none,
    notices: [`${path}: ${why}: no folder that it names is trusted. Mend it or remove it`],
  });
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (!stat) return { store: none, notices: [] };
    if (process.getuid && stat.uid !== process.getuid()) return wrong("it belongs to somebody else");
    if (process.platform !== "win32" && (stat.mode & 0o022) !== 0) return wrong("others may write it");
    const read = Store.safeParse(JSON.parse(readSettingsFile(path) ?? "{}"));
    return read.success ? { store: read.data, notices: [] } : wrong("it cannot be read");
  } catch {
    return wrong("it cannot be read");
  }
}
