/** The variables that a command may set for itself without becoming another command. */
import type { Word } from "../shell/word.ts";

/** For any program. */
const LOOKS: readonly string[] = "LANG LANGUAGE TZ NO_COLOR COLUMNS LINES CLICOLOR FORCE_COLOR".split(" ");
/** For a program that a rule allows. */
const RULES: readonly string[] =
  "NODE_ENV CI DEBUG RUST_BACKTRACE RUST_LOG PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE GOOS GOARCH CGO_ENABLED TERM".split(" ");

export function isTameVariable({ name, value }: { readonly name: string; readonly value: Word }, forRule: boolean): boolean {
  const known = LOOKS.includes(name) || /^LC_[A-Z]+$/.test(name) || (forRule && RULES.includes(name));
  return known && !value.unknown && /^[\w.,:+@/*-]*$/.test(value.value) && !value.value.includes("..");
}
