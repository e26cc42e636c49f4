import { describe, expect, it } from "vitest";
import { createLog, type LogOptions, listSessions, openLog, SessionLogError, slugOf } from "../src/index.ts";
import { added, assistant, Disk, header, ID, jsonl, PATH, text, user } from "./support.ts";

function store(disk = new Disk(), more: Partial<LogOptions> = {}): { disk: Disk; o: LogOptions; failures: string[] } {
  const failures: string[] = [];
  const o = {
    storage: disk,
    stateDir: "/state",
    cwd: "/w",
    now: () => 1,
    version: "1.0.0",
    onFailure: (m: string) => failures.push(m),
    ...more,
  };
  return { disk, o, failures };
}
const ONE = jsonl(header, added(user("u1")));

describe("a new log", () => {
  it("leaves nothing behind until something is said, then begins with a header", () => {
    const { disk, o } = store();
    const log = createLog({ ...o, id: ID });
    expect([disk.files.size, disk.locks.size]).toEqual([0, 0]);
    log.append(added(user("u1")), added(user("u2")));
    expect(disk.writes).toEqual([jsonl(header, added(user("u1")), added(user("u2")))]);
    expect([log.path, [...disk.locks.keys()]]).toEqual([PATH, [`${PATH}.lock`]]);
    log.close();
    expect(disk.locks.size).toBe(0);
  });

  it("says once that it cannot write, never throws, and writes no more", () => {
    const { disk, o, failures } = store();
    const log = createLog({ ...o, id: ID });
    log.append(added(user("u1")));
    disk.failure = "ENOSPC";
    log.append(added(user("u2")));
    disk.failure = undefined;
    log.append(added(user("u3")));
    expect(failures).toEqual([
      `The session is no longer saved: ${PATH} cannot be written (ENOSPC: no space left on device). It goes on in memory; make room or check the permissions, then start anew.`,
    ]);
    expect(text(disk.files.get(PATH))).toBe(ONE);
  });
});

describe("opening a log", () => {
  it("changes no byte by looking", async () => {
    const { disk, o } = store();
    disk.put(PATH, `${jsonl(header, added(assistant("a1", "c1")))}{"type":"mess`);
    const before = text(disk.files.get(PATH));
    const { log } = await openLog(o, "latest");
    log.close();
    expect([text(disk.files.get(PATH)), disk.writes, disk.locks.size]).toEqual([before, [], 0]);
  });

  it("ends a torn line and writes what was mended before the next one", async () => {
    const { disk, o } = store();
    const torn = `${jsonl(header, added(assistant("a1", "c1")))}{"type":"mess`;
    disk.put(PATH, torn);
    const { log, recovered, notices } = await openLog(o, ID);
    log.append(added(user("u2")));
    expect(text(disk.files.get(PATH))).toBe(`${torn}\n${jsonl(...recovered.append, added(user("u2")))}`);
    expect(recovered.append).toHaveLength(1);
    expect(notices).toEqual([
      "1 broken piece of the log left out (line 3); everything else was read",
      "1 tool call was interrupted and may or may not have taken effect",
    ]);
    log.close();
    const again = await openLog(o, ID);
    expect(again.recovered.messages).toEqual([...recovered.messages, user("u2")]);
    expect(again.recovered.append).toEqual([]);
  });

  it("refuses a second writer, names it, and says what to do", async () => {
    const { disk, o } = store();
    disk.put(PATH, ONE);
    disk.locks.set(`${PATH}.lock`, "process 4711");
    await expect(openLog(o, ID)).rejects.toThrow(
      new SessionLogError(`session "${ID}" is in use by process 4711; go on there, end that process, or start a new session`),
    );
  });

  it("goes on where no lock can be had", async () => {
    const disk = new Disk();
    disk.put(PATH, ONE);
    disk.lock = () => {
      throw new Error("EROFS: read-only file system");
    };
    const { notices } = await openLog(store(disk).o, ID);
    expect(notices).toEqual(["the session cannot be locked (EROFS: read-only file system); do not open it twice"]);
  });

  it("refuses a file that is no session, and lets go of it", async () => {
    const { disk, o } = store();
    disk.put(PATH, "\x89PNG\r\n\x1a\n\0\0\0");
    await expect(openLog(o, ID)).rejects.toThrow(/is not a session log/);
    expect(disk.locks.size).toBe(0);
  });

  it("refuses a log of a later format, says who wrote it, and changes no byte of it", async () => {
    const { disk, o } = store();
    const later = jsonl(JSON.stringify({ ...header, v: 999, version: "9.1.0" }), JSON.stringify({ type: "unheard-of" }), added(user("u1")));
    disk.put(PATH, later);
    await expect(openLog(o, "latest")).rejects.toThrow(
      new SessionLogError(
        `session "${ID}" was written by heddle 9.1.0 in a format that this one does not know (v 999): update heddle, or choose another session`,
      ),
    );
    expect([text(disk.files.get(PATH)), disk.writes, disk.locks.size]).toEqual([later, [], 0]);
  });

  it("takes up an empty file as a session without a turn", async () => {
    const { disk, o } = store();
    disk.put(PATH, "");
    const { log } = await openLog(o, ID);
    log.append(added(user("u1")));
    expect(text(disk.files.get(PATH))).toBe(ONE);
  });
});

describe("finding a session", () => {
  const other = `/state/projects/-other/${ID.replace("1aa", "2bb")}.jsonl`;
  const twin = PATH.replace("1aa", "1ab");

  it("lists those of a folder, newest first", async () => {
    const { disk, o } = store();
    for (const path of [PATH, twin, other]) disk.put(path, ONE);
    disk.put(`${PATH}.lock`, "");
    expect((await listSessions(o)).map((s) => s.path)).toEqual([twin, PATH]);
  });

  it("takes the newest, an id, or the beginning of one, also from another folder", async () => {
    const { disk, o } = store();
    for (const path of [PATH, twin]) disk.put(path, ONE);
    disk.put(other, jsonl({ ...header, cwd: "/other" }, added(user("u1"))));
    const open = async (which: string) => {
      const { log, notices } = await openLog(o, which);
      log.close();
      return [log.path, ...notices];
    };
    expect(await open("latest")).toEqual([twin]);
    expect(await open("0000000001aa")).toEqual([PATH]);
    expect(await open("0000000001ab")).toEqual([twin]);
    expect(await open("0000000002")).toEqual([other, "this session was made in /other"]);
    await expect(open("00000000")).rejects.toThrow(/the beginning of 2 sessions .* give more of the id/);
    await expect(open("nope")).rejects.toThrow('there is no session "nope"; the newest sessions of /w are: 0000000001ab, 0000000001aa');
  });

  it("says so where there is none", async () => {
    await expect(openLog(store().o, "latest")).rejects.toThrow("there is no session of /w to resume; start one without --resume");
  });

  it("has one folder for each working folder, however long its path", () => {
    expect(slugOf("/home/me/my project.v2")).toBe("-home-me-my-project-v2");
    const long = `/${"a".repeat(300)}`;
    expect([slugOf(long).length, slugOf(long) === slugOf(`${long}b`)]).toEqual([217, false]);
  });
});
