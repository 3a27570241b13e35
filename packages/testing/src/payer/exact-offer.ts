/**
 * Offers that a payer can pay: scheme `exact` on eip155 with a token that has EIP-3009.
 *
 * @see x402 v2, scheme `exact` on EVM, §1
 * @module
 */
import type { AcceptedRequirements } from "@farebox/core";
import { isAddress, readAmount, readChainId, timeoutOf } from "./offer-fields.js";

type Address = `0x${string}`;

/** What goes into an authorization, read from an offer. */
export interface ExactTerms {
  readonly domain: {
    readonly name: string;
    readonly version: string;
    readonly chainId: number;
    readonly verifyingContract: Address;
  };
  readonly payTo: Address;
  /** Atomic units. */
  readonly value: bigint;
  readonly maxTimeoutSeconds: number;
}

/** Reads an offer; the text says why it cannot be paid. */
export function readExactOffer(offer: AcceptedRequirements): ExactTerms | string {
  const [chainId, value] = [readChainId(offer), readAmount(offer)];
  const { assetTransferMethod, name, version } = offer.extra ?? {};
  if (offer.scheme !== "exact" || chainId === undefined) return "it is not scheme exact on an eip155 network";
  if (assetTransferMethod !== undefined && assetTransferMethod !== "eip3009")
    return "its asset is not moved by EIP-3009";
  if (typeof name !== "string" || typeof version !== "string") return "its extra has no name and version of the asset";
  if (value === undefined) return "its amount is not a whole number of atomic units";
  if (!isAddress(offer.asset) || !isAddress(offer.payTo)) return "its asset or payTo is not an address";
  return {
    domain: { name, version, chainId, verifyingContract: offer.asset },
    payTo: offer.payTo,
    value,
    maxTimeoutSeconds: timeoutOf(offer),
  };
}
