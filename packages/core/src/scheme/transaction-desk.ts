/**
 * Verifies and settles payments that are transactions of their payer's making, on whatever network: remembers what was done
 * about each, so that a success is said once.
 *
 * @see x402 v2 §6.1
 * @module
 */
import type { SettlementResponse } from "../protocol/settlement-response.js";
import type { VerifyResponse } from "../protocol/verify-response.js";
import { type Attempts, createAttempts } from "./attempts.js";
import { type Reading, type Refusal, refuse } from "./reading.js";

/**
 * What is known about a transaction.
 *
 * - `confirmed`: on chain, and it did what it was sent for.
 * - `failed`: on chain, and it did nothing.
 * - `pending`: not on chain as far as anyone knows; it may still come.
 * - `dropped`: provably never to come.
 * - `forgotten`: its time is over, and whoever was asked does not remember whether it came.
 */
export type PayerTransactionOutcome = "confirmed" | "failed" | "pending" | "dropped" | "forgotten";

/** A payment that one transaction carries out, and a chain that can carry it out. Made for one request. */
export interface PayerTransaction {
  /** Tells it from every other payment. */
  readonly identity: string;
  readonly payer: string;
  /** Atomic units. */
  readonly amount: bigint;
  /**
   * Whether it would be carried out now; `undefined` when all is well. Never rejects: trouble with the chain is
   * `unexpected_verify_error`.
   */
  verify(): Promise<Refusal | undefined>;
  /** Names its transaction as the chain does, whether sent or not, and says what has become of it, asked once. */
  findEarlier(): Promise<{ readonly transaction: string; readonly outcome: PayerTransactionOutcome }>;
  /** Sends it, and yields the transaction's name. Rejects only when provably nothing was sent. */
  submit(): Promise<string>;
  /** Waits, for a bounded time, until it is known how the transaction has ended. */
  outcomeOf(transaction: string): Promise<PayerTransactionOutcome>;
}

/** What a desk works with. */
export interface TransactionDeskOptions {
  /** CAIP-2. */
  readonly network: string;
  /** How long it is remembered what was done about a payment; longer than its transaction can live. */
  readonly rememberedMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** What is said for a log about transactions on this network that were not sent, may still come, and never will. */
  readonly prose: { readonly unsent: string; readonly pending: string; readonly dropped: string };
}

/** Verifies and settles for one scheme on one network. Both are told what was read of a request. */
export interface TransactionDesk {
  /** Implements `verify` of a `FacilitatorScheme`. */
  verify(reading: Reading<PayerTransaction>): Promise<VerifyResponse>;
  /** Implements `settle` of a `FacilitatorScheme`. */
  settle(reading: Reading<PayerTransaction>): Promise<SettlementResponse>;
}

/** Creates a desk. It remembers what it has done in this process; what was done before, it asks the chain. */
export function createTransactionDesk(options: TransactionDeskOptions): TransactionDesk {
  return new Desk(options);
}

/** `sent`: nobody has been told yet how it ended. `settled`: it is on chain, and somebody has been told so. */
type AttemptState = "sent" | "settled" | "failed" | "dropped";

/** A transaction that was sent. */
interface Attempt {
  readonly transaction: string;
  readonly state: AttemptState;
}

/** What came of the wish to send a transaction: its name, now or before, or an answer instead. */
type Sending =
  | { readonly kind: "sent"; readonly transaction: string }
  | { readonly kind: "answered"; readonly answer: SettlementResponse };

class Desk implements TransactionDesk {
  readonly #network: string;
  readonly #unsent: string;
  readonly #refusalAfter: Readonly<Record<AttemptState, Refusal>>;
  readonly #attempts: Attempts<Attempt>;

