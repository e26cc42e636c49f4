/** All rules of a session, and what became of those that could not be read. */
import { type List, type Malformed, type Rule, type RuleText, readRule } from "./rule.ts";

export type RuleTexts = { readonly [L in List]: readonly RuleText[] };
export type Rules = { readonly [L in List]: readonly Rule[] };

/**
 * A rule that cannot be read never opens anything: a broken deny denies all of its tool, or everything when not even the
 * tool can be told; a broken ask asks for the same; a broken allow is left out. `reports` has one line for each.
 */
export function readRules(texts: RuleTexts, home?: string): { readonly rules: Rules; readonly reports: readonly string[] } {
  const reports: string[] = [];
  const read = (list: List): Rule[] =>
    texts[list].flatMap((text) => {
      const rule = readRule(list, text, home);
      if (!("why" in rule)) return [rule];
      reports.push(reportOf(rule));
      return list === "allow" ? [] : [closed(rule)];
    });
  return { rules: { deny: read("deny"), ask: read("ask"), allow: read("allow") }, reports };
}

function closed({ list, text, why, tool }: Malformed): Rule {
  return { list, label: `${list} ${text.rule.trim()} (${text.source}): ${why}`, tool: tool ?? "*", covers: { kind: "everything" } };
}

function reportOf({ list, text, why, tool }: Malformed): string {
  const until = {
    allow: "it is ignored",
    ask: `until it is mended, ${tool ?? "every tool"} asks`,
    deny: `until it is mended, ${tool ?? "every tool"} is denied`,
  };
  return `The ${list} rule "${text.rule}" in ${text.source} cannot be used: ${why}; ${until[list]}.`;
}
