// Answers with something that its own schema does not allow.
import { defineAttachment, definePlugin, z } from "@heddle/kernel/plugin";

export default definePlugin({
  setup: () => ({
    attachments: [
      defineAttachment({
        name: "returns-rubbish",
        schema: z.object({ mood: z.string() }),
        when: "turn",
        collect: () => [{ mood: 42 }],
        render: ({ mood }) => mood,
      }),
    ],
  }),
});
