/**
 * The same payment again: what a duplicate gets, while the first request is in flight and afterwards.
 *
 * @see `docs/reference/lifecycle.md`, "The same payment again"
 *
 * @module
 */
import type { PaymentEventMap } from "../events/events.js";
import type { SettlementResponse } from "../protocol/documents.js";
import type { ClaimRequest, PaymentRecord, StoredAnswer } from "../store/payment-store.js";
import { createPrepaid, createPrepaidAdmission, keepAnswer } from "./admission.js";
import { leaseLeft } from "./background.js";
import type { Decision } from "./decision.js";
import type { OngoingRun } from "./in-flight.js";
import { factsOf } from "./outcome.js";
import { answerNotKeptAnswer, inProgressAnswer, type PaidRequest, refusal } from "./paid-request.js";
import type { PaymentsConfig } from "./parse-options.js";
import { type GateResponse, receiptHeaders, replayAnswer } from "./responses.js";
import { settleOnce, unservedAnswer } from "./settle.js";

/** What is known of the payment, and until when, in Unix milliseconds, this request may wait for more. */
export interface Taken {
  readonly record: PaymentRecord;
  readonly untilMs: number;
}

/** Decides a request whose payment already has a record; `undefined` when the record has changed meanwhile. */
export async function decideOnTaken(
  paid: PaidRequest,
  taken: Taken,
  config: PaymentsConfig,
): Promise<Decision | undefined> {
  const { record } = taken;
  if (record.binding !== paid.claim.binding) return alreadyUsed(paid, config);
  switch (record.state) {
    case "claimed":
    case "serving":
    case "settling":
      return decideOnRunning(paid, taken, config);
    case "rejected":
      tellReplayed(paid, "refused", config);
      return {
        kind: "respond",
        response: refusal(paid, record.receipt?.errorReason ?? "payment_already_used", record.receipt),
      };
    default:
      // Whoever watches the chain may have a copy by now, but not the id that its payer gave it.
      if (record.identifier !== undefined && record.identifier !== paid.claim.identifier)
        return alreadyUsed(paid, config);
      return decideOnEnded(paid, { ...record, state: record.state }, config);
  }
}

async function decideOnRunning(paid: PaidRequest, taken: Taken, config: PaymentsConfig): Promise<Decision | undefined> {
  const { record } = taken;
  const isAbandoned = record.state === "settling" && leaseLeft(record, config.now()) === 0;
  if (isAbandoned && config.ongoing.find(record.identity) === undefined) {
    const isPayers = record.identifier === undefined || record.identifier === paid.claim.identifier;
    return isPayers ? settleAgain(paid, { ...record, state: "settling" }, config) : alreadyUsed(paid, config);
  }
  const waited = await waitForRun(paid, taken, config);
  if (waited.kind === "over") return undefined;
  const isShared = waited.kind === "shared";
  tellReplayed(paid, isShared ? "shared" : "pending", config);
  return { kind: "respond", response: isShared ? waited.answer : inProgressAnswer() };
}

type EndedRecord = PaymentRecord & { readonly state: "settled" | "owed" | "unsent" | "unknown" };

async function decideOnEnded(paid: PaidRequest, record: EndedRecord, config: PaymentsConfig): Promise<Decision> {
  if (record.state === "owed") return runOwed(paid, record, config);
  if (record.state !== "settled") return settleAgain(paid, { ...record, state: record.state }, config);
  return record.identifier === undefined ? takeKeptAnswer(paid, record, config) : giveAgain(paid, record, config);
}

/** The payer has proved to be the payer: the answer may be asked for again, for as long as it is kept. */
function giveAgain(paid: PaidRequest, { answer, receipt }: PaymentRecord, config: PaymentsConfig): Decision {
  if (answer === undefined || receipt === undefined) {
    tellReplayed(paid, "refused", config);
    return { kind: "respond", response: answerNotKeptAnswer(receipt) };
  }
  return replay(paid, { answer, receipt }, config);
}

/**
 * A settled payment is public: whoever reads the chain can rebuild it. So it yields nothing, but for the answer whose
 * delivery broke off, and that to one request only.
 */
async function takeKeptAnswer(paid: PaidRequest, record: PaymentRecord, config: PaymentsConfig): Promise<Decision> {
  const { answer, receipt } = record;
  if (answer === undefined || receipt === undefined) return alreadyUsed(paid, config);
  const { identity, owner } = paid.claim;
  const taken = await config.store.transition({
    identity,
    from: "settled",
    to: "settled",
    owner: record.owner,
    newOwner: owner,
    answer: null,
  });
  return taken ? replay(paid, { answer, receipt }, config) : alreadyUsed(paid, config);
}

/** The money moved and there is nothing to show for it: now the handler runs, for one request only. */
async function runOwed(paid: PaidRequest, record: PaymentRecord, config: PaymentsConfig): Promise<Decision> {
  if (record.receipt === undefined) return alreadyUsed(paid, config);
  const { identity, owner } = paid.claim;
  const taken = await config.store.transition({
    identity,
    from: "owed",
    to: "settled",
    owner: record.owner,
    newOwner: owner,
  });
  return taken ? admitPaid(paid, record.receipt, config) : alreadyUsed(paid, config);
}

