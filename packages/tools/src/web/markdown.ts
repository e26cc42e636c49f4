/** HTML as Markdown. */
import type Service from "turndown";
import { slim } from "./slim.ts";

export type Converted = { readonly text: string; readonly cut: boolean };

/** Characters of HTML, after what nobody sees is out of it: so much takes about a second. */
const MAX_HTML = 250_000;

/** `url`: where the page is from, so that its links become absolute. */
export async function markdownOf(page: string, url: URL): Promise<Converted> {
  const { html, title, base, cut } = slim(page, MAX_HTML);
  const from = base !== undefined && URL.canParse(base, url.href) ? new URL(base, url) : url;
  const { default: Turndown } = await import("turndown");
  const service = new Turndown({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-", hr: "---" });
  const absolute = (href: string | null): string | undefined => {
    const target = href !== null && !href.startsWith("#") && URL.canParse(href, from.href) ? new URL(href, from) : undefined;
    return target && /^(https?|mailto):$/.test(target.protocol) ? target.href.replace(/[()]/g, encodeParenthesis) : undefined;
  };
  const rule: AddRule = (name, applies, write) => {
    // its types know no DOM here
    const [filter, replacement] = [applies, write] as unknown as [Service.FilterFunction, Service.ReplacementFunction];
    service.addRule(name, { filter, replacement });
  };
  rule("link", named("A"), (content, a) => {
    const href = absolute(a.getAttribute("href"));
    const text = oneLine(content);
    return href === undefined || text === "" ? content : `[${text}](${href})`;
  });
  rule("picture", named("IMG"), (_, image) => {
    const alt = oneLine(image.getAttribute("alt") ?? "");
    const src = absolute(image.getAttribute("src"));
    return alt && src ? `![${alt}](${src})` : "";
  });
  rule("struck", named("DEL", "S", "STRIKE"), (content) => `~~${content}~~`);
  rule(
    "task",
    (node) => node.nodeName === "INPUT" && node.getAttribute("type") === "checkbox",
    (_, box) => (box.getAttribute("checked") === null ? "[ ] " : "[x] "),
  );
  const numbers = new WeakMap<Element, number>();
  rule("item", named("LI"), (content, { parentNode: list }) => {
    const number = list?.nodeName === "OL" ? (numbers.get(list) ?? Number(list.getAttribute("start") ?? 1)) : undefined;
    if (list && number !== undefined) numbers.set(list, number + 1);
    return `${number === undefined ? "-" : `${number}.`} ${content.trim().replaceAll("\n", "\n  ")}\n`;
  });
  addTables(rule);
  const heading = title === undefined ? "" : oneLine(plain(title));
  let body: string;
  try {
    body = service.turndown(html);
  } catch {
    body = plain(html); // it goes too deep for whatever calls itself for each level
  }
  return { text: [heading && `# ${heading}`, body.trim()].filter(Boolean).join("\n\n"), cut };
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim();
const encodeParenthesis = (c: string): string => (c === "(" ? "%28" : "%29");

/** Of a DOM, what the rules look at. */
type Element = {
  readonly nodeName: string;
  readonly parentNode: Element | null;
  getAttribute(name: string): string | null;
  getElementsByTagName(name: string): { readonly length: number };
};
type AddRule = (name: string, applies: (node: Element) => boolean, write: (content: string, node: Element) => string) => void;
const named =
  (...names: readonly string[]) =>
  (node: Element): boolean =>
    names.includes(node.nodeName);

/** Only a table without another in it is one for the reader; the others lay out the page. */
function addTables(rule: AddRule): void {
  const known = new WeakMap<Element, boolean>();
  const isData = (node: Element): boolean => {
    let table: Element | null = node;
    while (table && table.nodeName !== "TABLE") table = table.parentNode;
    if (!table) return false;
    const data = known.get(table) ?? table.getElementsByTagName("table").length === 0;
    known.set(table, data);
    return data;
  };
  const within = (...names: readonly string[]) => {
    const is = named(...names);
    return (node: Element): boolean => is(node) && isData(node);
  };
  rule("cell", within("TD", "TH"), (content) => ` ${oneLine(content).replaceAll("|", "\\|")} |`);
  rule("row", within("TR"), (content) => (content.trim() === "" ? "" : `\n|${content}`));
  rule("rows", within("THEAD", "TBODY", "TFOOT"), (content) => content);
  rule("table", within("TABLE"), (content) => {
    const [first = "", ...rows] = content.trim().split("\n");
    const line = first.replace(/(?:\\\||[^|])+/g, " --- ");
    return `\n\n${(first.startsWith("|") ? [first, line, ...rows] : [first, ...rows]).join("\n")}\n\n`;
  });
}

const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** The text alone. */
function plain(html: string): string {
  return html
    .replace(/<[^<>]*>/g, " ")
    .replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]+));/gi, (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return NAMED[name.toLowerCase()] ?? whole;
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    })
    .replace(/\s+/g, (blank) => (blank.includes("\n") ? "\n" : " "))
    .trim();
}
