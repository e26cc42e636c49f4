/** What the store throws: says which session, what is wrong, and what to do. */
export class SessionLogError extends Error {
  override readonly name = "SessionLogError";
}
