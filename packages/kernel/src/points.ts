/** The one table of the points: how each is run, what a failure means, and how long a contribution may take. */

export type Point = {
  /**
   * first: asked in order, the first answer wins. keyed: looked up by name. collect: run together, answers kept in registry
   * order. pipe: each gets what the one before it returned. strictest: run together, the strictest answer wins.
   * observe: run together, never awaited.
   */
  mode: "first" | "keyed" | "collect" | "pipe" | "strictest" | "observe";
  failure: string;
  deadlineMs: number;
};

export const POINTS = {
  classifiers: { mode: "first", failure: "as if it had stayed silent", deadlineMs: 500 },
  commands: { mode: "keyed", failure: "the command says so", deadlineMs: 600_000 },
  admission: { mode: "strictest", failure: "the prompt is blocked", deadlineMs: 60_000 },
  systemPrompt: { mode: "collect", failure: "its part is missing", deadlineMs: 2_000 },
  attachments: { mode: "collect", failure: "its part is missing", deadlineMs: 1_000 },
  memory: { mode: "collect", failure: "its part is missing", deadlineMs: 1_000 },
  compaction: { mode: "pipe", failure: "the stage is skipped", deadlineMs: 60_000 },
  /** Counts from the last chunk. */
  providers: { mode: "keyed", failure: "the turn fails", deadlineMs: 600_000 },
  tools: { mode: "keyed", failure: "the call gets an error result", deadlineMs: 120_000 },
  gates: { mode: "strictest", failure: "the call is denied", deadlineMs: 10_000 },
  afterTool: { mode: "collect", failure: "its context is missing", deadlineMs: 10_000 },
  closers: { mode: "collect", failure: "ignored", deadlineMs: 60_000 },
  observers: { mode: "observe", failure: "reported", deadlineMs: 5_000 },
  renderers: { mode: "keyed", failure: "shown plainly", deadlineMs: 100 },
} as const satisfies Record<string, Point>;

/** The places where plugins contribute. */
export type PointId = keyof typeof POINTS;
export const POINT_IDS = Object.keys(POINTS) as readonly PointId[];
