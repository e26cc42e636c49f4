// Returns another tool than its manifest promises.
import { definePlugin, defineTool, z } from "@heddle/kernel/plugin";

export default definePlugin({
  setup: () => ({
    tools: [defineTool({ name: "Delivered", description: "", input: z.object({}), overlap: "shared", effects: () => [], run: () => "" })],
  }),
});
