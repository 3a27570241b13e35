/**
 * Settles one payment under the protection of the store: written down before the facilitator is told, and after.
 *
 * @module
 */
import { type Draft, put } from "../draft.js";
import { isPromise, type MaybePromise } from "../maybe-promise.js";
import type { ExtensionResponses, SettlementResponse } from "../protocol/documents.js";
import type { PaymentState, StoredAnswer, Transition } from "../store/payment-store.js";
import { tellHook } from "./hooks.js";
import { factsOf, type Settlement, settle, type UnsettledPayment } from "./outcome.js";
import { inProgressAnswer, type PaidRequest, unsettledAnswer } from "./paid-request.js";
import type { PaymentsConfig } from "./parse-options.js";
import type { GateResponse } from "./responses.js";

/** Where the payment comes from: a claim, a handler that has answered, or an earlier settlement that did not end. */
export interface SettlementStart {
  readonly from: Extract<PaymentState, "claimed" | "serving" | "settling" | "unsent" | "unknown">;
  /** The record's owner before; only differs from the claim's when another run takes over. */
  readonly owner: string;
  /** Who was told to settle it before, as its record has it. */
  readonly facilitator: string | undefined;
  /** Kept until the payer has it; `undefined` for an answer too large to keep. */
  readonly answer: StoredAnswer | undefined;
  /** The client that waits for the outcome, by its address if that is known; `undefined`: nobody waits. */
  readonly waiting: { readonly client: string | undefined } | undefined;
}

/** `lost`: the record is not what this run thinks it is, so nothing was done. */
export type SettledOnce =
  | (Settlement & {
      /** What the facilitator said of our declarations. */
      readonly said?: ExtensionResponses | undefined;
    })
  | { readonly kind: "lost" };

/** Settles. Never rejects once the facilitator has been told; a store that fails before that rejects, uncharged. */
export async function settleOnce(
  payment: UnsettledPayment,
  start: SettlementStart,
  config: PaymentsConfig,
): Promise<SettledOnce> {
  const { claim, facilitatorRequest: request } = payment;
  const { identity, owner } = claim;
  const facilitator = start.facilitator ?? config.facilitator.facilitatorOf(identity);
  const change: Draft<Transition> = {
    identity,
    from: start.from,
    to: "settling",
    owner: start.owner,
    newOwner: owner,
    request,
    leaseUntilMs: config.now() + config.leaseMs,
  };
  put(change, "facilitator", facilitator);
  put(change, "answer", start.answer);
  // Waited for, whatever the store: a copy that came before this has yet to say that it did.
  if (!(await config.store.transition(change))) return { kind: "lost" };

  config.ongoing.settle(claim, start.waiting?.client);
  const startedMs = config.now();
  const repeated = start.from === "unknown" || start.from === "settling";
  let said: ExtensionResponses | undefined;
  const onSaid = (responses: ExtensionResponses | undefined) => {
    said = config.listings.note({ payment, operation: "settle", responses });
  };
  const settlement = await settle({ payment, facilitator: start.facilitator, repeated, onSaid }, config);
  const recorded = record(payment, { settlement, start }, config);
  if (isPromise(recorded)) await recorded;
  tell(payment, { settlement, start, startedMs }, config);
  return said === undefined ? settlement : { ...settlement, said };
}

/** What the payer sees while there is nothing to serve for the payment. */
export function unservedAnswer(paid: PaidRequest, settlement: Exclude<SettledOnce, { kind: "settled" }>): GateResponse {
  return settlement.kind === "lost" ? inProgressAnswer() : unsettledAnswer(paid, settlement);
}

/** A settlement, and where it came from. */
interface Ended {
  readonly settlement: Settlement;
  readonly start: SettlementStart;
}

/** The outcome stands whether or not the store takes it; a store that does not is a matter for the operator. */
function record(payment: UnsettledPayment, ended: Ended, config: PaymentsConfig): MaybePromise<void> {
  const note = (isRecorded: boolean) => {
    const { identity } = payment.claim;
    if (!isRecorded) config.logger.error("outcome_not_recorded", { identity, outcome: ended.settlement.kind });
  };
  try {
    const recorded = config.store.transition(outcomeOf(payment, ended, config));
    return isPromise(recorded) ? recorded.then(note, () => note(false)) : note(recorded);
  } catch {
    note(false);
  }
}

function outcomeOf({ claim }: UnsettledPayment, { settlement, start }: Ended, config: PaymentsConfig): Transition {
  const { identity, owner } = claim;
  const change: Draft<Transition> = { identity, from: "settling", to: settlement.kind, owner, leaseUntilMs: null };
  if (settlement.kind === "settled") {
    change.receipt = settlement.receipt;
    addAnswer(change, claim, start);
  } else if (settlement.kind === "rejected") {
    change.receipt = settlement.receipt;
    change.answer = null;
    change.identifier = null;
  }
  if (settlement.kind === "settled" || settlement.kind === "rejected") change.request = null;
  addHolder(change, { settlement, start }, config);
  return change;
}

/**
 * An answer stays on record for a payer who was not there to get it, or who can prove to be the payer when it is asked for
 * again. A payment without an answer to come back for is owed one.
 */
function addAnswer(change: Draft<Transition>, claim: UnsettledPayment["claim"], start: SettlementStart): void {
  if (start.waiting === undefined) change.to = start.answer === undefined ? "owed" : "settled";
  else if (claim.identifier === undefined) change.answer = null;
}

/** The one that was to be asked first may have provably got nothing; then another one has the payment, or nobody. */
function addHolder(change: Draft<Transition>, { settlement, start }: Ended, { facilitator }: PaymentsConfig): void {
  if (settlement.kind === "unsent") change.facilitator = null;
  else if (start.facilitator === undefined) put(change, "facilitator", facilitator.facilitatorOf(change.identity));
}

/**
 * An outcome that is not known is looked after from here on, whether or not the client comes back. One that is what it was
 * before is no news.
 */
function tell(
  payment: UnsettledPayment,
  { settlement, start, startedMs }: Ended & { readonly startedMs: number },
  config: PaymentsConfig,
): void {
  const { events, pending, now } = config;
  const about = () => ({ ...factsOf(payment), durationMs: now() - startedMs });
  const isNews = settlement.kind !== start.from;
  switch (settlement.kind) {
    case "settled": {
      const { receipt } = settlement;
      events.emit("settled", () => ({ ...about(), transaction: receipt.transaction }));
      tellReceipt(payment, receipt, config);
      return;
    }
    case "rejected": {
      const { receipt } = settlement;
      events.emit("rejected", () => ({ ...about(), reason: receipt.errorReason ?? "unexpected_settle_error" }));
      tellReceipt(payment, receipt, config);
      return;
    }
    case "unsent":
      if (isNews) events.emit("unsent", about);
      return;
    case "unknown":
      pending.add(payment, settlement.retryAfterSeconds);
      if (!isNews) return;
      events.emit("unknown", about);
      tellHook("onSettleUnknown", () => [factsOf(payment)], config);
      return;
    default:
      settlement satisfies never;
  }
}

/** The hook gets a copy: the receipt itself has yet to go to the client. */
function tellReceipt(payment: UnsettledPayment, receipt: SettlementResponse, config: PaymentsConfig): void {
  tellHook("afterSettle", () => [factsOf(payment), Object.freeze({ ...receipt })], config);
}
