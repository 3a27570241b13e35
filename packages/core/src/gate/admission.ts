/**
 * An admission: one payment whose handler may run, from then until its answer is released or replaced.
 *
 * @see `docs/reference/lifecycle.md`
 * @module
 */
import type { CancelReason } from "../events/events.js";
import { overrideInHeaderFinding } from "../events/findings.js";
import type { Logger } from "../events/logger.js";
import type { SettlementResponse } from "../protocol/documents.js";
import { encodePaymentResponse, isSettlementOverrides, PAYMENT_RESPONSE } from "../protocol/headers.js";
import type { StoredAnswer } from "../store/payment-store.js";
import { isChargeable } from "./chargeable.js";
import { askHook, tellHook } from "./hooks.js";
import { relayHeaders } from "./listings.js";
import { factsOf, withAmount } from "./outcome.js";
import { type PaidRequest, unreachableAnswer } from "./paid-request.js";
import type { PaymentsConfig } from "./parse-options.js";
import { openTab, type Payment, settledTab, type Tab, toPayment } from "./payment.js";
import { type GateResponse, problemAnswer, replayAnswer } from "./responses.js";
import { Run } from "./run.js";
import { settleOnce, unservedAnswer } from "./settle.js";

/** What the handler answered, held back. */
export interface HandlerResponse extends Omit<StoredAnswer, "body"> {
  /** The whole body; `undefined` when there is more than is held back. */
  readonly body: Uint8Array | undefined;
}

/** A payment whose handler may run. */
export type Admission = HeldAdmission | PrepaidAdmission;

/** What becomes of the handler's answer. */
export type Release =
  /** It goes out, with these headers besides. `paid` answers must not be kept by shared caches. */
  | { readonly kind: "release"; readonly paid: boolean; readonly headers: readonly (readonly [string, string])[] }
  /** This goes out instead, and nothing of the handler's. */
  | { readonly kind: "replace"; readonly response: GateResponse };

/**
 * The right to run the handler once. Ends with exactly one of `complete`, `cancel` and what `onExpired` listens to. Nothing
 * here ever rejects.
 */
export interface HeldAdmission {
  /** The response is held until `complete` says what goes out. */
  readonly isHeld: true;
  readonly payment: Payment;
  /** The handler has answered: settles if there is something to charge for. */
  complete(answer: HandlerResponse): Promise<Release>;
  /** The client is gone and the handler's answer with it: nothing is charged. */
  cancel(): Promise<void>;
  /** The answer was released, but its delivery broke off: keeps it for the same payment sent again. */
  undelivered(answer: HandlerResponse): Promise<void>;
  /** The same, before any of it went out: an answer too large to keep is owed to the same payment sent again. */
  unreleased(answer: HandlerResponse): Promise<void>;
  /** Nobody is left to answer, whatever has been decided: tells the handler. */
  leave(): void;
  /**
   * Listens, alone, for the end of the payment's time before the handler has answered: nothing is charged, and the answer that is
   * promised goes out instead. The handler hears of it afterwards.
   */
  onExpired(listener: (instead: Promise<GateResponse>) => void): void;
}

/** A settlement needs this much of the payment's lifetime; facilitators ask for 6 seconds. */
const SETTLEMENT_MARGIN_MS = 6_000;

const RETRY_AFTER_SECONDS = 5;

/** Creates the admission of a verified payment. */
export function createAdmission(paid: PaidRequest, config: PaymentsConfig): HeldAdmission {
  return new RunAdmission(paid, config);
}

class RunAdmission implements HeldAdmission {
  readonly isHeld = true;
  readonly payment: Payment;
  readonly #paid: PaidRequest;
  readonly #config: PaymentsConfig;
  readonly #run: Run;
  readonly #tab: Tab;
  readonly #startedMs: number;
  #isCancelled = false;
  #listener: ((instead: Promise<GateResponse>) => void) | undefined;

