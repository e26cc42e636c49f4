// Throws each time it is called.
import { defineAttachment, definePlugin, z } from "@heddle/kernel/plugin";

export default definePlugin({
  setup: () => ({
    attachments: [
      defineAttachment({
        name: "throws-in-call",
        schema: z.object({}),
        when: "turn",
        collect() {
          throw new TypeError("Cannot read properties of undefined (reading 'mood')");
        },
        render: () => "",
      }),
    ],
  }),
});
