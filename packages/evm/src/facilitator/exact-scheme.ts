/**
 * The `exact` scheme on one EVM network, facilitator's side: verifies and settles EIP-3009 payments.
 *
 * @see x402 v2 §6.1; scheme exact on EVM, EIP-3009, Phases 2 and 3
 * @module
 */
import type {
  FacilitatorRequest,
  FacilitatorScheme,
  SchemeHealth,
  SettlementResponse,
  VerifyResponse,
} from "@farebox/core";
import { type Attempt, type Attempts, createAttempts, isAttemptFor } from "./attempts.js";
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

/** Creates the scheme. It remembers what it has settled for as long as a payment can live. */
export function createExactEvmScheme({ chain, now = Date.now }: ExactEvmSchemeOptions): FacilitatorScheme {
  return new ExactEvmScheme(chain, now);
}

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
    return this.#attempts.exclusively(payment.value.signed, () => this.#settle(payment.value));
  }

  health(): Promise<SchemeHealth> {
    return this.#chain.health();
  }

  async #check({ signed }: ExactPayment): Promise<Refusal | undefined> {
    const attempt = this.#attempts.find(signed);
    if (attempt === undefined) return verifyOnChain(signed, this.#chain, Math.floor(this.#now() / 1000));
    if (attempt.state === "reverted" || !isAttemptFor(attempt, signed)) return NONCE_USED;
    return SETTLED_BEFORE;
  }

  async #settle(payment: ExactPayment): Promise<SettlementResponse> {
    const { payer, signed } = payment;
    const attempt = this.#attempts.find(signed);
    if (attempt !== undefined) return this.#settleAgain(payment, attempt);
    const refusal = await this.#check(payment);
    if (refusal?.reason === "invalid_transaction_state") return this.#blame(payment, refusal, "");
    if (refusal !== undefined) return this.#refused(payer, refusal);
    try {
      const transaction = await this.#chain.submit(signed);
      this.#attempts.remember(signed, { transaction, state: "sent" });
      return await this.#conclude(payment, transaction);
    } catch (error) {
      const message = `the transaction was not sent: ${messageOf(error)}`;
      return this.#refused(payer, refuse("unexpected_settle_error", message));
    }
  }

  /** The first answer about this authorization was lost, or it was not known yet. */
  async #settleAgain(payment: ExactPayment, attempt: Attempt): Promise<SettlementResponse> {
    const { transaction, state } = attempt;
    if (!isAttemptFor(attempt, payment.signed)) return this.#refused(payment.payer, NONCE_USED);
    switch (state) {
      case "sent":
        return this.#conclude(payment, transaction);
      case "settled":
        return this.#refused(payment.payer, SETTLED_BEFORE, transaction);
      case "reverted":
        return this.#blame(payment, REVERTED, transaction);
      default:
        return state satisfies never;
    }
  }

  /** Says how a transaction that was sent has ended, as far as is known. Never rejects. */
  async #conclude(payment: ExactPayment, transaction: Hash): Promise<SettlementResponse> {
    const { signed, payer } = payment;
    switch (await this.#outcomeOf(transaction)) {
      case "confirmed": {
        this.#attempts.remember(signed, { transaction, state: "settled" });
        const amount = signed.authorization.value.toString();
        return { success: true, payer, transaction, network: this.network, amount };
      }
      case "reverted":
        this.#attempts.remember(signed, { transaction, state: "reverted" });
        return this.#blame(payment, REVERTED, transaction);
      default:
        return this.#refused(payer, refuse("settlement_pending", "sent, and not yet on chain"), transaction);
    }
  }

  /**
   * Anybody may carry out a signed transfer, and a facilitator forgets. Where the nonce is used up by this very payment,
   * the payer has paid, and the answer names the transaction by which.
   */
  async #blame(payment: ExactPayment, refusal: Refusal, transaction: string): Promise<SettlementResponse> {
    const earlier = await this.#chain.findTransfer(payment.signed).catch(() => undefined);
    if (earlier !== undefined) return this.#refused(payment.payer, SETTLED_BEFORE, earlier);
    return this.#refused(payment.payer, refusal, transaction);
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
const NONCE_USED = refuse("invalid_transaction_state", "the nonce is used up");
const REVERTED = refuse("invalid_transaction_state", "the transaction failed on chain");

function withPayer(payer: string | undefined): { readonly payer?: string } {
  return payer === undefined ? {} : { payer };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "not an error";
}
