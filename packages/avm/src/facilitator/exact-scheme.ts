/**
 * The `exact` scheme on one Algorand network, facilitator's side: verifies payments, pays their fee and settles them.
 *
 * @see x402 v2 §6.1; scheme exact on Algorand
 * @module
 */
import {
  createIssues,
  type FacilitatorRequest,
  type FacilitatorScheme,
  type SchemeHealth,
  type SettlementResponse,
  type VerifyResponse,
} from "@farebox/core";
import { type Refusal, refuse } from "@farebox/core/scheme";
import { MAX_SPONSORED_FEE } from "../exact/payment.js";
import { type AttemptState, type Attempts, createAttempts } from "./attempts.js";
import type { AvmChain, TransactionName, TransactionOutcome } from "./chain.js";
import { type AskedPayment, readExactPayment, type Settles } from "./exact-payment.js";
import { toPayerSigned, verifyOnChain } from "./verify-on-chain.js";

/** What the scheme works with. */
export interface ExactAvmSchemeOptions {
  readonly chain: AvmChain;
  /** The most that one group may cost, in millionths of an Algo, 0 to 1000000. Default 16000: a full group as a rule. */
  readonly maxFeeMicroAlgos?: number;
  /** Unix milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

const DEFAULT_FEE = 16_000;

/**
 * Creates the scheme. It remembers what it has settled for longer than a transaction can live.
 *
 * @throws ConfigError with every issue at once.
 */
export function createExactAvmScheme(options: ExactAvmSchemeOptions): FacilitatorScheme {
  const { chain, now = Date.now, maxFeeMicroAlgos = DEFAULT_FEE } = options;
  const issues = createIssues();
  issues.checkKeys("options", options, ["chain", "maxFeeMicroAlgos", "now"]);
  if (typeof chain !== "object" || chain === null) {
    issues.add("options.chain", "a chain, e.g. createAlgodChain(…)", chain);
  }
  const fee: unknown = maxFeeMicroAlgos;
  if (!Number.isInteger(fee) || Number(fee) < 0 || Number(fee) > Number(MAX_SPONSORED_FEE)) {
    issues.add("options.maxFeeMicroAlgos", `a whole number from 0 to ${MAX_SPONSORED_FEE}`, fee);
  }
  if (typeof now !== "function") issues.add("options.now", "a function that yields Unix milliseconds", now);
  issues.throwIfAny();
  return new ExactAvmScheme({ chain, now, maxFeeMicroAlgos: BigInt(maxFeeMicroAlgos) });
}

/** What came of the wish to send a group: it is out, since now or before, or there is an answer instead. */
type Sending = { readonly kind: "sent" } | { readonly kind: "answered"; readonly answer: SettlementResponse };

class ExactAvmScheme implements FacilitatorScheme {
  readonly scheme = "exact";
  readonly network: `algorand:${string}`;
  readonly extra: Readonly<Record<string, unknown>>;
  readonly signers: readonly string[];
  readonly #chain: AvmChain;
  readonly #settles: Settles;
  readonly #attempts: Attempts;

  constructor({
    chain,
    now,
    maxFeeMicroAlgos,
  }: {
    readonly chain: AvmChain;
    readonly now: () => number;
    readonly maxFeeMicroAlgos: bigint;
  }) {
    const { network, feePayer } = chain;
    this.network = network;
    this.extra = Object.freeze({ feePayer });
    this.signers = Object.freeze([feePayer]);
    this.#chain = chain;
    this.#settles = { network, feePayer, maxFeeMicroAlgos };
    this.#attempts = createAttempts(now);
  }

