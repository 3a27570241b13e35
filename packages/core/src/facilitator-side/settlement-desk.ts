/**
 * A settlement desk: verifies and settles payments for one scheme on one network. It remembers each payment, so that a
 * success is reported once.
 *
 *   verify → look back → send → wait for the outcome → report
 *
 * Many callers may settle the same payment at once. Only one of them sends; all of them wait for the outcome.
 *
 * The memory is in this process. For settlements before a restart, the desk asks the chain: it looks back.
 *
 * In this file: the payment and its outcomes, `SettlementDesk`, `createTransactionDesk` for payments that are transactions of their payer,
 * and the desk's memory (`Attempts`, `AgingMap`).
 *
 * @see x402 v2 §6.1
 * @module
 */
import type { SettlementResponse, VerifyResponse } from "../protocol/documents.js";
import { accept, type Reading, type Refusal, refuse } from "../scheme/reading.js";

/** A payment at a desk, and a chain that can carry it out. Made for one request. */
export interface DeskPayment {
  /** The address as the client spelled it. */
  readonly payer: string;
  /** Atomic units to move. */
  readonly amount: bigint;
  /** The part that can be used once, e.g. token, payer and nonce. Of two payments with one identity, one is carried out. */
  readonly identity: string;
  /** The rest of the signed payment, and the signature. */
  readonly fingerprint: string;
  /**
   * Checks whether it would be carried out now; `undefined` if so. Never rejects: trouble with the chain is `unexpected_verify_error`.
   *
   * @param nowSeconds - Unix seconds.
   */
  verify(nowSeconds: number): Promise<Refusal | undefined>;
  /**
   * Sends it. Resolves with the transaction's name, or `""` if no money is moved. Rejects only if provably nothing was sent.
   */
  submit(): Promise<string>;
  /**
   * Waits, for a bounded time, for the outcome of its transaction. A rejection counts as `pending`.
   *
   * @param waitedMs - The part of that time that was used for another transaction.
   */
  outcomeOf(transaction: string, waitedMs: number): Promise<SettlementOutcome>;
  /** Asks the chain for the transaction that carried out this payment, regardless of its sender. Rejects if that is unknown. */
  findEarlier(): Promise<EarlierSettlement | undefined>;
}

/**
 * The outcome of a transaction, as far as it is known.
 *
 * - `confirmed`: on chain, and successful.
 * - `failed`: on chain, and failed.
 * - `pending`: not known to be on chain, but may still get there.
 * - `dropped`: never gets on chain. The payment can be sent again, in another transaction.
 * - `dropped-early`: as `dropped`, with enough time left to send the payment again and wait.
 * - `expired`: never gets on chain, and the payment cannot be sent again.
 */
export type SettlementOutcome = "confirmed" | "failed" | "pending" | "dropped" | "dropped-early" | "expired";

/** A transfer, sent or made. */
export interface Transfer {
  /** Empty if no money was to be moved. */
  readonly transaction: string;
  /** Atomic units. */
  readonly amount: bigint;
}

/** An earlier transfer, or a reason on chain why the payment is not to be sent any more. */
export type EarlierSettlement = Transfer | { readonly refusal: Refusal; readonly transaction: string };

/** A request as far as it was read. */
export interface DeskReading {
  /** Known even for some refused requests. */
  readonly payer: string | undefined;
  readonly payment: Reading<DeskPayment>;
}

/** The options of a desk. */
export interface SettlementDeskOptions {
  /** CAIP-2. */
  readonly network: string;
  /** How long the desk remembers a payment. Longer than the payment can live. */
  readonly rememberedMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
  /**
   * When the desk asks the chain for an earlier settlement of a payment.
   *
   * - `before-sending`: always. For transactions of the payer, which may be on chain already.
   * - `when-refused`: if that would explain the refusal. For signed authorizations, where `verify` sees a used nonce.
   */
  readonly looksBack: "before-sending" | "when-refused";
  /** Messages for logs: about transactions that were not sent, are pending, and were dropped. */
  readonly prose: { readonly unsent: string; readonly pending: string; readonly dropped: string };
}

/** A payment that was sent, now or before, or a response instead. */
type Sending =
  | ({ readonly kind: "sent" } & Transfer)
  | { readonly kind: "responded"; readonly response: SettlementResponse };

