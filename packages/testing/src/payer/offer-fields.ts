/**
 * Fields that are the same in every offer on eip155.
 *
 * @module
 */
import type { AcceptedRequirements } from "@farebox/core";

const EIP155 = /^eip155:(\d{1,15})$/;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const ATOMIC = /^\d{1,78}$/;

/** The number of the chain; `undefined` for another family of networks. */
export function readChainId({ network }: AcceptedRequirements): number | undefined {
  const chainId = EIP155.exec(network)?.[1];
  return chainId === undefined ? undefined : Number(chainId);
}

/** Atomic units. */
export function readAmount(offer: AcceptedRequirements): bigint | undefined {
  const amount = offer.amount ?? offer.maxAmountRequired;
  return amount !== undefined && ATOMIC.test(amount) ? BigInt(amount) : undefined;
}

/** How long a payment is good for, in seconds. */
export function timeoutOf(offer: AcceptedRequirements): number {
  const seconds = "maxTimeoutSeconds" in offer ? offer.maxTimeoutSeconds : undefined;
  return typeof seconds === "number" && Number.isSafeInteger(seconds) ? seconds : 60;
}

/** Whether a text is an address. */
export function isAddress(text: string): text is `0x${string}` {
  return ADDRESS.test(text);
}
