/**
 * What a facilitator's `/supported` says about an offer.
 *
 * @see x402 v2 §7.3
 * @module
 */
import { matchesNetwork, sameNetwork } from "../network/caip2.js";
import type { PaymentRequirements } from "../protocol/payment-requirements.js";
import type { SupportedKind, SupportedResponse } from "../protocol/supported-response.js";

/** `unknown`: nobody could say yet. It is no reason not to try. */
export type Support = "yes" | "no" | "unknown";

/** Fields of an offer's `extra` that name an address of the one facilitator that can settle it. */
const NAMES_A_FACILITATOR = ["feePayer", "facilitatorAddress"] as const;

/**
 * Finds the kind for an offer. Kinds should be of concrete networks, but some facilitators list patterns, and an offer
 * withheld earns nothing. Of a network with two spellings the one that is asked for comes first.
 */
export function findKind(response: SupportedResponse, scheme: string, network: string): SupportedKind | undefined {
  const kinds = response.kinds.filter((kind) => kind.x402Version === 2 && kind.scheme === scheme);
  return (
    kinds.find((kind) => kind.network === network) ??
    kinds.find((kind) => sameNetwork(kind.network, network)) ??
    kinds.find((kind) => matchesNetwork(kind.network, network))
  );
}

/** A network as the kind for it spells it, which its facilitator is sure to know; as given where that is a pattern. */
export function spelledAs(kind: SupportedKind | undefined, network: string): string {
  return kind !== undefined && sameNetwork(kind.network, network) ? kind.network : network;
}

/** The addresses in an offer that bind it to one facilitator, e.g. the one that pays the network's fee. */
export function facilitatorAddresses({ extra }: PaymentRequirements): readonly string[] {
  return NAMES_A_FACILITATOR.map((field) => extra[field]).filter((value) => typeof value === "string");
}

/**
 * Whether one of the addresses is this facilitator's: a signer, or the one its kind names. Facilitators choose another of
 * their signers each time they are asked, so the kind alone does not tell.
 */
export function ownsAnyAddress(
  response: SupportedResponse,
  addresses: readonly string[],
  { scheme, network }: PaymentRequirements,
): boolean {
  const signers = Object.entries(response.signers).filter(([pattern]) => matchesNetwork(pattern, network));
  const named = NAMES_A_FACILITATOR.map((field) => findKind(response, scheme, network)?.extra?.[field]);
  const own = new Set([...signers.flatMap(([, listed]) => listed), ...named].map(withoutChecksum));
  return addresses.some((address) => own.has(withoutChecksum(address)));
}

/** Puts lists together; of two kinds for the same offers the first counts. */
export function mergeSupported(responses: readonly SupportedResponse[]): SupportedResponse {
  const kinds = new Map<string, SupportedKind>();
  const signers = new Map<string, Set<string>>();
  for (const response of responses) {
    for (const kind of response.kinds) {
      const key = JSON.stringify([kind.x402Version, kind.scheme, kind.network]);
      if (!kinds.has(key)) kinds.set(key, kind);
    }
    for (const [pattern, addresses] of Object.entries(response.signers)) {
      signers.set(pattern, new Set([...(signers.get(pattern) ?? []), ...addresses]));
    }
  }
  return {
    kinds: [...kinds.values()],
    extensions: [...new Set(responses.flatMap(({ extensions }) => extensions))],
    signers: Object.fromEntries([...signers].map(([pattern, addresses]) => [pattern, [...addresses]])),
  };
}

/** `0x` addresses differ in case only by their checksum. */
function withoutChecksum(address: unknown): unknown {
  return typeof address === "string" && address.startsWith("0x") ? address.toLowerCase() : address;
}
