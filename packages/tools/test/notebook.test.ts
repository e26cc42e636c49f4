import type { Images } from "@heddle/kernel/plugin";
import { describe, expect, it } from "vitest";
import { type Kit, kitOf } from "./support/harness.ts";
import { MemoryFs } from "./support/memory-fs.ts";

const code = (id: string, source: string | string[], more: object = {}) => ({
  cell_type: "code",
  execution_count: 1,
  id,
  metadata: {},
  outputs: [],
  source,
  ...more,
});
const notebook = (cells: readonly object[], minor = 5) => ({ cells, metadata: { z: 1.5, a: "é" }, nbformat: 4, nbformat_minor: minor });
const stored = (book: object, indent: number | string = 1): string => `${JSON.stringify(book, null, indent)}\n`;
const BOOK = notebook([
  code("one", ["x = 1\n", "print(x)"], { outputs: [{ output_type: "stream", name: "stdout", text: ["1\n"] }] }),
  { cell_type: "markdown", id: "two", metadata: {}, source: ["# Title"] },
]);

const opened = async (text: string): Promise<{ fs: MemoryFs; kit: Kit }> => {
  const fs = new MemoryFs({ "/w/n.ipynb": text });
  const kit = await kitOf({ fs });
  await kit.call("Read", { file_path: "n.ipynb" });
  return { fs, kit };
};
/** The notebook after an edit, or the error. */
const edited = async (before: string, input: object): Promise<string> => {
  const { fs, kit } = await opened(before);
  const result = await kit.call("NotebookEdit", { notebook_path: "n.ipynb", ...input });
  return result.isError ? `ERROR ${result.text}` : fs.text("/w/n.ipynb");
};

describe("Read of a notebook", () => {
  it("shows cells with ids, sources and outputs", async () => {
    const fs = new MemoryFs({ "/w/n.ipynb": stored(BOOK) });
    expect((await (await kitOf({ fs })).call("Read", { file_path: "n.ipynb" })).text).toBe(
      "n.ipynb has 2 cells. Change them with NotebookEdit.\n[cell one: code, run 1]\nx = 1\nprint(x)\n[output]\n1\n[cell two: markdown]\n# Title\n",
    );
  });

  it("bounds outputs, drops colours, names other data, and gives pictures their place", async () => {
    const images: Images = {
      fit: async (bytes) => ({ width: 2, height: 1, mimeType: "image/png", bytes, was: { width: 2, height: 1, bytes: bytes.length } }),
      size: () => undefined,
    };
    const outputs = [
      { output_type: "error", ename: "E", evalue: "v", traceback: ["\u001b[31mboom\u001b[0m", "at 1"] },
      { output_type: "display_data", data: { "image/png": ["AQ", "ID"], "text/plain": "<Figure>" } },
      { output_type: "execute_result", data: { "text/html": "<b>", "application/json": { a: 1 } } },
      { output_type: "stream", text: "y".repeat(10_000) },
    ];
    const fs = new MemoryFs({ "/w/n.ipynb": stored(notebook([code("a", "plot()", { outputs })])) });
    const { content } = await (await kitOf({ fs, images })).output("Read", { file_path: "n.ipynb" });
    expect(content).toEqual([
      { type: "text", text: "n.ipynb has 1 cell. Change them with NotebookEdit.\n" },
      { type: "text", text: "[cell a: code, run 1]\nplot()\n[output]\nboom\nat 1\n[output]\n<Figure>\n" },
      { type: "image", mimeType: "image/png", data: "AQID" },
      {
        type: "text",
        text: `[output]\n(text/html, application/json)\n[output]\n${"y".repeat(2000)}\n[... 6000 characters ...]\n${"y".repeat(2000)}\n`,
      },
    ]);
    const { text } = await (await kitOf({ fs })).call("Read", { file_path: "n.ipynb" });
    expect(text).toContain("<Figure>\n[image left out: this host has no images]\n[output]");
  });

  it("takes offset and limit for cells, and goes on where it has to stop", async () => {
    const cells = Array.from({ length: 60 }, (_, n) => code(`c${n}`, "x".repeat(3000)));
    const fs = new MemoryFs({ "/w/n.ipynb": stored(notebook(cells)) });
    const kit = await kitOf({ fs });
    const part = (await kit.call("Read", { file_path: "n.ipynb", offset: 3, limit: 1 })).text;
    expect(part).toMatch(/\[cell c2: code, run 1\]\nx+\n\[Cells 3 to 3 of 60\. Go on with offset 4\.\]\n$/);
    expect((await kit.call("Read", { file_path: "n.ipynb" })).text).toMatch(/\[Cells 1 to 33 of 60\. Go on with offset 34\.\]\n$/);
    expect(await kit.call("Read", { file_path: "n.ipynb", offset: 61 })).toMatchObject({ isError: true });
  });

  it("shows what is no notebook as the text that it is", async () => {
    const fs = new MemoryFs({ "/w/n.ipynb": "{ broken" });
    expect((await (await kitOf({ fs })).call("Read", { file_path: "n.ipynb" })).text).toBe("     1\t{ broken");
  });
});

