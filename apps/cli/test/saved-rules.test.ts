/** Rules that are saved in a settings file, and checksums of what is trusted. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { LOCAL_SETTINGS } from "../src/config/home.ts";
import { saveRules, withRules } from "../src/config/save-rules.ts";
import { sealOf } from "../src/config/seal.ts";
import { idOf, wantsOf } from "../src/config/wants.ts";

const made: string[] = [];
afterEach(() => {
  for (const dir of made.splice(0)) rmSync(dir, { recursive: true });
});
function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), "heddle-saved-"));
  made.push(dir);
  return dir;
}
const allowed = (dir: string): unknown => JSON.parse(readFileSync(join(dir, LOCAL_SETTINGS), "utf8")).permissions.allow;

describe("saved rules", () => {
  it("leave all else in the file as it is, and stand there once", () => {
    const before = '{\n  // why\n  "permissions": {\n    "deny": ["Read(.env)"], // never\n    "allow": ["A"]\n  }\n}\n';
    expect(withRules(before, ["A", "B", "B"])).toBe(before.replace('["A"]', '[\n      "A",\n      "B"\n    ]'));
    expect(withRules(undefined, ["A"])).toBe('{\n  "permissions": {\n    "allow": [\n      "A"\n    ]\n  }\n}\n');
  });
  it.each(["{", "[]", '{"permissions": []}', '{"permissions": {"allow": "A"}}', '{"a": 1} x'])("are not written into %s", (text) => {
    expect(() => withRules(text, ["A"])).toThrow(/correct it first/);
  });
  it("of many that save at once are all there, and nothing is left behind", async () => {
    const dir = folder();
    const names = Array.from({ length: 20 }, (_, i) => `Bash(make t${i})`);
    await Promise.all(names.map((name) => saveRules(dir, [name])));
    expect([...(allowed(dir) as string[])].sort()).toEqual([...names].sort());
    expect(readdirSync(join(dir, ".heddle"))).toEqual(["settings.local.json"]);
  });
  it("pass a lock that somebody left", async () => {
    const dir = folder();
    mkdirSync(join(dir, ".heddle"));
    const lock = join(dir, `${LOCAL_SETTINGS}.lock`);
    writeFileSync(lock, "");
    utimesSync(lock, 1, 1);
    await saveRules(dir, ["A"]);
    expect(allowed(dir)).toEqual(["A"]);
  });
  it("follow no link", async () => {
    const dir = folder();
    mkdirSync(join(dir, ".heddle"));
    writeFileSync(join(dir, "target"), "{}");
    symlinkSync(join(dir, "target"), join(dir, LOCAL_SETTINGS));
    await expect(saveRules(dir, ["A"])).rejects.toThrow("is a link");
    expect(readFileSync(join(dir, "target"), "utf8")).toBe("{}");
  });
});

describe("what needs trust", () => {
  it("is a list, in which a plugin is known by its code", () => {
    const dir = folder();
    mkdirSync(join(dir, "node_modules", "pkg"), { recursive: true });
    writeFileSync(join(dir, "node_modules", "pkg", "i.js"), "1");
    const settings = {
      permissions: { allow: ["Bash"], additionalDirectories: ["/etc"], deny: ["Read"] },
      plugins: ["pkg", { path: "./none" }],
      disabledPlugins: ["x"],
      recovery: { retries: 1 },
      model: "m",
    };
    const wants = () => wantsOf(settings, "f", dir, "/home/u");
    const before = wants();
    const pkg = sealOf(join(dir, "node_modules", "pkg"));
    expect(before).toEqual([
      { kind: "rule", value: "Bash", from: "f" },
      { kind: "directory", value: "/etc", from: "f" },
      { kind: "plugin", value: "pkg", from: "f", seal: pkg },
      { kind: "plugin", value: '{"path":"./none"}', from: "f", seal: sealOf("/does/not/exist") },
      { kind: "without", value: "x", from: "f" },
      { kind: "recovery", value: '{"retries":1}', from: "f" },
    ]);
    writeFileSync(join(dir, "node_modules", "pkg", "i.js"), "2");
    expect(
      wants()
        .map(idOf)
        .filter((id) => !before.map(idOf).includes(id)).length,
    ).toBe(1);
  });
  it("has a checksum that every change shows, round a loop of links too", () => {
    const dir = folder();
    const seen = [sealOf(dir)];
    const changed = (): void => void seen.push(sealOf(dir));
    writeFileSync(join(dir, "a"), "1");
    changed();
    writeFileSync(join(dir, "b"), "");
    changed();
    mkdirSync(join(dir, "c"));
    changed();
    symlinkSync(dir, join(dir, "c", "loop"));
    changed();
    symlinkSync(join(dir, "self"), join(dir, "self"));
    symlinkSync(join(dir, "nowhere"), join(dir, "dangling"));
    changed();
    writeFileSync(join(dir, "a"), "2");
    changed();
    expect(new Set(seen).size).toBe(7);
    expect(sealOf(dir)).toBe(seen.at(-1));
  });
});
