/** `heddle trust`: says for scripts, and ahead of a session, that a folder is trusted, or no longer. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { allWants, forget, isLasting, remember } from "../config/trust.ts";
import type { Want } from "../config/wants.ts";
import { CliError, EXIT, type ExitCode } from "../exit.ts";
import { wantText } from "../faces/trust-question.ts";
import { type Io, say } from "../io.ts";
import { visible } from "../plain.ts";
import { configOf, trustPlace } from "../plan.ts";

type Ask = { readonly folder?: string; readonly settings?: string; readonly remove: boolean };

const notKept = (error: Error): never => {
  throw new CliError(`trust.json cannot be changed: ${visible(error.message)}`);
};

export async function trust(ask: Ask, io: Io): Promise<ExitCode> {
  const cwd = resolve(io.cwd, ask.folder ?? ".");
  const print = (text: string): void => void io.stdout.write(`${visible(text)}\n`);
  const place = trustPlace({ ...io, cwd });
  if (ask.remove) {
    print(
      (await forget(place).catch(notKept)) ? `${cwd} is trusted no longer.` : `${cwd} was not trusted by heddle trust, nor in a session.`,
    );
    return EXIT.done;
  }
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) throw new CliError(`${visible(cwd)}: there is no such folder`);
  if (!isLasting(place)) throw new CliError(`${visible(cwd)} holds too much to be trusted for good: --trust trusts it for one run`);
  let wants: readonly Want[] = [];
  const { trusted, notices } = await configOf(
    { trust: false, ...(ask.settings === undefined ? {} : { settings: ask.settings }) },
    { ...io, cwd },
    {
      judge: async (files) => {
        wants = allWants(place, files);
        return { trusted: false, rules: new Set(), notices: [] };
      },
    },
  );
  for (const notice of notices) say(io, notice);
  await remember(place, wants, "trust").catch(notKept);
  const what =
    wants.length > 0 ? wants.map((w) => `\n  ${wantText(w)}`).join("") : " nothing yet: what its settings want later is asked for";
  print(trusted ? `${cwd} is trusted by your settings.` : `${cwd} is trusted with${wants.length > 0 ? ":" : ""}${what}`);
  return EXIT.done;
}
