/**
 * Checks the holdings of payer and payee, as they are on chain now.
 *
 * @see x402 v2, scheme `exact` on Algorand, "Verification", 8, and "Assets"
 * @module
 */
import { type Refusal, refuse } from "@farebox/core/scheme";
import { encodeAddress } from "../address.js";
import type { Terms } from "../exact/terms.js";
import type { AvmChain } from "./chain.js";

/** Checks payee and payer; `undefined` when both are good. Rejects when the chain cannot be asked. */
export async function checkAccounts(
  payer: string,
  { payTo, asset, amount }: Terms,
  chain: AvmChain,
): Promise<Refusal | undefined> {
  const holders = [encodeAddress(payTo), payer];
  const [ofPayee, ofPayer] = await Promise.all(holders.map((holder) => chain.holdingOf(holder, asset)));
  if (ofPayee === undefined) return refuse("invalid_payment_requirements", "payTo has not opted in to the asset");
  if (ofPayer === undefined || ofPayer.amount < amount) {
    return refuse("insufficient_funds", "the payer has less than the amount");
  }
  return undefined;
}
