import { describe, expect, it } from "vitest";
import { answering, called } from "./support/turn.ts";

const options = [{ label: "SQLite", description: "a file" }, { label: "Postgres" }];
const which = { question: "Which database?", header: "Database", options };
const what = { question: "What shall it do?", options: [{ label: "Read" }, { label: "Write" }, { label: "Sync" }], multiSelect: true };
const ask = (...questions: readonly unknown[]) => [{ tool: "AskUserQuestion", input: { questions } }];

describe("AskUserQuestion", () => {
  it("asks one question after the other, and tells what was chosen", async () => {
    const { results, asks } = await called(ask(which, what), { answers: answering("SQLite: a file", "1, 3") });
    expect(asks.map((a) => (a.kind === "question" ? { text: a.text, choices: a.choices } : a))).toEqual([
      { text: "Database: Which database?", choices: ["SQLite: a file", "Postgres"] },
      { text: "What shall it do? (several: their numbers, with commas)", choices: ["Read", "Write", "Sync"] },
    ]);
    expect(results).toEqual(['ok: The person has answered:\n"Which database?": SQLite\n"What shall it do?": Read, Sync']);
  });

  it.each([
    ["2", "Postgres"],
    ["Postgres", "Postgres"],
    ["9", "9"],
    ["neither: use files", "neither: use files"],
    ["1, 2", "1, 2"],
  ])("takes %s for an answer to a single choice", async (said, meant) => {
    const { results } = await called(ask(which), { answers: answering(said) });
    expect(results).toEqual([`ok: The person has answered:\n"Which database?": ${meant}`]);
  });

  it.each([
    ["Write", "Write"],
    ["2", "Write"],
    ["1 3,3", "Read, Sync"],
    ["1 and more", "1 and more"],
    ["1, 7", "1, 7"],
  ])("takes %s for an answer to a choice of several", async (said, meant) => {
    const { results } = await called(ask(what), { answers: answering(said) });
    expect(results).toEqual([`ok: The person has answered:\n"What shall it do?": ${meant}`]);
  });

  it("asks no more once the person declines", async () => {
    const { results, asks } = await called(ask(which, what), { answers: () => ({ kind: "deny", reason: "not now" }) });
    expect(results).toEqual(['ok: "Which database?": not answered: not now\nThe person does not want to be asked more now.']);
    expect(asks).toHaveLength(1);
  });

  it("says that nobody can answer where nobody can", async () => {
    const { results, asks } = await called(ask(which), { headless: true });
    expect(results).toEqual([expect.stringMatching(/Nobody can answer here|There is no tool "AskUserQuestion"/)]);
    expect(asks).toEqual([]);
  });

  it("wants one to four questions of two to four options", async () => {
    const { results } = await called([
      ...ask(),
      ...ask({ ...which, options: [{ label: "only" }] }),
      ...ask(which, which, which, which, which),
    ]);
    expect(results.map((r) => /error: .*(questions[\w.]*): /.exec(r)?.[1])).toEqual(["questions", "questions.0.options", "questions"]);
  });
});
