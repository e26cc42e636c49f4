/** What a request can do without once its server has refused it: optional fields, and thinking that is bound to something else. */

/** An optional part of the body. */
export const FIELDS = ["effort", "display", "thinking", "cache_control", "defer_loading"] as const;
export type Field = (typeof FIELDS)[number];
/** `thoughts` by their ids. */
export type Without = { readonly fields: ReadonlySet<Field>; readonly thoughts: ReadonlySet<string> };

const PATHS: { readonly [F in Field]: RegExp } = {
  effort: /^output_config\b/,
  display: /^thinking\.(?:\w+\.)?display$/,
  thinking: /^thinking\b/,
  cache_control: /(?:^|\.)cache_control\b/,
  defer_loading: /\bdefer_loading$/,
};

/** The field that a refusal names as one that may not be there; undefined when it is about something else. */
export function refusedField(said: string): Field | undefined {
  if (/Input tag 'tool_reference' found using 'type'/.test(said)) return "defer_loading";
  const path = /([\w.-]+): Extra inputs are not permitted/.exec(said)?.[1];
  return path === undefined ? undefined : FIELDS.find((field) => PATHS[field].test(path));
}

/** Whether it is about the thinking that a request has brought back. */
export const isAboutThoughts = (said: string): boolean =>
  /bound to a different conversation|Invalid `signature` in `thinking` block|`redacted_thinking` blocks in the latest assistant message cannot be modified|`thinking` block that preceded this one/.test(
    said,
  );

/** Fewer are of no use to a turn. */
const LEAST_OUTPUT = 1024;
/** The tokens of output that are left, where the prompt fits and only the two together do not. */
export function outputLeft(said: string): number | undefined {
  const [, input, , window] = /exceed context limit: (\d+) \+ (\d+) > (\d+)/.exec(said) ?? [];
  const left = Number(window) - Number(input);
  return left >= LEAST_OUTPUT ? left : undefined;
}
