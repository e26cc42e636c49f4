/** Pages of a server, questions with choices, and plan mode, through the program. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { terminal } from "./pty.ts";
import { world } from "./run.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});
async function page(): Promise<string> {
  const server = createServer((_, response) => response.setHeader("content-type", "text/html; charset=shift_jis").end(PAGE));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  ends.push(() => new Promise((resolve) => server.close(() => resolve())));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
const PAGE = Buffer.concat([Buffer.from("<title>A page</title><p>of <b>"), Buffer.from([0x93, 0xfa, 0x96, 0x7b]), Buffer.from("</b></p>")]);

describe("WebFetch", () => {
  it("reads a page of this machine only where the user's settings name the host", async () => {
    const url = await page();
    const script = [{ calls: [{ name: "WebFetch", input: { url } }] }, { text: "Read." }];
    const result = async (...flags: string[]): Promise<string> => {
      const w = await world({ script });
      const ran = await w.run(["-p", "read it", "--allowedTools", "WebFetch", ...flags]);
      expect([ran.code, ran.stdout]).toEqual([0, "Read.\n"]);
      return JSON.stringify(w.server.mainRequests()[1]);
    };
    expect(await result()).toContain("its host is on this machine or a private network");
    expect(await result("--settings", '{"network": {"allowPrivate": ["127.0.0.1"]}}')).toContain(
      "# A page\\\\n\\\\nof **日本**".replaceAll("\\\\", "\\"),
    );
  });
});

describe("in a terminal", () => {
  it("shows a question with its choices, takes a number, and leaves plan mode with the plan in view", async () => {
    const question = { question: "Which one?", options: [{ label: "Left", description: "by the river" }, { label: "Right" }] };
    const script = [
      { calls: [{ name: "AskUserQuestion", input: { questions: [question] } }] },
      { calls: [{ name: "ExitPlanMode", input: { plan: "# Plan\n\n1. go right" } }] },
      { text: "On my way." },
    ];
    const w = await world({ script });
    const t = terminal(w, ["--permission-mode", "plan"]);
    await t.shows(/^>$/m);
    t.type("where to?\r");
    await t.shows(/asks: Which one\?\n {2}1 Left: by the river\n {2}2 Right\nA number, or words of your own\n\?/);
    t.type("2\r");
    await t.shows(
      /# Plan\n\n1\. go right[\s\S]*1 Yes, and accept edits\n {2}2 Yes, in the mode default\n {2}3 No, keep planning\nA number/,
    );
    t.type("1\r");
    await t.shows("On my way.");
    const [, answered, accepted] = w.server.mainRequests().map((r) => JSON.stringify(r));
    expect(answered).toContain(String.raw`\"Which one?\": Right`);
    expect(accepted).toContain("The plan is accepted.");
    t.type("\x04");
    await t.ended;
  });
});
