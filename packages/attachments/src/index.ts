/** Context that the runtime adds to a prompt, one file per kind. */
import { definePlugin, z } from "@heddle/kernel/plugin";
import { deferredToolsAttachment } from "./deferred-tools.ts";
import { fileAttachment } from "./file.ts";

export type { FileData } from "./file.ts";

/** `home`: the person's home folder, for `@~/…`. `deny`: gitignore patterns of Read deny rules. */
export const Options = z.strictObject({ home: z.string().optional(), deny: z.array(z.string()).default([]) }).prefault({});

export default definePlugin({
  options: Options,
  setup: ({ options }) => ({ attachments: [fileAttachment(options), deferredToolsAttachment()] }),
});
