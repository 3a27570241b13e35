/**
 * Whether a payment would be carried out now: the accounts it names, and a trial run.
 *
 * @see x402 v2, scheme `exact` on SVM, "Facilitator Verification Rules", 5
 * @module
 */
import { type Refusal, refuse } from "@farebox/core/scheme";
import { encodeBase58 } from "../base58.js";
import type { SvmPayment } from "../exact/payment.js";
import type { Terms } from "../exact/terms.js";
import type { PayerSigned, SvmAccount, SvmChain } from "./chain.js";
import type { AskedPayment } from "./exact-payment.js";
import { readMint, readTokenAccount, type TokenAccount } from "./token-state.js";

/** What is sent, but for the fee payer's signature. */
export function toPayerSigned({ transaction }: SvmPayment): PayerSigned {
  const { message, signatures, blockhash } = transaction;
  return { message, payerSignature: signatures[1] ?? Buffer.alloc(0), blockhash: encodeBase58(blockhash) };
}

/**
 * Checks a payment; `undefined` when all is well. Never rejects: trouble with the chain is `unexpected_verify_error`.
 */
export async function verifyOnChain(asked: AskedPayment, chain: SvmChain): Promise<Refusal | undefined> {
  const { source, destination, mint } = asked.payment.transfer;
  try {
    const addresses = [source, destination, mint].map(encodeBase58);
    const [ofPayer, ofPayee, ofMint] = await chain.readAccounts(addresses);
    const refusal =
      checkMint(ofMint, asked.payment) ?? checkPayee(ofPayee, asked) ?? checkPayer(ofPayer, asked.payment);
    if (refusal !== undefined) return refusal;
    const trial = await chain.simulate(toPayerSigned(asked.payment));
    return trial.ok ? undefined : refuse("invalid_transaction_state", `the transfer would fail: ${trial.problem}`);
  } catch (error) {
    return refuse("unexpected_verify_error", error instanceof Error ? error.message : "the chain could not be asked");
  }
}

function checkMint(account: SvmAccount | undefined, { transfer }: SvmPayment): Refusal | undefined {
  const mint = account?.owner === transfer.program.address ? readMint(account.data) : undefined;
  if (mint === undefined) {
    return refuse("invalid_exact_svm_payload_mint_mismatch", "the asset is no mint of this token program");
  }
  if (mint.decimals !== transfer.decimals) {
    return refuse("invalid_exact_svm_payload_amount_mismatch", "the token has other decimals");
  }
  if (mint.hasTransferFee) {
    return refuse("invalid_payment_requirements", "the token keeps a part of each transfer, so payTo would get less");
  }
  return undefined;
}

/** Whoever holds the account now gets the money, so it has to be the payee. */
function checkPayee(account: SvmAccount | undefined, { payment, terms }: AskedPayment): Refusal | undefined {
  const held = readHeld(account, { payment, mint: terms.mint });
  if (held?.owner.equals(terms.payTo) === true) return undefined;
  return refuse("invalid_payment_requirements", "payTo has no associated token account for the asset: create it first");
}

function checkPayer(account: SvmAccount | undefined, payment: SvmPayment): Refusal | undefined {
  const held = readHeld(account, { payment, mint: payment.transfer.mint });
  if (held !== undefined && held.amount >= payment.transfer.amount) return undefined;
  return refuse("insufficient_funds", "the payer has less than the amount");
}

function readHeld(
  account: SvmAccount | undefined,
  { payment, mint }: { readonly payment: SvmPayment; readonly mint: Terms["mint"] },
): TokenAccount | undefined {
  const held = account?.owner === payment.transfer.program.address ? readTokenAccount(account.data) : undefined;
  return held?.mint.equals(mint) === true ? held : undefined;
}
