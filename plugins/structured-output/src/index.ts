/** The plugin that makes a turn end with an answer that fits a JSON Schema: a tool that takes it, and a closer that asks for what is missing. */
import { definePlugin, defineTool, z } from "@heddle/kernel/plugin";
import { prompts } from "./prompts.generated.ts";
import { checkOf } from "./schema.ts";
import { CLOSER, RETRIES, standingOf, TOOL } from "./standing.ts";

export { type Check, checkOf, type Schema } from "./schema.ts";
export { RETRIES, type Standing, standingOf } from "./standing.ts";

/** `schema`: a JSON Schema, for a value of any type. */
export const Options = z.strictObject({ schema: z.record(z.string(), z.json()) });

export default definePlugin({
  options: Options,
  setup({ options: { schema } }) {
    const check = checkOf(schema);
    return {
      tools: [
        defineTool({
          name: TOOL,
          description: prompts.answer,
          input: z.json(),
          jsonSchema: schema,
          overlap: "exclusive",
          effects: () => [],
          run(answer) {
            const wrong = check(answer);
            return wrong.length === 0 ? prompts.taken : { isError: true, content: [prompts.wrong, ...wrong].join("\n") };
          },
        }),
      ],
      closers: [
        {
          name: CLOSER,
          close(added) {
            const { value, missed } = standingOf(added);
            return value === undefined && missed < RETRIES ? prompts.missing : undefined;
          },
        },
      ],
    };
  },
});
