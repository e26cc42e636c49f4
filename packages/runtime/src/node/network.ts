/** The network of Node. What speaks HTTP is loaded by the first request: a start without one takes a fifth less time. */
import type { Network } from "@heddle/kernel";
import type { NetworkAccess } from "./network-access.ts";

export type { NetworkAccess };

export function nodeNetwork(access: NetworkAccess = {}): Network {
  let loaded: Promise<Network> | undefined;
  return {
    async get(url, options) {
      loaded ??= import("./request.ts").then(({ requests }) => requests(access));
      return (await loaded).get(url, options);
    },
  };
}
