/**
 * CAIP-2 network identifiers, e.g. `eip155:84532`, and patterns of them, e.g. `eip155:*`.
 *
 * @see CAIP-2, "Syntax"
 * @module
 */

/** A concrete network: a namespace and a reference in it. */
export type Network = `${string}:${string}`;

/** A network, or all networks of a namespace: `eip155:*`. */
export type NetworkPattern = Network | `${string}:*`;

/**
 * CAIP-2 allows references of 32 characters. Algorand's older spelling is a whole genesis hash in base64, which is
 * longer and has characters of its own.
 */
const NETWORK = /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9+/=]{1,64}$/;

/** Whether a text is a concrete CAIP-2 identifier. */
export function isNetwork(text: unknown): text is Network {
  return typeof text === "string" && NETWORK.test(text);
}

/** Whether a network is the pattern, or one of those it stands for. */
export function matchesNetwork(pattern: string, network: string): boolean {
  if (pattern === network) return true;
  return pattern.endsWith(":*") && network.startsWith(pattern.slice(0, -1));
}
