/**
 * The `exact` scheme on one Solana network, facilitator's side: verifies payments, pays their fee and settles them.
 *
 * @see x402 v2 §6.1; scheme exact on SVM
 * @module
 */
import { createIssues, type FacilitatorScheme } from "@farebox/core";
import { accept, createTransactionScheme, type PayerTransaction, type Reading } from "@farebox/core/scheme";
import type { SvmChain } from "./chain.js";
import { readExactPayment, type Settles } from "./exact-payment.js";
import { toPayerSigned, verifyOnChain } from "./verify-on-chain.js";

/** What the scheme works with. */
export interface ExactSvmSchemeOptions {
  readonly chain: SvmChain;
  /**
   * The most that one transaction may cost above the 10000 lamports of its two signatures, 0 to 7000000. Default 100000:
   * the protocol's bound alone would let a payer spend seven million of the fee payer's on each payment.
   */
  readonly maxPriorityFeeLamports?: number;
  /** Unix milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

/** At most 5 lamports for each of the 1.4 million compute units that a transaction may have. */
const PRIORITY_FEE = { least: 0, most: 7_000_000, usual: 100_000 };

/** After this an attempt is forgotten; its blockhash has long run out, and the chain still knows it. */
const REMEMBERED_MS = 60 * 60 * 1000;

const PROSE = {
  unsent: "the transaction was not sent",
  pending: "sent, and not yet on chain",
  dropped: "the blockhash ran out before the transaction got on chain",
};

/**
 * Creates the scheme. It remembers what it has settled for longer than a transaction can live.
 *
 * @throws ConfigError with every issue at once.
 */
export function createExactSvmScheme(options: ExactSvmSchemeOptions): FacilitatorScheme {
  const { chain, now = Date.now, maxPriorityFeeLamports } = options;
  const issues = createIssues();
  issues.checkKeys("options", options, ["chain", "maxPriorityFeeLamports", "now"]);
  if (typeof chain !== "object" || chain === null) {
    issues.add("options.chain", "a chain, e.g. createRpcSvmChain(…)", chain);
  }
  const most = issues.readNumber("options.maxPriorityFeeLamports", maxPriorityFeeLamports, PRIORITY_FEE);
  if (typeof now !== "function") issues.add("options.now", "a function that yields Unix milliseconds", now);
  issues.throwIfAny();
  const { network, feePayer } = chain;
  const settles: Settles = { network, feePayer, maxPriorityFeeLamports: BigInt(most) };
  return createTransactionScheme({
    scheme: "exact",
    chain,
    rememberedMs: REMEMBERED_MS,
    now,
    prose: PROSE,
    read: (request) => readOnChain(request, settles, chain),
  });
}

/** Nobody but this facilitator can send the transaction, since the fee payer's signature is shown to nobody. */
function readOnChain(request: unknown, settles: Settles, chain: SvmChain): Reading<PayerTransaction> {
  const asked = readExactPayment(request, settles);
  if (!asked.ok) return asked;
  const { payment } = asked.value;
  const { digest, payer, transfer } = payment;
  return accept({
    identity: digest,
    payer,
    amount: transfer.amount,
    verify: () => verifyOnChain(asked.value, chain),
    async findEarlier() {
      const transaction = await chain.signatureOf(toPayerSigned(payment));
      return { transaction, outcome: await chain.statusOf(transaction) };
    },
    submit: async () => chain.submit(toPayerSigned(payment)),
    outcomeOf: (transaction) => chain.outcomeOf(transaction),
  });
}
