/** The built-in slash commands. */
import { definePlugin, z } from "@heddle/kernel/plugin";
import { clear } from "./clear.ts";
import { context } from "./context.ts";
import { cost } from "./cost.ts";
import { effort } from "./effort.ts";
import { exit } from "./exit.ts";
import { help } from "./help.ts";
import { init } from "./init.ts";
import { model } from "./model.ts";

/** `models`: names that `/model` lists, and the model that each stands for. */
export const Options = z.strictObject({ models: z.record(z.string(), z.string()).default({}) }).prefault({});

export default definePlugin({
  options: Options,
  setup: ({ options }) => ({ commands: [help, clear, model(options.models), effort, context, cost, init, exit] }),
});