describe("NotebookEdit", () => {
  const expected = (change: (cells: Record<string, unknown>[]) => void, from: typeof BOOK = BOOK): typeof BOOK => {
    const copy = structuredClone(from);
    change(copy.cells as Record<string, unknown>[]);
    return copy;
  };

  it("replaces a source, and drops what the old one has put out", async () => {
    const after = expected(([cell]) => Object.assign(cell!, { execution_count: null, outputs: [], source: ["y = 2\n", "y"] }));
    for (const indent of [1, 2, "\t"])
      expect(await edited(stored(BOOK, indent), { cell_id: "one", new_source: "y = 2\ny" })).toBe(stored(after, indent));
  });

  it("keeps keys, numbers, line ends and a missing last line end as they are written", async () => {
    const odd = `{\r\n  "nbformat_minor": 5,\r\n  "cells": [\r\n    { "source": "a", "cell_type": "raw", "id": "r",   "metadata": {"n": 1.0, "u": "\\u00e9"} }\r\n  ],\r\n  "nbformat": 4\r\n}`;
    expect(await edited(odd, { cell_id: "r", new_source: "b" })).toBe(odd.replace('"a"', '"b"'));
    expect(JSON.parse(await edited(odd, { edit_mode: "insert", cell_id: "r", new_source: "c", cell_type: "raw" }))).toMatchObject({
      cells: [{ id: "r" }, { cell_type: "raw", source: ["c"] }],
    });
  });

  it("changes the type of a cell", async () => {
    const after = expected(([, cell]) => Object.assign(cell!, { cell_type: "code", execution_count: null, outputs: [], source: ["1"] }));
    expect(JSON.parse(await edited(stored(BOOK), { cell_id: "two", new_source: "1", cell_type: "code" }))).toEqual(after);
    const plain = expected(([cell]) => {
      Object.assign(cell!, { cell_type: "markdown", source: ["t"] });
      delete cell!["outputs"];
      delete cell!["execution_count"];
    });
    expect(JSON.parse(await edited(stored(BOOK), { cell_id: "one", new_source: "t", cell_type: "markdown" }))).toEqual(plain);
  });

  it("inserts behind a cell, at the beginning, and into an empty notebook", async () => {
    const fresh = { cell_type: "markdown", id: "cell-1", metadata: {}, source: ["a\n", "b"] };
    const insert = { edit_mode: "insert", new_source: "a\nb", cell_type: "markdown" };
    for (const indent of [1, "\t"]) {
      expect(await edited(stored(BOOK, indent), { ...insert, cell_id: "one" })).toBe(
        stored(
          expected((cells) => void cells.splice(1, 0, fresh)),
          indent,
        ),
      );
      expect(await edited(stored(BOOK, indent), { ...insert, cell_id: "two" })).toBe(
        stored(
          expected((cells) => void cells.push(fresh)),
          indent,
        ),
      );
      expect(await edited(stored(BOOK, indent), insert)).toBe(
        stored(
          expected((cells) => void cells.unshift(fresh)),
          indent,
        ),
      );
      expect(await edited(stored(notebook([]), indent), insert)).toBe(stored(notebook([fresh]), indent));
    }
    expect(await edited(JSON.stringify(BOOK), { ...insert, cell_id: "one" })).toBe(
      JSON.stringify(expected((cells) => void cells.splice(1, 0, fresh))),
    );
  });

  it("gives no ids in a format that has none, and counts cells there", async () => {
    const { id: _one, ...bare } = code("", "1");
    const old = notebook([bare, bare], 4);
    const after = await edited(stored(old), { cell_id: "cell-1", edit_mode: "insert", new_source: "2" });
    const last = { cell_type: "code", execution_count: null, metadata: {}, outputs: [], source: ["2"] };
    expect(after).toBe(stored(notebook([bare, bare, last], 4)));
  });

  it("takes no counted ids after cells have moved, until the notebook is read again", async () => {
    const cells = ["a", "b", "c", "d"].map((source) => ({ cell_type: "raw", metadata: {}, source: [source] }));
    const { fs, kit } = await opened(stored(notebook(cells, 4)));
    const edit = (input: object) => kit.call("NotebookEdit", { notebook_path: "n.ipynb", ...input });
    const sources = () => JSON.parse(fs.text("/w/n.ipynb")).cells.map((cell: { source: string[] }) => cell.source.join(""));
    const moved = (id: string) => ({
      text: `${id} only counts cells, and they may have moved since Read showed them: Read n.ipynb again.`,
      isError: true,
    });
    expect(await edit({ cell_id: "cell-3", new_source: "D" })).toMatchObject({ isError: false });
    expect((await edit({ cell_id: "cell-1", edit_mode: "delete" })).text).toBe(
      "Deleted cell cell-1 in n.ipynb. Cells without ids have moved: Read it again to change more of them.",
    );
    for (const id of ["cell-2", "cell-3"]) expect(await edit({ cell_id: id, new_source: "X" })).toEqual(moved(id));
    expect(await edit({ cell_id: "cell-0", edit_mode: "insert", new_source: "X" })).toEqual(moved("cell-0"));
    expect(sources()).toEqual(["a", "c", "D"]);
    await kit.call("Read", { file_path: "n.ipynb" });
    expect(await edit({ cell_id: "cell-1", new_source: "C" })).toMatchObject({ isError: false });
    expect(await edit({ edit_mode: "insert", cell_type: "raw", new_source: "0" })).toMatchObject({ isError: false });
    expect(await edit({ cell_id: "cell-1", edit_mode: "delete" })).toEqual(moved("cell-1"));
    expect(sources()).toEqual(["0", "a", "C", "D"]);
    await kit.call("Read", { file_path: "n.ipynb" });
    await kit.call("Edit", { file_path: "n.ipynb", old_string: '"C"', new_string: '"c"' });
    expect(await edit({ cell_id: "cell-1", new_source: "X" })).toEqual(moved("cell-1"));
  });

  it("takes a cell's own id before a count, also after cells have moved", async () => {
    const raw = { cell_type: "raw", metadata: {}, source: ["x"] };
    const { fs, kit } = await opened(stored(notebook([raw, raw, { ...raw, id: "cell-1" }, { ...raw, id: "q" }])));
    const edit = (input: object) => kit.call("NotebookEdit", { notebook_path: "n.ipynb", ...input });
    expect(await edit({ cell_id: "q", edit_mode: "delete" })).toMatchObject({ isError: false });
    expect(await edit({ cell_id: "cell-1", new_source: "y" })).toMatchObject({ isError: false });
    expect(await edit({ cell_id: "cell-0", new_source: "y" })).toMatchObject({ isError: true });
    expect(JSON.parse(fs.text("/w/n.ipynb")).cells).toEqual([raw, raw, { ...raw, id: "cell-1", source: ["y"] }]);
  });

  it("deletes first, last and only cells", async () => {
    const [one, two] = BOOK.cells;
    expect(await edited(stored(BOOK), { cell_id: "one", edit_mode: "delete" })).toBe(stored(notebook([two!])));
    expect(await edited(stored(BOOK), { cell_id: "two", edit_mode: "delete" })).toBe(stored(notebook([one!])));
    expect(await edited(stored(notebook([one!])), { cell_id: "one", edit_mode: "delete" })).toBe(stored(notebook([])));
  });

  it("says what it has done, and goes on without another read", async () => {
    const { kit } = await opened(stored(BOOK));
    const edit = (input: object) => kit.call("NotebookEdit", { notebook_path: "n.ipynb", ...input });
    expect(await edit({ cell_id: "one", new_source: "z" })).toEqual({
      text: "Replaced cell one (1 line) in n.ipynb.",
      isError: false,
      lines: { added: 3, removed: 12 },
    });
    expect((await edit({ cell_id: "one", new_source: "z" })).text).toBe("n.ipynb has this already; nothing was written.");
    expect((await edit({ cell_id: "two", edit_mode: "delete" })).text).toBe("Deleted cell two in n.ipynb.");
  });

  it("refuses what it cannot find or read, and leaves the file", async () => {
    expect(await edited(stored(BOOK), { cell_id: "three", new_source: "" })).toBe("ERROR n.ipynb has no cell three. It has one, two.");
    expect(await edited(stored(BOOK), { new_source: "x" })).toBe("ERROR `cell_id` is needed, except to insert at the beginning.");
    expect(await edited("{}", { cell_id: "a" })).toMatch(/is no notebook in the format 4/);
    expect(await edited(stored({ ...BOOK, nbformat: 5 }), { cell_id: "one" })).toMatch(/in format 5/);
    const fs = new MemoryFs({ "/w/n.ipynb": stored(BOOK) });
    const kit = await kitOf({ fs });
    expect((await kit.call("NotebookEdit", { notebook_path: "n.ipynb", cell_id: "one", new_source: "" })).text).toMatch(/not been read/);
    expect((await kit.call("NotebookEdit", { notebook_path: "m.ipynb", cell_id: "one" })).text).toContain("Did you mean n.ipynb?");
    expect(fs.writes).toEqual([]);
  });
});
