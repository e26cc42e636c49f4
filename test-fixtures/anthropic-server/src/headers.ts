/** The request headers the API insists on: a key, a version, and only betas it knows. */

import { refuse } from "./refusal.ts";

export type HeaderSource = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface RequestHeaders {
  apiKey: string | undefined;
  version: string;
  betas: readonly string[];
}

/** Documented betas and those that well-known clients send; `betas` in the options adds to it. */
export const KNOWN_BETAS: readonly string[] = [
  "advanced-tool-use-2025-11-20",
  "advisor-tool-2026-03-01",
  "afk-mode-2026-01-31",
  "agent-memory-2026-07-22",
  "cache-diagnosis-2026-04-07",
  "claude-code-20250219",
  "code-execution-2025-05-22",
  "code-execution-2025-08-25",
  "compact-2026-01-12",
  "compact-2026-09-04",
  "computer-use-2024-10-22",
  "computer-use-2025-01-24",
  "computer-use-2025-11-24",
  "context-1m-2025-08-07",
  "context-management-2025-06-27",
  "dangerous-tool-use-2026-09-03",
  "dev-full-thinking-2025-05-14",
  "effort-2025-11-24",
  "extended-cache-ttl-2025-04-11",
  "fallback-credit-2026-06-01",
  "fallback-credit-2026-07-01",
  "fast-mode-2026-02-01",
  "files-api-2025-04-14",
  "fine-grained-tool-streaming-2025-05-14",
  "inline-tools-2026-09-15",
  "interleaved-thinking-2025-05-14",
  "managed-agents-2026-04-01",
  "mcp-client-2025-04-04",
  "mcp-client-2025-11-20",
  "mcp-client-2026-09-15",
  "message-batches-2024-09-24",
  "message-threads-2026-08-12",
  "mid-conversation-output-config-2026-07-01",
  "mid-conversation-system-clear-at-2026-08-21",
  "mid-conversation-tool-changes-2026-07-01",
  "model-context-window-exceeded-2025-08-26",
  "oauth-2025-04-20",
  "output-128k-2025-02-19",
  "output-300k-2026-03-24",
  "pdfs-2024-09-25",
  "per-turn-control-2026-07-01",
  "prompt-caching-2024-07-31",
  "prompt-caching-scope-2026-01-05",
  "server-side-fallback-2026-06-01",
  "server-side-fallback-2026-07-01",
  "skills-2025-10-02",
  "structured-outputs-2025-11-13",
  "task-budgets-2026-03-13",
  "thinking-binding-controls-2026-08-01",
  "thinking-display-updates-2026-08-18",
  "thinking-token-count-2026-05-13",
  "token-counting-2024-11-01",
  "token-efficient-tools-2025-02-19",
  "web-fetch-2025-09-10",
  "web-search-2025-03-05",
];

export function headerOf(source: HeaderSource, name: string): string | undefined {
  if (source instanceof Headers) return source.get(name) ?? undefined;
  for (const [key, value] of Object.entries(source)) {
    if (key.toLowerCase() === name && value !== undefined) return typeof value === "string" ? value : value.join(",");
  }
  return undefined;
}

function keyOf(source: HeaderSource): string | undefined {
  const key = headerOf(source, "x-api-key");
  if (key) return key;
  const authorization = headerOf(source, "authorization");
  if (!authorization) return undefined;
  return /^bearer\s+(.+)$/i.exec(authorization)?.[1] ?? "";
}

function betasOf(source: HeaderSource, extra: readonly string[]): string[] {
  const header = headerOf(source, "anthropic-beta")?.trim();
  if (!header) return [];
  const values = header.split(",").map((value) => value.trim());
  const wrong = values.filter((value) => !KNOWN_BETAS.includes(value) && !extra.includes(value));
  if (wrong.length > 0) {
    const shown = wrong.map((value) => `\`${value}\``).join(", ");
    refuse(
      `Unexpected value(s) ${shown} for the \`anthropic-beta\` header. Please consult our documentation at docs.anthropic.com or try again without the header.`,
    );
  }
  return values;
}

export interface HeaderRules {
  keys?: readonly string[] | undefined;
  betas?: readonly string[] | undefined;
}

export function checkHeaders(source: HeaderSource, rules: HeaderRules = {}): RequestHeaders {
  const apiKey = keyOf(source);
  if (apiKey === undefined) refuse("x-api-key header is required", "authentication_error");
  if (apiKey === "" || (rules.keys && !rules.keys.includes(apiKey))) refuse("invalid x-api-key", "authentication_error");
  const version = headerOf(source, "anthropic-version");
  if (!version) refuse("anthropic-version: header is required");
  return { apiKey, version, betas: betasOf(source, rules.betas ?? []) };
}
