/** Everything a test may set about the server. */

import type { FaultName, FaultSpec } from "./faults.ts";
import type { JsonObject } from "./json.ts";
import type { ModelOverrides } from "./models.ts";
import type { RequestKind } from "./request-kind.ts";
import type { MarkedScript, Script, Step, Vars } from "./script.ts";
import type { PieceSizes } from "./sse.ts";

export interface Latency {
  /** Milliseconds before the headers. */
  headers?: number;
  /** Milliseconds before each event. */
  event?: number;
}

export interface ServerOptions {
  /** The one script; a single "ok" without any. */
  script?: Script;
  /** Several scripts, told apart by a marker word in the prompt; the newest prompt chooses. */
  scripts?: readonly MarkedScript[];
  faults?: readonly (FaultName | FaultSpec)[];
  /** Rules of single models, added to or in place of what their ids imply. */
  models?: ModelOverrides;
  /** Accepted keys; any non-empty one without it. */
  keys?: readonly string[];
  /** Beta values accepted besides the known ones. */
  betas?: readonly string[];
  /** Context window in tokens, in place of the model's own. */
  window?: number;
  clock?: () => number;
  /** Seed of all ids. */
  seed?: number;
  /** Secret of the thinking signatures; servers with the same one accept each other's. */
  secret?: string;
  /** Whether thinking is bound to its conversation on models of generation 5; true without it. */
  binding?: boolean;
  latency?: Latency;
  /** Values of `{{name}}` in scripted texts and inputs. */
  vars?: Vars;
  port?: number;
  /** Length of the streamed pieces, in UTF-16 units. */
  pieces?: Partial<PieceSizes>;
  /** Writes every multi-byte character in two chunks. */
  splitUtf8?: boolean;
  /** A sentence of the client's compaction prompt. */
  compactionMarker?: string;
  /** What a compaction request is answered with. */
  summary?: string;
  /** Overrules the kind of a request. */
  classify?: (body: JsonObject) => RequestKind | undefined;
  /** Overrules the answer to a side request. */
  side?: (body: JsonObject) => Step | undefined;
  /** Keeps the text of each body beside what it holds. */
  keepText?: boolean;
  /** Serves the record at `GET /__requests`. */
  inspect?: boolean;
}
