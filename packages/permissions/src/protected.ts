/** Which files are never changed unasked: what runs later without a question, says what may run, or holds keys. */
import type { Located } from "./paths.ts";

const FOLDERS: readonly string[] =
  ".git .heddle .claude .vscode .idea .husky .cargo .devcontainer .yarn .mvn .ssh .gnupg .aws .azure .kube .docker .config/gcloud .config/gh .config/git .config/heddle .config/fish .config/systemd .config/autostart .github/workflows".split(
    " ",
  );
const FILES: readonly string[] = (
  ".gitconfig .gitmodules .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .inputrc .xprofile .xinitrc .xsessionrc " +
  ".envrc .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnpmfile.mjs bunfig.toml .bazelrc .bazelversion .pre-commit-config.yaml gradle-wrapper.properties maven-wrapper.properties .devcontainer.json .ripgreprc pyrightconfig.json .mcp.json .claude.json .heddle.json .netrc .pgpass .vimrc .exrc .gdbinit"
).split(" ");
const STARTS = [".pnp.", "lefthook.", ".lefthook."];

/** The part that is protected: what runs later without a question, or says what may run. Case and Windows spellings do not matter. */
export function protectedPart(at: Located): string | undefined {
  const seen = [at.inside ?? at.path, at.inside === undefined ? at.real : ""];
  if (at.inside !== undefined) seen.push(at.path.endsWith(at.inside) ? at.inside : at.path);
  for (const path of seen) {
    const parts = path.split(/[/\\]/).map((p) =>
      p
        .toLowerCase()
        .normalize("NFC")
        .replace(/:.*$/, "")
        .replace(/[. ]+$/, ""),
    );
    const name = parts.at(-1) ?? "";
    if (FILES.includes(name) || name.endsWith(".code-workspace") || STARTS.some((s) => name.startsWith(s))) return name;
    const found = parts.findIndex(
      (p, i) => (FOLDERS.includes(p) && !(p === ".claude" && parts[i + 1] === "worktrees")) || FOLDERS.includes(`${p}/${parts[i + 1]}`),
    );
    if (found >= 0) return `${parts[found]}/`;
  }
  return undefined;
}
