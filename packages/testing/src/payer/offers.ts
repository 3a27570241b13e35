/**
 * The offers that a payer can pay: `exact` by EIP-3009 or Permit2, and `upto` by Permit2, on EVM networks.
 *
 * @see x402 v2, scheme `exact` on EVM, §1 and §2; scheme `upto` on EVM
 * @module
 */
import type { AcceptedRequirements } from "@farebox/core";

type Address = `0x${string}`;

/**
 * Finds the first offer that a payer can pay, in the seller's order. Offers by Permit2 come last, because they need an
 * allowance that the payer may not have given.
 */
export function firstPayable<Offer extends AcceptedRequirements>(offers: readonly Offer[]): Offer | undefined {
  return (
    offers.find((offer) => typeof readExactOffer(offer) !== "string") ??
    offers.find((offer) => isByPermit2(offer) && typeof readPermitOffer(offer) !== "string")
  );
}

/** The terms of an EIP-3009 authorization, from an offer. */
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

/** Reads an offer that is paid by EIP-3009; a text says why it cannot be paid. */
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

/** The terms of a Permit2 permit, from an offer. */
export interface PermitTerms {
  readonly chainId: number;
  readonly token: Address;
  /** The proxy of the scheme. */
  readonly spender: Address;
  readonly payTo: Address;
  /** The only address that may settle; anyone may when it is `undefined`. */
  readonly facilitator: Address | undefined;
  /** Atomic units. */
  readonly amount: bigint;
  readonly maxTimeoutSeconds: number;
}

const PROXIES: Readonly<Record<string, Address>> = {
  exact: "0x402085c248EeA27D92E8b30b2C58ed07f9E20001",
  upto: "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002",
};

/** Whether an offer is paid by Permit2. */
export function isByPermit2({ scheme, extra }: AcceptedRequirements): boolean {
  return scheme === "upto" || (scheme === "exact" && extra?.["assetTransferMethod"] === "permit2");
}

/** Reads an offer that is paid by Permit2; a text says why it cannot be paid. */
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

const EIP155 = /^eip155:(\d{1,15})$/;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const ATOMIC = /^\d{1,78}$/;

/** The chain id; `undefined` on other families of networks. */
function readChainId({ network }: AcceptedRequirements): number | undefined {
  const chainId = EIP155.exec(network)?.[1];
  return chainId === undefined ? undefined : Number(chainId);
}

/** Atomic units. */
function readAmount(offer: AcceptedRequirements): bigint | undefined {
  const amount = offer.amount ?? offer.maxAmountRequired;
  return amount !== undefined && ATOMIC.test(amount) ? BigInt(amount) : undefined;
}

/** How long a payment is valid, in seconds. */
function timeoutOf(offer: AcceptedRequirements): number {
  const seconds = "maxTimeoutSeconds" in offer ? offer.maxTimeoutSeconds : undefined;
  return typeof seconds === "number" && Number.isSafeInteger(seconds) ? seconds : 60;
}

/** Whether a text is an address. */
function isAddress(text: string): text is `0x${string}` {
  return ADDRESS.test(text);
}
