/** A refusal: the status, type and sentence with which the API turns a request down. */

export type ErrorType =
  | "invalid_request_error"
  | "authentication_error"
  | "billing_error"
  | "permission_error"
  | "not_found_error"
  | "conflict_error"
  | "request_too_large"
  | "rate_limit_error"
  | "api_error"
  | "timeout_error"
  | "overloaded_error";

export interface Refusal {
  status: number;
  type: string;
  message: string;
}

const STATUS: Readonly<Record<ErrorType, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  conflict_error: 409,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

export function statusOf(type: ErrorType): number {
  return STATUS[type];
}

export function typeOf(status: number): ErrorType {
  for (const [type, known] of Object.entries(STATUS)) if (known === status) return type as ErrorType;
  return status >= 500 ? "api_error" : "invalid_request_error";
}

/** Thrown so that the first broken rule ends the whole examination, however deep it was found. */
export class Refused extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

export function refuse(message: string, type: ErrorType = "invalid_request_error"): never {
  throw new Refused({ status: STATUS[type], type, message });
}

export function refusalOf(check: () => void): Refusal | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof Refused) return error.refusal;
    throw error;
  }
}
