/**
 * Verifies and settles movements of money, whatever the scheme and the method: remembers what was done about each, so that
 * a success is said once.
 *
 * @see x402 v2 §6.1
 * @module
 */
import type { SettlementResponse, VerifyResponse } from "@farebox/core";
import { type Reading, type Refusal, refuse } from "@farebox/core/scheme";
import { type Attempt, type AttemptState, type Attempts, createAttempts, isAttemptFor } from "./attempts.js";
import type { EvmChain, Hash, TransactionOutcome } from "./chain.js";
import type { Moved, Movement } from "./movement.js";

/** A request as it is read: as far as it got, the payer is known. */
export interface MovementReading {
  readonly payer: string | undefined;
  readonly movement: Reading<Movement>;
}

/** A transfer that was sent. */
interface Sent {
  readonly transaction: Hash;
  readonly amount: bigint;
}

/** What came of the wish to send a transfer: a transaction, now or before, or an answer instead. */
type Sending = ({ readonly kind: "sent" } & Sent) | { readonly kind: "answered"; readonly answer: SettlementResponse };

/** How many transactions one call waits for, one after the other, as long as each is crowded out. */
const MAX_SENDINGS = 3;

/** Settles for one scheme on one chain. */
export class SettlementDesk {
  readonly #chain: Pick<EvmChain, "network" | "outcomeOf">;
  readonly #now: () => number;
  readonly #attempts: Attempts;

  /** @param now - Unix milliseconds. */
  constructor(chain: Pick<EvmChain, "network" | "outcomeOf">, now: () => number) {
    this.#chain = chain;
    this.#now = now;
    this.#attempts = createAttempts(now);
  }

  /** Implements `verify` of a `FacilitatorScheme`. */
  async verify({ payer, movement }: MovementReading): Promise<VerifyResponse> {
    const refusal = movement.ok ? await this.#check(movement.value) : movement;
    if (refusal === undefined) return { isValid: true, ...withPayer(payer) };
    return { isValid: false, invalidReason: refusal.reason, invalidMessage: refusal.message, ...withPayer(payer) };
  }

