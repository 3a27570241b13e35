/**
 * The `exact` scheme on one EVM network, facilitator's side: verifies and settles EIP-3009 payments.
 *
 * @see x402 v2 §6.1; scheme exact on EVM, EIP-3009, Phases 2 and 3
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
import { type Attempt, type AttemptState, type Attempts, createAttempts, isAttemptFor } from "./attempts.js";
import type { EvmChain, Hash, TransactionOutcome } from "./chain.js";
import { type ExactPayment, readExactPayment } from "./exact-payment.js";
import { type Refusal, refuse } from "./refusal.js";
import { verifyOnChain } from "./verify-on-chain.js";

/** What the scheme works with. */
export interface ExactEvmSchemeOptions {
  readonly chain: EvmChain;
  /** Unix milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

/**
 * Creates the scheme. It remembers what it has settled for as long as a payment can live.
 *
 * @throws ConfigError with every issue at once.
 */
export function createExactEvmScheme(options: ExactEvmSchemeOptions): FacilitatorScheme {
  const { chain, now = Date.now } = options;
  const issues = createIssues();
  issues.checkKeys("options", options, ["chain", "now"]);
  if (typeof chain !== "object" || chain === null)
    issues.add("options.chain", "a chain, e.g. createRpcChain(…)", chain);
  if (typeof now !== "function") issues.add("options.now", "a function that yields Unix milliseconds", now);
  issues.throwIfAny();
  return new ExactEvmScheme(chain, now);
}

/** What came of the wish to send a transfer: a transaction, now or before, or an answer instead. */
type Sending =
  | { readonly kind: "sent"; readonly transaction: Hash }
  | { readonly kind: "answered"; readonly answer: SettlementResponse };

class ExactEvmScheme implements FacilitatorScheme {
  readonly scheme = "exact";
  readonly network: `eip155:${number}`;
  readonly extra: Readonly<Record<string, unknown>> = Object.freeze({});
  readonly signers: readonly string[];
  readonly #chain: EvmChain;
  readonly #chainId: number;
  readonly #now: () => number;
  readonly #attempts: Attempts;

  constructor(chain: EvmChain, now: () => number) {
    this.network = chain.network;
    this.signers = chain.signers;
    this.#chain = chain;
    this.#chainId = Number(chain.network.slice("eip155:".length));
    this.#now = now;
    this.#attempts = createAttempts(now);
  }

