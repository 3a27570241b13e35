/**
 * Offers that a payer can pay: scheme `exact` on eip155 with a token that has EIP-3009.
 *
 * @see x402 v2, scheme `exact` on EVM, §1
 * @module
 */
import type { AcceptedRequirements } from "@farebox/core";

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

const EIP155 = /^eip155:(\d{1,15})$/;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const ATOMIC = /^\d{1,78}$/;

/** Reads an offer; the text says why it cannot be paid. */
export function readExactOffer(offer: AcceptedRequirements): ExactTerms | string {
  const chainId = EIP155.exec(offer.network)?.[1];
  const { assetTransferMethod, name, version } = offer.extra ?? {};
  const amount = offer.amount ?? offer.maxAmountRequired;
  if (offer.scheme !== "exact" || chainId === undefined) return "it is not scheme exact on an eip155 network";
  if (assetTransferMethod !== undefined && assetTransferMethod !== "eip3009")
    return "its asset is not moved by EIP-3009";
  if (typeof name !== "string" || typeof version !== "string") return "its extra has no name and version of the asset";
  if (amount === undefined || !ATOMIC.test(amount)) return "its amount is not a whole number of atomic units";
  if (!isAddress(offer.asset) || !isAddress(offer.payTo)) return "its asset or payTo is not an address";
  return {
    domain: { name, version, chainId: Number(chainId), verifyingContract: offer.asset },
    payTo: offer.payTo,
    value: BigInt(amount),
    maxTimeoutSeconds: timeoutOf(offer),
  };
}

/** Yields the first offer that a payer can pay. The order is the seller's preference. */
export function firstPayable<Offer extends AcceptedRequirements>(offers: readonly Offer[]): Offer | undefined {
  return offers.find((offer) => typeof readExactOffer(offer) !== "string");
}

function timeoutOf(offer: AcceptedRequirements): number {
  const seconds = "maxTimeoutSeconds" in offer ? offer.maxTimeoutSeconds : undefined;
  return typeof seconds === "number" && Number.isSafeInteger(seconds) ? seconds : 60;
}

function isAddress(text: string): text is Address {
  return ADDRESS.test(text);
}
