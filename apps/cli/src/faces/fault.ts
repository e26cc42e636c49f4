/** A fault in the words of a person: of heddle's own plugins it matters what is wrong, of others also who they are. */
import type { Fault } from "@heddle/kernel/protocol";
import { FIRST_PARTY } from "../first-party.ts";

export function faultText({ message, who, model }: Fault): string {
  const prefix = who ? `plugin "${who.plugin}" (${who.point} "${who.name}") ` : "";
  // What a model or its server did wrong is a whole sentence; all else is a predicate of the plugin.
  return model && who && FIRST_PARTY.includes(who.plugin) && message.startsWith(prefix) ? message.slice(prefix.length) : message;
}
