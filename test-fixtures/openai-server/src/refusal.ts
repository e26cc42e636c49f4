/** The error envelope of the APIs, and how a check refuses a request. */

export interface ApiError {
  message: string;
  type: string;
  param: string | null;
  code: string | number | null;
}
export interface Refusal {
  status: number;
  error: ApiError;
}

export class Refused extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.error.message);
    this.refusal = refusal;
  }
}

/** Throws; `param` names the place in the request, `code` is what a client may switch on. */
export function refuse(message: string, param: string | null = null, code: string | null = null, status = 400): never {
  throw new Refused({ status, error: { message, type: "invalid_request_error", param, code } });
}

export const missing = (param: string): never => refuse(`Missing required parameter: '${param}'.`, param, "missing_required_parameter");
export const unknown = (param: string): never => refuse(`Unknown parameter: '${param}'.`, param, "unknown_parameter");
export const wrongType = (param: string, expected: string, got: string): never =>
  refuse(`Invalid type for '${param}': expected ${expected}, but got ${got} instead.`, param, "invalid_type");
export const wrongValue = (param: string, value: unknown, supported: readonly string[]): never =>
  refuse(`Invalid value: '${String(value)}'. Supported values are: ${listed(supported)}.`, param, "invalid_value");

function listed(values: readonly string[]): string {
  const quoted = values.map((v) => `'${v}'`);
  if (quoted.length < 2) return quoted.join("");
  return `${quoted.slice(0, -1).join(", ")}${quoted.length > 2 ? "," : ""} and ${quoted.at(-1)}`;
}
