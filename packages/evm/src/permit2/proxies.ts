/**
 * The contracts that payments by Permit2 go through, at the same addresses on every network.
 *
 * @see x402 v2, scheme `exact` on EVM, Annex; scheme `upto` on EVM, Annex
 * @module
 */

/** Uniswap's Permit2: what a payer lets move a token, once, and what checks each signature. */
export const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";

/** The scheme that a proxy belongs to. */
export type ProxyKind = "exact" | "upto";

/** The spender that a payer names: it moves the money only to the recipient who was signed for. */
export const PROXIES: Readonly<Record<ProxyKind, `0x${string}`>> = Object.freeze({
  exact: "0x402085c248EeA27D92E8b30b2C58ed07f9E20001",
  upto: "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002",
});