/** The chain's nonce makes this safe: the same payment cannot be carried out twice. */
async function settleAgain(
  paid: PaidRequest,
  record: PaymentRecord & { readonly state: "settling" | "unsent" | "unknown" },
  config: PaymentsConfig,
): Promise<Decision> {
  const { state: from, owner, facilitator, answer, request = paid.facilitatorRequest } = record;
  const waiting = { client: paid.client };
  // As it was first: the handler may have taken less than was authorized.
  const payment = { ...paid, facilitatorRequest: request, claim: asRecorded(paid.claim, record) };
  try {
    const settlement = await settleOnce(payment, { from, owner, facilitator, answer, waiting }, config);
    if (settlement.kind !== "settled") {
      tellReplayed(paid, settlement.kind === "rejected" ? "refused" : "pending", config);
      return { kind: "respond", response: unservedAnswer(paid, settlement) };
    }
    const { receipt } = settlement;
    return answer === undefined ? admitPaid(paid, receipt, config) : replay(paid, { answer, receipt }, config);
  } finally {
    config.ongoing.end(paid.claim);
  }
}

/** A payment has the id that it was claimed with, or none: one that comes later proves nothing. Nor does it live longer. */
function asRecorded(claim: ClaimRequest, { identifier, expiresAtMs }: PaymentRecord): ClaimRequest {
  const { identifier: _, ...rest } = claim;
  return { ...rest, expiresAtMs, ...(identifier === undefined ? {} : { identifier }) };
}

function admitPaid(paid: PaidRequest, receipt: SettlementResponse, config: PaymentsConfig): Decision {
  tellReplayed(paid, "owed", config);
  config.events.emit("admitted", () => factsOf(paid));
  if (paid.route.settle === "before") return { kind: "run", admission: createPrepaid(paid, receipt, config) };
  return { kind: "run", admission: createPrepaidAdmission(paid, receipt, config) };
}

function replay(
  paid: PaidRequest,
  { answer, receipt }: { readonly answer: StoredAnswer; readonly receipt: SettlementResponse },
  config: PaymentsConfig,
): Decision {
  tellReplayed(paid, "stored", config);
  return {
    kind: "respond",
    response: replayAnswer(answer, receiptHeaders(receipt), { paid: true }),
    undelivered: () => keepAnswer(paid, answer, config),
  };
}

function alreadyUsed(paid: PaidRequest, config: PaymentsConfig): Decision {
  tellReplayed(paid, "refused", config);
  return { kind: "respond", response: refusal(paid, "payment_already_used") };
}

/** Says what the client of a payment that was seen before gets. */
export function tellReplayed(
  paid: PaidRequest,
  how: PaymentEventMap["replayed"]["how"],
  { events }: Pick<PaymentsConfig, "events">,
): void {
  events.emit("replayed", () => ({ ...factsOf(paid), how }));
}

/** How long a copy has waited for. */
export type Waited =
  /** The first run's answer is the copy's, too. */
  | { readonly kind: "shared"; readonly answer: GateResponse }
  /** The first run is over: its record says more. */
  | { readonly kind: "over" }
  /** It goes on, or is not here. */
  | { readonly kind: "running" };

const RUNNING: Waited = Object.freeze({ kind: "running" });
const OVER: Waited = Object.freeze({ kind: "over" });

/**
 * Waits for the run that has a payment.
 *
 * @param untilMs - Unix milliseconds.
 */
async function waitForRun(
  paid: PaidRequest,
  { record, untilMs }: { readonly record: PaymentRecord; readonly untilMs: number },
  { ongoing, now, timer }: Pick<PaymentsConfig, "ongoing" | "now" | "timer">,
): Promise<Waited> {
  const run = ongoing.find(paid.claim.identity);
  const delayMs = untilMs - now();
  if (run === undefined || delayMs <= 0) return RUNNING;
  // Decided now: later, whoever has seen the payment on chain could have come in between.
  const share = mayShare(paid, record, run);
  let stop: () => void = () => {};
  const patience = new Promise<"still">((resolve) => {
    stop = timer(() => resolve("still"), delayMs);
  });
  const ended = await Promise.race([run.ended, patience]);
  stop();
  if (ended === "still") return RUNNING;
  return share && ended !== undefined ? { kind: "shared", answer: ended } : OVER;
}

/**
 * Until the facilitator is told to move the money, a payment is known to its payer and to us. From then on it may be seen
 * on chain by anybody: then only what comes with the same id, or from the same address, is the payer's for all we know.
 */
function mayShare({ claim, client }: PaidRequest, record: PaymentRecord, run: OngoingRun): boolean {
  if (!run.isSettling) return true;
  if (record.identifier !== undefined) return claim.identifier === record.identifier;
  return client !== undefined && client === run.client;
}
