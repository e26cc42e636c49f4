/** The to-do list of a session, as its history tells it: so it is the same after a resume and a compaction. */
import { callsOf, type Message, type Service, service, z } from "@heddle/kernel/plugin";
import { lenient } from "../input.ts";

export const TODO_WRITE = "TodoWrite";

const Todo = z.object({
  content: z.string().trim().min(1),
  status: z.enum(["pending", "in_progress", "completed"]),
  /** What to call it while it is worked on. */
  activeForm: z.string().optional(),
});
export type Todo = Readonly<z.output<typeof Todo>>;
export const TodoList = lenient({ todos: z.array(Todo) });

/** `of` gives the list of a history; empty where there is none. */
export const TODOS: Service<{ of(messages: readonly Message[]): readonly Todo[] }> = service("heddle.todos");

/** What the last call that went through has said. */
export function todosOf(messages: readonly Message[]): readonly Todo[] {
  const taken = new Set<string>();
  for (const message of [...messages].reverse()) {
    if (message.role === "tool" && message.tool === TODO_WRITE && message.outcome === "ok") taken.add(message.callId);
    if (message.role !== "assistant" || taken.size === 0) continue;
    const call = callsOf(message).findLast((c) => taken.has(c.callId));
    const list = TodoList.safeParse(call?.input);
    if (list.success) return list.data.todos;
  }
  return [];
}
