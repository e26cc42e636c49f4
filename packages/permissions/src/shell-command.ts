/** All that the gate asks about one shell command. Loaded, with the grammar, when there is one. */
import { CommandReading, type World } from "./command.ts";
import { type Allowing, type Covered, covered, open } from "./cover.ts";
import { type Forbidden, forbidden } from "./forbid.ts";
import type { Rule } from "./rule.ts";
import { loadGrammar } from "./shell/grammar.ts";
import type { Part } from "./shell/narrow.ts";

export type ShellCommand = {
  readonly reading: CommandReading;
  /** The first rule of the list that forbids the command or may forbid it; a sure one is preferred. */
  forbidden(rules: readonly Rule[]): Promise<Forbidden | undefined>;
  covered(rules: Allowing): Promise<Covered>;
  /** The parts whose program neither a rule nor what is known of it covers. */
  open(rules: Allowing): Promise<readonly Part[]>;
};

export async function readAll(texts: readonly string[], where: Omit<World, "grammar">): Promise<readonly ShellCommand[]> {
  const world = { ...where, grammar: await loadGrammar() };
  return texts.map((text) => {
    const reading = new CommandReading(text, world);
    return {
      reading,
      forbidden: (rules) => forbidden(reading, rules),
      covered: (rules) => covered(reading, rules),
      open: (rules) => open(reading, rules),
    };
  });
}