/** How many transactions one call waits for, one after the other, while each is dropped early. */
const MAX_SENDINGS = 3;

const SETTLED_BEFORE = refuse("payment_already_settled", "this payment was settled before");
const NONCE_USED = refuse("invalid_transaction_state", "another authorization has this nonce");
const FAILED = refuse("invalid_transaction_state", "the transaction failed on chain");

/** Reasons that an earlier settlement of the same payment would explain. */
const EXPLAINED_BY_SETTLEMENT: ReadonlySet<string> = new Set([
  "invalid_transaction_state",
  "invalid_exact_evm_payload_authorization_valid_before",
  "insufficient_funds",
  "permit2_allowance_required",
]);

/** Verifies and settles for one scheme on one network. */
export class SettlementDesk {
  readonly #options: SettlementDeskOptions;
  readonly #attempts: Attempts;
  readonly #refusalAfter: Readonly<Record<AttemptState, Refusal>>;

  constructor(options: SettlementDeskOptions) {
    const { prose } = options;
    this.#options = options;
    this.#attempts = new Attempts(options);
    this.#refusalAfter = {
      sent: refuse("settlement_pending", prose.pending),
      settled: SETTLED_BEFORE,
      failed: FAILED,
      expired: refuse("invalid_transaction_state", prose.dropped),
    };
  }

  /** Implements `verify` of a `FacilitatorScheme`. */
  async verify({ payer, payment }: DeskReading): Promise<VerifyResponse> {
    const refusal = payment.ok ? await this.#check(payment.value) : payment;
    if (refusal === undefined) return { isValid: true, ...withPayer(payer) };
    return { isValid: false, invalidReason: refusal.reason, invalidMessage: refusal.message, ...withPayer(payer) };
  }

  async #check(payment: DeskPayment): Promise<Refusal | undefined> {
    const attempt = this.#attempts.find(payment);
    if (attempt === undefined) return payment.verify(this.#nowSeconds());
    return isAttemptFor(attempt, payment) ? this.#refusalAfter[attempt.state] : NONCE_USED;
  }

  /** Implements `settle` of a `FacilitatorScheme`. */
  async settle({ payer, payment: reading }: DeskReading): Promise<SettlementResponse> {
    if (!reading.ok) return this.#refused(payer, reading);
    const payment = reading.value;
    let sinceMs: number | undefined;
    for (let dropped = 0; ; dropped++) {
      const sending = await this.#attempts.exclusively(payment, () => this.#send(payment));
      if (sending.kind === "responded") return this.#weigh(sending.response, dropped);
      // All transactions share the time that there is for one.
      sinceMs ??= performance.now();
      const outcome = await outcomeOf(payment, sending.transaction, performance.now() - sinceMs);
      if (outcome !== "dropped-early" || dropped + 1 === MAX_SENDINGS) {
        return this.#weigh(await this.#conclude(payment, sending, outcome), dropped);
      }
      this.#attempts.drop(payment, sending.transaction);
    }
  }

  /** Sends the payment, unless that was done before. */
  async #send(payment: DeskPayment): Promise<Sending> {
    const attempt = this.#attempts.find(payment);
    if (attempt !== undefined) return this.#resume(payment, attempt);
    const refusal = await payment.verify(this.#nowSeconds());
    const isExplained = refusal !== undefined && EXPLAINED_BY_SETTLEMENT.has(refusal.reason);
    const looksBack = this.#options.looksBack === "before-sending" || isExplained;
    const found = looksBack ? await this.#lookBack(payment) : undefined;
    if (found !== undefined) return responded(found);
    if (refusal !== undefined) return responded(this.#refused(payment.payer, toSettlement(refusal)));
    try {
      const sent = { transaction: await payment.submit(), amount: payment.amount };
      if (sent.transaction === "") return responded(this.#settled(payment, ""));
      this.#attempts.remember(payment, { ...sent, state: "sent" });
      return { kind: "sent", ...sent };
    } catch (error) {
      const unsent = `${this.#options.prose.unsent}: ${messageOf(error)}`;
      return responded(await this.#refusedOrFound(payment, refuse("unexpected_settle_error", unsent)));
    }
  }

  async #resume(payment: DeskPayment, attempt: Attempt): Promise<Sending> {
    const { state, transaction, amount } = attempt;
    if (!isAttemptFor(attempt, payment)) return responded(this.#refused(payment.payer, NONCE_USED));
    if (state === "sent") return { kind: "sent", transaction, amount };
    if (state === "settled") return responded(this.#settledBefore(payment, attempt));
    if (state === "failed") return responded(await this.#refusedOrFound(payment, FAILED, transaction));
    return responded(this.#refused(payment.payer, this.#refusalAfter[state], transaction));
  }

  /** Concludes from the outcome of a transaction that was sent. */
  async #conclude(payment: DeskPayment, sent: Transfer, outcome: SettlementOutcome): Promise<SettlementResponse> {
    const { transaction } = sent;
    switch (outcome) {
      case "confirmed":
        return this.#confirmed(payment, sent);
      case "failed":
        this.#attempts.remember(payment, { ...sent, state: "failed" });
        return this.#refusedOrFound(payment, FAILED, transaction);
      case "expired":
        this.#attempts.remember(payment, { ...sent, state: "expired" });
        return this.#refused(payment.payer, this.#refusalAfter.expired, transaction);
      case "dropped":
      case "dropped-early":
        this.#attempts.drop(payment, transaction);
        return this.#refused(payment.payer, refuse("unexpected_settle_error", this.#options.prose.dropped));
      case "pending":
        return this.#refused(payment.payer, this.#refusalAfter.sent, transaction);
      default:
        return outcome satisfies never;
    }
  }

  /** Reports a transaction of this desk that moved the money: as a success to the first caller, once. */
  #confirmed(payment: DeskPayment, sent: Transfer): SettlementResponse {
    // Nothing is awaited between this question and the note in `#settled`, so no second caller gets past it. A caller that
    // asked for another amount than was moved gets no success.
    const isReported = this.#attempts.find(payment)?.state === "settled";
    if (isReported || sent.amount !== payment.amount) return this.#settledBefore(payment, sent);
    return this.#settled(payment, sent.transaction);
  }

  /** The only place that reports a success. */
  #settled(payment: DeskPayment, transaction: string): SettlementResponse {
    const { payer, amount } = payment;
    this.#attempts.remember(payment, { transaction, amount, state: "settled" });
    return { success: true, payer, transaction, network: this.#options.network, amount: amount.toString() };
  }

  /** Refuses after a failure. A desk that has not looked back before looks back now. */
  async #refusedOrFound(payment: DeskPayment, refusal: Refusal, transaction = ""): Promise<SettlementResponse> {
    const found = this.#options.looksBack === "when-refused" ? await this.#lookBack(payment, transaction) : undefined;
    return found ?? this.#refused(payment.payer, refusal, transaction);
  }

  /**
   * Looks for an earlier settlement: others may carry out the payment too, and a restart empties the memory. The response
   * names the transaction. If it is one of this desk's that was given up, it is a success that was never reported.
   */
  async #lookBack(payment: DeskPayment, transaction = ""): Promise<SettlementResponse | undefined> {
    try {
      const earlier = await payment.findEarlier();
      if (earlier === undefined) return undefined;
      if ("refusal" in earlier) return this.#refused(payment.payer, earlier.refusal, earlier.transaction);
      if (!this.#attempts.wasDropped(payment, earlier.transaction)) return this.#settledBefore(payment, earlier);
      // Looked at once, because the time for waiting may be over.
      const outcome = await outcomeOf(payment, earlier.transaction, Number.POSITIVE_INFINITY);
      if (outcome === "confirmed") return this.#confirmed(payment, earlier);
      return this.#refused(payment.payer, this.#refusalAfter.sent, earlier.transaction);
    } catch (error) {
      // A plain refusal would mean that no money was moved, and that is not known.
      const message = `it is unknown whether this was settled before: ${messageOf(error)}`;
      return this.#refused(payment.payer, refuse("unexpected_settle_error", message), transaction);
    }
  }

  /**
   * A final refusal means that no money was moved. That is not certain right after a transaction was given up: the node that
   * does not know it may only lag, and refuse because of it. So such a refusal is not final.
   */
  #weigh(response: SettlementResponse, dropped: number): SettlementResponse {
    const { success, errorReason } = response;
    const isCertain =
      success || errorReason === SETTLED_BEFORE.reason || errorReason === this.#refusalAfter.sent.reason;
    return dropped === 0 || isCertain ? response : { ...response, errorReason: "unexpected_settle_error" };
  }

  #nowSeconds(): number {
    return Math.floor(this.#options.now() / 1000);
  }

  #settledBefore({ payer }: DeskPayment, { transaction, amount }: Transfer): SettlementResponse {
    return { ...this.#refused(payer, SETTLED_BEFORE, transaction), amount: amount.toString() };
  }

  #refused(payer: string | undefined, { reason, message }: Refusal, transaction = ""): SettlementResponse {
    const { network } = this.#options;
    return { success: false, errorReason: reason, errorMessage: message, ...withPayer(payer), transaction, network };
  }
}

