// Never answers a call.
import { defineAttachment, definePlugin, z } from "@heddle/kernel/plugin";

export default definePlugin({
  setup: () => ({
    attachments: [
      defineAttachment({
        name: "hangs-in-call",
        deadlineMs: 100,
        schema: z.object({}),
        when: "turn",
        collect: () => new Promise(() => {}),
        render: () => "",
      }),
    ],
  }),
});
