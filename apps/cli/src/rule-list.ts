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

/** A rule without parentheses that names one tool: as a deny rule it takes the tool away from the model. */
export const bareTool = (rule: string): string | undefined => /^([A-Za-z][\w-]*)(\(\*?\))?$/.exec(rule)?.[1];
