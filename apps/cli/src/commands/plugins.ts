/** `heddle plugins`: what is there, what is wrong with it, who owns a name. */
import { CliError, EXIT, type ExitCode, UsageError } from "../exit.ts";
import { type Io, say } from "../io.ts";
import { nearest } from "../nearest.ts";
import type { SetupArgs } from "../options.ts";
import { plainJson, plainLine } from "../plain.ts";
import { noticesOf, planOf } from "../plan.ts";
import { table } from "../table.ts";

type Ask = { what: string; name?: string; json: boolean };
type Listed = { id: string; version: string; from: string; contributes: Record<string, string[]> };

export async function plugins(args: SetupArgs, ask: Ask, io: Io): Promise<ExitCode> {
  const plan = await planOf(args, io, { everyProvider: true });
  for (const notice of noticesOf(plan)) say(io, notice);
  const list: Listed[] = plan.candidates.map((c) => ({ id: c.id, version: c.version, from: c.from, contributes: declared(c.manifest) }));
  const print = (json: unknown, text: string): void => void io.stdout.write(`${ask.json ? plainJson(json, 2) : text}\n`);
  switch (ask.what) {
    case "list":
      print(
        list,
        table(
          ["plugin", "version", "from", "contributes"],
          list.map((p) => [p.id, p.version, p.from, contributed(p)]),
        ),
      );
      return EXIT.done;
    case "why": {
      if (!ask.name) throw new UsageError("heddle plugins why NAME: the name of a tool, a command or any other contribution");
      const owners = ownersOf(list, ask.name.replace(/^\//, ""));
      if (owners.length === 0) {
        const all = list.flatMap((p) => Object.values(p.contributes).flat());
        const near = nearest(ask.name, all);
        throw new CliError(`no plugin contributes "${ask.name}"${near ? `; did you mean "${near}"?` : " (heddle plugins list)"}`);
      }
      print(owners, owners.map((o) => `${o.name} at ${o.point}: ${o.plugin} ${o.version} (${o.from})`).join("\n"));
      return EXIT.done;
    }
    default: {
      const { runtimeOf } = await import("../engine.ts");
      const runtime = await runtimeOf(plan, args);
      const problems = [...plan.problems, ...runtime.problems, ...(await runtime.dispose())];
      const fine = `${runtime.plugins.length} of ${plan.candidates.length} plugins work`;
      print({ working: runtime.plugins.map((p) => p.id), problems }, [...problems.map((p) => plainLine(p.message, 1000)), fine].join("\n"));
      return problems.length === 0 ? EXIT.done : EXIT.failed;
    }
  }
}

/** As far as the manifest can be read. */
function declared(manifest: unknown): Record<string, string[]> {
  const contributes = (manifest as { contributes?: unknown } | undefined)?.contributes;
  if (typeof contributes !== "object" || contributes === null) return {};
  return Object.fromEntries(
    Object.entries(contributes).flatMap(([point, names]) => (Array.isArray(names) ? [[point, names.map(String)] as const] : [])),
  );
}
const contributed = (p: Listed): string =>
  Object.entries(p.contributes)
    .map(([point, names]) => `${point}: ${names.join(" ")}`)
    .join("; ") || "nothing";

type Owner = { name: string; point: string; plugin: string; version: string; from: string };
function ownersOf(list: readonly Listed[], name: string): Owner[] {
  const is = (n: string): boolean => n.toLowerCase() === name.toLowerCase();
  return list.flatMap((p) =>
    Object.entries(p.contributes).flatMap(([point, names]) =>
      names.filter(is).map((n) => ({ name: n, point, plugin: p.id, version: p.version, from: p.from })),
    ),
  );
}
