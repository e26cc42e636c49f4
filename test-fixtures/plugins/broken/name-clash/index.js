// Has a tool of the same name as acme-greeter.
import { definePlugin, defineTool, z } from "@heddle/kernel/plugin";

export default definePlugin({
  setup: () => ({
    tools: [defineTool({ name: "Greeting", description: "", input: z.object({}), overlap: "shared", effects: () => [], run: () => "" })],
  }),
});
