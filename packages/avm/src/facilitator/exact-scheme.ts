/**
 * The `exact` scheme on one Algorand network, facilitator's side: verifies payments, pays their fee and settles them.
 *
 * @see x402 v2 §6.1; scheme exact on Algorand
 * @module
 */
import { createIssues, type FacilitatorScheme } from "@farebox/core";
import { accept, createTransactionScheme, type PayerTransaction, type Reading } from "@farebox/core/scheme";
import { MAX_SPONSORED_FEE } from "../exact/payment.js";
import type { AvmChain } from "./chain.js";
import { readExactPayment, type Settles } from "./exact-payment.js";
import { toPayerSigned, verifyOnChain } from "./verify-on-chain.js";

/** What the scheme works with. */
export interface ExactAvmSchemeOptions {
  readonly chain: AvmChain;
  /** The most that one group may cost, in millionths of an Algo, 0 to 1000000. Default 16000: a full group as a rule. */
  readonly maxFeeMicroAlgos?: number;
  /** Unix milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

const FEE = { least: 0, most: Number(MAX_SPONSORED_FEE), usual: 16_000 };

/** After this an attempt is forgotten; its rounds are over, for there are 1001 at most. */
const REMEMBERED_MS = 2 * 60 * 60 * 1000;

const PROSE = {
  unsent: "the group was not sent",
  pending: "sent, and not yet known to be on chain",
  dropped: "the rounds in which it could get on chain are over",
};

/**
 * Creates the scheme. It remembers what it has settled for longer than a transaction can live.
 *
 * @throws ConfigError with every issue at once.
 */
export function createExactAvmScheme(options: ExactAvmSchemeOptions): FacilitatorScheme {
  const { chain, now = Date.now, maxFeeMicroAlgos } = options;
  const issues = createIssues();
  issues.checkKeys("options", options, ["chain", "maxFeeMicroAlgos", "now"]);
  if (typeof chain !== "object" || chain === null) {
    issues.add("options.chain", "a chain, e.g. createAlgodChain(…)", chain);
  }
  const most = issues.readNumber("options.maxFeeMicroAlgos", maxFeeMicroAlgos, FEE);
  if (typeof now !== "function") issues.add("options.now", "a function that yields Unix milliseconds", now);
  issues.throwIfAny();
  const { network, feePayer } = chain;
  const settles: Settles = { network, feePayer, maxFeeMicroAlgos: BigInt(most) };
  return createTransactionScheme({
    scheme: "exact",
    chain,
    rememberedMs: REMEMBERED_MS,
    now,
    prose: PROSE,
    read: (request) => readOnChain(request, settles, chain),
  });
}

/** One that needs no fee payer can also be sent by anybody who has seen it. */
function readOnChain(request: unknown, settles: Settles, chain: AvmChain): Reading<PayerTransaction> {
  const asked = readExactPayment(request, settles);
  if (!asked.ok) return asked;
  const { payer, transfer } = asked.value.payment;
  return accept({
    identity: transfer.id,
    payer,
    amount: transfer.amount,
    verify: () => verifyOnChain(asked.value, chain),
    findEarlier: async () => ({ transaction: transfer.id, outcome: await chain.statusOf(transfer) }),
    async submit() {
      await chain.submit(toPayerSigned(asked.value));
      return transfer.id;
    },
    outcomeOf: () => chain.outcomeOf(transfer),
  });
}
