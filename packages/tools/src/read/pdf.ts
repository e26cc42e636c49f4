/** The text of a PDF, page by page. */
import { Refusal } from "../answer.ts";
import { headOf } from "../text.ts";

/** Without `pages` no more than so many are read. */
const UNASKED = 10;
const MOST = 20;
/** Characters of one page. */
const MAX_PAGE = 20_000;

/** Throws {@link Refusal} for what cannot be read, and for pages that are not there. */
export async function pdfText(name: string, bytes: Uint8Array, pages: string | undefined, signal: AbortSignal): Promise<string> {
  const { getDocumentProxy } = await import("unpdf");
  const pdf = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 }).catch((error: unknown) => {
    throw new Refusal(unreadable(name, error));
  });
  try {
    const [first, last] = range(name, pages, pdf.numPages);
    const shown: string[] = [`${name} has ${pdf.numPages} page${pdf.numPages === 1 ? "" : "s"}.`];
    for (let n = first; n <= last; n++) {
      signal.throwIfAborted();
      shown.push(`[page ${n}]`, await pageText(pdf, n));
    }
    return shown.join("\n");
  } finally {
    await pdf.loadingTask.destroy();
  }
}

type Pdf = { getPage(n: number): Promise<{ getTextContent(): Promise<{ items: readonly object[] }> }> };

async function pageText(pdf: Pdf, n: number): Promise<string> {
  try {
    const { items } = await (await pdf.getPage(n)).getTextContent();
    const text = items.map((it) => ("str" in it ? `${it.str}${"hasEOL" in it && it.hasEOL ? "\n" : ""}` : "")).join("");
    const clean = text.replace(/[ \t]+\n/g, "\n").trim();
    if (clean === "") return "(no text: perhaps a picture)";
    return clean.length > MAX_PAGE ? `${headOf(clean, MAX_PAGE)} [... ${clean.length - MAX_PAGE} more characters]` : clean;
  } catch (error) {
    return `(this page cannot be read: ${wordsOf(error)})`;
  }
}

function range(name: string, pages: string | undefined, count: number): readonly [number, number] {
  if (pages === undefined) {
    if (count <= UNASKED) return [1, count];
    throw new Refusal(`${name} has ${count} pages. Say which to read, at most ${MOST} at once, such as pages "1-${UNASKED}".`);
  }
  const match = /^\s*(\d{1,9})\s*(?:(-)\s*(\d{1,9})?\s*)?$/.exec(pages);
  const first = Number(match?.[1] ?? 0);
  const last = match?.[2] === undefined ? first : Math.min(count, Number(match[3] ?? count));
  if (match && first > count) throw new Refusal(`${name} has only ${count} page${count === 1 ? "" : "s"}.`);
  if (first < 1 || last < first) throw new Refusal(`pages "${pages}" is no page or range of pages; write it as "3" or "1-5".`);
  if (last - first >= MOST) throw new Refusal(`pages "${pages}" are ${last - first + 1} pages; at most ${MOST} are read at once.`);
  return [first, last];
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");

function unreadable(name: string, error: unknown): string {
  if (error instanceof Error && error.name === "PasswordException")
    return `${name} is encrypted and needs a password. Ask for one, and decrypt a copy, for example with qpdf in Bash.`;
  return `${name} is damaged and cannot be read as a PDF (${wordsOf(error)}). Try pdftotext or qpdf in Bash, or ask for another copy.`;
}
