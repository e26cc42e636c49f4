/** Messages that the runtime itself puts into a session. */
import type { Message, SystemMessage, UserMessage } from "@heddle/kernel";
import type { Host } from "../types.ts";

type Place = { readonly host: Pick<Host, "id" | "now">; readonly after: Message | undefined };

/** A warning for the person and the log. */
export const warning = ({ host, after }: Place, subtype: string, text: string): SystemMessage => ({
  ...{ role: "system", id: host.id("system"), parentId: after?.id ?? null, at: host.now(), origin: { by: "kernel" } },
  ...{ subtype, level: "warning", text },
});

/** For the model alone, without a turn. */
export const note = ({ host, after }: Place, text: string): UserMessage => ({
  ...{ role: "user", id: host.id("user"), parentId: after?.id ?? null, at: host.now(), origin: { by: "kernel" } },
  ...{ content: [{ type: "text", text }], isMeta: true },
});
