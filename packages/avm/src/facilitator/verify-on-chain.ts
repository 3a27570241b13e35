/**
 * Whether a payment would be carried out now: what payer and payee hold, and a trial run.
 *
 * @see x402 v2, scheme `exact` on Algorand, "Verification", 8, and "Assets"
 * @module
 */
import { type Refusal, refuse } from "@farebox/core/scheme";
import { encodeAddress } from "../address.js";
import type { AvmChain, PayerSigned } from "./chain.js";
import type { AskedPayment } from "./exact-payment.js";

/** What is sent, but for the fee payer's signature. */
export function toPayerSigned({ payment }: AskedPayment): PayerSigned {
  const { group, transfer } = payment;
  const members = group.map(({ bytes, signing }) => ({
    bytes,
    signature: signing.kind === "single" ? signing.signature : undefined,
  }));
  return { members, transfer };
}

/**
 * Checks a payment; `undefined` when all is well. Never rejects: trouble with the chain is `unexpected_verify_error`.
 */
export async function verifyOnChain(asked: AskedPayment, chain: AvmChain): Promise<Refusal | undefined> {
  const { payment, terms } = asked;
  try {
    const holders = [encodeAddress(terms.payTo), payment.payer];
    const [ofPayee, ofPayer] = await Promise.all(holders.map((holder) => chain.holdingOf(holder, terms.asset)));
    if (ofPayee === undefined) return refuse("invalid_payment_requirements", "payTo has not opted in to the asset");
    // Of huge amounts only about is known what there is; the trial run knows.
    if (ofPayer === undefined || Number(ofPayer.amount) < Number(terms.amount)) {
      return refuse("insufficient_funds", "the payer has less than the amount");
    }
    const trial = await chain.simulate(toPayerSigned(asked));
    return trial.ok ? undefined : refuse("invalid_transaction_state", `the transfer would fail: ${trial.problem}`);
  } catch (error) {
    return refuse("unexpected_verify_error", error instanceof Error ? error.message : "the chain could not be asked");
  }
}
