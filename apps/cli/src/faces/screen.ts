/** A terminal with running text above and one line to type on below it. */
import { clearScreenDown, createInterface, cursorTo, type Interface, moveCursor } from "node:readline";
import { plain } from "../plain.ts";
import { width, wrap } from "./width.ts";

export type Tone = "plain" | "dim" | "bold" | "error";
const SGR: { readonly [T in Tone]: string } = { plain: "", dim: "\x1b[2m", bold: "\x1b[1m", error: "\x1b[31m" };
const PASTE_ON = "\x1b[?2004h";
const PASTE_OFF = "\x1b[?2004l";

export type ScreenEvents = {
  /** What was typed and sent; pasted lines come as one text. */
  line(text: string): void;
  /** Ctrl-C; `draft` is what is typed and not sent. */
  interrupt(draft: string): void;
  close(): void;
};

/** Only text that went through {@link plain} is written. */
export class Screen {
  readonly #out: NodeJS.WriteStream;
  readonly #rl: Interface;
  readonly #color: boolean;
  #partial = "";
  #shown = false;
  #pasting = false;
  /** Lines above the one that is typed on, which belong to the same text. */
  #pasted: string[] = [];
  #closed = false;

  constructor(input: NodeJS.ReadStream, output: NodeJS.WriteStream, color: boolean, on: ScreenEvents) {
    this.#out = output;
    this.#color = color;
    this.#rl = createInterface({ input, output, terminal: true, historySize: 200, removeHistoryDuplicates: true });
    output.write(PASTE_ON);
    input.on("keypress", (_text: string | undefined, key: { name?: string } | undefined) => {
      if (key?.name === "paste-start") this.#pasting = true;
      if (key?.name === "paste-end") this.#pasting = false;
    });
    this.#rl.on("line", (line) => {
      this.#pasted.push(line);
      if (this.#pasting) return;
      const text = this.#pasted.join("\n");
      this.#settle();
      on.line(text);
    });
    this.#rl.on("SIGINT", () => on.interrupt([...this.#pasted, this.#rl.line].join("\n")));
    this.#rl.on("close", () => {
      if (this.#shown && !this.#closed) output.write("\n");
      this.#closed = true;
      on.close();
    });
  }

  /** What stands before the line that is typed on. */
  prompt(text: string): void {
    if (this.#closed) return;
    this.#hide();
    this.#rl.setPrompt(text);
    this.#show();
  }
  /** Replaces what is typed but not sent; returns what was there. */
  draft(text: string): string {
    const was = this.typed;
    const lines = text.split("\n");
    const last = lines.pop()!;
    const shown = this.#shown;
    this.#hide();
    this.#pasted = lines;
    if (shown) this.#show();
    this.#rl.write(null, { ctrl: true, name: "e" });
    this.#rl.write(null, { ctrl: true, name: "u" });
    if (last !== "") this.#rl.write(last);
    return was;
  }
  /** What is typed and not sent. */
  get typed(): string {
    return [...this.#pasted, this.#rl.line].join("\n");
  }
  /** Running text, as it comes. */
  stream(text: string): void {
    this.#hide();
    const lines = `${this.#partial}${plain(text)}`.split("\n");
    this.#partial = lines.pop()!;
    for (const line of lines) this.#rows(line, "plain");
    const rows = wrap(this.#partial, this.#columns());
    this.#partial = rows.pop()!;
    for (const row of rows) this.#row(row, "plain");
    this.#show();
  }
  /** Whole lines; ends running text first. */
  print(text: string, tone: Tone = "plain"): void {
    this.#hide();
    this.#flush();
    for (const line of plain(text).split("\n")) this.#rows(line, tone);
    this.#show();
  }
  /** Whole lines above running text, which goes on below them. */
  note(text: string, tone: Tone = "plain"): void {
    this.#hide();
    for (const line of plain(text).split("\n")) this.#rows(line, tone);
    this.#show();
  }
  /** Ends running text. */
  end(): void {
    if (this.#partial !== "") this.print("");
  }
  /** Nothing is shown after this but what is printed. */
  close(): void {
    if (!this.#closed) {
      this.#hide();
      this.#closed = true;
      this.#rl.close();
    }
    this.#flush();
    this.#out.write(PASTE_OFF);
  }

  #width(): number {
    return this.#out.columns ?? 80;
  }
  #columns(): number {
    return Math.max(20, this.#width() - 1);
  }
  /** What was typed stays where it is, unless it stands below a row that is not full: then it goes above it. */
  #settle(): void {
    const typed = this.#typed();
    this.#pasted = [];
    this.#shown = false;
    if (this.#partial === "") return;
    this.#erase(this.#rowsOf(typed) + 1);
    for (const line of typed) this.#rows(line, "plain");
  }
  /** The lines of `#pasted` as they stand on the screen. */
  #typed(): string[] {
    return this.#pasted.map((line, i) => plain(i === 0 ? this.#rl.getPrompt() + line : line));
  }
  #rowsOf(lines: readonly string[]): number {
    return lines.reduce((n, line) => n + Math.floor(width(line) / this.#width()) + 1, 0);
  }
  #erase(up: number): void {
    if (up > 0) moveCursor(this.#out, 0, -up);
    cursorTo(this.#out, 0);
    clearScreenDown(this.#out);
  }
  #rows(line: string, tone: Tone): void {
    for (const row of wrap(line, this.#columns())) this.#row(row, tone);
  }
  #row(row: string, tone: Tone): void {
    this.#out.write(this.#color && tone !== "plain" && row !== "" ? `${SGR[tone]}${row}\x1b[0m\n` : `${row}\n`);
  }
  #flush(): void {
    if (this.#partial !== "") this.#row(this.#partial, "plain");
    this.#partial = "";
  }
  #hide(): void {
    if (!this.#shown || this.#closed) return;
    this.#erase(this.#rl.getCursorPos().rows + this.#rowsOf(this.#typed()) + (this.#partial === "" ? 0 : 1));
    this.#shown = false;
  }
  #show(): void {
    if (this.#closed) return;
    if (this.#partial !== "") this.#out.write(`${this.#partial}${width(this.#partial) > this.#columns() ? "" : "\n"}`);
    for (const line of this.#typed()) this.#out.write(`${line}\n`);
    // readline believes that its line is where it drew it last.
    (this.#rl as { prevRows?: number }).prevRows = 0;
    this.#rl.prompt(true);
    this.#shown = true;
  }
}