async function outcomeOf(payment: DeskPayment, transaction: string, waitedMs: number): Promise<SettlementOutcome> {
  try {
    return await payment.outcomeOf(transaction, waitedMs);
  } catch {
    return "pending";
  }
}

function toSettlement(refusal: Refusal): Refusal {
  if (refusal.reason !== "unexpected_verify_error") return refusal;
  return refuse("unexpected_settle_error", refusal.message);
}

function responded(response: SettlementResponse): Sending {
  return { kind: "responded", response };
}

function withPayer(payer: string | undefined): { readonly payer?: string } {
  return payer === undefined ? {} : { payer };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "not an error";
}

/** A payment that is a transaction of its payer, and a chain that can carry it out. Made for one request. */
export interface PayerTransaction extends Pick<DeskPayment, "payer" | "amount" | "identity"> {
  /** As {@link DeskPayment.verify}. */
  verify(): Promise<Refusal | undefined>;
  /** Names its transaction as the chain does, whether sent or not, and asks once for its outcome. */
  findEarlier(): Promise<{ readonly transaction: string; readonly outcome: PayerTransactionOutcome }>;
  /** Sends it. Resolves with the transaction's name. Rejects only if provably nothing was sent. */
  submit(): Promise<string>;
  /** Waits, for a bounded time, for the outcome of the transaction. */
  outcomeOf(transaction: string): Promise<PayerTransactionOutcome>;
}

