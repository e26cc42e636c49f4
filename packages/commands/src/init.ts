/** /init: asks the model for the project's AGENTS.md. */
import type { Command } from "@heddle/kernel/plugin";
import { prompts } from "./prompts.generated.ts";

export const init: Command = {
  name: "init",
  kind: "prompt",
  summary: "Writes or improves AGENTS.md",
  hint: "[what to stress]",
  run(args) {
    const wish = args.trim();
    const text = wish ? `${prompts.init}\n\nThe person adds: ${wish}` : prompts.init;
    return { kind: "prompt", content: [{ type: "text", text }] };
  },
};
