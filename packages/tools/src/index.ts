/** The plugin with the built-in tools: for files, commands and sub-agents, the web, to-dos, questions and plans. */
import { definePlugin, z } from "@heddle/kernel/plugin";
import { BACKGROUND, BackgroundRuns } from "./bash/background.ts";
import { bashTool } from "./bash/bash.ts";
import { bashOutputTool } from "./bash/bash-output.ts";
import { killShellTool } from "./bash/kill-shell.ts";
import { monitorTool } from "./bash/monitor.ts";
import { FILES } from "./contract.ts";
import { editTool } from "./edit/edit.ts";
import { createFileState, createLocks } from "./file-state.ts";
import { globTool } from "./glob/glob.ts";
import { grepTool } from "./grep/grep.ts";
import { notebookEditTool } from "./notebook/notebook-edit.ts";
import { enterPlanModeTool, exitPlanModeTool } from "./plan/plan-mode.ts";
import { askUserQuestionTool } from "./question/ask-user-question.ts";
import { readTool } from "./read/read.ts";
import { createShellFolder, SHELL_FOLDER } from "./shell-folder.ts";
import { agentsCommand } from "./task/command.ts";
import { taskTool } from "./task/task.ts";
import { taskOutputTool, taskStopTool } from "./task/task-output.ts";
import { todoWriteTool } from "./todo/todo-write.ts";
import { TODOS, todosOf } from "./todo/todos.ts";
import { toolSearchTool } from "./tool-search/tool-search.ts";
import { PageCache } from "./web/page-cache.ts";
import { webFetchTool } from "./web/web-fetch.ts";
import { writeTool } from "./write/write.ts";

export { BACKGROUND, type Background, type BackgroundCommand } from "./bash/background.ts";
export { FILES, type FileState, type SeenFile } from "./contract.ts";
export { hashOf } from "./file-state.ts";
export { SHELL_FOLDER, type ShellFolder } from "./shell-folder.ts";
export { TODOS, type Todo } from "./todo/todos.ts";

export default definePlugin({
  options: z
    .strictObject({
      /** The program rg: a path, or a name that is looked up in PATH. */
      ripgrep: z.string().min(1).default("rg"),
      /** Characters of one command's output that the model gets to see. */
      bashOutputLimit: z.number().int().min(1000).max(200_000).default(30_000),
      /** Whether a command that takes longer than its timeout goes on in the background, or is killed; in a headless session it always is. */
      bashAtTimeout: z.enum(["background", "kill"]).default("background"),
      /** Whether commands run in the host's sandbox: where it works, or not at all without it; and whether one may be asked to leave it. */
      sandbox: z.enum(["off", "auto", "on"]).default("off"),
      mayLeaveSandbox: z.boolean().default(true),
      /** The person's home folder, absolute: their agents are in its .heddle/agents and .claude/agents. */
      home: z.string().optional(),
    })
    .prefault({}),
  setup(ctx) {
    const { ripgrep, bashOutputLimit, bashAtTimeout, home, sandbox: use, mayLeaveSandbox: mayLeave } = ctx.options;
    const services = { files: createFileState(), locks: createLocks(), shell: createShellFolder() };
    ctx.provide(FILES, services.files);
    ctx.provide(SHELL_FOLDER, services.shell);
    const background = new BackgroundRuns();
    ctx.provide(BACKGROUND, background);
    ctx.onDispose(() => background.dispose());
    ctx.provide(TODOS, { of: todosOf });
    return {
      commands: [agentsCommand(home)],
      tools: [
        readTool(services.files, services.shell),
        writeTool(services),
        editTool(services),
        notebookEditTool(services),
        globTool(ripgrep),
        grepTool(ripgrep),
        bashTool({
          shell: services.shell,
          background,
          outputLimit: bashOutputLimit,
          atTimeout: bashAtTimeout,
          sandbox: { use, mayLeave },
        }),
        bashOutputTool(background, ripgrep),
        killShellTool(background),
        monitorTool(background, ripgrep),
        taskTool(home),
        taskOutputTool(),
        taskStopTool(),
        webFetchTool(new PageCache()),
        todoWriteTool(),
        askUserQuestionTool(),
        enterPlanModeTool(),
        exitPlanModeTool(),
        toolSearchTool(),
      ],
    };
  },
});
