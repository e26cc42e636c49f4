/** Every tool call needs exactly one result, at the head of the very next user turn. */

import { type PlacedBlock, type Turn, turnsOf } from "./conversation.ts";
import type { JsonObject } from "./json.ts";
import { refuse } from "./refusal.ts";

const typed = (blocks: readonly PlacedBlock[], type: string) => blocks.filter(({ block }) => block["type"] === type);

function leadingResults(turn: Turn | undefined): Set<unknown> {
  const answered = new Set<unknown>();
  for (const { block } of turn?.role === "user" ? turn.blocks : []) {
    if (block["type"] !== "tool_result") break;
    answered.add(block["tool_use_id"]);
  }
  return answered;
}

function checkAnswered(turns: readonly Turn[]): void {
  turns.forEach((turn, t) => {
    if (turn.role !== "assistant") return;
    const answered = leadingResults(turns[t + 1]);
    const open = typed(turn.blocks, "tool_use")
      .map(({ block }) => block["id"])
      .filter((id) => !answered.has(id));
    if (open.length > 0) {
      refuse(
        `messages.${turn.lastMessage}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
    }
  });
}

function checkAsked(turns: readonly Turn[]): void {
  turns.forEach((turn, t) => {
    const before = turns[t - 1];
    const asked = new Set(before ? typed(before.blocks, "tool_use").map(({ block }) => block["id"]) : []);
    for (const { block, path } of typed(turn.blocks, "tool_result")) {
      if (asked.has(block["tool_use_id"])) continue;
      refuse(
        `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${block["tool_use_id"]}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      );
    }
  });
}

function checkSingle(turns: readonly Turn[]): void {
  for (const turn of turns) {
    const seen = new Set<unknown>();
    for (const { block, path } of typed(turn.blocks, "tool_result")) {
      const id = block["tool_use_id"];
      if (seen.has(id)) refuse(`${path}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`);
      seen.add(id);
    }
  }
}

function checkUnique(turns: readonly Turn[]): void {
  const seen = new Set<unknown>();
  for (const turn of turns) {
    for (const { block, path } of typed(turn.blocks, "tool_use")) {
      if (seen.has(block["id"])) refuse(`${path}: \`tool_use\` ids must be unique`);
      seen.add(block["id"]);
    }
  }
}

export function checkPairing(body: JsonObject): void {
  const turns = turnsOf(body);
  checkAnswered(turns);
  checkAsked(turns);
  checkSingle(turns);
  checkUnique(turns);
}