/**
 * The outcome of a payer's transaction, as far as it is known.
 *
 * - `confirmed`, `failed`, `pending`: as {@link SettlementOutcome}.
 * - `dropped`: provably never to get on chain. It is the payer's, so the payment cannot be sent again.
 * - `forgotten`: its time is over, and the node does not remember whether it got on chain.
 */
export type PayerTransactionOutcome = "confirmed" | "failed" | "pending" | "dropped" | "forgotten";

/** The options of {@link createTransactionDesk}. */
export type TransactionDeskOptions = Omit<SettlementDeskOptions, "looksBack">;

/** Verifies and settles payers' transactions, as {@link SettlementDesk} does. */
export interface TransactionDesk {
  verify(reading: Reading<PayerTransaction>): Promise<VerifyResponse>;
  settle(reading: Reading<PayerTransaction>): Promise<SettlementResponse>;
}

/** Creates a desk for payments that are transactions of their payer. */
export function createTransactionDesk(options: TransactionDeskOptions): TransactionDesk {
  const desk = new SettlementDesk({ ...options, looksBack: "before-sending" });
  return {
    verify: (reading) => desk.verify(toDeskReading(reading)),
    settle: (reading) => desk.settle(toDeskReading(reading)),
  };
}

const FORGOTTEN = refuse(
  "unexpected_settle_error",
  "it is unknown whether this was settled before: it is older than what the node remembers",
);

function toDeskReading(reading: Reading<PayerTransaction>): DeskReading {
  if (!reading.ok) return { payer: undefined, payment: reading };
  const { value: payment } = reading;
  const { identity, payer, amount } = payment;
  return {
    payer,
    payment: accept({
      ...{ identity, payer, amount, fingerprint: "" },
      verify: () => payment.verify(),
      submit: () => payment.submit(),
      async outcomeOf(name) {
        const outcome = await payment.outcomeOf(name);
        if (outcome === "forgotten") return "pending";
        return outcome === "dropped" ? "expired" : outcome;
      },
      async findEarlier() {
        const { transaction, outcome } = await payment.findEarlier();
        if (outcome === "confirmed") return { transaction, amount };
        if (outcome === "failed") return { refusal: FAILED, transaction };
        return outcome === "forgotten" ? { refusal: FORGOTTEN, transaction: "" } : undefined;
      },
    }),
  };
}

