/**
 * Settles one payment under the protection of the store: written down before the facilitator is told, and after.
 *
 * @module
 */
import type { PaymentState, StoredAnswer } from "../store/payment-record.js";
import type { Transition } from "../store/payment-store.js";
import type { Answer } from "./answer.js";
import { inProgressAnswer, type PaidRequest, unsettledAnswer } from "./paid-request.js";
import type { PaymentsConfig } from "./parse-options.js";
import { type Settlement, settle } from "./settlement.js";

/** Where the payment comes from: a claim, a handler that has answered, or an earlier settlement that did not end. */
export interface SettlementStart {
  readonly from: Extract<PaymentState, "claimed" | "serving" | "unsent" | "unknown">;
  /** The record's owner before; only differs from the claim's when another run takes over. */
  readonly owner: string;
  /** Who was told to settle it before, as its record has it. */
  readonly facilitator: string | undefined;
  /** Kept until the payer has it; `undefined` for an answer too large to keep. */
  readonly answer: StoredAnswer | undefined;
}

/** `lost`: the record is not what this run thinks it is, so nothing was done. */
export type SettledOnce = Settlement | { readonly kind: "lost" };

/** Settles. Never rejects once the facilitator has been told; a store that fails before that rejects, uncharged. */
export async function settleOnce(
  paid: PaidRequest,
  start: SettlementStart,
  config: PaymentsConfig,
): Promise<SettledOnce> {
  const { identity, owner } = paid.claim;
  const { facilitator } = config;
  const first = start.facilitator ?? facilitator.facilitatorOf(identity);
  const taken = await config.store.transition({
    identity,
    from: start.from,
    to: "settling",
    owner: start.owner,
    newOwner: owner,
    ...(first === undefined ? {} : { facilitator: first }),
    ...(start.answer === undefined ? {} : { answer: start.answer }),
  });
  if (!taken) return { kind: "lost" };

  const settlement = await settle(
    {
      request: paid.facilitatorRequest,
      identity,
      facilitator: start.facilitator,
      offer: paid.offer,
      payer: paid.payer,
      repeated: start.from === "unknown",
    },
    facilitator,
    config.logger,
  );
  await record(paid, { settlement, start }, config);
  return settlement;
}

/** What the payer sees while there is nothing to serve for the payment. */
export function unservedAnswer(paid: PaidRequest, settlement: Exclude<SettledOnce, { kind: "settled" }>): Answer {
  return settlement.kind === "lost" ? inProgressAnswer() : unsettledAnswer(paid, settlement);
}

/** A settlement, and where it came from. */
interface Ended {
  readonly settlement: Settlement;
  readonly start: SettlementStart;
}

/** The outcome stands whether or not the store takes it; a store that does not is a matter for the operator. */
async function record(paid: PaidRequest, { settlement, start }: Ended, config: PaymentsConfig): Promise<void> {
  const { identity, owner } = paid.claim;
  try {
    const recorded = await config.store.transition({
      identity,
      from: "settling",
      to: settlement.kind,
      owner,
      ...holderOf(identity, { settlement, start }, config),
      ...("receipt" in settlement ? { answer: null, receipt: settlement.receipt } : {}),
    });
    if (!recorded) config.logger.error("outcome_not_recorded", { identity, outcome: settlement.kind });
  } catch {
    config.logger.error("outcome_not_recorded", { identity, outcome: settlement.kind });
  }
}

/** The one that was to be asked first may have provably got nothing; then another one has the payment, or nobody. */
function holderOf(
  identity: string,
  { settlement, start }: Ended,
  { facilitator }: PaymentsConfig,
): Pick<Transition, "facilitator"> {
  if (settlement.kind === "unsent") return { facilitator: null };
  if (start.facilitator !== undefined) return {};
  const name = facilitator.facilitatorOf(identity);
  return name === undefined ? {} : { facilitator: name };
}
