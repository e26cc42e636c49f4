// Blocks the thread with a loop, so that no timer of its process can fire.
import { defineAttachment, definePlugin, z } from "@heddle/kernel/plugin";

export default definePlugin({
  setup: () => ({
    attachments: [
      defineAttachment({
        name: "loops",
        schema: z.object({}),
        when: "turn",
        collect() {
          for (;;);
        },
        render: () => "",
      }),
    ],
  }),
});
