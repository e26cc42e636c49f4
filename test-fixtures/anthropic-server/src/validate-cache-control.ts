/** cache_control: its own shape, how many there may be, and the order of their lifetimes. */

import { automaticMark, type CacheMark, cacheControlPath, explicitMarks } from "./cache-marks.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";
import { given, mustBeObject, mustHaveTag, mustKnowKeys } from "./phrases.ts";
import { refuse } from "./refusal.ts";

export const MAX_MARKS = 4;

export function ttlOf(control: Json | undefined): "5m" | "1h" {
  return isObject(control) && control["ttl"] === "1h" ? "1h" : "5m";
}

function checkShape(mark: CacheMark): void {
  const path = cacheControlPath(mark);
  const control = mustBeObject(mark.control, path);
  mustHaveTag(control, ["ephemeral"], path);
  mustKnowKeys(control, ["type", "ttl", "scope"], `${path}.ephemeral.`);
  const ttl = control["ttl"];
  if (given(ttl) && ttl !== "5m" && ttl !== "1h") refuse(`${path}.ephemeral.ttl: Input should be '5m' or '1h'`);
}

function checkLifetimes(marks: readonly CacheMark[]): void {
  let sawShort = false;
  for (const mark of marks) {
    if (ttlOf(mark.control) === "5m") sawShort = true;
    else if (sawShort) {
      refuse(
        `${cacheControlPath(mark)}.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: \`tools\`, \`system\`, \`messages\`.`,
      );
    }
  }
}

export function checkCacheControl(body: JsonObject): void {
  const explicit = explicitMarks(body);
  const top = body["cache_control"];
  for (const mark of explicit) checkShape(mark);
  if (given(top)) checkShape({ path: "", control: top, unit: "" });
  const count = explicit.length + (given(top) ? 1 : 0);
  if (count > MAX_MARKS) refuse(`A maximum of ${MAX_MARKS} blocks with cache_control may be provided. Found ${count}.`);
  const automatic = automaticMark(body);
  if (automatic) {
    const same = explicit.find((mark) => mark.unit === automatic.unit);
    if (same && ttlOf(same.control) !== ttlOf(top))
      refuse(`cache_control.ttl: the last cacheable block already has a cache_control with another ttl.`);
  }
  checkLifetimes(automatic ? [...explicit, automatic] : explicit);
}