  async verify(request: FacilitatorRequest): Promise<VerifyResponse> {
    const asked = readExactPayment(request, this.#settles);
    if (!asked.ok) return { isValid: false, invalidReason: asked.reason, invalidMessage: asked.message };
    const { payer } = asked.value.payment;
    const refusal = await this.#check(asked.value);
    if (refusal === undefined) return { isValid: true, payer };
    return { isValid: false, invalidReason: refusal.reason, invalidMessage: refusal.message, payer };
  }

  async settle(request: FacilitatorRequest): Promise<SettlementResponse> {
    const asked = readExactPayment(request, this.#settles);
    if (!asked.ok) return this.#refused(undefined, asked);
    const { id } = asked.value.payment.transfer;
    // Only the sending is done by one at a time: many may wait for the outcome, and the first to hear of it is paid.
    const sending = await this.#attempts.exclusively(id, () => this.#send(asked.value));
    return sending.kind === "sent" ? this.#conclude(asked.value) : sending.answer;
  }

  health(): Promise<SchemeHealth> {
    return this.#chain.health();
  }

  async #check(asked: AskedPayment): Promise<Refusal | undefined> {
    const attempt = this.#attempts.find(asked.payment.transfer.id);
    return attempt === undefined ? verifyOnChain(asked, this.#chain) : REFUSAL_AFTER[attempt];
  }

  /** Sends the group, unless that was done before. */
  async #send(asked: AskedPayment): Promise<Sending> {
    const { payment } = asked;
    const earlier = this.#attempts.find(payment.transfer.id);
    if (earlier !== undefined) return this.#sendNothing(asked, earlier);
    const refusal = await verifyOnChain(asked, this.#chain);
    const answer = await this.#lookBack(asked, refusal);
    if (answer !== undefined) return { kind: "answered", answer };
    try {
      await this.#chain.submit(toPayerSigned(asked));
      this.#attempts.remember(payment.transfer.id, "sent");
      return { kind: "sent" };
    } catch (error) {
      const unsent = refuse("unexpected_settle_error", `the group was not sent: ${messageOf(error)}`);
      return { kind: "answered", answer: this.#refused(payment.payer, unsent) };
    }
  }

  #sendNothing({ payment }: AskedPayment, state: AttemptState): Sending {
    if (state === "sent") return { kind: "sent" };
    const answer = this.#refused(payment.payer, REFUSAL_AFTER[state], payment.transfer.id);
    return { kind: "answered", answer };
  }

  /**
   * Looks for the transaction before it is sent or refused: a facilitator forgets what it did before it was restarted. One
   * that needs no fee payer may also have been sent by anybody who has seen it.
   */
  async #lookBack({ payment }: AskedPayment, refusal: Refusal | undefined): Promise<SettlementResponse | undefined> {
    const { payer, transfer } = payment;
    try {
      const status = await this.#chain.statusOf(transfer);
      if (status === "confirmed") return this.#refused(payer, SETTLED_BEFORE, transfer.id);
      if (status === "forgotten") return this.#refused(payer, FORGOTTEN);
      return refusal === undefined ? undefined : this.#refused(payer, toSettlement(refusal));
    } catch (error) {
      // Whoever hears a plain refusal takes it that nobody was paid, and that is not known.
      const message = `it cannot be told whether this was settled before: ${messageOf(error)}`;
      return this.#refused(payer, refuse("unexpected_settle_error", message));
    }
  }

  /** Says how a group that was sent has ended, as far as is known. */
  async #conclude({ payment }: AskedPayment): Promise<SettlementResponse> {
    const { payer, transfer } = payment;
    const { id } = transfer;
    const outcome = await this.#outcomeOf(transfer);
    switch (outcome) {
      case "confirmed":
        // Nothing is awaited between this question and the note that answers it for everybody else.
        if (this.#attempts.find(id) === "settled") return this.#refused(payer, SETTLED_BEFORE, id);
        this.#attempts.remember(id, "settled");
        return { success: true, payer, transaction: id, network: this.network, amount: transfer.amount.toString() };
      case "dropped":
        this.#attempts.remember(id, "dropped");
        return this.#refused(payer, DROPPED, id);
      case "forgotten":
      case "pending":
        return this.#refused(payer, PENDING, id);
      default:
        return outcome satisfies never;
    }
  }

  async #outcomeOf(transaction: TransactionName): Promise<TransactionOutcome> {
    try {
      return await this.#chain.outcomeOf(transaction);
    } catch {
      return "pending";
    }
  }

  #refused(payer: string | undefined, { reason, message }: Refusal, transaction = ""): SettlementResponse {
    const who = payer === undefined ? {} : { payer };
    return { success: false, errorReason: reason, errorMessage: message, ...who, transaction, network: this.network };
  }
}

const SETTLED_BEFORE = refuse("payment_already_settled", "this payment was settled before");
const PENDING = refuse("settlement_pending", "sent, and not yet known to be on chain");
const DROPPED = refuse("invalid_transaction_state", "the rounds in which it could get on chain are over");
const FORGOTTEN = refuse(
  "unexpected_settle_error",
  "it cannot be told whether this was settled before: it is older than what the node remembers",
);
const REFUSAL_AFTER: Readonly<Record<AttemptState, Refusal>> = {
  sent: PENDING,
  settled: SETTLED_BEFORE,
  dropped: DROPPED,
};

function toSettlement(refusal: Refusal): Refusal {
  if (refusal.reason !== "unexpected_verify_error") return refusal;
  return refuse("unexpected_settle_error", refusal.message);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "not an error";
}