  constructor(paid: PaidRequest, config: PaymentsConfig) {
    const { now, timer } = config;
    const atMs = paid.claim.expiresAtMs - SETTLEMENT_MARGIN_MS + 1;
    this.#paid = paid;
    this.#config = config;
    this.#startedMs = now();
    this.#tab = openTab(paid.offer, paid.route.unmetered);
    this.#run = new Run({ now, timer, atMs, onExpired: () => this.#expire() });
    this.payment = toPayment(paid, { run: this.#run, tab: this.#tab });
  }

  async complete(given: HandlerResponse): Promise<Release> {
    const [paid, config] = [this.#paid, this.#config];
    this.#run.end();
    const answer = dropOverride(paid, given, config);
    const completion = { answer, amount: this.#tab.close(), admission: this };
    let release: Release;
    try {
      release = await completeRun(paid, completion, config);
    } catch {
      release = notStarted(paid, completion, config);
    }
    config.ongoing.end(paid.claim, () => answerForCopies(answer, release));
    return release;
  }

  async cancel(): Promise<void> {
    const [paid, config] = [this.#paid, this.#config];
    this.#run.leave();
    await releaseClaim(paid, config);
    this.tellCancelled("client_gone");
    config.ongoing.end(paid.claim);
  }

  undelivered(answer: HandlerResponse): Promise<void> {
    return keepAnswer(this.#paid, toStored(answer), this.#config);
  }

  unreleased(answer: HandlerResponse): Promise<void> {
    return keepOrOwe(this.#paid, answer, this.#config);
  }

  leave(): void {
    this.#run.leave();
  }

  onExpired(listener: (instead: Promise<GateResponse>) => void): void {
    this.#listener = listener;
  }

  /** Nothing is charged. Rejects when the store fails. */
  async giveUp(reason: CancelReason): Promise<void> {
    const { identity, owner } = this.#paid.claim;
    await this.#config.store.release(identity, owner);
    this.tellCancelled(reason);
  }

  /** Tells who listens that nothing is charged, once. */
  tellCancelled(reason: CancelReason): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    const [paid, config] = [this.#paid, this.#config];
    const cancelled = () => ({ ...factsOf(paid), reason, durationMs: config.now() - this.#startedMs });
    config.events.emit("cancelled", cancelled);
    tellHook("onCancel", () => [factsOf(paid), reason], config);
  }

  #expire(): void {
    const instead = this.#answerExpired();
    this.#listener?.(instead);
  }

  async #answerExpired(): Promise<GateResponse> {
    await releaseClaim(this.#paid, this.#config);
    this.tellCancelled("expired");
    this.#config.ongoing.end(this.#paid.claim, expiredAnswer);
    return expiredAnswer();
  }
}

/** What another server writes into a header says nothing about money. */
function dropOverride(paid: PaidRequest, answer: HandlerResponse, { findings }: PaymentsConfig): HandlerResponse {
  if (!answer.headers.some(([name]) => isSettlementOverrides(name))) return answer;
  const headers = answer.headers.filter(([name]) => !isSettlementOverrides(name));
  findings.add(overrideInHeaderFinding(paid.route.key));
  return { ...answer, headers };
}

/** A claim that cannot be released expires. */
async function releaseClaim(paid: PaidRequest, config: PaymentsConfig): Promise<void> {
  const { identity, owner } = paid.claim;
  try {
    await config.store.release(identity, owner);
  } catch {
    config.logger.error("claim_not_released", { identity, error: "the store failed" });
  }
}

/** What a handler has answered, and whom to tell if nothing is charged for it. */
interface Completion {
  readonly answer: HandlerResponse;
  /** Atomic units; `undefined` when the handler was to say and did not. */
  readonly amount: bigint | undefined;
  readonly admission: Pick<RunAdmission, "giveUp" | "tellCancelled">;
}

function notStarted(paid: PaidRequest, { admission }: Completion, { logger }: PaymentsConfig): Release {
  logger.error("settlement_not_started", { identity: paid.claim.identity, error: "the store failed" });
  admission.tellCancelled("failed");
  return { kind: "replace", response: unreachableAnswer("unexpected_settle_error", RETRY_AFTER_SECONDS) };
}

async function completeRun(
  paid: PaidRequest,
  { answer, amount, admission }: Completion,
  config: PaymentsConfig,
): Promise<Release> {
  const { owner, expiresAtMs } = paid.claim;
  const report: Logger["error"] = (event, fields) => config.logger.error(event, { route: paid.route.key, ...fields });
  if (!isChargeable(paid.route.chargeable, answer, report)) {
    await admission.giveUp("not_chargeable");
    return { kind: "release", paid: false, headers: [[PAYMENT_RESPONSE, encodePaymentResponse(notCharged(paid))]] };
  }
  if (amount === undefined) {
    config.logger.error("amount_not_said", { route: paid.route.key, remedy: "call req.payment.settle(amount)" });
    await admission.giveUp("not_chargeable");
    return { kind: "replace", response: unmeteredAnswer() };
  }
  const payment = withAmount(paid, amount);
  const asked = askHook("beforeSettle", payment, config);
  const denied = asked && (await asked);
  if (denied !== undefined) {
    await admission.giveUp("denied");
    return { kind: "replace", response: denied };
  }
  if (expiresAtMs - config.now() < SETTLEMENT_MARGIN_MS) {
    await admission.giveUp("expired");
    return { kind: "replace", response: expiredAnswer() };
  }
  const settlement = await settleOnce(
    payment,
    { from: "serving", owner, facilitator: undefined, answer: toStored(answer), waiting: { client: paid.client } },
    config,
  );
  if (settlement.kind === "lost") admission.tellCancelled("failed");
  if (settlement.kind !== "settled") return { kind: "replace", response: unservedAnswer(paid, settlement) };
  return paidRelease(settlement.receipt, relayHeaders(settlement.said ?? paid.said, config));
}

/** A copy of the request is told the same, if all of it was held back. */
function answerForCopies(answer: HandlerResponse, release: Release): GateResponse | undefined {
  if (release.kind === "replace") return release.response;
  const stored = toStored(answer);
  if (stored === undefined) return undefined;
  return replayAnswer(stored, release.headers, { paid: release.paid });
}

/**
 * Creates the admission of a payment that turned out to be settled while its answer is gone. Whatever the handler
 * answers now goes out with the receipt.
 */
export function createPrepaidAdmission(
  paid: PaidRequest,
  receipt: SettlementResponse,
  config: PaymentsConfig,
): HeldAdmission {
  const run = new Run();
  return {
    isHeld: true,
    payment: toPayment(paid, { run, tab: settledTab(paid.offer, BigInt(receipt.amount ?? paid.offer.amount)) }),
    complete: async () => paidRelease(receipt),
    async cancel() {
      run.leave();
      await oweRun(paid, config);
    },
    undelivered: (answer) => keepAnswer(paid, toStored(answer), config),
    unreleased: (answer) => keepOrOwe(paid, answer, config),
    leave: () => run.leave(),
    // The money has moved: its time no longer matters.
    onExpired() {},
  };
}

async function keepOrOwe(paid: PaidRequest, answer: HandlerResponse, config: PaymentsConfig): Promise<void> {
  const stored = toStored(answer);
  await (stored === undefined ? oweRun(paid, config) : keepAnswer(paid, stored, config));
}

function paidRelease(receipt: SettlementResponse, relayed: readonly (readonly [string, string])[] = []): Release {
  return { kind: "release", paid: true, headers: [[PAYMENT_RESPONSE, encodePaymentResponse(receipt)], ...relayed] };
}

function toStored({ status, headers, body }: HandlerResponse): StoredAnswer | undefined {
  return body === undefined ? undefined : { status, headers, body };
}

function notCharged({ offer, payer }: PaidRequest): SettlementResponse {
  const { network } = offer.requirements;
  return { success: false, errorReason: "not_charged", payer, transaction: "", network };
}

function unmeteredAnswer(): GateResponse {
  return problemAnswer({
    status: 500,
    error: "unexpected_settle_error",
    message: "The server did not say what this costs. Nothing was charged.",
  });
}

function expiredAnswer(): GateResponse {
  return problemAnswer({
    status: 504,
    error: "payment_expired",
    message: "The payment ran out before the answer was ready. Nothing was charged; sign a new payment to try again.",
  });
}

/** The right to run a handler that has been paid for. Nothing here ever rejects. */
export interface PrepaidAdmission {
  /** The response goes out as the handler writes it. */
  readonly isHeld: false;
  readonly payment: Payment;
  /** The receipt: on the response before the handler runs, and on it whatever the handler does. */
  readonly headers: readonly (readonly [string, string])[];
  /** The handler cannot be run, for nobody is left to answer: the same payment sent again runs it. */
  cancel(): Promise<void>;
  /** The client left before the answer was delivered: tells the handler. */
  leave(): void;
}

/** Lets the handler of a settled payment run. The record says `settled`, so no other request runs it too. */
export function createPrepaid(
  paid: PaidRequest,
  receipt: SettlementResponse,
  config: PaymentsConfig,
): PrepaidAdmission {
  const run = new Run();
  return {
    isHeld: false,
    payment: toPayment(paid, { run, tab: settledTab(paid.offer, BigInt(receipt.amount ?? paid.offer.amount)) }),
    headers: [[PAYMENT_RESPONSE, encodePaymentResponse(receipt)], ...relayHeaders(paid.said, config)],
    cancel: () => oweRun(paid, config),
    leave: () => run.leave(),
  };
}

/** Keeps an answer whose delivery broke off; one that is too large to keep is `undefined`, and is lost. Never rejects. */
export async function keepAnswer(
  paid: PaidRequest,
  answer: StoredAnswer | undefined,
  config: PaymentsConfig,
): Promise<void> {
  if (answer === undefined) return;
  const { identity, owner } = paid.claim;
  try {
    await config.store.transition({ identity, from: "settled", to: "settled", owner, answer });
  } catch {
    config.logger.error("answer_not_kept", { identity, error: "the store failed" });
  }
}

/** Nothing has gone out: the same payment, sent again, runs the handler. Never rejects. */
async function oweRun(paid: PaidRequest, config: PaymentsConfig): Promise<void> {
  const { identity, owner } = paid.claim;
  try {
    if (await config.store.transition({ identity, from: "settled", to: "owed", owner })) return;
    config.logger.error("run_not_owed", { identity, error: "the record is not ours" });
  } catch {
    config.logger.error("run_not_owed", { identity, error: "the store failed" });
  }
}
