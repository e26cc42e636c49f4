/** The plugin that connects heddle to the Anthropic Messages API. */
import { definePlugin } from "@heddle/kernel/plugin";
import { Options } from "./options.ts";
import { createProvider } from "./provider.ts";

export { encode } from "./encode.ts";

export default definePlugin({
  options: Options,
  setup: ({ options }) => ({ providers: [createProvider(options)] }),
});
