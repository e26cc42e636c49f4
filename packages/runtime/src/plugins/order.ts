/** Which candidates may start at all, and in which order: decided from their manifests, before any of their code is loaded. */
import { API_VERSION, type PluginId } from "@heddle/kernel";
import satisfies from "semver/functions/satisfies.js";
import validRange from "semver/ranges/valid.js";
import { Manifest } from "../manifest.ts";
import type { Candidate } from "../types.ts";
import type { Report } from "./problem.ts";

/** A candidate whose manifest is valid and whose api range fits. */
export type Ready = Candidate & { readonly parsed: Manifest };

const fits = (version: string, range: string): boolean => satisfies(version, range, { includePrerelease: true });

/** Of two candidates with one id the first counts. */
export function checkManifests(candidates: readonly Candidate[], report: Report): Ready[] {
  const ready: Ready[] = [];
  const seen = new Map<PluginId, Candidate>();
  for (const c of candidates) {
    const twin = seen.get(c.id);
    if (twin) {
      report(c, "discover", `not used, because the one from ${twin.from} comes first; remove one of them`);
      continue;
    }
    seen.set(c.id, c);
    const parsed = Manifest.safeParse(c.manifest);
    if (!parsed.success) {
      const issues = parsed.error.issues.map((i) => `${["heddle", ...i.path].join(".")}: ${i.message}`);
      report(c, "manifest", `its package.json is wrong: ${issues.join("; ")}`);
      continue;
    }
    const ranges = [parsed.data.api, ...Object.values(parsed.data.requires)];
    const bad = ranges.find((range) => validRange(range) === null);
    const contributed = Object.values(parsed.data.contributes).some((names) => names.length > 0);
    if (bad !== undefined) report(c, "manifest", `"${bad}" is not a version range; write one like "^1.0.0"`);
    else if (!parsed.data.main && contributed)
      report(c, "manifest", "heddle.contributes names contributions, but there is no heddle.main to make them");
    else if (!fits(API_VERSION, parsed.data.api))
      report(c, "api", `was built for plugin API ${parsed.data.api}, and this is ${API_VERSION}; install a version that fits`);
    else ready.push({ ...c, parsed: parsed.data });
  }
  return ready;
}

/** Depth first in the order given: total, and the same each time. A plugin that requires one that is lost is lost too. */
export function orderByNeed(all: readonly Ready[], report: Report): Ready[] {
  const byId = new Map(all.map((p) => [p.id, p]));
  const state = new Map<PluginId, "open" | "done" | "lost">();
  const out: Ready[] = [];
  const lose = (p: Ready, stage: "requires" | "order", message: string): void => {
    if (state.get(p.id) === "lost") return;
    state.set(p.id, "lost");
    report(p, stage, message);
  };
  const need = (p: Ready, id: PluginId, range: string, path: readonly PluginId[]): void => {
    const other = byId.get(id);
    if (!other) lose(p, "requires", `requires "${id}" ${range}, which is not installed or not enabled; install or enable it`);
    else if (!fits(other.version, range)) lose(p, "requires", `requires "${id}" ${range}, but ${other.version} is installed`);
    else if (state.get(id) === "open") {
      const loop = [...path.slice(path.indexOf(id)), id];
      for (const member of new Set(loop)) lose(byId.get(member)!, "order", `is in a circle of requirements: ${loop.join(" -> ")}`);
    } else {
      visit(other, path);
      if (state.get(id) === "lost") lose(p, "requires", `not started, because it requires "${id}", which cannot start`);
    }
  };
  const visit = (p: Ready, path: readonly PluginId[]): void => {
    if (state.has(p.id)) return;
    state.set(p.id, "open");
    const here = [...path, p.id];
    for (const [id, range] of Object.entries(p.parsed.requires)) need(p, id, range, here);
    for (const id of p.parsed.after) {
      const other = byId.get(id);
      if (other && !state.has(id)) visit(other, here);
    }
    if (state.get(p.id) === "lost") return;
    state.set(p.id, "done");
    out.push(p);
  };
  for (const p of all) visit(p, []);
  return out;
}
