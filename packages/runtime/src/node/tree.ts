/** Which processes belong to a command: its group, and those that went into groups of their own, as `timeout` and job control do. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** `leader`: the command's own process, which began a session and a group. A process that began a session of its own wants to stay. */
export type Member = { readonly pid: number; readonly leader: number };

/** False when nobody is left in the group. */
export function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-leader, signal);
    return true;
  } catch {
    return false;
  }
}

/** All at once those of the group, then the others; false when nobody of either was alive. */
export function signalTree(leader: number, signal: NodeJS.Signals): boolean {
  const members = membersOf(new Set([leader]));
  if (members.length === 0) return false;
  signalGroup(leader, signal);
  for (const { pid } of members) signalOne(pid, signal);
  return true;
}

export function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {}
}

/** Those that live now, zombies left out. Takes some milliseconds. */
export function membersOf(leaders: ReadonlySet<number>): readonly Member[] {
  return process.platform === "linux" ? bySession(leaders) : byParent(leaders);
}

function bySession(leaders: ReadonlySet<number>): readonly Member[] {
  return readdirSync("/proc").flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid)) return [];
    const stat = procFile(pid, "stat");
    const [state, , , session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ", 4);
    const leader = Number(session);
    return leaders.has(leader) && state !== "Z" && state !== "X" ? [{ pid, leader }] : [];
  });
}

function byParent(leaders: ReadonlySet<number>): readonly Member[] {
  const rows = spawnSync("ps", ["-Ao", "pid=,ppid=,pgid=,stat="], { encoding: "utf8" }).stdout ?? "";
  const found = new Map<number, number>([...leaders].map((leader) => [leader, leader]));
  const alive = new Map<number, number>();
  const all = rows.split("\n").map((row) => row.trim().split(/\s+/));
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const [pid, parent, group, stat] of all) {
      const leader = found.get(Number(parent)) ?? found.get(Number(group));
      if (leader === undefined) continue;
      found.set(Number(pid), leader);
      if (!stat?.startsWith("Z")) alive.set(Number(pid), leader);
    }
  }
  return [...alive].map(([pid, leader]) => ({ pid, leader }));
}

/** Whether a process was started with this variable; false where that cannot be known. */
export const hasVariable = (pid: number, pair: string): boolean => `\0${procFile(pid, "environ")}`.includes(`\0${pair}\0`);

function procFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "latin1");
  } catch {
    return "";
  }
}
