/**
 * The `exact` scheme on one Algorand network, facilitator's side: verifies payments, pays their fees and settles them.
 *
 * @see x402 v2 §6.1; scheme exact on Algorand
 * @module
 */
import type { FacilitatorScheme } from "@farebox/core";
import { createExactScheme, type ExactFamily } from "@farebox/core/facilitator";
import { encodeAddress } from "../address.js";
import { type AvmPayment, MAX_SPONSORED_FEE, readAvmPayment } from "../exact/payment.js";
import { readTerms, type Terms } from "../exact/terms.js";
import { isSameNetwork } from "../networks.js";
import type { AvmChain, BookGas, PayerSigned } from "./chain.js";
import { checkAccounts } from "./verify.js";

/** The options of the scheme. */
export interface ExactAvmSchemeOptions {
  readonly chain: AvmChain;
  /** The most that one group may cost, in microAlgos, 0 to 1000000. Default 16000: the usual fee of a full group. */
  readonly maxFeeMicroAlgos?: number;
  /** Unix milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

/**
 * Creates the scheme. It remembers each settlement for longer than a transaction can live.
 *
 * @throws ConfigError with every issue at once.
 */
export function createExactAvmScheme(options: ExactAvmSchemeOptions): FacilitatorScheme {
  const scheme = createExactScheme(options, FAMILY);
  const { chain } = options;
  if (chain.meterGas === undefined) return scheme;
  return Object.freeze({ ...scheme, meterGas: (book: BookGas) => chain.meterGas?.(book) });
}

const FAMILY: ExactFamily<Terms, AvmPayment, AvmChain> = {
  chainExpected: "a chain, e.g. createAlgodChain(…)",
  feeOption: { name: "maxFeeMicroAlgos", range: { least: 0, most: Number(MAX_SPONSORED_FEE), usual: 16_000 } },
  // The transaction's rounds are over by then: there are at most 1001.
  rememberedMs: 2 * 60 * 60 * 1000,
  prose: {
    unsent: "the group was not sent",
    pending: "sent, and not yet known to be on chain",
    dropped: "the rounds in which it could get on chain are over",
  },
  reasons: {
    asset: "invalid_exact_avm_asset_mismatch",
    payTo: "invalid_exact_avm_receiver_mismatch",
    amount: "invalid_exact_avm_amount_mismatch",
    feePayer: "invalid_exact_avm_invalid_fee_payer",
    fee: "invalid_exact_avm_fee_too_high",
  },
  isSameNetwork,
  readTerms,
  feePayerOf: ({ feePayer }) => (feePayer === undefined ? undefined : encodeAddress(feePayer)),
  readPayment: readAvmPayment,
  feeOf: ({ sponsoredFee }) => sponsoredFee,
  feeMessage: (most) => `the fee is above ${most} millionths of an Algo`,
  // Anyone who has seen a group without a fee payer can send it too.
  toTransaction({ payer, group, transfer, sponsoredFee }, terms, chain) {
    const signed = toPayerSigned(group, transfer, sponsoredFee);
    return {
      identity: transfer.id,
      payer,
      amount: transfer.amount,
      check: () => checkAccounts(payer, terms, chain),
      simulate: () => chain.simulate(signed),
      findEarlier: async () => ({ transaction: transfer.id, outcome: await chain.statusOf(transfer) }),
      async submit() {
        await chain.submit(signed);
        return transfer.id;
      },
      outcomeOf: () => chain.outcomeOf(transfer),
    };
  },
};

/** The group without the fee payer's signature. */
function toPayerSigned(
  group: AvmPayment["group"],
  transfer: AvmPayment["transfer"],
  feeMicroAlgos: bigint,
): PayerSigned {
  const members = group.map(({ bytes, signing }) => ({
    bytes,
    signature: signing.kind === "single" ? signing.signature : undefined,
  }));
  return { members, transfer, feeMicroAlgos };
}
