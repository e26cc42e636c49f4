/** The tool TodoWrite. The list is what its calls say; nothing else is kept. */
import { defineTool, type Tool } from "@heddle/kernel/plugin";
import { prompts } from "../prompts.generated.ts";
import { leanSchema } from "../schema.ts";
import { TODO_WRITE, type Todo, TodoList } from "./todos.ts";

export const todoWriteTool = (): Tool =>
  defineTool({
    name: TODO_WRITE,
    description: prompts["todo-write"],
    input: TodoList,
    jsonSchema: () => leanSchema(TodoList),
    overlap: "exclusive",
    effects: () => [],
    run: ({ todos }) => state(todos),
  });

function state(todos: readonly Todo[]): string {
  if (todos.length === 0) return "The list is empty now.";
  const done = todos.filter((t) => t.status === "completed").length;
  const now = todos.filter((t) => t.status === "in_progress").map((t) => t.content);
  return `Noted: ${done} of ${todos.length} done${now.length > 0 ? `; in progress: ${now.join("; ")}` : ""}.`;
}
