/** What of the network a program may reach beyond public addresses. */
export type Resolved = { readonly address: string; readonly family: number };
export type NetworkAccess = {
  /** Hosts that may be of this machine or its network: a name or address as URLs spell it, or `*.name` for all below a name. */
  readonly allowPrivate?: readonly string[];
  /** In place of the system's resolver. */
  readonly resolve?: (host: string) => Promise<readonly Resolved[]>;
};
