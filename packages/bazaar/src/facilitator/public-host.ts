/**
 * Which hosts the public can reach: a catalog must not send agents to somebody's own network.
 *
 * @module
 */
import { BlockList, isIP } from "node:net";

const LOCAL = new BlockList();
const LOCAL_IPV4 = ["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"];
const LOCAL_IPV4_MORE = ["192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"];
const LOCAL_IPV6 = ["::/128", "::1/128", "64:ff9b::/96", "fc00::/7", "fe80::/10", "ff00::/8"];
for (const [family, ranges] of [
  ["ipv4", [...LOCAL_IPV4, ...LOCAL_IPV4_MORE]],
  ["ipv6", LOCAL_IPV6],
] as const) {
  for (const range of ranges) {
    const [network = "", prefix] = range.split("/");
    LOCAL.addSubnet(network, Number(prefix), family);
  }
}

/** Names that no public resolver answers for. */
const LOCAL_NAME = /^[^.]*$|\.(?:localhost|local|localdomain|internal|intranet|lan|home\.arpa)$/;

/** Whether a URL's host, as `URL.hostname` has it, may be one that the public reaches. Nothing is looked up. */
export function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  const family = isIP(host);
  if (family !== 0) return !LOCAL.check(host, family === 4 ? "ipv4" : "ipv6");
  return !LOCAL_NAME.test(host.toLowerCase());
}
