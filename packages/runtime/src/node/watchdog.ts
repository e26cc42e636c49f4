/** Ends code of others that blocks the thread: a loop without an end in a plugin costs a second, not the session. */
import { executionAsyncId } from "node:async_hooks";
import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import type { Worker } from "node:worker_threads";
import type { PluginId, Watch } from "@heddle/kernel";
import type { Watchdog } from "../types.ts";
import { BEAT, CURRENT, ENTERED, LIVE, WORKER } from "./watchdog-worker.ts";

/** `stallMs`: how long the thread may be blocked by a plugin before it is stopped. Default 1,000. */
export type WatchdogOptions = { readonly stallMs?: number };

const BEAT_MS = 50;

type Live = { readonly plugin: PluginId; readonly stop: (why: string) => void; started: boolean; readonly start: () => void };

/** What a start without code of others does not need; loading it takes milliseconds. */
type Tools = Pick<typeof import("node:worker_threads"), "Worker"> & { readonly inspector: typeof import("node:inspector") };
function tools(): Tools {
  const load = createRequire(import.meta.url);
  return { Worker: load("node:worker_threads").Worker, inspector: load("node:inspector") };
}

/**
 * A worker watches a heartbeat. When it stops while a watched call is open, the worker looks through the inspector whose code is
 * running, and ends that run of the thread. The promise of what was ended never settles, so the open calls of that plugin are told.
 */
export function nodeWatchdog(o: WatchdogOptions = {}): Watchdog {
  const cells = new Int32Array(new SharedArrayBuffer(12));
  const live = new Set<Live>();
  const ids: PluginId[] = [];
  const folders: string[] = [];
  let starts = 0;
  let worker: Worker | undefined;
  let heart: NodeJS.Timeout | undefined;

  const count = (): void => {
    Atomics.store(cells, LIVE, live.size);
    if (live.size > 0) worker?.ref();
    else worker?.unref();
  };
  const stopped = (plugin: PluginId, ms: number): void => {
    Atomics.store(cells, CURRENT, -1);
    for (const call of [...live]) {
      if (!call.started)
        setImmediate(call.start); // what the thread was about to do is lost with what was ended
      else if (call.plugin === plugin) {
        live.delete(call);
        call.stop(`blocked the process for ${(ms / 1000).toFixed(1)} s and was stopped`);
      }
    }
    count();
  };
  const watch: Watch = (who, stop, call) => {
    const index = ids.indexOf(who.plugin);
    if (index < 0 || !worker) return (async () => call())();
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        live.delete(entry);
        count();
      };
      const entry: Live = {
        plugin: who.plugin,
        stop,
        started: false,
        start() {
          if (entry.started) return;
          entry.started = true;
          Atomics.store(cells, CURRENT, index);
          try {
            Promise.resolve(call()).then(resolve, reject).finally(settle);
          } catch (error) {
            settle();
            reject(error as Error);
          }
          Atomics.store(cells, CURRENT, -1);
        },
      };
      live.add(entry);
      count();
      hop(entry.start);
    });
  };

  const begin = ({ Worker }: Tools): void => {
    Atomics.store(cells, CURRENT, -1);
    Object.assign(globalThis, { [Symbol.for(ENTERED)]: executionAsyncId }); // for the inspector, which sees globals only
    const made = new Worker(WORKER, { eval: true, execArgv: [], workerData: { cells, folders, stallMs: o.stallMs ?? 1_000 } });
    made.on("message", ({ plugin, ms }: { plugin: number; ms: number }) => stopped(ids[plugin]!, ms));
    made.on("error", () => {
      worker = undefined; // without it all goes on, only unwatched
    });
    made.unref();
    worker = made;
    heart = setInterval(() => Atomics.add(cells, BEAT, 1), BEAT_MS);
    heart.unref();
  };

  return {
    start(roots) {
      starts++;
      for (const [id, dir] of roots) {
        ids.push(id);
        folders.push(`${pathToFileURL(realOr(dir)).href}/`);
      }
      const loaded = tools();
      if (loaded.inspector.url() !== undefined) return; // at a breakpoint of a developer nothing has hung
      if (worker) worker.postMessage(folders);
      else begin(loaded);
    },
    watch,
    stop() {
      starts--;
      if (starts > 0) return;
      clearInterval(heart);
      void worker?.terminate();
      worker = undefined;
    },
  };
}

/** A run of the thread of its own, since ending one drops all that waits in it; and in it a microtask, which enters no async context. */
const hop = (start: () => void): void => void setImmediate(() => void Promise.resolve().then(start));

function realOr(dir: string): string {
  try {
    return realpathSync(dir);
  } catch {
    return dir;
  }
}
