/** What a sandboxed command may change, see and reach. The host says it; no input of a model and no file of a project widens it. */

/** All of the network, nothing, or the hosts that a list names (`*.name` for all below a name, `*` for all), less others. */
export type SandboxNetwork = "off" | "on" | { readonly allow: readonly string[]; readonly deny: readonly string[] };

/** Absolute paths with their links resolved. */
export type SandboxPolicy = {
  /** Folders that may be changed. */
  readonly writable: readonly string[];
  /** Below them, what stays as it is. Where `missing`, nothing is there yet, and nothing may come there: it looks like an empty one. */
  readonly fixed: readonly { readonly path: string; readonly missing?: "file" | "folder" }[];
  /** Nothing can be bound on them: links, and files that are not there and whose place git needs free. Put right after a command. */
  readonly mended: readonly { readonly path: string; readonly link?: string }[];
  /** What looks empty from inside. */
  readonly hidden: readonly { readonly path: string; readonly folder: boolean }[];
  /** A folder that stands in for /tmp. */
  readonly scratch: string;
  readonly network: SandboxNetwork;
  /** Variables of the environment that it does not get. */
  readonly withoutVariables: readonly string[];
};

/** Paths are absolute. `state`: heddle's own folder. `roots`: the folders of the workspace. */
export type SandboxSettings = {
  readonly roots: readonly string[];
  readonly home: string;
  readonly state: string;
  /** Where the folder that stands in for /tmp is made; without it the system's. */
  readonly temporary?: string;
  readonly network: SandboxNetwork;
  readonly allowWrite?: readonly string[];
  readonly denyWrite?: readonly string[];
  readonly denyRead?: readonly string[];
};

/** Below the home folder: keys, tokens, and what was typed. */
export const SECRETS: readonly string[] = (
  ".ssh .gnupg .aws .azure .kube .docker .config/gcloud .config/gh .config/op .config/git/credentials .netrc .npmrc .pypirc .git-credentials .pgpass .my.cnf " +
  ".cargo/credentials .cargo/credentials.toml .gem/credentials .terraform.d/credentials.tfrc.json .password-store .local/share/keyrings " +
  "Library/Keychains Library/Cookies .mozilla .config/google-chrome .config/chromium .claude/.credentials.json .codex/auth.json .bash_history .zsh_history .python_history .node_repl_history"
).split(" ");
/** `/run` holds the sockets of services that would act for the command outside. */
export const SYSTEM_SECRETS: readonly string[] = ["/run", "/etc/shadow", "/etc/gshadow", "/etc/sudoers.d", "/etc/ssl/private"];
/** Of `/run`, what programs themselves are found through. */
export const KEPT: readonly string[] = ["/run/current-system", "/run/systemd/resolve"];

/** In a folder of the workspace: what heddle obeys. May not be made either; nor may what git obeys. */
export const OBEYED: readonly string[] = [".heddle", ".claude", ".mcp.json"];
/** Those that are folders, where they are. */
export const OBEYED_FOLDERS: readonly string[] = [".heddle", ".claude", "hooks"];
/** What other programs obey, if it is there. */
export const RESPECTED: readonly string[] =
  ".git/config.worktree .git/commondir .git/modules .gitmodules .claude.json .vscode .idea .husky .devcontainer .envrc .npmrc .yarnrc .yarnrc.yml .pre-commit-config.yaml".split(
    " ",
  );

const SECRET_VARIABLE = /(^|_)(TOKEN|SECRET|PASS|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_KEY(_ID)?|PRIVATE_KEY|CREDENTIALS?|AUTH)$/i;
const SOCKET_VARIABLE =
  /^(SSH_AUTH_SOCK|SSH_AGENT_PID|GPG_AGENT_INFO|DBUS_SESSION_BUS_ADDRESS|DOCKER_HOST|XAUTHORITY|DISPLAY|WAYLAND_DISPLAY)$/;
export const isSecretVariable = (name: string): boolean => SECRET_VARIABLE.test(name) || SOCKET_VARIABLE.test(name);

export const isBelow = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
