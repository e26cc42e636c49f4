/** Which addresses are of the public internet: all others lead into this machine, its network or its cloud. */
import { BlockList, isIPv4, isIPv6 } from "node:net";

type Range = readonly [address: string, bits: number];

const CLOSED_4: readonly Range[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32], // Azure's own services
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
];
const OPEN_6: Range = ["2000::", 3];
/** Within that: protocols and tunnels (Teredo, ORCHID), documentation, 6to4. */
const CLOSED_6: readonly Range[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const listOf = (ranges: readonly Range[], family: "ipv4" | "ipv6"): BlockList => {
  const list = new BlockList();
  for (const [address, bits] of ranges) list.addSubnet(address, bits, family);
  return list;
};

/** Says whether an address, as a resolver gives it, is one of the public internet. What is no address is not. */
export function publicAddresses(): (address: string) => boolean {
  const closed4 = listOf(CLOSED_4, "ipv4");
  const open6 = listOf([OPEN_6], "ipv6");
  const closed6 = listOf(CLOSED_6, "ipv6");
  const isPublic = (address: string): boolean => {
    if (isIPv4(address)) return !closed4.check(address, "ipv4");
    if (!isIPv6(address) || address.includes("%")) return false;
    const within = embedded(address);
    return within ? isPublic(within) : open6.check(address, "ipv6") && !closed6.check(address, "ipv6");
  };
  return isPublic;
}

/** The IPv4 address that a mapped or a NAT64 address stands for. */
function embedded(address: string): string | undefined {
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1); // one spelling of the many
  const m = /^(?:::ffff:|64:ff9b::)(?:([0-9a-f]{1,4}):)?([0-9a-f]{1,4})$/.exec(plain);
  if (!m) return undefined;
  const [high, low] = [Number.parseInt(m[1] ?? "0", 16), Number.parseInt(m[2]!, 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}
