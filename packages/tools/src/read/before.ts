/** Whether what a Read would show stands in the conversation already. */
import type { Message } from "@heddle/kernel/plugin";

/** Characters of JSON back to which a result is taken for still in view: what is older may have been left out of it. */
const NEAR = 100_000;

export function stillInView(messages: readonly Message[], callId: string): boolean {
  let size = 0;
  for (let i = messages.length - 1; i >= 0; i--) {
    const m = messages[i]!;
    if (m.role !== "system") size += JSON.stringify(m.content).length;
    if (size > NEAR) return false;
    if (m.role === "tool" && m.callId === callId) return m.outcome === "ok";
  }
  return false;
}
