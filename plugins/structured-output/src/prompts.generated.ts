// Made by scripts/prompts.mjs from the .md files of this folder. Edit those.
export const prompts = {
  "answer": "Gives your final answer in the form that was asked for. When the work is done, call it once with the whole answer; text beside it is not read.",
  "missing": "Your answer has not been given yet: call StructuredOutput with it. Only what it takes counts, whatever you wrote as text.",
  "taken": "Taken. End your turn with one short sentence.",
  "wrong": "Not taken, because it does not fit the schema. Call StructuredOutput again with the whole answer, corrected:",
} as const;
