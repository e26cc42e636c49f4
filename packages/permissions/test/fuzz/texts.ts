/** Random shell text that would leave a mark if it did more than it seems to. */

/** Numbers below 1, the same for the same seed. */
export function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What leaves the mark: each of them makes or changes a file when it runs. */
const MARKS = ["touch MARK", "touch MARK", ">MARK", "tee MARK", "cp a.txt MARK", "./mark.sh", "sort -o MARK a.txt", "eval touch MARK"];

/** Each set holds what parsers of one kind of text have been seen to differ on. */
const SETS: readonly (readonly string[])[] = [
  "ls¦cat a.txt¦\\ ¦#¦ # ¦\\¦\n¦;¦&¦|¦ ¦\t¦'¦\"¦x¦&&¦||¦\\\n¦\\#¦!¦~¦$¦a#b¦=¦==",
  "cat¦ls¦<<X¦<<-X¦<<'X'¦<<\"X\"¦<<\\X¦\nX\n¦\n\tX\n¦\nX¦X¦\n¦ ¦<<Y¦\nY\n¦;¦&&¦|¦body¦#¦\\¦'¦<<<¦>/dev/null¦\nX \n¦<<''¦\n\n¦$(¦)",
  "echo¦ls¦'¦\"¦$'¦\\'¦\\\"¦\\\\¦`¦\\`¦\n¦;¦a¦ ¦$¦#¦''¦\"\"¦$\"¦&¦|¦\\x27¦\\n¦\\\n¦{¦}¦*¦$(¦)¦${¦HOME¦$HOME¦$x¦[¦]¦,¦..",
  "ls¦true¦case x in¦ x)¦ *)¦(x)¦;;¦ esac¦\n¦;¦ ¦if¦then¦else¦elif¦fi¦while¦until¦do¦done¦for x in a¦((¦))¦[[¦]]¦{¦}¦(¦)¦time¦!¦&&¦||¦|¦&¦-p¦function f¦coproc¦f()¦break",
  "ls¦cat a.txt¦>/dev/null¦>&2¦2>&1¦<&0¦0<&-¦>&-¦&>/dev/null¦|&¦ ¦\n¦;¦{a}>/dev/null¦3>&1¦<¦<<<¦a.txt¦'b'¦&¦|¦12¦2¦>¦/dev/null¦1¦\\¦x1>&2¦-¦<(ls)¦>|¦<>",
  "find .¦grep¦sort¦sed¦xargs¦env¦timeout 2¦nice¦command¦-n¦-e¦p¦1p¦s/a/b/¦w MARK¦-o¦-exec¦-delete¦{}¦+¦\\;¦a.txt¦*¦-i¦--¦ ¦|¦A=1 ¦LC_ALL=C ¦'¦uniq¦MARK¦printf¦-v¦%n¦test¦[¦]¦-eq¦a[$(touch MARK)]",
].map((set) => set.split("¦"));
/** Texts that are taken for harmless as they are, to be changed a little. */
const SEEDS = [
  "ls -la | head -3 && cat a.txt 2>/dev/null",
  "cat <<'EOF'\n$(x) `y`\nEOF\nls",
  "for f in a b; do ls; done > /dev/null",
  "if [ -f a.txt ]; then echo \"yes\" 'no'; else pwd; fi",
  "(cd sub && ls) # there\npwd",
  'echo "it\'s $(pwd)" \\\n  a\\ b',
  "printf '%s\\n' $'a\\tb' | sort | uniq -c",
  "find . -name '*.txt' -print | wc -l",
  "sed -n '1,2p' a.txt; timeout 1 cat a.txt",
];

export function randomText(next: () => number): string {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)]!;
  const set = pick(SETS);
  if (next() < 0.25) {
    let text = pick(SEEDS);
    for (let n = 1 + Math.floor(next() * 3); n > 0; n--) {
      const at = Math.floor(next() * (text.length + 1));
      const piece = next() < 0.4 ? pick(MARKS) : pick(set);
      text = text.slice(0, at) + piece + text.slice(at + (next() < 0.4 ? Math.floor(next() * 4) : 0));
    }
    return text;
  }
  const pieces = Array.from({ length: 2 + Math.floor(next() * 8) }, () => pick(set));
  pieces.splice(Math.floor(next() * (pieces.length + 1)), 0, pick(MARKS));
  return (next() < 0.7 ? "ls " : "") + pieces.join(next() < 0.3 ? " " : "");
}

const LETTERS = "a¦b¦ ¦'¦\"¦\\¦$¦#¦=¦\t¦$'¦\\n¦\\'¦~¦é¦{¦}¦,¦*¦!¦-¦\\\n¦^¦%¦[¦]¦.".split("¦");
/** The arguments of a command, in any quoting. */
export const randomWords = (next: () => number): string =>
  Array.from({ length: 1 + Math.floor(next() * 9) }, () => LETTERS[Math.floor(next() * LETTERS.length)]!).join("");
