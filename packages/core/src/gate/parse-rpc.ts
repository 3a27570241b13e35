/**
 * Reads `options.rpc`. URLs of nodes are secrets: no issue quotes one.
 *
 * @module
 */
import { createRpcNode, parseRpcUrl, RPC_URL_EXPECTED, type RpcNode } from "../http/rpc-node.js";
import { type Issues, join } from "../issues.js";
import { isNetwork } from "../network/caip2.js";
import { isJsonObject } from "../protocol/json.js";

const PATH = "options.rpc";

/** Whatever is longer, or has a slash, may be a URL in the place of a network. */
const QUOTABLE = /^[^/]{1,60}$/;

/** Checks `options.rpc`, and yields a node for each network. It is only good if nothing was added to `issues`. */
export function parseRpc(given: unknown, issues: Issues): ReadonlyMap<string, RpcNode> {
  const nodes = new Map<string, RpcNode>();
  if (given === undefined) return nodes;
  if (!isJsonObject(given) || given instanceof URL) {
    issues.addText(PATH, 'URLs by network, such as { "eip155:84532": "https://…" }', "another value");
    return nodes;
  }
  for (const [network, value] of Object.entries(given)) {
    const path = QUOTABLE.test(network) ? join(PATH, network) : PATH;
    if (!isNetwork(network)) {
      issues.addText(path, 'a CAIP-2 network such as "eip155:84532" as key', "another key");
      continue;
    }
    const url = parseRpcUrl(value);
    if (url !== undefined) nodes.set(network, createRpcNode(url));
    else if (value !== undefined) issues.addText(path, RPC_URL_EXPECTED, "something else");
  }
  return nodes;
}
