import { defineAttachment, definePlugin, defineTool, z } from "@heddle/kernel/plugin";

const Options = z.object({ greeting: z.string().default("Hello") });

export default definePlugin({
  options: Options,
  setup({ options }) {
    const greet = (name) => `${options.greeting}, ${name}!`;
    return {
      commands: [
        {
          name: "greet",
          kind: "local",
          summary: "Greets someone",
          hint: "<name>",
          run: (args) => ({ kind: "handled", show: greet(args.trim() || "world") }),
        },
      ],
      tools: [
        defineTool({
          name: "Greeting",
          description: "Writes the greeting of this house for a person.",
          input: z.object({ name: z.string().min(1).describe("Whom to greet") }),
          overlap: "shared",
          effects: () => [],
          run: ({ name }) => greet(name),
        }),
      ],
      attachments: [
        defineAttachment({
          name: "acme-mood",
          schema: z.object({ mood: z.enum(["calm", "excited"]) }),
          when: "turn",
          collect: (ctx) => [{ mood: ctx.turn.input.text.includes("!") ? "excited" : "calm" }],
          render: ({ mood }) => `The person sounds ${mood}.`,
        }),
      ],
    };
  },
});
