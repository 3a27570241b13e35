/**
 * Reads `options.rpc`. URLs of nodes and headers for them are secrets: no issue quotes one.
 *
 * @module
 */
import { HEADER_VALUES_EXPECTED, isHeaderValues } from "../http/client.js";
import { createRpcNode, parseRpcUrl, RPC_URL_EXPECTED, type RpcNode } from "../http/rpc-node.js";
import { type Issues, join } from "../issues.js";
import { canonicalNetwork, isNetwork } from "../protocol/caip2.js";
import { isJsonObject, type JsonObject } from "../protocol/json.js";
import type { RpcEndpoint } from "./options.js";

const PATH = "options.rpc";

/** Whatever is longer, or has a slash, may be a URL in the place of a network. Algorand's older networks have slashes. */
const QUOTABLE = /^[^/]{1,60}$/;

/**
 * Checks `options.rpc`, and yields a node for each network, in its canonical spelling. It is only good if nothing was added
 * to `issues`.
 */
export function parseRpc(given: unknown, issues: Issues): ReadonlyMap<string, RpcNode> {
  const nodes = new Map<string, RpcNode>();
  if (given === undefined) return nodes;
  if (!isJsonObject(given) || given instanceof URL) {
    issues.addText(PATH, 'URLs by network, such as { "eip155:84532": "https://…" }', "another value");
    return nodes;
  }
  for (const [network, value] of Object.entries(given)) {
    const path = QUOTABLE.test(network) ? join(PATH, network) : PATH;
    const canonical = canonicalNetwork(network);
    const isGood = checkKey(network, { path, isTaken: nodes.has(canonical), issues });
    const node = isGood && value !== undefined ? parseNode(value, path, issues) : undefined;
    if (node !== undefined) nodes.set(canonical, node);
  }
  return nodes;
}

interface Key {
  readonly path: string;
  readonly isTaken: boolean;
  readonly issues: Issues;
}

function checkKey(network: string, { path, isTaken, issues }: Key): boolean {
  const isGood = isNetwork(network);
  if (!isGood) issues.addText(path, 'a CAIP-2 network such as "eip155:84532" as key', "another key");
  else if (isTaken) issues.addText(path, "one node for a network, in whatever spelling", "another one");
  return isGood && !isTaken;
}

const KEYS = Object.keys({ url: true, headers: true } satisfies Record<keyof RpcEndpoint, true>);

/** A URL, or one with headers. */
function parseNode(value: unknown, path: string, issues: Issues): RpcNode | undefined {
  if (!isJsonObject(value) || value instanceof URL) return createNode({ url: value }, { path, urlPath: path, issues });
  if (!issues.checkKeys(path, value, KEYS)) return undefined;
  return createNode(value, { path, urlPath: join(path, "url"), issues });
}

interface Place {
  readonly path: string;
  readonly urlPath: string;
  readonly issues: Issues;
}

function createNode({ url: given, headers = {} }: JsonObject, { path, urlPath, issues }: Place): RpcNode | undefined {
  const url = parseRpcUrl(given);
  if (url === undefined) issues.addText(urlPath, RPC_URL_EXPECTED, "something else");
  const isGood = isHeaderValues(headers);
  if (!isGood) issues.addText(join(path, "headers"), HEADER_VALUES_EXPECTED, "something else");
  return url === undefined || !isGood ? undefined : createRpcNode(url, { headers });
}
