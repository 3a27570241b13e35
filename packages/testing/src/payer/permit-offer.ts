/**
 * Offers that a payer can pay by Permit2: scheme `upto`, and `exact` where the offer says so.
 *
 * @see x402 v2, scheme `exact` on EVM, §2; scheme `upto` on EVM
 * @module
 */
import type { AcceptedRequirements } from "@farebox/core";
import { isAddress, readAmount, readChainId, timeoutOf } from "./offer-fields.js";

type Address = `0x${string}`;

/** What goes into a permit, read from an offer. */
export interface PermitTerms {
  readonly chainId: number;
  readonly token: Address;
  /** The proxy of the scheme. */
  readonly spender: Address;
  readonly payTo: Address;
  /** Who may carry it out; anybody may where there is none. */
  readonly facilitator: Address | undefined;
  /** Atomic units. */
  readonly amount: bigint;
  readonly maxTimeoutSeconds: number;
}

const PROXIES: Readonly<Record<string, Address>> = {
  exact: "0x402085c248EeA27D92E8b30b2C58ed07f9E20001",
  upto: "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002",
};

/** Whether an offer is to be paid by Permit2. */
export function isByPermit2({ scheme, extra }: AcceptedRequirements): boolean {
  return scheme === "upto" || (scheme === "exact" && extra?.["assetTransferMethod"] === "permit2");
}

/** Reads an offer; the text says why it cannot be paid. */
export function readPermitOffer(offer: AcceptedRequirements): PermitTerms | string {
  const [chainId, amount, spender] = [readChainId(offer), readAmount(offer), PROXIES[offer.scheme]];
  if (chainId === undefined || spender === undefined) return "it is not scheme exact or upto on an eip155 network";
  if (amount === undefined) return "its amount is not a whole number of atomic units";
  if (!isAddress(offer.asset) || !isAddress(offer.payTo)) return "its asset or payTo is not an address";
  const facilitator = readFacilitator(offer);
  if (offer.scheme === "upto" && facilitator === undefined) return "its extra has no facilitatorAddress";
  return {
    ...{ chainId, token: offer.asset, spender, payTo: offer.payTo, facilitator, amount },
    maxTimeoutSeconds: timeoutOf(offer),
  };
}

function readFacilitator({ scheme, extra }: AcceptedRequirements): Address | undefined {
  const address = scheme === "upto" ? extra?.["facilitatorAddress"] : undefined;
  return typeof address === "string" && isAddress(address) ? address : undefined;
}