  async verify(request: FacilitatorRequest): Promise<VerifyResponse> {
    const { payer, payment } = readExactPayment(request, { network: this.network, chainId: this.#chainId });
    const refusal = payment.ok ? await this.#check(payment.value) : payment;
    if (refusal === undefined) return { isValid: true, ...withPayer(payer) };
    return { isValid: false, invalidReason: refusal.reason, invalidMessage: refusal.message, ...withPayer(payer) };
  }

  async settle(request: FacilitatorRequest): Promise<SettlementResponse> {
    const { payer, payment } = readExactPayment(request, { network: this.network, chainId: this.#chainId });
    if (!payment.ok) return this.#refused(payer, payment);
    // Only the sending is done by one at a time: many may wait for the outcome, and the first to hear of it is paid.
    const sending = await this.#attempts.exclusively(payment.value.signed, () => this.#send(payment.value));
    return sending.kind === "sent" ? this.#conclude(payment.value, sending.transaction) : sending.answer;
  }

  health(): Promise<SchemeHealth> {
    return this.#chain.health();
  }

  async #check({ signed }: ExactPayment): Promise<Refusal | undefined> {
    const attempt = this.#attempts.find(signed);
    if (attempt === undefined) return verifyOnChain(signed, this.#chain, Math.floor(this.#now() / 1000));
    return isAttemptFor(attempt, signed) ? REFUSAL_AFTER[attempt.state] : NONCE_USED;
  }

  /** Sends the transfer, unless that was done before. */
  async #send(payment: ExactPayment): Promise<Sending> {
    const { signed } = payment;
    const earlier = this.#attempts.find(signed);
    if (earlier !== undefined) return this.#sendNothing(payment, earlier);
    const refusal = await this.#check(payment);
    if (refusal !== undefined) return answered(await this.#refusedOnChain(payment, refusal));
    try {
      const transaction = await this.#chain.submit(signed);
      this.#attempts.remember(signed, { transaction, state: "sent" });
      return { kind: "sent", transaction };
    } catch (error) {
      const unsent = refuse("unexpected_settle_error", `the transaction was not sent: ${messageOf(error)}`);
      return answered(await this.#lookBack(payment, unsent));
    }
  }

  async #sendNothing(payment: ExactPayment, earlier: Attempt): Promise<Sending> {
    const { payer, signed } = payment;
    const { state, transaction } = earlier;
    if (!isAttemptFor(earlier, signed)) return answered(this.#refused(payer, NONCE_USED));
    switch (state) {
      case "sent":
        return { kind: "sent", transaction };
      case "settled":
        return answered(this.#refused(payer, SETTLED_BEFORE, transaction));
      case "reverted":
        return answered(await this.#lookBack(payment, REVERTED, transaction));
      default:
        return state satisfies never;
    }
  }

  /** Says how a transaction that was sent has ended, as far as is known. */
  async #conclude(payment: ExactPayment, transaction: Hash): Promise<SettlementResponse> {
    const { signed, payer } = payment;
    const outcome = await this.#outcomeOf(transaction);
    switch (outcome) {
      case "confirmed": {
        // Nothing is awaited between this question and the note that answers it for everybody else.
        if (this.#attempts.find(signed)?.state === "settled") return this.#refused(payer, SETTLED_BEFORE, transaction);
        this.#attempts.remember(signed, { transaction, state: "settled" });
        const amount = signed.authorization.value.toString();
        return { success: true, payer, transaction, network: this.network, amount };
      }
      case "reverted":
        this.#attempts.remember(signed, { transaction, state: "reverted" });
        return this.#lookBack(payment, REVERTED, transaction);
      case "dropped":
        this.#attempts.forget(signed, transaction);
        return this.#refused(payer, DROPPED);
      case "pending":
        return this.#refused(payer, PENDING, transaction);
      default:
        return outcome satisfies never;
    }
  }

  async #refusedOnChain(payment: ExactPayment, refusal: Refusal): Promise<SettlementResponse> {
    switch (refusal.reason) {
      case "unexpected_verify_error":
        return this.#refused(payment.payer, refuse("unexpected_settle_error", refusal.message));
      case "invalid_transaction_state":
      case "invalid_exact_evm_payload_authorization_valid_before":
      case "insufficient_funds":
        return this.#lookBack(payment, refusal);
      default:
        return this.#refused(payment.payer, refusal);
    }
  }

  /**
   * Refuses a payment, unless it is already paid: anybody may carry out a signed transfer, and a facilitator forgets what
   * it did before it was restarted. Then the answer names the transaction.
   */
  async #lookBack(payment: ExactPayment, refusal: Refusal, transaction = ""): Promise<SettlementResponse> {
    const { payer, signed } = payment;
    const { asset, authorization } = signed;
    try {
      const isUsed = await this.#chain.isAuthorizationUsed(asset, authorization.from, authorization.nonce);
      const earlier = isUsed ? await this.#chain.findTransfer(signed) : undefined;
      if (earlier !== undefined) return this.#refused(payer, SETTLED_BEFORE, earlier);
      return this.#refused(payer, refusal, transaction);
    } catch (error) {
      // Whoever hears a plain refusal takes it that nobody was paid, and that is not known.
      const message = `it cannot be told whether this was settled before: ${messageOf(error)}`;
      return this.#refused(payer, refuse("unexpected_settle_error", message), transaction);
    }
  }

  async #outcomeOf(transaction: Hash): Promise<TransactionOutcome> {
    try {
      return await this.#chain.outcomeOf(transaction);
    } catch {
      return "pending";
    }
  }

  #refused(payer: string | undefined, { reason, message }: Refusal, transaction = ""): SettlementResponse {
    return {
      success: false,
      errorReason: reason,
      errorMessage: message,
      ...withPayer(payer),
      transaction,
      network: this.network,
    };
  }
}

const SETTLED_BEFORE = refuse("payment_already_settled", "this authorization was settled before");
const NONCE_USED = refuse("invalid_transaction_state", "another authorization has this nonce");
const REVERTED = refuse("invalid_transaction_state", "the transaction failed on chain");
const PENDING = refuse("settlement_pending", "sent, and not yet on chain");
const DROPPED = refuse("unexpected_settle_error", "the transaction was crowded out, and can be sent again");
const REFUSAL_AFTER: Readonly<Record<AttemptState, Refusal>> = {
  sent: PENDING,
  settled: SETTLED_BEFORE,
  reverted: REVERTED,
};

function answered(answer: SettlementResponse): Sending {
  return { kind: "answered", answer };
}

function withPayer(payer: string | undefined): { readonly payer?: string } {
  return payer === undefined ? {} : { payer };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "not an error";
}
