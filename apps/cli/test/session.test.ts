/** Which face a session gets, and what cannot have one. */
import { describe, expect, it } from "vitest";
import { UsageError } from "../src/exit.ts";
import type { Io } from "../src/io.ts";
import { sessionArgs } from "../src/options.ts";
import { session } from "../src/session.ts";

describe("--json-schema", () => {
  it("needs an answer to print, which a session in the terminal has not", async () => {
    const io = { stdin: { isTTY: true }, stdout: { isTTY: true } } as Io;
    await expect(session(sessionArgs({ "json-schema": "{}" }), io)).rejects.toThrow(
      new UsageError("--json-schema needs -p: a session in the terminal has no one answer"),
    );
  });
});
