/**
 * An admission: the right to run the handler once for one payment, and what happens when the handler responds.
 *
 *   the handler responds → charge? → amount → beforeSettle hook → in time? → settle → release or replace the response
 *
 * @see `docs/reference/lifecycle.md`
 * @module
 */
import type { CancelReason, PaymentEvents } from "../events/events.js";
import { type Findings, overrideInHeaderFinding } from "../events/findings.js";
import type { Hooks } from "../events/hooks.js";
import { errorName, type Logger } from "../events/logger.js";
import type { StartTimer } from "../options.js";
import type { PricedRoute } from "../pricing/priced-route.js";
import type { ExtensionResponses, SettlementResponse } from "../protocol/documents.js";
import { isSettlementOverrides } from "../protocol/headers.js";
import { factsOf, withAmount } from "../settlement/outcome.js";
import type { Settler } from "../settlement/settle.js";
import type { PaymentStore, StoredAnswer } from "../store/payment-store.js";
import type { InFlight } from "./in-flight.js";
import { type PaidRequest, SETTLEMENT_MARGIN_MS } from "./paid-request.js";
import {
  type ChargedAmount,
  createAmount,
  createPayment,
  createSettledAmount,
  HandlerRun,
  type Payment,
} from "./payment.js";
import type { RetryTokens } from "./proof.js";
import {
  amountNotSet,
  cutShort,
  denied,
  expired,
  type GateResponse,
  type Headers,
  notChargedHeaders,
  notSettled,
  paidHeaders,
  RETRY_AFTER_SECONDS,
  replayed,
  unreachable,
} from "./responses.js";

/** What the handler responded, held back. */
export interface HandlerResponse extends Omit<StoredAnswer, "body"> {
  /** The whole body; `undefined`: it is larger than what is held. */
  readonly body: Uint8Array | undefined;
  /** The body is shorter than its `Content-Length`. Default false. */
  readonly isCutShort?: boolean;
}

/** What the client gets. */
export type Release =
  /** The handler's response, with these headers added. If it is `paid`, shared caches must not keep it. */
  | { readonly kind: "release"; readonly paid: boolean; readonly headers: Headers }
  /** This response, and nothing of the handler's. */
  | { readonly kind: "replace"; readonly response: GateResponse };

/**
 * The handler runs, and its response is held until `complete` resolves. It ends in exactly one way: by `complete`, by
 * `cancel`, or because the payment expires. Nothing here rejects.
 */
export interface HeldAdmission {
  readonly isHeld: true;
  readonly payment: Payment;
  /** The handler responded: settles, if the response is charged. */
  complete(response: HandlerResponse): Promise<Release>;
  /** The client disconnected before the handler responded: nothing is charged. */
  cancel(): Promise<void>;
  /** The response was released, but not delivered: it is kept for the same payment sent again. */
  undelivered(response: HandlerResponse): Promise<void>;
  /** The response was released, but not a byte of it was sent. One too large to keep is made anew for the same payment. */
  unreleased(response: HandlerResponse): Promise<void>;
  /** The client disconnected, at any time: tells the handler. */
  leave(): void;
  /**
   * Sets the one listener for the end of the payment's time, before the handler responded. Nothing is charged, and the
   * client gets the response that is promised. The handler is told afterwards.
   */
  onExpired(listener: (instead: Promise<GateResponse>) => void): void;
}

/** The payment has settled: the handler runs, and its response goes out as it is written. Nothing here rejects. */
export interface PrepaidAdmission {
  readonly isHeld: false;
  readonly payment: Payment;
  /** The receipt. It is on the response before the handler runs, and stays there. */
  readonly headers: Headers;
  /** With these on a response of 500 and above, the client can prove that the run it is owed then is its own. */
  readonly failureHeaders: Headers;
  /** The handler cannot run, because the client disconnected: the same payment sent again runs it. */
  cancel(): Promise<void>;
  /** The handler responds with 500 or above: the same payment sent again runs it once more. A second failure stands. */
  fail(): Promise<void>;
  /** The client disconnected before the response was delivered: tells the handler. */
  leave(): void;
}

/** A payment whose handler may run. */
export type Admission = HeldAdmission | PrepaidAdmission;

