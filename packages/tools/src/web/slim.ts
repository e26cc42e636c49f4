/** Takes out of HTML what no reader sees, before anything costly looks at it. Takes time in proportion to its length, whatever it holds. */

export type Slim = {
  readonly html: string;
  /** As it stands in the page, entities and all. */
  readonly title?: string;
  /** What relative addresses start from, where the page says so. */
  readonly base?: string;
  /** Something of the page is missing at its end. */
  readonly cut: boolean;
};

/** These go with all that is in them. */
const DROPPED: readonly string[] = "script style noscript template svg canvas iframe object audio video select nav title".split(" ");
/** Without an end they take the rest of the page along, as in a browser. */
const RAW: readonly string[] = ["script", "style", "title", "noscript", "template", "iframe"];
/** They end by themselves. */
const FLAT: readonly string[] =
  "area base br col embed hr img input link meta param source track wbr p li dt dd tr td th thead tbody tfoot option".split(" ");
/**
 * Tags within one another; beyond, a tag goes and its text stays. What reads the result calls itself for each, writes what is indented
 * once more for each level, and opens what sets letters anew in each paragraph.
 */
const MAX_DEPTH = 150;
const KINDS: readonly { readonly names: readonly string[]; readonly max: number }[] = [
  { names: ["ul", "ol", "dl", "blockquote", "table"], max: 8 },
  { names: "a b big code em font i nobr s small strike strong tt u".split(" "), max: 6 },
];
const MAX_TAGS = 15_000;
/** Characters of one tag that are not worth keeping: an image within its own address, as a rule. */
const MAX_TAG = 4_000;

/** `limit` in characters of the result. */
export function slim(html: string, limit: number): Slim {
  const parts: string[] = [];
  const open: string[] = [];
  const found: { title?: string; base?: string } = {};
  let size = 0;
  let tagCount = 0;
  /** How many tags of each name have gone, whose ends go too. */
  const beyond = new Map<string, number>();
  const endless = new Set<string>();
  const keep = (text: string): void => {
    parts.push(text.slice(0, Math.max(0, limit - size)));
    size += text.length;
  };
  const tags = /<(?:!--|[!?]|(\/?)([a-zA-Z][\w:-]{0,40}))/g;
  for (let at = 0; at < html.length && size <= limit && tagCount <= MAX_TAGS; ) {
    tags.lastIndex = at;
    const m = tags.exec(html);
    keep(html.slice(at, m?.index));
    if (!m) break;
    const [start, slash, given] = m;
    const name = given?.toLowerCase();
    const mark = start === "<!--" ? "-->" : ">";
    const end = html.indexOf(mark, m.index);
    if (end < 0) break;
    at = end + mark.length;
    if (name === undefined) continue;
    const tag = html.slice(m.index, at);
    const href = name === "base" ? /\bhref\s*=\s*["']?([^"'\s>]+)/i.exec(tag.slice(0, MAX_TAG))?.[1] : undefined;
    if (href !== undefined) found.base ??= href;
    if (slash !== "/" && DROPPED.includes(name)) {
      const close = endless.has(name) ? undefined : closeOf(html, name, at);
      if (close === undefined) endless.add(name);
      if (close !== undefined || RAW.includes(name)) {
        if (name === "title") found.title ??= html.slice(at, close ?? at);
        at = close === undefined ? html.length : afterTag(html, close);
        continue;
      }
    }
    if (!FLAT.includes(name)) {
      if (slash !== "/") {
        if (tooDeep(name, open)) {
          beyond.set(name, (beyond.get(name) ?? 0) + 1);
          continue;
        }
        open.push(name);
      } else {
        const gone = beyond.get(name) ?? 0;
        if (gone > 0) {
          beyond.set(name, gone - 1);
          continue;
        }
        const last = open.lastIndexOf(name);
        if (last < 0) continue;
        for (const inner of open.splice(last + 1).reverse()) keep(`</${inner}>`); // else they would go on, in each other
        open.pop();
      }
    }
    tagCount++;
    keep(tag.length > MAX_TAG ? `<${slash}${name}>` : tag);
  }
  return { html: parts.join(""), cut: size > limit || tagCount > MAX_TAGS, ...found };
}

function tooDeep(name: string, open: readonly string[]): boolean {
  const kind = KINDS.find((k) => k.names.includes(name));
  return open.length >= MAX_DEPTH || (kind !== undefined && open.filter((n) => kind.names.includes(n)).length >= kind.max);
}

function closeOf(html: string, name: string, from: number): number | undefined {
  const close = new RegExp(`</${name}\\b`, "gi");
  close.lastIndex = from;
  return close.exec(html)?.index;
}

function afterTag(html: string, from: number): number {
  const end = html.indexOf(">", from);
  return end < 0 ? html.length : end + 1;
}
