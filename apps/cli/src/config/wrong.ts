/** What is wrong with a value of a settings file, in plain words. */
import type * as z from "zod";

type Issue = z.core.$ZodIssue;

const KINDS: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** Goes on from the name of the key and a colon. */
export function wrongText(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return `it has to be ${KINDS[issue.expected] ?? issue.expected}`;
    case "too_small":
      if (issue.origin === "string") return "it must not be empty";
      if (issue.origin === "array") return `it needs at least ${issue.minimum} of them`;
      return `it has to be ${issue.inclusive === false ? "above" : "at least"} ${issue.minimum}`;
    case "too_big":
      return `it has to be ${issue.inclusive === false ? "below" : "at most"} ${issue.maximum}`;
    case "invalid_value":
      return `it has to be one of ${issue.values.map(String).join(", ")}`;
    case "unrecognized_keys":
      return `there is no "${issue.keys.join('", "')}" in it`;
    case "invalid_key":
    case "invalid_element":
      return issue.issues[0] ? wrongText(issue.issues[0]) : issue.message;
    case "invalid_union":
      return unionText(issue.errors);
    default:
      return issue.message;
  }
}

/** Of the form that comes nearest: one that has the right type. */
function unionText(forms: readonly (readonly Issue[])[]): string {
  const near = forms.flatMap((issues) => issues.filter((i) => i.code !== "invalid_type" || i.path.length > 0));
  const [first] = near;
  if (first) return [...first.path.map(String), wrongText(first)].join(": ");
  return `it has to be ${forms.flatMap((issues) => issues.flatMap((i) => (i.code === "invalid_type" ? (KINDS[i.expected] ?? i.expected) : []))).join(" or ")}`;
}
