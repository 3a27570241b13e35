/**
 * The amount of an offer, in any document of a catalog.
 *
 * @module
 */

/** The largest amount of a token has 78 digits. */
const AMOUNT = /^[1-9]\d{0,77}$/;

/** Whether a value is what an offer costs: atomic units above zero, without leading zeros. Zero is not offered. */
export function isOfferAmount(amount: unknown): amount is string {
  return typeof amount === "string" && AMOUNT.test(amount);
}
