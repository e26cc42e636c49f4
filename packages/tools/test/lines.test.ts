import { describe, expect, it } from "vitest";
import { kitOf } from "./support/harness.ts";
import { MemoryFs } from "./support/memory-fs.ts";

describe("lines that came and went", () => {
  it.each<[string, string | undefined, string, object, { added: number; removed: number } | undefined]>([
    ["a new file", undefined, "Write", { content: "a\nb\n" }, { added: 2, removed: 0 }],
    ["a file written over", "a\nb\nc\n", "Write", { content: "a\nx\ny\nc\n" }, { added: 2, removed: 1 }],
    ["nothing written", "a\n", "Write", { content: "a\n" }, undefined],
    ["lines in between that stay", "a\nb\nc\n", "Edit", { old_string: "a\nb\nc", new_string: "A\nb\nC" }, { added: 2, removed: 2 }],
    ["several places", "a\nx\na\nx\n", "Edit", { old_string: "a", new_string: "b\nc", replace_all: true }, { added: 4, removed: 2 }],
    ["a line twice that is left once", "a\nb\na\n", "Edit", { old_string: "a\nb\na", new_string: "b\na" }, { added: 0, removed: 1 }],
    ["a new file by Edit", undefined, "Edit", { old_string: "", new_string: "a\n" }, { added: 1, removed: 0 }],
    ["a refused call", "a\n", "Edit", { old_string: "zzz", new_string: "b" }, undefined],
  ])("%s", async (_, before, tool, input, lines) => {
    const kit = await kitOf({ fs: new MemoryFs(before === undefined ? {} : { "/w/f": before }) });
    if (before !== undefined) await kit.call("Read", { file_path: "f" });
    expect((await kit.call(tool, { file_path: "f", ...input })).lines).toEqual(lines);
  });
});
