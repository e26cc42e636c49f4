/** What a session starts with: from the options of the runtime, from a log that is resumed, or from the session that it is a fork of. */
import type { Effort, Input, Message, Prefix, RuntimeEvent } from "@heddle/kernel";

export type SessionStart = {
  readonly id: string;
  readonly cwd: string;
  readonly directories: readonly string[];
  readonly provider: string;
  readonly model: string;
  readonly effort: Effort | undefined;
  /** What the log tells of it. */
  readonly toldEffort: Effort | undefined;
  readonly permissionMode: string;
  readonly headless: boolean;
  readonly decides: boolean;
  readonly maxSteps: number | undefined;
  readonly maxBudgetUsd: number | undefined;
  readonly askBudgetUsd: number | undefined;
  readonly messages: readonly Message[];
  readonly prefix: Prefix | undefined;
  readonly pending: readonly Input[];
  readonly notices: readonly string[];
  /** What a resumed session has cost and changed before. */
  readonly spent: readonly RuntimeEvent[];
};
