/** What keeps the process alive: timers, sockets, child processes, watchers. */

export type Handles = ReadonlyMap<string, number>;

export function handles(): Handles {
  const counts = new Map<string, number>();
  for (const name of process.getActiveResourcesInfo()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** Kinds that come and go with reading files and printing. */
const PASSING: ReadonlySet<string> = new Set(["FSReqCallback", "FSReqPromise", "WriteWrap", "ShutdownWrap", "CloseReq", "Immediate"]);
const KINDS: Readonly<Record<string, string>> = {
  Timeout: "a timer",
  TCPSocketWrap: "a socket",
  TCPServerWrap: "a server that listens",
  ProcessWrap: "a child process",
  FSEventWrap: "a file watcher",
  StatWatcher: "a file watcher",
  MessagePort: "a worker or message port",
};

/** What is there beyond `before`, one line a kind. Closing takes time: waits up to a second for it. */
export async function leftOver(before: Handles): Promise<string[]> {
  for (let waited = 0; ; waited += 20) {
    const more = [...handles()].filter(([name, n]) => !PASSING.has(name) && n > (before.get(name) ?? 0));
    const lines = more.map(([name, n]) => {
      const extra = n - (before.get(name) ?? 0);
      return `${KINDS[name] ?? "a handle"} (${name})${extra > 1 ? ` ${extra} times` : ""}`;
    });
    if (lines.length === 0 || waited >= 1_000) return lines;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
