/** The built-in slash commands. */
import { definePlugin } from "@heddle/kernel/plugin";
import { clear } from "./clear.ts";
import { context } from "./context.ts";
import { cost } from "./cost.ts";
import { exit } from "./exit.ts";
import { help } from "./help.ts";
import { init } from "./init.ts";
import { model } from "./model.ts";

export default definePlugin({
  setup: () => ({ commands: [help, clear, model, context, cost, init, exit] }),
});
