/**
 * The payments that the checks put into a store.
 *
 * @module
 */
import {
  type ClaimRequest,
  type PaymentRecord,
  type PaymentState,
  type SettlementResponse,
  type StoredAnswer,
  TRANSITIONS,
  type Transition,
} from "@farebox/core";
import { demandEqual } from "./demand.js";
import type { Stage } from "./stage.js";

export const MINUTE_MS = 60_000;

export const STATES: readonly PaymentState[] = Object.freeze(Object.keys(TRANSITIONS) as PaymentState[]);

export const RECEIPT: SettlementResponse = Object.freeze({
  success: true,
  transaction: "0x5f1c",
  network: "eip155:84532",
  payer: "0x857b06519E91e3A54538791bDbb0E22373e36b66",
  amount: "340282366920938463463374607431768211455",
});

export const REFUSAL: SettlementResponse = Object.freeze({
  success: false,
  errorReason: "insufficient_funds",
  errorMessage: "“no” — 'really' \"not\" \\ ☂",
  transaction: "",
  network: "eip155:84532",
});

export const ANSWER: StoredAnswer = Object.freeze({
  status: 200,
  headers: [["Content-Type", "text/plain"]] as const,
  body: new TextEncoder().encode("sunny"),
});

/** A way to each state from a claim. */
const PATHS: Readonly<Record<PaymentState, readonly PaymentState[]>> = {
  claimed: [],
  serving: ["serving"],
  settling: ["serving", "settling"],
  settled: ["serving", "settling", "settled"],
  owed: ["settling", "settled", "owed"],
  rejected: ["serving", "settling", "rejected"],
  unsent: ["serving", "settling", "unsent"],
  unknown: ["serving", "settling", "unknown"],
};

/** What a gate would claim: a payment that expires five minutes from now. */
export function claimOf(stage: Stage, change: Partial<ClaimRequest> = {}): ClaimRequest {
  const binding = JSON.stringify(["GET /weather/:city", "GET", "/weather/paris?unit=c"]);
  return { identity: "p", binding, owner: "run", expiresAtMs: stage.clock.now() + 5 * MINUTE_MS, ...change };
}

/** Claims a payment that nobody has claimed. */
export async function claimed(stage: Stage, change: Partial<ClaimRequest> = {}): Promise<PaymentRecord> {
  const request = claimOf(stage, change);
  demandEqual(await stage.store.claim(request), { kind: "claimed" }, "claim of a payment that is not there");
  return { ...request, state: "claimed" };
}

/** Claims a payment and takes it to a state. Yields the record that the store should have now. */
export async function broughtTo(
  stage: Stage,
  state: PaymentState,
  change: Partial<ClaimRequest> = {},
): Promise<PaymentRecord> {
  let record = await claimed(stage, change);
  for (const to of PATHS[state]) record = await moved(stage, record, { to });
  return record;
}

/** Takes a payment on to a state that may follow. Yields the record that the store should have now. */
export async function moved(
  stage: Stage,
  record: PaymentRecord,
  change: Pick<Transition, "to"> & Partial<Transition>,
): Promise<PaymentRecord> {
  const { identity, state: from, owner } = record;
  const taken = await stage.store.transition({ identity, from, owner, ...change });
  demandEqual(taken, true, `transition from ${from} to ${change.to}`);
  return expectedAfter(record, change);
}

function expectedAfter(record: PaymentRecord, change: Pick<Transition, "to"> & Partial<Transition>): PaymentRecord {
  const { answer: answerBefore, facilitator: facilitatorBefore, ...rest } = record;
  const answer = change.answer === undefined ? answerBefore : change.answer;
  const facilitator = change.facilitator === undefined ? facilitatorBefore : change.facilitator;
  return {
    ...rest,
    state: change.to,
    owner: change.newOwner ?? record.owner,
    // `null` forgets.
    ...(answer ? { answer } : {}),
    ...(facilitator ? { facilitator } : {}),
    ...(change.receipt === undefined ? {} : { receipt: change.receipt }),
  };
}
