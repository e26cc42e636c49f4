/** Where the session runs: folders, platform, and whether git is there. */
import { type CallContext, FS } from "@heddle/kernel/plugin";
import { findRepository } from "./repository.ts";

export async function environment(ctx: CallContext, platform: string | undefined): Promise<string> {
  const { cwd, directories } = ctx.session;
  const repository = await findRepository(ctx.capability(FS), cwd);
  return [
    "# Environment",
    `Working directory: ${cwd}`,
    ...(directories.length > 0 ? [`Further workspace folders: ${directories.join(", ")}`] : []),
    `Git repository: ${repository ? "yes" : "no"}`,
    ...(platform ? [`Platform: ${platform}`] : []),
  ].join("\n");
}
