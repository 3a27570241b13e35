/**
 * A payment, read from its transaction and compared with what is asked for, as far as that goes without a chain. Both
 * sides read it by this: what a seller takes is what a facilitator of ours settles.
 *
 * @see x402 v2, scheme `exact` on SVM, "Facilitator Verification Rules"
 * @module
 */
import { createHash } from "node:crypto";
import { accept, fieldsOf, isSignedBy, type Reading, type Refusal, refuse } from "@farebox/core/scheme";
import { associatedTokenAccount } from "../associated-token-account.js";
import { encodeBase58 } from "../base58.js";
import { readTransaction, type Transaction } from "../transaction/read-transaction.js";
import { type Layout, readLayout, type Transfer } from "./layout.js";
import type { Terms } from "./terms.js";

/** A payment that does what is asked for, if the chain lets it. */
export interface SvmPayment {
  /** SHA-256 of the message, in hex. */
  readonly digest: string;
  /** The transfer's authority. */
  readonly payer: string;
  readonly transaction: Transaction;
  readonly transfer: Transfer;
  /** The most that the transaction costs above the price of its signatures. */
  readonly priorityFeeLamports: bigint;
}

/** Reads the payment in a payload. Total. */
export function readSvmPayment(payload: unknown, terms: Terms): Reading<SvmPayment> {
  const text = fieldsOf(payload)["transaction"];
  if (typeof text !== "string") return refuse("invalid_payload", "payload.transaction is not a text");
  const transaction = readTransaction(text);
  if (transaction === undefined) {
    const message = "payload.transaction is not a transaction that names all its accounts";
    return refuse("invalid_exact_svm_payload_transaction_could_not_be_decoded", message);
  }
  const layout = readLayout(transaction.instructions);
  if (!layout.ok) return layout;
  const { transfer, priorityFeeLamports, memos } = layout.value;
  const refusal =
    checkFeePayer(transaction, terms) ??
    checkTransfer(transfer, terms) ??
    checkMemo(memos, terms) ??
    checkSigners(transaction, transfer);
  if (refusal !== undefined) return refusal;
  const digest = createHash("sha256").update(transaction.message).digest("hex");
  return accept({ digest, payer: encodeBase58(transfer.authority), transaction, transfer, priorityFeeLamports });
}

/** Whoever pays the fee signs the whole transaction, and so must be named by nothing in it that could cost more. */
function checkFeePayer({ signers, instructions }: Transaction, { feePayer }: Terms): Refusal | undefined {
  if (signers[0]?.equals(feePayer) !== true) {
    return refuse("invalid_exact_svm_fee_payer_mismatch", "the fee is paid by somebody else than extra.feePayer");
  }
  if (instructions.some(({ accounts }) => accounts.some((account) => account.equals(feePayer)))) {
    const reason = "invalid_exact_svm_payload_transaction_fee_payer_transferring_funds";
    return refuse(reason, "an instruction names the fee payer");
  }
  return undefined;
}

function checkTransfer(transfer: Transfer, { mint, payTo, amount, known }: Terms): Refusal | undefined {
  const { program } = transfer;
  if (!transfer.mint.equals(mint)) {
    return refuse("invalid_exact_svm_payload_mint_mismatch", "another token is transferred");
  }
  if (known !== undefined && known.program !== program) {
    return refuse("invalid_exact_svm_payload_mint_mismatch", "the token belongs to the other token program");
  }
  const destination = associatedTokenAccount({ owner: payTo, mint, program });
  // From that account to itself nothing would be moved.
  if (!transfer.destination.equals(destination) || transfer.source.equals(destination)) {
    return refuse("invalid_exact_svm_payload_recipient_mismatch", "it does not go to payTo's associated token account");
  }
  if (transfer.amount !== amount) {
    return refuse("invalid_exact_svm_payload_amount_mismatch", "another amount is transferred");
  }
  if (known !== undefined && known.decimals !== transfer.decimals) {
    return refuse("invalid_exact_svm_payload_amount_mismatch", "the token has other decimals");
  }
  return undefined;
}

function checkMemo(memos: Layout["memos"], { memo }: Terms): Refusal | undefined {
  if (memo === undefined) return undefined;
  if (memos.length !== 1) return refuse("invalid_exact_svm_payload_memo_count", "there is not exactly one memo");
  if (memos[0]?.equals(memo) === true) return undefined;
  return refuse("invalid_exact_svm_payload_memo_mismatch", "the memo is not extra.memo");
}

/** The fee payer's signature comes last, so only the payer's is there. Each signature more would cost the fee payer. */
function checkSigners({ signers, signatures, message }: Transaction, { authority }: Transfer): Refusal | undefined {
  if (signers.length > 2) {
    const text = "others than the fee payer and the payer have to sign";
    return refuse("invalid_exact_svm_payload_excessive_signers", text);
  }
  const [signer, signature] = [signers[1], signatures[1]];
  const isSigned = signer?.equals(authority) === true && signature !== undefined;
  if (isSigned && isSignedBy(authority, message, signature)) return undefined;
  return refuse("invalid_exact_svm_payload_signature_invalid", "the payer has not signed this");
}
