/** Keys of settings files that other programs know and heddle does not read: they are no mistake. */

export const ELSEWHERE: ReadonlySet<string> = new Set(
  `$schema
  agent allowedHttpHookUrls allowedMcpServers allowedTools allowManagedHooksOnly attribution autoCompactEnabled
  autoCompactWindow autoMemoryDirectory autoMemoryEnabled autoMode availableModels awsAuthRefresh awsCredentialExport
  bashOutputMaxChars blockedMarketplaces claudeMd claudeMdExcludes cleanupPeriodDays companyAnnouncements defaultShell
  deniedMcpServers disableAllHooks disableBundledSkills disabledMcpjsonServers disableSkillShellExecution editorMode
  effortLevel enableAllProjectMcpServers enabledMcpjsonServers enabledPlugins extraKnownMarketplaces
  fileCheckpointingEnabled fileSuggestion forceLoginMethod gcpAuthRefresh hooks httpHookAllowedEnvVars ignorePatterns
  includeCoAuthoredBy includeGitInstructions language mcpServers modelOverrides otelHeadersHelper outputStyle
  plansDirectory pluginConfigs promptCacheTtl respectGitignore showThinkingSummaries skillListingBudgetFraction
  skillListingMaxDescChars skillOverrides spinnerTipsEnabled spinnerVerbs statusLine strictKnownMarketplaces
  subagentPromptCacheTtl subagentStatusLine theme tui verbose worktree`.split(/\s+/),
);
