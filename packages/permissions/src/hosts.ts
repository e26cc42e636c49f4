/** Hosts that no rule about domains may open, because they lead into this machine or its network. */

/** `host` as `URL` gives it: lower case, numbers of any spelling already turned into plain addresses. */
export function isPrivateHost(host: string): boolean {
  const name = host
    .toLowerCase()
    .replace(/\.$/, "")
    .replace(/^\[|\]$/g, "");
  const v4 = /^(\d+)\.(\d+)\.\d+\.\d+$/.exec(name);
  if (v4) {
    const [a, b] = [Number(v4[1]), Number(v4[2])];
    const shared = a === 100 && b >= 64 && b < 128;
    const local =
      a === 0 || a === 10 || a === 127 || (a === 172 && b >= 16 && b < 32) || (a === 192 && b === 168) || (a === 169 && b === 254);
    return shared || local || a >= 224;
  }
  if (name.includes(":")) return !/^[23]/.test(name) || name.startsWith("2002:") || name.startsWith("64:ff9b:");
  return (
    !name.includes(".") ||
    /(^|\.)(localhost|local|internal|lan|home|corp|intranet|arpa|nip\.io|sslip\.io|localtest\.me|lvh\.me)$/.test(name)
  );
}
