/** One line about one plugin, always with its name, version and where it came from. */
import type { Candidate, Problem } from "../types.ts";

export type Report = (candidate: Candidate, stage: Problem["stage"], message: string) => void;

export const problemOf = (c: Candidate, stage: Problem["stage"], message: string): Problem => ({
  plugin: c.id,
  stage,
  message: `plugin "${c.id}"@${c.version} (${c.from}): ${message.replace(/\s*\n\s*/g, " ")}`,
});

export const textOfError = (error: unknown): string => {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return "something that cannot be shown";
  }
};
