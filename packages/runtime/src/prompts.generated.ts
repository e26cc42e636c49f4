// Made by scripts/prompts.mjs from the .md files of this folder. Edit those.
export const prompts = {
  "continue": "Continue.",
  "cut-off": "The connection broke and the reply was cut off. Resume directly where it stopped.",
  "empty": "The reply was empty. Give visible output: an answer, or a tool call.",
  "output-limit": "The reply was cut off at the output limit. Resume directly where it stopped, without an apology or a recap.",
  "refused": "A safety filter stopped the reply. Answer again, and leave out what it may have objected to.",
  "write-less": "the output limit was hit, so write less per call",
} as const;
