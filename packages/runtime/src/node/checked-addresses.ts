/** Names resolved and checked before anything connects: what leads into this machine, its network or its cloud is refused. */
import { lookup as systemLookup } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import { publicAddresses } from "./addresses.ts";
import type { NetworkAccess } from "./network-access.ts";

/** Both refuse with code `EPRIVATE`. `check` is for a host that is an address, which nobody looks up. */
export type CheckedAddresses = { check(host: string, address: string): void; readonly lookup: LookupFunction };

export function checkedAddresses({
  allowPrivate = [],
  resolve = (host) => systemLookup(host, { all: true }),
}: NetworkAccess): CheckedAddresses {
  const isPublic = publicAddresses();
  const check = (host: string, address: string): void => {
    if (isPublic(address) || allowPrivate.some((allowed) => covers(allowed.toLowerCase(), host))) return;
    throw fault("EPRIVATE", `${host}${host === address ? "" : ` (${address})`} is no address of the public internet`);
  };
  /** What is checked here is what is connected to: nothing asks a resolver again. */
  const lookup: LookupFunction = (host, options, done) => {
    resolve(host)
      .then((found) => {
        const fit = found.filter((r) => !options.family || r.family === options.family);
        if (fit.length === 0) throw fault("ENOTFOUND", `${host} has no address`);
        for (const { address } of fit) check(host, address);
        return fit;
      })
      .then(
        (fit) => (options.all ? done(null, [...fit]) : done(null, fit[0]!.address, fit[0]!.family)),
        (error) => done(error, []),
      );
  };
  return { check, lookup };
}

/** `*.name` covers all below a name. */
export const covers = (allowed: string, host: string): boolean => {
  const name = host.replace(/\.$/, "");
  return allowed.startsWith("*.") ? name.endsWith(allowed.slice(1)) : allowed.replace(/^\[|\]$/g, "") === name;
};

export function fault(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
