// Needs a plugin that is not there.
import { definePlugin, defineTool, z } from "@heddle/kernel/plugin";

export default definePlugin({
  setup: () => ({
    tools: [defineTool({ name: "Lonely", description: "", input: z.object({}), overlap: "shared", effects: () => [], run: () => "" })],
  }),
});