/**
 * - `sent`: its outcome was not reported yet.
 * - `settled`: on chain, or nothing was to be moved, and reported as a success.
 * - `failed`: on chain, and failed.
 * - `expired`: never to get on chain.
 */
type AttemptState = "sent" | "settled" | "failed" | "expired";

/** The last action of the desk on a payment. */
interface Attempt extends Transfer {
  readonly state: AttemptState;
  readonly fingerprint: string;
}

type PaymentKey = Pick<DeskPayment, "identity" | "fingerprint">;

/** Remembers attempts, and lets only one caller at a time work on a payment. */
export class Attempts {
  readonly #attempts: AgingMap<Attempt>;
  readonly #dropped: AgingMap<ReadonlySet<string>>;
  readonly #working = new Map<string, Promise<unknown>>();

  constructor(limits: MemoryLimits) {
    this.#attempts = new AgingMap(limits);
    this.#dropped = new AgingMap(limits);
  }

  /** The number of remembered attempts. */
  get size(): number {
    return this.#attempts.size;
  }

  find({ identity }: PaymentKey): Attempt | undefined {
    return this.#attempts.get(identity);
  }

  /** Remembers an attempt. A settled one stays settled, regardless of other transactions. */
  remember({ identity, fingerprint }: PaymentKey, attempt: Omit<Attempt, "fingerprint">): void {
    if (this.#attempts.get(identity)?.state === "settled") return;
    this.#attempts.set(identity, { ...attempt, fingerprint });
    // If a given-up transaction outlived the note of a success, it could become a second one.
    if (attempt.state === "settled") this.#dropped.delete(`${identity}|${fingerprint}`);
  }

  /** Gives up a transaction, and forgets the attempt if it still waits for that one. */
  drop({ identity, fingerprint }: PaymentKey, transaction: string): void {
    const attempt = this.#attempts.get(identity);
    if (attempt?.state === "settled") return;
    const name = `${identity}|${fingerprint}`;
    this.#dropped.set(name, new Set([...(this.#dropped.get(name) ?? []), transaction]));
    if (attempt?.state === "sent" && attempt.transaction === transaction) this.#attempts.delete(identity);
  }

  /** Whether a transaction was sent for this very payment and given up, and the payment has not been settled since. */
  wasDropped({ identity, fingerprint }: PaymentKey, transaction: string): boolean {
    return this.#dropped.get(`${identity}|${fingerprint}`)?.has(transaction) === true;
  }

  /** Runs `work` when no other caller works on this payment any more. */
  async exclusively<T>({ identity }: Pick<PaymentKey, "identity">, work: () => Promise<T>): Promise<T> {
    const previous = this.#working.get(identity) ?? Promise.resolve();
    const turn = previous.then(work, work);
    this.#working.set(identity, turn);
    try {
      return await turn;
    } finally {
      if (this.#working.get(identity) === turn) this.#working.delete(identity);
    }
  }
}

/** Whether an attempt was made for this very payment. */
export function isAttemptFor(attempt: Attempt, { fingerprint }: PaymentKey): boolean {
  return attempt.fingerprint === fingerprint;
}

type MemoryLimits = Pick<SettlementDeskOptions, "rememberedMs" | "now">;

/** A map that forgets each entry some time after it was last set, the oldest first. */
export class AgingMap<V> {
  readonly #entries = new Map<string, { readonly value: V; readonly sinceMs: number }>();
  readonly #limits: MemoryLimits;

  constructor(limits: MemoryLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)?.value;
  }

  set(key: string, value: V): void {
    const nowMs = this.#limits.now();
    // Deleted first, so that the entries stay in the order of their age.
    this.#entries.delete(key);
    this.#entries.set(key, { value, sinceMs: nowMs });
    for (const [oldest, { sinceMs }] of this.#entries) {
      if (sinceMs + this.#limits.rememberedMs > nowMs) break;
      this.#entries.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
