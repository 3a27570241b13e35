/**
 * CAIP-2 network identifiers, e.g. `eip155:84532`, and patterns of them, e.g. `eip155:*`.
 *
 * @see CAIP-2, "Syntax"
 * @module
 */

/** A concrete network: namespace and reference, e.g. `eip155:84532`. */
export type Network = `${string}:${string}`;

/** A network, or all networks of a namespace: `eip155:*`. */
export type NetworkPattern = Network | `${string}:*`;

/**
 * CAIP-2 allows references of 32 characters. Algorand's older spelling is a whole genesis hash in base64, which is longer and has
 * further characters.
 */
const NETWORK = /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9+/=]{1,64}$/;

/** Whether a text is a concrete CAIP-2 identifier. */
export function isNetwork(text: unknown): text is Network {
  return typeof text === "string" && NETWORK.test(text);
}

/** Algorand's older spelling, whose first 32 characters are the newer one. */
const WHOLE_HASH = /^algorand:[A-Za-z0-9+/]{43}=$/;
const SHORT_LENGTH = "algorand:".length + 32;

/** The newer spelling of a network with two; other texts unchanged. For comparisons only: a peer may know only the other spelling. */
export function canonicalNetwork(network: string): string {
  return WHOLE_HASH.test(network) ? network.slice(0, SHORT_LENGTH) : network;
}

/** Whether two texts name the same network, in either spelling. */
export function sameNetwork(a: string, b: string): boolean {
  if (a === b) return true;
  return a.length !== b.length && canonicalNetwork(a) === canonicalNetwork(b);
}

/** Whether a network matches a pattern: the same network in either spelling, or one of its namespace. */
export function matchesNetwork(pattern: string, network: string): boolean {
  if (sameNetwork(pattern, network)) return true;
  return pattern.endsWith(":*") && network.startsWith(pattern.slice(0, -1));
}
