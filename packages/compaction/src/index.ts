/** The compaction stages: what is left out of a view when it no longer fits. */
import { definePlugin, z } from "@heddle/kernel/plugin";
import { shorten } from "./shorten.ts";

/** `dir`: an absolute folder for the full text of results that are shortened. Without it the full text is only in the session's log. */
export const Options = z.strictObject({ dir: z.string().min(1).optional() }).prefault({});

export default definePlugin({
  options: Options,
  setup: ({ options }) => ({ compaction: [shorten(options.dir)] }),
});
