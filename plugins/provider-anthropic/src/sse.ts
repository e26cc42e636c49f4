/** Server-sent events out of the bytes of a response, by the rules of the HTML standard. */

export type SseEvent = { readonly event: string; readonly data: string };

/** `push` takes bytes cut anywhere and gives the events that are complete; `end` gives one that lacks its closing blank line. */
export type SseDecoder = { push(bytes: Uint8Array): SseEvent[]; end(): SseEvent[] };

export function sseDecoder(): SseDecoder {
  const decoder = new TextDecoder();
  let rest = "";
  let event = "";
  let data: string[] = [];

  const take = (line: string, out: SseEvent[]): void => {
    if (line === "") {
      if (event !== "" || data.length > 0) out.push({ event, data: data.join("\n") });
      event = "";
      data = [];
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") event = value;
    else if (field === "data") data.push(value);
  };
  const read = (text: string, last: boolean): SseEvent[] => {
    const out: SseEvent[] = [];
    rest += text;
    if (!last && !/[\r\n]/.test(text) && !rest.endsWith("\r")) return out;
    const ends = /\r\n|\n|\r/g;
    let start = 0;
    for (let end = ends.exec(rest); end; end = ends.exec(rest)) {
      if (end[0] === "\r" && ends.lastIndex === rest.length && !last) break; // its \n may come with the next bytes
      take(rest.slice(start, end.index), out);
      start = ends.lastIndex;
    }
    rest = rest.slice(start);
    return out;
  };
  return {
    push: (bytes) => read(decoder.decode(bytes, { stream: true }), false),
    end() {
      const out = read(decoder.decode(), true);
      if (rest !== "") take(rest, out);
      take("", out);
      return out;
    },
  };
}
