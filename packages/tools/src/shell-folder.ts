/** The folder in which each session's shell stands, kept from one command to the next. */
import { type Service, service } from "@heddle/kernel/plugin";

/** For those who must know where a command will run, such as gates. */
export interface ShellFolder {
  /** Undefined until a command has changed it: then the shell stands in the session's cwd. */
  get(sessionId: string): string | undefined;
  set(sessionId: string, folder: string): void;
}
export const SHELL_FOLDER: Service<ShellFolder> = service<ShellFolder>("heddle.shell-folder");

const KEEP_SESSIONS = 1000;

export function createShellFolder(limit = KEEP_SESSIONS): ShellFolder {
  const folders = new Map<string, string>();
  return {
    get: (sessionId) => folders.get(sessionId),
    set(sessionId, folder) {
      folders.delete(sessionId);
      folders.set(sessionId, folder);
      for (const oldest of folders.keys()) {
        if (folders.size <= limit) break;
        folders.delete(oldest);
      }
    },
  };
}