  /** Implements `settle` of a `FacilitatorScheme`. */
  async settle({ payer, movement: reading }: MovementReading): Promise<SettlementResponse> {
    if (!reading.ok) return this.#refused(payer, reading);
    const movement = reading.value;
    let sinceMs: number | undefined;
    for (let dropped = 0; ; dropped++) {
      // Only the sending is done by one at a time: many may wait for the outcome, and the first to hear of it is paid.
      const sending = await this.#attempts.exclusively(movement, () => this.#send(movement));
      if (sending.kind === "answered") return weigh(sending.answer, dropped);
      // All transactions share the time that there is for one.
      sinceMs ??= performance.now();
      const outcome = await this.#outcomeOf(sending.transaction, performance.now() - sinceMs);
      if (outcome !== "dropped-early" || dropped + 1 === MAX_SENDINGS) {
        return weigh(await this.#conclude(movement, sending, outcome), dropped);
      }
      this.#attempts.drop(movement, sending.transaction);
    }
  }

  async #check(movement: Movement): Promise<Refusal | undefined> {
    const attempt = this.#attempts.find(movement);
    if (attempt === undefined) return movement.verify(Math.floor(this.#now() / 1000));
    return isAttemptFor(attempt, movement) ? REFUSAL_AFTER[attempt.state] : NONCE_USED;
  }

  /** Sends the transfer, unless that was done before. */
  async #send(movement: Movement): Promise<Sending> {
    const earlier = this.#attempts.find(movement);
    if (earlier !== undefined) return this.#sendNothing(movement, earlier);
    const refusal = await this.#check(movement);
    if (refusal !== undefined) return answered(await this.#refusedOnChain(movement, refusal));
    if (movement.amount === 0n) return answered(this.#settled(movement, ""));
    try {
      const sent = { transaction: await movement.submit(), amount: movement.amount };
      this.#attempts.remember(movement, { ...sent, state: "sent" });
      return { kind: "sent", ...sent };
    } catch (error) {
      const unsent = refuse("unexpected_settle_error", `the transaction was not sent: ${messageOf(error)}`);
      return answered(await this.#lookBack(movement, unsent));
    }
  }

  async #sendNothing(movement: Movement, earlier: Attempt): Promise<Sending> {
    const { state, transaction, amount } = earlier;
    if (!isAttemptFor(earlier, movement)) return answered(this.#refused(movement.payer, NONCE_USED));
    if (transaction === "" || state === "settled") return answered(this.#settledBefore(movement, earlier));
    if (state === "sent") return { kind: "sent", transaction, amount };
    return answered(await this.#lookBack(movement, REVERTED, transaction));
  }

  /** Says how a transaction that was sent has ended, as far as is known. */
  async #conclude(movement: Movement, sent: Sent, outcome: TransactionOutcome): Promise<SettlementResponse> {
    const { transaction } = sent;
    switch (outcome) {
      case "confirmed":
        return this.#confirmed(movement, sent);
      case "reverted":
        this.#attempts.remember(movement, { ...sent, state: "reverted" });
        return this.#lookBack(movement, REVERTED, transaction);
      case "dropped":
      case "dropped-early":
        this.#attempts.drop(movement, transaction);
        return this.#refused(movement.payer, DROPPED);
      case "pending":
        return this.#refused(movement.payer, PENDING, transaction);
      default:
        return outcome satisfies never;
    }
  }

  /** Says that a transaction of ours has moved the money: as a success to the first who asks, once. */
  #confirmed(movement: Movement, moved: Moved): SettlementResponse {
    // Nothing is awaited between this question and the note that answers it for everybody else. Who has asked for another
    // amount than was moved is no success of theirs.
    const isTold = this.#attempts.find(movement)?.state === "settled";
    if (isTold || moved.amount !== movement.amount) return this.#settledBefore(movement, moved);
    return this.#settled(movement, moved.transaction);
  }

  /** The only place where a success is said. */
  #settled(movement: Movement, transaction: Hash | ""): SettlementResponse {
    const { payer, amount } = movement;
    this.#attempts.remember(movement, { transaction, amount, state: "settled" });
    return { success: true, payer, transaction, network: this.#chain.network, amount: amount.toString() };
  }

  #settledBefore({ payer }: Movement, { transaction, amount }: Moved): SettlementResponse {
    return { ...this.#refused(payer, SETTLED_BEFORE, transaction), amount: amount.toString() };
  }

  async #refusedOnChain(movement: Movement, refusal: Refusal): Promise<SettlementResponse> {
    switch (refusal.reason) {
      case "unexpected_verify_error":
        return this.#refused(movement.payer, refuse("unexpected_settle_error", refusal.message));
      case "invalid_transaction_state":
      case "invalid_exact_evm_payload_authorization_valid_before":
      case "insufficient_funds":
      case "permit2_allowance_required":
        return this.#lookBack(movement, refusal);
      default:
        return this.#refused(movement.payer, refusal);
    }
  }

  /**
   * Refuses a payment, unless it is already paid: others may carry it out too, and a facilitator forgets what it did before
   * it was restarted. Then the answer names the transaction. One of ours that was given up, and is on chain after all, is a
   * success that nobody has heard of.
   */
  async #lookBack(movement: Movement, refusal: Refusal, transaction = ""): Promise<SettlementResponse> {
    try {
      const earlier = await movement.findEarlier();
      if (earlier === undefined) return this.#refused(movement.payer, refusal, transaction);
      const { transaction: found, amount } = earlier;
      if (found === "" || !this.#attempts.wasDropped(movement, found)) return this.#settledBefore(movement, earlier);
      return await this.#concludeDropped(movement, { transaction: found, amount });
    } catch (error) {
      // Whoever hears a plain refusal takes it that nobody was paid, and that is not known.
      const message = `it cannot be told whether this was settled before: ${messageOf(error)}`;
      return this.#refused(movement.payer, refuse("unexpected_settle_error", message), transaction);
    }
  }

  /** It is looked at once, since the time for waiting may be over. */
  async #concludeDropped(movement: Movement, sent: Sent): Promise<SettlementResponse> {
    const outcome = await this.#outcomeOf(sent.transaction, Number.POSITIVE_INFINITY);
    if (outcome === "confirmed") return this.#confirmed(movement, sent);
    return this.#refused(movement.payer, PENDING, sent.transaction);
  }

  async #outcomeOf(transaction: Hash, waitedMs: number): Promise<TransactionOutcome> {
    try {
      return await this.#chain.outcomeOf(transaction, waitedMs);
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
      network: this.#chain.network,
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

/**
 * Whoever is refused for good takes it that nobody was paid. Right after a transaction was given up nobody is: the node that
 * does not know it may only be late, and the refusal be because of it.
 */
function weigh(answer: SettlementResponse, dropped: number): SettlementResponse {
  const { success, errorReason } = answer;
  const isSeen = success || errorReason === SETTLED_BEFORE.reason || errorReason === PENDING.reason;
  return dropped === 0 || isSeen ? answer : { ...answer, errorReason: "unexpected_settle_error" };
}

function answered(answer: SettlementResponse): Sending {
  return { kind: "answered", answer };
}

function withPayer(payer: string | undefined): { readonly payer?: string } {
  return payer === undefined ? {} : { payer };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "not an error";
}