/** What an adapter does with a request. */
export type Decision =
  /**
   * The handler runs without payment: the route is free, or a hook let the request through (`isGranted`). Shared caches
   * must not keep the response to a granted request.
   */
  | { readonly kind: "pass"; readonly isGranted: boolean }
  /** This response goes out, and the handler does not run. */
  | { readonly kind: "respond"; readonly response: GateResponse }
  /** The payment is good: the handler runs. */
  | { readonly kind: "run"; readonly admission: Admission };

/** What admissions need. */
export interface AdmissionDeps {
  readonly tokens: Pick<RetryTokens, "headersFor">;
  readonly store: PaymentStore;
  readonly settler: Pick<Settler, "settle">;
  readonly inFlight: Pick<InFlight, "settling" | "end">;
  readonly hooks: Pick<Hooks, "ask" | "tell">;
  readonly events: PaymentEvents;
  readonly findings: Pick<Findings, "add">;
  readonly logger: Logger;
  readonly now: () => number;
  readonly timer: StartTimer;
  /** Whether clients get what facilitators say about listings. */
  readonly relayExtensionResponses: boolean;
}

/** About a payment that has settled. */
interface PrepaidFacts {
  readonly settleResponses?: ExtensionResponses | undefined;
  readonly isOwed?: boolean;
  readonly isPayers?: boolean;
}

/** Admits payments. */
export class Admissions {
  readonly #deps: AdmissionDeps;

  constructor(deps: AdmissionDeps) {
    this.#deps = deps;
  }

