/** A fault in the words of a person: of heddle's own plugins it matters what is wrong, of others also who they are. */
import type { Fault, ModelFaultKind } from "@heddle/kernel/protocol";
import { FIRST_PARTY } from "../first-party.ts";

/** Where the person can do nothing about it, those who run the server may want to know which request it was. */
const UNEXPLAINED: readonly ModelFaultKind[] = ["invalid", "server", "overloaded", "protocol"];

/** How the runtime ends it, which does not know of flags. */
const RAISE = "Raise it to go on.";

export function faultText({ message, who, model }: Fault): string {
  const prefix = who ? `plugin "${who.plugin}" (${who.point} "${who.name}") ` : "";
  // What a model or its server did wrong is a whole sentence; all else is a predicate of the plugin.
  const text = model && who && FIRST_PARTY.includes(who.plugin) && message.startsWith(prefix) ? message.slice(prefix.length) : message;
  if (text.startsWith("The budget of ") && text.endsWith(RAISE))
    return `${text.slice(0, -1)}: heddle -c --max-budget-usd N goes on with the session (in a terminal, /exit leaves it first).`;
  const id = model && UNEXPLAINED.includes(model.kind) ? model.requestId : undefined;
  return id === undefined ? text : `${text} Request: ${id.slice(0, 100)}.`;
}
