/**
 * Algorand's networks by the hash of their first block. Each is written in two ways: CAIP-2 allows 32 characters, and so
 * newer peers write the first 32 of the hash in base64; older ones write all 44.
 *
 * @module
 */
import { sameNetwork } from "@farebox/core";

/** A network in either spelling. */
export type AvmNetwork = `algorand:${string}`;

const PREFIX = "algorand:";

/** 32 bytes in base64 are 43 characters and an equals sign. */
const NETWORK = /^algorand:[A-Za-z0-9+/]{32}(?:[A-Za-z0-9+/]{11}=)?$/;

/** Where a network's reference is cut to be short. */
const SHORT = 32;

/** Networks with both spellings known. */
const KNOWN: Readonly<Record<string, string>> = {
  wGHE2Pwdvd7S12BL5FaOP20EGYesN73k: "wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8=",
  SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe: "SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=",
};

/** Whether a text is a network of Algorand, in either spelling. */
export function isAvmNetwork(text: unknown): text is AvmNetwork {
  return typeof text === "string" && NETWORK.test(text);
}

/** The spelling with 32 characters. */
export function shortNetwork(network: AvmNetwork): AvmNetwork {
  return `${PREFIX}${referenceOf(network).slice(0, SHORT)}`;
}

/** Both spellings of a network, the shorter first; only the given one where the other is not known. */
export function networkAliases(network: AvmNetwork): readonly AvmNetwork[] {
  const short = shortNetwork(network);
  const whole = network === short ? KNOWN[referenceOf(short)] : referenceOf(network);
  return whole === undefined ? [short] : [short, `${PREFIX}${whole}`];
}

/** Whether two texts are the same network of Algorand, in either spelling. Total. */
export function isSameNetwork(a: unknown, b: unknown): boolean {
  return isAvmNetwork(a) && isAvmNetwork(b) && sameNetwork(a, b);
}

/** Whether a network is the one whose first block has a hash. */
export function isNetworkOf(network: AvmNetwork, genesisHash: Uint8Array): boolean {
  return isSameNetwork(network, `${PREFIX}${Buffer.from(genesisHash).toString("base64")}`);
}

function referenceOf(network: AvmNetwork): string {
  return network.slice(PREFIX.length);
}