  /** A verified payment: it settles when the handler has responded. */
  admit(paid: PaidRequest, verifyResponses: ExtensionResponses | undefined): HeldAdmission {
    return new VerifiedAdmission(paid, verifyResponses, this.#deps);
  }

  /**
   * A settled payment of a route that settles first.
   *
   * @param isOwed - The payment was owed its handler before, so a failure may be its second.
   * @param isPayers - The request proved to be the payer's.
   */
  admitPrepaid(
    paid: PaidRequest,
    receipt: SettlementResponse,
    { settleResponses, isOwed = false, isPayers = true }: PrepaidFacts = {},
  ): PrepaidAdmission {
    const { run, payment } = settledRun(paid, receipt);
    return {
      isHeld: false,
      payment,
      headers: paidHeaders(receipt, this.#toRelay(settleResponses)),
      failureHeaders: isPayers && !isOwed ? this.#deps.tokens.headersFor(paid.claim.identity) : [],
      cancel: () => owe(paid, this.#deps),
      fail: async () => {
        if (!isOwed) await owe(paid, this.#deps);
      },
      leave: () => run.disconnect(),
    };
  }

  /**
   * A settled payment whose response is gone: the handler runs once more, and its response goes out with the receipt.
   *
   * @param isPayers - Without proof that the request is the payer's, the response is kept for the payer, too.
   */
  admitOwed(
    paid: PaidRequest,
    receipt: SettlementResponse,
    { isPayers }: { readonly isPayers: boolean },
  ): HeldAdmission {
    const { inFlight } = this.#deps;
    const { run, payment } = settledRun(paid, receipt);
    inFlight.settling(paid.claim, paid.client);
    return {
      isHeld: true,
      payment,
      complete: async (response) => {
        const release = { kind: "release", paid: true, headers: paidHeaders(receipt) } as const;
        if (!isPayers) await keepResponse(paid, toStored(response), this.#deps);
        inFlight.end(paid.claim, () => toShare(response, release));
        return release;
      },
      cancel: async () => {
        run.disconnect();
        await owe(paid, this.#deps);
        inFlight.end(paid.claim);
      },
      undelivered: (response) => keepResponse(paid, toStored(response), this.#deps),
      unreleased: (response) => keepOrOwe(paid, response, this.#deps),
      leave: () => run.disconnect(),
      // The money has moved: the payment's time no longer matters.
      onExpired() {},
    };
  }

  /** What clients get of what facilitators say about listings. */
  #toRelay(responses: ExtensionResponses | undefined): ExtensionResponses | undefined {
    return this.#deps.relayExtensionResponses ? responses : undefined;
  }
}

function settledRun(paid: PaidRequest, receipt: SettlementResponse) {
  const run = new HandlerRun();
  const amount = createSettledAmount(paid.offer, BigInt(receipt.amount ?? paid.offer.amount));
  return { run, payment: createPayment(paid, amount, run) };
}

class VerifiedAdmission implements HeldAdmission {
  readonly isHeld = true;
  readonly payment: Payment;
  readonly #paid: PaidRequest;
  readonly #verifyResponses: ExtensionResponses | undefined;
  readonly #deps: AdmissionDeps;
  readonly #run: HandlerRun;
  readonly #amount: ChargedAmount;
  readonly #startedMs: number;
  #isCancelled = false;
  #onExpired: ((instead: Promise<GateResponse>) => void) | undefined;

  constructor(paid: PaidRequest, verifyResponses: ExtensionResponses | undefined, deps: AdmissionDeps) {
    const { now, timer } = deps;
    // The first millisecond at which it is too late to settle.
    const atMs = paid.claim.expiresAtMs - SETTLEMENT_MARGIN_MS + 1;
    this.#paid = paid;
    this.#verifyResponses = verifyResponses;
    this.#deps = deps;
    this.#startedMs = now();
    this.#amount = createAmount(paid.offer, paid.route.unmetered);
    this.#run = new HandlerRun({ now, timer, atMs, onExpired: () => this.#expire() });
    this.payment = createPayment(paid, this.#amount, this.#run);
  }

  async complete(given: HandlerResponse): Promise<Release> {
    const { inFlight, logger } = this.#deps;
    const { claim } = this.#paid;
    this.#run.end();
    const amount = this.#amount.close();
    const response = this.#withoutOverrides(given);
    let release: Release;
    try {
      release = await this.#settle(response, amount);
    } catch {
      logger.error("settlement_not_started", { identity: claim.identity, error: "the store failed" });
      this.#tellCancelled("failed");
      release = { kind: "replace", response: unreachable("unexpected_settle_error", RETRY_AFTER_SECONDS) };
    }
    inFlight.end(claim, () => toShare(response, release));
    return release;
  }

  async cancel(): Promise<void> {
    this.#run.disconnect();
    await this.#releaseClaim();
    this.#tellCancelled("client_gone");
    this.#deps.inFlight.end(this.#paid.claim);
  }

  undelivered(response: HandlerResponse): Promise<void> {
    return keepResponse(this.#paid, toStored(response), this.#deps);
  }

  unreleased(response: HandlerResponse): Promise<void> {
    return keepOrOwe(this.#paid, response, this.#deps);
  }

  leave(): void {
    this.#run.disconnect();
  }

  onExpired(listener: (instead: Promise<GateResponse>) => void): void {
    this.#onExpired = listener;
  }

  /** Rejects if the store fails before the facilitator was told. */
  async #settle(response: HandlerResponse, amount: bigint | undefined): Promise<Release> {
    const paid = this.#paid;
    const { settler, hooks, tokens, logger, now, relayExtensionResponses } = this.#deps;
    const { route, claim, client, payer, occasion } = paid;
    if (!isCharged(route, response.status, logger)) {
      await this.#giveUp("not_chargeable");
      return { kind: "release", paid: false, headers: notChargedHeaders(payer, paid.offer.requirements.network) };
    }
    if (response.isCutShort === true) {
      logger.error("response_cut_short", { route: route.key, remedy: "the body is shorter than its Content-Length" });
      await this.#giveUp("not_chargeable");
      return { kind: "replace", response: cutShort() };
    }
    if (amount === undefined) {
      logger.error("amount_not_said", { route: route.key, remedy: "call req.payment.settle(amount)" });
      await this.#giveUp("not_chargeable");
      return { kind: "replace", response: amountNotSet() };
    }
    const payment = withAmount(paid, amount);
    const denial = await hooks.ask("beforeSettle", () => factsOf(payment));
    if (denial !== undefined) {
      await this.#giveUp("denied");
      return { kind: "replace", response: denied(denial) };
    }
    if (claim.expiresAtMs - now() < SETTLEMENT_MARGIN_MS) {
      await this.#giveUp("expired");
      return { kind: "replace", response: expired() };
    }
    const settled = await settler.settle(payment, {
      from: "serving",
      owner: claim.owner,
      facilitator: undefined,
      response: toStored(response),
      waiting: { client, keepsResponse: () => this.#run.isDisconnected },
    });
    if (settled.kind === "lost") this.#tellCancelled("failed");
    if (settled.kind !== "settled") {
      const proof = tokens.headersFor(claim.identity);
      return { kind: "replace", response: notSettled(route, occasion, settled, proof) };
    }
    const { receipt, extensionResponses = this.#verifyResponses } = settled;
    return {
      kind: "release",
      paid: true,
      headers: paidHeaders(receipt, relayExtensionResponses ? extensionResponses : undefined),
    };
  }

  /** The amount is set by a function of ours. A header of that name comes from another server, and says nothing. */
  #withoutOverrides(response: HandlerResponse): HandlerResponse {
    if (!response.headers.some(([name]) => isSettlementOverrides(name))) return response;
    this.#deps.findings.add(overrideInHeaderFinding(this.#paid.route.key));
    return { ...response, headers: response.headers.filter(([name]) => !isSettlementOverrides(name)) };
  }

  #expire(): void {
    const instead = this.#endExpired();
    this.#onExpired?.(instead);
  }

  async #endExpired(): Promise<GateResponse> {
    await this.#releaseClaim();
    this.#tellCancelled("expired");
    this.#deps.inFlight.end(this.#paid.claim, expired);
    return expired();
  }

  /** Nothing is charged, and the payment can be used again. Rejects if the store fails. */
  async #giveUp(reason: CancelReason): Promise<void> {
    const { identity, owner } = this.#paid.claim;
    await this.#deps.store.release(identity, owner);
    this.#tellCancelled(reason);
  }

  /** A claim that cannot be released expires. */
  async #releaseClaim(): Promise<void> {
    const { identity, owner } = this.#paid.claim;
    try {
      await this.#deps.store.release(identity, owner);
    } catch {
      this.#deps.logger.error("claim_not_released", { identity, error: "the store failed" });
    }
  }

  /** Says once that nothing is charged. */
  #tellCancelled(reason: CancelReason): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    const { events, hooks, now } = this.#deps;
    const facts = () => factsOf(this.#paid);
    events.emit("cancelled", () => ({ ...facts(), reason, durationMs: now() - this.#startedMs }));
    hooks.tell("onCancel", () => [facts(), reason]);
  }
}

/**
 * Asks the seller's `chargeable`. If it throws, or returns no boolean, nothing is charged.
 *
 * A 304 is never charged: it has no content, and may answer a condition that the client could not take back.
 */
function isCharged({ key, chargeable }: PricedRoute, status: number, logger: Logger): boolean {
  if (status === 304) return false;
  const failed = (error: string) => logger.error("chargeable_failed", { route: key, status, error });
  try {
    const verdict: unknown = chargeable({ status });
    if (typeof verdict === "boolean") return verdict;
    // A promise comes too late. One that rejects must be caught, or it ends the process.
    Promise.resolve(verdict).catch(() => {});
    failed(`it returned ${verdict instanceof Promise ? "a promise" : describe(verdict)}`);
  } catch (error) {
    failed(errorName(error));
  }
  return false;
}

function describe(verdict: unknown): string {
  if (verdict === null) return "null";
  return typeof verdict === "object" ? "an object" : typeof verdict;
}

/** What duplicates share: the same response, if all of it was held. */
function toShare(response: HandlerResponse, release: Release): GateResponse | undefined {
  if (release.kind === "replace") return release.response;
  const stored = toStored(response);
  return stored && replayed(stored, release.headers, { isPaid: release.paid });
}

function toStored({ status, headers, body }: HandlerResponse): StoredAnswer | undefined {
  return body === undefined ? undefined : { status, headers, body };
}

type StoreDeps = Pick<AdmissionDeps, "store" | "logger">;

async function keepOrOwe(paid: PaidRequest, response: HandlerResponse, deps: StoreDeps): Promise<void> {
  const stored = toStored(response);
  await (stored === undefined ? owe(paid, deps) : keepResponse(paid, stored, deps));
}

/** Keeps a response that was not delivered. One too large to keep is `undefined`, and is lost. Never rejects. */
async function keepResponse(paid: PaidRequest, answer: StoredAnswer | undefined, deps: StoreDeps): Promise<void> {
  if (answer === undefined) return;
  const { identity, owner } = paid.claim;
  try {
    await deps.store.transition({ identity, from: "settled", to: "settled", owner, answer });
  } catch {
    deps.logger.error("answer_not_kept", { identity, error: "the store failed" });
  }
}

/** Nothing was sent: the same payment sent again runs the handler. Never rejects. */
async function owe(paid: PaidRequest, { store, logger }: StoreDeps): Promise<void> {
  const { identity, owner } = paid.claim;
  try {
    if (await store.transition({ identity, from: "settled", to: "owed", owner })) return;
    logger.error("run_not_owed", { identity, error: "the record is not ours" });
  } catch {
    logger.error("run_not_owed", { identity, error: "the store failed" });
  }
}
