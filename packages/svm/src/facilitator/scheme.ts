/**
 * The `exact` scheme on one Solana network, facilitator's side: verifies payments, pays their fees and settles them.
 *
 * @see x402 v2 §6.1; scheme exact on SVM
 * @module
 */
import type { FacilitatorScheme } from "@farebox/core";
import { createExactScheme, type ExactFamily } from "@farebox/core/facilitator";
import { encodeBase58 } from "../address.js";
import { readSvmPayment, type SvmPayment } from "../exact/payment.js";
import { readTerms, type Terms } from "../exact/terms.js";
import type { BookGas, PayerSigned, SvmChain } from "./chain.js";
import { checkAccounts } from "./verify.js";

/** The options of the scheme. */
export interface ExactSvmSchemeOptions {
  readonly chain: SvmChain;
  /**
   * The most that one transaction may cost above the 10000 lamports for its two signatures, 0 to 7000000. Default 100000. The
   * protocol's own limit would let a payer spend seven million of the fee payer's lamports on each payment.
   */
  readonly maxPriorityFeeLamports?: number;
  /** Unix milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

/**
 * Creates the scheme. It remembers each settlement for longer than a transaction can live.
 *
 * @throws ConfigError with every issue at once.
 */
export function createExactSvmScheme(options: ExactSvmSchemeOptions): FacilitatorScheme {
  const scheme = createExactScheme(options, FAMILY);
  const { chain } = options;
  if (chain.meterGas === undefined) return scheme;
  return Object.freeze({ ...scheme, meterGas: (book: BookGas) => chain.meterGas?.(book) });
}

const FAMILY: ExactFamily<Terms, SvmPayment, SvmChain> = {
  chainExpected: "a chain, e.g. createRpcSvmChain(…)",
  // At most 5 lamports for each of a transaction's 1.4 million compute units.
  feeOption: { name: "maxPriorityFeeLamports", range: { least: 0, most: 7_000_000, usual: 100_000 } },
  // The blockhash has expired by then, and the chain still knows the transaction.
  rememberedMs: 60 * 60 * 1000,
  prose: {
    unsent: "the transaction was not sent",
    pending: "sent, and not yet on chain",
    dropped: "the blockhash expired before the transaction got on chain",
  },
  reasons: {
    asset: "invalid_exact_svm_payload_mint_mismatch",
    payTo: "invalid_exact_svm_payload_recipient_mismatch",
    amount: "invalid_exact_svm_payload_amount_mismatch",
    feePayer: "invalid_exact_svm_fee_payer_not_managed_by_facilitator",
    fee: "invalid_exact_svm_payload_transaction_instructions_compute_price_instruction_too_high",
  },
  isSameNetwork: (a, b) => a === b,
  readTerms,
  feePayerOf: ({ feePayer }) => encodeBase58(feePayer),
  readPayment: readSvmPayment,
  feeOf: ({ priorityFeeLamports }) => priorityFeeLamports,
  feeMessage: (most) => `the priority fee is above ${most} lamports`,
  // Only this facilitator can send the transaction: its signature is shown to nodes alone.
  toTransaction(payment, terms, chain) {
    const signed = toPayerSigned(payment);
    return {
      identity: payment.digest,
      payer: payment.payer,
      amount: payment.transfer.amount,
      check: () => checkAccounts(payment.transfer, terms, chain),
      simulate: () => chain.simulate(signed),
      async findEarlier() {
        const transaction = await chain.signatureOf(signed);
        return { transaction, outcome: await chain.statusOf(transaction) };
      },
      submit: () => chain.submit(signed),
      outcomeOf: (transaction) => chain.outcomeOf(transaction),
    };
  },
};

/** For two signatures. */
const SIGNATURES_FEE = 10_000n;

/** The transaction without the fee payer's signature. */
function toPayerSigned({ transaction, priorityFeeLamports }: SvmPayment): PayerSigned {
  const { message, signatures, blockhash } = transaction;
  return {
    message,
    payerSignature: signatures[1] ?? Buffer.alloc(0),
    blockhash: encodeBase58(blockhash),
    feeLamports: SIGNATURES_FEE + priorityFeeLamports,
  };
}
