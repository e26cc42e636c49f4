/** Splits `--allowedTools` and `--disallowedTools` values into rules. */

/** Rules are parted by commas or blanks; inside parentheses neither parts anything. An open parenthesis takes the rest. */
export function ruleList(values: readonly string[]): string[] {
  return values.flatMap((value) => {
    const rules: string[] = [];
    let rule = "";
    let depth = 0;
    for (const c of value) {
      if (c === "(") depth++;
      if (c === ")" && depth > 0) depth--;
      if (depth === 0 && (c === "," || /\s/.test(c))) {
        rules.push(rule);
        rule = "";
      } else rule += c;
    }
    return [...rules, rule].map((r) => r.trim()).filter((r) => r !== "");
  });
}

/** One rule, or several parted by commas; a word of a prompt, as a rule, is none. */
export function looksLikeRules(word: string): boolean {
  const tight = word.replace(/,\s+/g, ",").trim();
  const rules = ruleList([tight]);
  return rules.length > 0 && rules.join(",") === tight && rules.every((r) => /^([A-Z]\w*(\(.*\))?|mcp__\S+|\*)$/s.test(r));
}

/** A rule without parentheses that names one tool: as a deny rule it takes the tool away from the model. */
export const bareTool = (rule: string): string | undefined => /^([A-Za-z][\w-]*)(\(\*?\))?$/.exec(rule)?.[1];