  constructor({ network, rememberedMs, now, prose }: TransactionDeskOptions) {
    this.#network = network;
    this.#unsent = prose.unsent;
    this.#refusalAfter = {
      sent: refuse("settlement_pending", prose.pending),
      settled: SETTLED_BEFORE,
      failed: FAILED,
      dropped: refuse("invalid_transaction_state", prose.dropped),
    };
    this.#attempts = createAttempts({ rememberedMs, now });
  }

  async verify(reading: Reading<PayerTransaction>): Promise<VerifyResponse> {
    if (!reading.ok) return { isValid: false, invalidReason: reading.reason, invalidMessage: reading.message };
    const { payer } = reading.value;
    const refusal = await this.#check(reading.value);
    if (refusal === undefined) return { isValid: true, payer };
    return { isValid: false, invalidReason: refusal.reason, invalidMessage: refusal.message, payer };
  }

  async settle(reading: Reading<PayerTransaction>): Promise<SettlementResponse> {
    if (!reading.ok) return this.#refused(undefined, reading);
    const payment = reading.value;
    // Only the sending is done by one at a time: many may wait for the outcome, and the first to hear of it is paid.
    const sending = await this.#attempts.exclusively(payment.identity, () => this.#send(payment));
    return sending.kind === "sent" ? this.#conclude(payment, sending.transaction) : sending.answer;
  }

  async #check(payment: PayerTransaction): Promise<Refusal | undefined> {
    const attempt = this.#attempts.find(payment.identity);
    return attempt === undefined ? payment.verify() : this.#refusalAfter[attempt.state];
  }

  /** Sends the transaction, unless that was done before. */
  async #send(payment: PayerTransaction): Promise<Sending> {
    const earlier = this.#attempts.find(payment.identity);
    if (earlier !== undefined) return this.#sendNothing(payment, earlier);
    const refusal = await payment.verify();
    const answer = await this.#lookBack(payment, refusal);
    if (answer !== undefined) return { kind: "answered", answer };
    try {
      const transaction = await payment.submit();
      this.#attempts.remember(payment.identity, { transaction, state: "sent" });
      return { kind: "sent", transaction };
    } catch (error) {
      const unsent = refuse("unexpected_settle_error", `${this.#unsent}: ${messageOf(error)}`);
      return { kind: "answered", answer: this.#refused(payment.payer, unsent) };
    }
  }

  #sendNothing({ payer }: PayerTransaction, { state, transaction }: Attempt): Sending {
    if (state === "sent") return { kind: "sent", transaction };
    return { kind: "answered", answer: this.#refused(payer, this.#refusalAfter[state], transaction) };
  }

  /**
   * Looks for the transaction before it is sent or refused: a facilitator forgets what it did before it was restarted, and
   * some transactions can be sent by anybody who has seen them.
   */
  async #lookBack(payment: PayerTransaction, refusal: Refusal | undefined): Promise<SettlementResponse | undefined> {
    const { payer } = payment;
    try {
      const { transaction, outcome } = await payment.findEarlier();
      if (outcome === "confirmed") return this.#refused(payer, SETTLED_BEFORE, transaction);
      if (outcome === "failed") return this.#refused(payer, FAILED, transaction);
      if (outcome === "forgotten") return this.#refused(payer, FORGOTTEN);
      return refusal === undefined ? undefined : this.#refused(payer, toSettlement(refusal));
    } catch (error) {
      // Whoever hears a plain refusal takes it that nobody was paid, and that is not known.
      const message = `it cannot be told whether this was settled before: ${messageOf(error)}`;
      return this.#refused(payer, refuse("unexpected_settle_error", message));
    }
  }

  /** Says how a transaction that was sent has ended, as far as is known. */
  async #conclude(payment: PayerTransaction, transaction: string): Promise<SettlementResponse> {
    const { identity, payer, amount } = payment;
    const outcome = await this.#outcomeOf(payment, transaction);
    switch (outcome) {
      case "confirmed":
        // Nothing is awaited between this question and the note that answers it for everybody else.
        if (this.#attempts.find(identity)?.state === "settled")
          return this.#refused(payer, SETTLED_BEFORE, transaction);
        this.#attempts.remember(identity, { transaction, state: "settled" });
        return { success: true, payer, transaction, network: this.#network, amount: amount.toString() };
      case "failed":
      case "dropped":
        this.#attempts.remember(identity, { transaction, state: outcome });
        return this.#refused(payer, this.#refusalAfter[outcome], transaction);
      case "forgotten":
      case "pending":
        return this.#refused(payer, this.#refusalAfter.sent, transaction);
      default:
        return outcome satisfies never;
    }
  }

  async #outcomeOf(payment: PayerTransaction, transaction: string): Promise<PayerTransactionOutcome> {
    try {
      return await payment.outcomeOf(transaction);
    } catch {
      return "pending";
    }
  }

  #refused(payer: string | undefined, { reason, message }: Refusal, transaction = ""): SettlementResponse {
    const who = payer === undefined ? {} : { payer };
    return { success: false, errorReason: reason, errorMessage: message, ...who, transaction, network: this.#network };
  }
}

const SETTLED_BEFORE = refuse("payment_already_settled", "this payment was settled before");
const FAILED = refuse("invalid_transaction_state", "the transaction failed on chain");
const FORGOTTEN = refuse(
  "unexpected_settle_error",
  "it cannot be told whether this was settled before: it is older than what the node remembers",
);

function toSettlement(refusal: Refusal): Refusal {
  if (refusal.reason !== "unexpected_verify_error") return refusal;
  return refuse("unexpected_settle_error", refusal.message);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "not an error";
}
