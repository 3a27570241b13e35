/**
 * The `exact` scheme on one Solana network, facilitator's side: verifies payments, pays their fee and settles them.
 *
 * @see x402 v2 §6.1; scheme exact on SVM
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
import { type Attempt, type AttemptState, type Attempts, createAttempts } from "./attempts.js";
import type { SvmChain, TransactionOutcome } from "./chain.js";
import { type AskedPayment, readExactPayment, type Settles } from "./exact-payment.js";
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

const DEFAULT_PRIORITY_FEE = 100_000;
/** 5 lamports for each of the 1.4 million compute units that a transaction may have. */
const MAX_PRIORITY_FEE = 7_000_000;

/**
 * Creates the scheme. It remembers what it has settled for longer than a transaction can live.
 *
 * @throws ConfigError with every issue at once.
 */
export function createExactSvmScheme(options: ExactSvmSchemeOptions): FacilitatorScheme {
  const { chain, now = Date.now, maxPriorityFeeLamports = DEFAULT_PRIORITY_FEE } = options;
  const issues = createIssues();
  issues.checkKeys("options", options, ["chain", "maxPriorityFeeLamports", "now"]);
  if (typeof chain !== "object" || chain === null) {
    issues.add("options.chain", "a chain, e.g. createRpcSvmChain(…)", chain);
  }
  const fee: unknown = maxPriorityFeeLamports;
  if (!Number.isInteger(fee) || Number(fee) < 0 || Number(fee) > MAX_PRIORITY_FEE) {
    issues.add("options.maxPriorityFeeLamports", `a whole number from 0 to ${MAX_PRIORITY_FEE}`, fee);
  }
  if (typeof now !== "function") issues.add("options.now", "a function that yields Unix milliseconds", now);
  issues.throwIfAny();
  return new ExactSvmScheme({ chain, now, maxPriorityFeeLamports: BigInt(maxPriorityFeeLamports) });
}

/** What came of the wish to send a transaction: its signature, now or before, or an answer instead. */
type Sending =
  | { readonly kind: "sent"; readonly transaction: string }
  | { readonly kind: "answered"; readonly answer: SettlementResponse };

class ExactSvmScheme implements FacilitatorScheme {
  readonly scheme = "exact";
  readonly network: `solana:${string}`;
  readonly extra: Readonly<Record<string, unknown>>;
  readonly signers: readonly string[];
  readonly #chain: SvmChain;
  readonly #settles: Settles;
  readonly #attempts: Attempts;

  constructor({
    chain,
    now,
    maxPriorityFeeLamports,
  }: {
    readonly chain: SvmChain;
    readonly now: () => number;
    readonly maxPriorityFeeLamports: bigint;
  }) {
    const { network, feePayer } = chain;
    this.network = network;
    this.extra = Object.freeze({ feePayer });
    this.signers = Object.freeze([feePayer]);
    this.#chain = chain;
    this.#settles = { network, feePayer, maxPriorityFeeLamports };
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
    const { digest } = asked.value.payment;
    // Only the sending is done by one at a time: many may wait for the outcome, and the first to hear of it is paid.
    const sending = await this.#attempts.exclusively(digest, () => this.#send(asked.value));
    return sending.kind === "sent" ? this.#conclude(asked.value, sending.transaction) : sending.answer;
  }

  health(): Promise<SchemeHealth> {
    return this.#chain.health();
  }

  async #check(asked: AskedPayment): Promise<Refusal | undefined> {
    const attempt = this.#attempts.find(asked.payment.digest);
    return attempt === undefined ? verifyOnChain(asked, this.#chain) : REFUSAL_AFTER[attempt.state];
  }

  /** Sends the transaction, unless that was done before. */
  async #send(asked: AskedPayment): Promise<Sending> {
    const { payment } = asked;
    const earlier = this.#attempts.find(payment.digest);
    if (earlier !== undefined) return this.#sendNothing(asked, earlier);
    const refusal = await verifyOnChain(asked, this.#chain);
    const answer = await this.#lookBack(asked, refusal);
    if (answer !== undefined) return { kind: "answered", answer };
    try {
      const transaction = await this.#chain.submit(toPayerSigned(payment));
      this.#attempts.remember(payment.digest, { transaction, state: "sent" });
      return { kind: "sent", transaction };
    } catch (error) {
      const unsent = refuse("unexpected_settle_error", `the transaction was not sent: ${messageOf(error)}`);
      return { kind: "answered", answer: this.#refused(payment.payer, unsent) };
    }
  }

  #sendNothing({ payment }: AskedPayment, { state, transaction }: Attempt): Sending {
    if (state === "sent") return { kind: "sent", transaction };
    return { kind: "answered", answer: this.#refused(payment.payer, REFUSAL_AFTER[state], transaction) };
  }

  /**
   * Looks for the transaction before it is sent or refused: a facilitator forgets what it did before it was restarted.
   * Nobody else can have sent it, since the fee payer's signature was shown to nobody.
   */
  async #lookBack({ payment }: AskedPayment, refusal: Refusal | undefined): Promise<SettlementResponse | undefined> {
    try {
      const transaction = await this.#chain.signatureOf(toPayerSigned(payment));
      const status = await this.#chain.statusOf(transaction);
      if (status === "confirmed") return this.#refused(payment.payer, SETTLED_BEFORE, transaction);
      if (status === "failed") return this.#refused(payment.payer, FAILED, transaction);
      return refusal === undefined ? undefined : this.#refused(payment.payer, toSettlement(refusal));
    } catch (error) {
      // Whoever hears a plain refusal takes it that nobody was paid, and that is not known.
      const message = `it cannot be told whether this was settled before: ${messageOf(error)}`;
      return this.#refused(payment.payer, refuse("unexpected_settle_error", message));
    }
  }

  /** Says how a transaction that was sent has ended, as far as is known. */
  async #conclude({ payment }: AskedPayment, transaction: string): Promise<SettlementResponse> {
    const { digest, payer, transfer } = payment;
    const outcome = await this.#outcomeOf(transaction);
    switch (outcome) {
      case "confirmed":
        // Nothing is awaited between this question and the note that answers it for everybody else.
        if (this.#attempts.find(digest)?.state === "settled") return this.#refused(payer, SETTLED_BEFORE, transaction);
        this.#attempts.remember(digest, { transaction, state: "settled" });
        return { success: true, payer, transaction, network: this.network, amount: transfer.amount.toString() };
      case "failed":
      case "dropped":
        this.#attempts.remember(digest, { transaction, state: outcome });
        return this.#refused(payer, REFUSAL_AFTER[outcome], transaction);
      case "pending":
        return this.#refused(payer, PENDING, transaction);
      default:
        return outcome satisfies never;
    }
  }

  async #outcomeOf(transaction: string): Promise<TransactionOutcome> {
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
const FAILED = refuse("invalid_transaction_state", "the transaction failed on chain");
const PENDING = refuse("settlement_pending", "sent, and not yet on chain");
const DROPPED = refuse("invalid_transaction_state", "the blockhash ran out before the transaction got on chain");
const REFUSAL_AFTER: Readonly<Record<AttemptState, Refusal>> = {
  sent: PENDING,
  settled: SETTLED_BEFORE,
  failed: FAILED,
  dropped: DROPPED,
};

function toSettlement(refusal: Refusal): Refusal {
  if (refusal.reason !== "unexpected_verify_error") return refusal;
  return refuse("unexpected_settle_error", refusal.message);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "not an error";
}
