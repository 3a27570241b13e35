/**
 * The engine's request behind an adapter, for hooks of our own.
 *
 * @module
 */
import type { PricedRequest } from "@farebox/core";

/** Where an adapter has it. Two files of the built package have a copy of this line, so the symbol is a registered one. */
export const PRICED_REQUEST: unique symbol = Symbol.for("farebox.pricedRequest");

/** The request behind an adapter; `undefined`: the adapter is not ours. */
export function pricedRequestOf(adapter: unknown): PricedRequest | undefined {
  return (adapter as { readonly [PRICED_REQUEST]?: PricedRequest } | undefined)?.[PRICED_REQUEST];
}
