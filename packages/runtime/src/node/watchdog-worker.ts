/** The thread of the watchdog, as source text: so it needs no file of its own beside a bundle. */

/** Places in the shared cells: the heartbeat, how many watched calls are open, and whose first run is on (-1: nobody's). */
export const BEAT = 0;
export const LIVE = 1;
export const CURRENT = 2;

/** The key of a global function that tells which async context is entered. */
export const ENTERED = "heddle.watchdog.entered";

export const WORKER = `
"use strict";
const { Session } = require("node:inspector");
const { parentPort, workerData } = require("node:worker_threads");
const { cells, stallMs } = workerData;
let folders = workerData.folders;
parentPort.on("message", (more) => {
  folders = more;
});
const TICK = 50;
const PAUSE_MS = 500;
const LEAVE = "globalThis[Symbol.for('${ENTERED}')]() === asyncId && emitAfter(asyncId)";
const LEAVE_ALL = \`(() => {
  const was = process.noDeprecation;
  process.noDeprecation = true;
  try { process.binding("async_wrap").clearAsyncIdStack(); } catch {} finally { process.noDeprecation = was; }
})()\`;
let last = -1;
let still = 0;
let busy = false;

// Ticks, not the clock: a machine that was asleep has not hung.
setInterval(() => {
  const beat = Atomics.load(cells, ${BEAT});
  still = beat === last ? still + 1 : 0;
  last = beat;
  if (busy || still * TICK < stallMs || Atomics.load(cells, ${LIVE}) === 0) return;
  busy = true;
  end(still * TICK).catch(() => {}).finally(() => {
    busy = false;
    still = 0;
  });
}, TICK);

// The longest folder that the script is in: a plugin may lie in the folder of another.
function ownerOf(url) {
  let found = -1;
  const full = url.startsWith("/") ? "file://" + url : url;
  folders.forEach((folder, i) => {
    if (full.startsWith(folder) && (found < 0 || folder.length > folders[found].length)) found = i;
  });
  return found;
}

async function end(ms) {
  const session = new Session();
  session.connectToMainThread();
  const post = (method, params) => new Promise((resolve) => session.post(method, params, () => resolve()));
  const within = (promise) => Promise.race([promise, new Promise((resolve) => setTimeout(resolve, PAUSE_MS))]);
  const beat = Atomics.load(cells, ${BEAT});
  const urls = new Map(); // a frame names its script by a number only
  session.on("Debugger.scriptParsed", ({ params }) => urls.set(params.scriptId, params.url));
  const urlOf = (frame) => frame.url || urls.get(frame.location.scriptId) || "";
  try {
    const paused = new Promise((resolve) => session.once("Debugger.paused", ({ params }) => resolve(params.callFrames)));
    void post("Debugger.enable");
    void post("Debugger.pause");
    const frames = await within(paused);
    let plugin = -1;
    if (frames) plugin = frames.map((f) => ownerOf(urlOf(f))).find((i) => i >= 0) ?? -1;
    else if (Atomics.load(cells, ${BEAT}) === beat) plugin = Atomics.load(cells, ${CURRENT}); // in native code, where nothing pauses
    if (plugin >= 0) {
      // What is ended has no chance to leave the async contexts that Node entered for it, and Node dies of a stack that does not add
      // up. Each function of Node that enters one knows it by these names; in all others this is an error without effect. A loop of
      // Node may still show the context of its last round, so only the one that is entered is left. Older Nodes enter some from C++
      // too, and have a function to leave all; newer ones have neither.
      for (const { callFrameId } of (frames || []).filter((f) => urlOf(f).startsWith("node:internal/")))
        void post("Debugger.evaluateOnCallFrame", { callFrameId, expression: LEAVE, silent: true });
      if (frames) void post("Runtime.evaluate", { expression: LEAVE_ALL, silent: true });
      void post("Runtime.terminateExecution");
    }
    if (frames) void post("Debugger.resume");
    await within(post("Debugger.disable"));
    if (plugin >= 0) parentPort.postMessage({ plugin, ms });
  } finally {
    session.disconnect(); // or Node waits for a debugger at its exit
  }
}
`;
