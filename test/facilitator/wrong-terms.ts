/**
 * Terms that are wrong on every network, in one field at a time, and their reasons.
 *
 * @module
 */

/** Changes to the terms of a payment for 1000. */
export type WrongTerms = readonly [what: string, change: object, reason: string];

export const WRONG_TERMS: readonly WrongTerms[] = [
  ["another scheme", { scheme: "upto" }, "unsupported_scheme"],
  ["another family", { network: "eip155:84532" }, "invalid_network"],
  ["an asset that is not an address", { asset: "USDC" }, "invalid_payment_requirements"],
  [
    "a payTo of another family",
    { payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" },
    "invalid_payment_requirements",
  ],
  ["an amount in hex", { amount: "0x3e8" }, "invalid_payment_requirements"],
  ["an amount as a number", { amount: 1000 }, "invalid_payment_requirements"],
  ["no amount", { amount: undefined }, "invalid_payment_requirements"],
  ["an amount of zero", { amount: "0" }, "invalid_payment_requirements"],
  ["an amount of 2^64", { amount: (2n ** 64n).toString() }, "invalid_payment_requirements"],
  ["no time", { maxTimeoutSeconds: 0 }, "invalid_payment_requirements"],
  ["a time as text", { maxTimeoutSeconds: "60" }, "invalid_payment_requirements"],
];

/** Requests that lack terms, or a payment. */
export const MISSING_TERMS: readonly (readonly [what: string, request: unknown, reason: string])[] = [
  ["nothing", undefined, "invalid_x402_version"],
  ["a list", [], "invalid_x402_version"],
  ["version 1", { x402Version: 1 }, "invalid_x402_version"],
  ["a payment of version 1", { x402Version: 2, paymentPayload: { x402Version: 1 } }, "invalid_x402_version"],
  ["no terms", { x402Version: 2, paymentPayload: { x402Version: 2 } }, "unsupported_scheme"],
];
