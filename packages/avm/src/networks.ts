/**
 * Algorand's networks, identified by the hash of their first block in base64. There are two spellings: newer peers write the
 * first 32 characters, because CAIP-2 allows no more; older peers write all 44.
 *
 * @module
 */
import { sameNetwork } from "@farebox/core/protocol";

/** A network in either spelling. */
export type AvmNetwork = `algorand:${string}`;

const PREFIX = "algorand:";

/** 32 bytes in base64: 43 characters and an equals sign. */
const NETWORK = /^algorand:[A-Za-z0-9+/]{32}(?:[A-Za-z0-9+/]{11}=)?$/;

/** The length of the short spelling. */
const SHORT = 32;

/** The networks whose two spellings are known. */
const KNOWN: Readonly<Record<string, string>> = {
  wGHE2Pwdvd7S12BL5FaOP20EGYesN73k: "wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=",
  SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe: "SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=",
};

/** Whether a text is an Algorand network, in either spelling. */
export function isAvmNetwork(text: unknown): text is AvmNetwork {
  return typeof text === "string" && NETWORK.test(text);
}

/** The spelling with 32 characters. */
export function shortNetwork(network: AvmNetwork): AvmNetwork {
  return `${PREFIX}${referenceOf(network).slice(0, SHORT)}`;
}

/** Both spellings of a network, the shorter first; only the given one if the other is not known. */
export function networkAliases(network: AvmNetwork): readonly AvmNetwork[] {
  const short = shortNetwork(network);
  const whole = network === short ? KNOWN[referenceOf(short)] : referenceOf(network);
  return whole === undefined ? [short] : [short, `${PREFIX}${whole}`];
}

/** Whether two texts are the same Algorand network, in either spelling. Total. */
export function isSameNetwork(a: unknown, b: unknown): boolean {
  return isAvmNetwork(a) && isAvmNetwork(b) && sameNetwork(a, b);
}

/** Whether a network's first block has this hash. */
export function isNetworkOf(network: AvmNetwork, genesisHash: Uint8Array): boolean {
  return isSameNetwork(network, `${PREFIX}${Buffer.from(genesisHash).toString("base64")}`);
}

function referenceOf(network: AvmNetwork): string {
  return network.slice(PREFIX.length);
}
