/**
 * An admission: the right to run the handler once for one payment, and what happens when the handler responds.
 *
 *   the handler responds → charge? → amount → beforeSettle hook → in time? → settle → release or replace the response
 *
 * @see `docs/reference/lifecycle.md`
 * @module
 */
import type { CancelReason, PaymentEvents } from "../events/events.js";
import type { HandlerFailure, WrittenBody } from "../events/hooks.js";
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import type { StartTimer } from "../options.js";
import type { ExtensionResponses, SettlementResponse } from "../protocol/documents.js";
import type { Leases } from "../settlement/leases.js";
import { contextOf, factsOf, withAmount } from "../settlement/outcome.js";
import { type Settler, settlingContextOf } from "../settlement/settle.js";
import type { PaymentStore, StoredAnswer } from "../store/payment-store.js";
import {
  type ChargingDeps,
  contradicts,
  type HandlerResponse,
  isCharged,
  isClientsDoing,
  logRefused,
  type Release,
  reasonsIn,
  SET_ANOTHER,
  uncharged,
  withoutPayments,
} from "./charging.js";
import type { Deadlines } from "./deadline.js";
import type { Deliveries, Proof } from "./delivery.js";
import type { Exposure } from "./exposure.js";
import type { InFlight } from "./in-flight.js";
import { MeteredStream, type Metering, type MeteringDeps } from "./metering.js";
import type { OwnBodies } from "./own-bodies.js";
import { type PaidRequest, SETTLEMENT_MARGIN_MS } from "./paid-request.js";
import {
  type ChargedAmount,
  type ClosedAmount,
  createAmount,
  createMeteredAmount,
  createPayment,
  createSettledAmount,
  HandlerRun,
  type Payment,
} from "./payment.js";
import type { RetryTokens } from "./proof.js";
import {
  amountContradicted,
  amountNotSet,
  amountRefused,
  cutShort,
  denied,
  deniedReceipt,
  expired,
  type GateResponse,
  type Headers,
  notChargedHeaders,
  notDecided,
  notSettled,
  paidHeaders,
  RETRY_AFTER_SECONDS,
  replayed,
  unreachable,
} from "./responses.js";
import type { Run, Runs } from "./runs.js";

/** The payment of an admission. */
export interface AdmittedPayment {
  /** For the handler. */
  readonly payment: Payment;
  /** What a facilitator gets: our terms, and the scheme's payload. */
  readonly request: FacilitatorRequest;
  /** Of a payment that has settled; `undefined`: it has yet to settle. */
  readonly receipt: SettlementResponse | undefined;
  /** The header of the retry token; none if the request has not proved to be the payer's. */
  readonly proof: Headers;
  /**
   * The response was sent, and its client may have given up unseen: who has the token gets it once more. In place of `done`.
   * Never rejects.
   */
  keepForPayer(response: HandlerResponse): Promise<void>;
}

/**
 * The handler runs, and its response is held until `complete` resolves. It ends in exactly one way: by `complete`, by
 * `cancel`, or because the payment expires. Nothing here rejects.
 */
export interface HeldAdmission extends AdmittedPayment {
  readonly isHeld: true;
  /** Of a metered offer: once {@link Metering.start} has resolved to a paid release, all else is said there. Default: not metered. */
  readonly metering?: Metering | undefined;
  /** Whether the handler has yet to say the amount. Its response is not streamed before, or the maximum would be charged. */
  readonly isAmountAwaited: boolean;
  /** The handler responded: settles, if the response is charged. */
  complete(response: HandlerResponse): Promise<Release>;
  /** The client disconnected before the handler responded: nothing is charged. */
  cancel(): Promise<void>;
  /** The seller does not charge: the same payment can be sent again, and its payer is not to blame. In place of `complete`. */
  release(): Promise<void>;
  /**
   * The handler has ended, perhaps long after `cancel`. Called before `cancel`: it broke off by itself, or does not run. A
   * run that never ends counts as one of the payer's until its payment has expired.
   */
  handlerEnded(): void;
  /** The response was released, but not delivered: it is kept for the same payment sent again. */
  undelivered(response: HandlerResponse): Promise<void>;
  /**
   * The response was released, but not a byte of it was sent. One too large to keep is made anew for the same payment, and
   * its run counts as abandoned.
   */
  unreleased(response: HandlerResponse): Promise<void>;
  /**
   * The connection is done with the response, whether it was delivered or not; after `undelivered` and `unreleased` it does
   * nothing. Until then other processes wait for this one to deliver it.
   */
  done(): void;
  /** The client disconnected, at any time: tells the handler. */
  leave(): void;
  /**
   * Sets the one listener for the end of the payment's time, before the handler responded. Nothing is charged, and the
   * client gets the response that is promised. The handler is told afterwards.
   */
  onExpired(listener: (instead: Promise<GateResponse>) => void): void;
}

/** The payment has settled: the handler runs, and its response goes out as it is written. Nothing here rejects. */
export interface PrepaidAdmission extends AdmittedPayment {
  readonly isHeld: false;
  /** The receipt. It is on the response before the handler runs, and stays there. */
  readonly headers: Headers;
  /** With these on a response of 500 and above, the client can prove that the run it is owed then is its own. */
  readonly failureHeaders: Headers;
  /** The handler cannot run, because the client disconnected: the same payment sent again runs it. */
  cancel(): Promise<void>;
  /**
   * The handler responds with 400 or above: the seller's hook hears of it. With 500 or above the same payment sent again runs it
   * once more, unless the seller gives the money back. A second failure stands.
   */
  fail(status: number): Promise<void>;
  /** As of {@link HeldAdmission}. */
  done(): void;
  /** The client disconnected before the response was delivered: tells the handler. */
  leave(): void;
  /** The head is about to go out. Reports a header that asks for another amount: it comes too late. */
  checkHead(headers: HandlerResponse["headers"]): void;
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
  | {
      readonly kind: "respond";
      readonly response: GateResponse;
      /** The response was paid for just now: called once, when the connection is done with it. Default: nobody asks. */
      readonly onClosed?: (isDelivered: boolean) => void;
      /** Whether it is an earlier response to the same payment. Default `false`. */
      readonly isReplay?: boolean;
    }
  /** The payment is good: the handler runs. */
  | { readonly kind: "run"; readonly admission: Admission };

/** What admissions need. */
export interface AdmissionDeps extends ChargingDeps, MeteringDeps {
  readonly tokens: Pick<RetryTokens, "headersFor">;
  readonly store: PaymentStore;
  readonly settler: Pick<Settler, "settle">;
  readonly inFlight: Pick<InFlight, "settling" | "end">;
  readonly leases: Pick<Leases, "drop">;
  readonly deliveries: Deliveries;
  readonly bodies: OwnBodies;
  readonly runs: Pick<Runs, "beginSettled">;
  readonly exposure: Exposure;
  readonly deadlines: Pick<Deadlines, "handlerEnded">;
  readonly events: PaymentEvents;
  readonly now: () => number;
  readonly timer: StartTimer;
  /** Whether clients get what facilitators say about listings. */
  readonly relayExtensionResponses: boolean;
}

/** About a payment that has settled. */
interface SettledFacts {
  readonly settleResponses?: ExtensionResponses | undefined;
  /** The headers of the hook `onPaid`. */
  readonly added?: Headers | undefined;
  /** The payment was owed its handler before, so a failure may be its second. */
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
  admit(paid: PaidRequest, counted: Run, verifyResponses: ExtensionResponses | undefined): HeldAdmission {
    return new VerifiedAdmission(paid, { counted, verifyResponses }, this.#deps);
  }

  /** A payment that has settled before its handler runs. */
  admitSettled(paid: PaidRequest, receipt: SettlementResponse, facts: SettledFacts = {}): Admission {
    return paid.offer.settle === "before"
      ? this.#admitPrepaid(paid, receipt, facts)
      : this.#admitOwed(paid, receipt, facts);
  }

  /** The seller responds in place of the handler: settles, and yields the response. Never rejects. */
  async respond(paid: PaidRequest, admission: HeldAdmission, { contentType, body }: WrittenBody): Promise<Decision> {
    const { deliveries } = this.#deps;
    const response = { status: 200, headers: [["Content-Type", contentType]], body: Buffer.from(body) } as const;
    admission.handlerEnded();
    // Whether the client is still there shows when the response is written. Until then the store keeps it.
    admission.leave();
    const release = await admission.complete(response);
    if (release.kind === "replace") return { kind: "respond", response: release.response };
    const given = replayed(response, release.headers, { isPaid: release.paid });
    if (!release.paid) return { kind: "respond", response: given };
    const onClosed = (isDelivered: boolean) => {
      if (!isDelivered) return void admission.undelivered(response);
      admission.done();
      // With an identifier, it may be fetched again.
      if (paid.claim.identifier === undefined) deliveries.delivered(paid.claim);
    };
    return { kind: "respond", response: given, onClosed };
  }

  /** The offer settles first: the response goes out as it is written. */
  #admitPrepaid(
    paid: PaidRequest,
    receipt: SettlementResponse,
    { settleResponses, added, isOwed = false, isPayers = true }: SettledFacts,
  ): PrepaidAdmission {
    const { deliveries, tokens } = this.#deps;
    const { run, payment, amount } = this.#settledRun(paid, receipt);
    let failing: Promise<void> | undefined;
    deliveries.begin(paid.claim);
    const done = () => deliveries.done(paid.claim, { isKept: false });
    return {
      isHeld: false,
      payment,
      request: paid.facilitatorRequest,
      receipt,
      headers: paidHeaders(receipt, this.#toRelay(settleResponses), added),
      get proof() {
        return isPayers ? tokens.headersFor(paid.claim.identity) : [];
      },
      keepForPayer: (response) => deliveries.keepForPayer(paid.claim, toStored(withHeaders(response, added))),
      failureHeaders: isPayers && !isOwed ? tokens.headersFor(paid.claim.identity) : [],
      cancel: () => deliveries.owe(paid.claim),
      fail: async (status) => {
        const failure = { status, receipt, owesRun: status >= 500 && !isOwed };
        failing = this.#failPrepaid(paid, failure, { isPayers });
        await failing;
      },
      done: () => {
        if (failing === undefined) done();
        // Duplicates wait until it is known whether the payment is owed another run.
        else void failing.then(done);
      },
      leave: () => run.disconnect(),
      checkHead: (headers) => void contradicts(headers, { paid, amount }, this.#deps),
    };
  }

  /** Never rejects. */
  async #failPrepaid(paid: PaidRequest, failure: HandlerFailure, proof: Proof): Promise<void> {
    const { deliveries } = this.#deps;
    const end = async (isRefunded: boolean) => {
      if (isRefunded) await deliveries.refunded(paid.claim, proof);
      else if (failure.owesRun) await deliveries.owe(paid.claim);
    };
    if (!paid.hooks.hearsOfFailures) return end(false);
    await paid.hooks.handlerFailed(contextOf(paid), Object.freeze(failure), end);
  }

  /**
   * The offer settles afterwards, but the response is gone, or the payment was abandoned too often. The response is held. If
   * it would not be charged, the payment is owed one more run. For a request without proof, it is kept for the payer, too.
   */
  #admitOwed(
    paid: PaidRequest,
    receipt: SettlementResponse,
    { settleResponses, added, isOwed = false, isPayers = true }: SettledFacts,
  ): HeldAdmission {
    const { inFlight, runs, deliveries, tokens } = this.#deps;
    const { run, payment, amount } = this.#settledRun(paid, receipt);
    const counted = runs.beginSettled(paid);
    let isKept = false;
    inFlight.settling(paid.claim, paid.client);
    return {
      isHeld: true,
      isAmountAwaited: false,
      payment,
      request: paid.facilitatorRequest,
      receipt,
      get proof() {
        return isPayers ? tokens.headersFor(paid.claim.identity) : [];
      },
      keepForPayer: (response) => deliveries.keepForPayer(paid.claim, toStored(withHeaders(response, added))),
      complete: async (response) => {
        const headers = paidHeaders(receipt, this.#toRelay(settleResponses), added);
        const release = { kind: "release", paid: true, headers } as const;
        contradicts(response.headers, { paid, amount }, this.#deps);
        const stored = toStored(response);
        isKept = stored !== undefined;
        if (!isOwed && isCharged(paid, response, this.#deps) !== true) await deliveries.owe(paid.claim);
        else if (isPayers) await deliveries.show(paid.claim, stored);
        else if (stored !== undefined) await deliveries.keep(paid.claim, stored, { isPayers });
        counted.end();
        inFlight.end(paid.claim, () => toShare(response, release));
        return release;
      },
      cancel: async () => {
        counted.abandon();
        run.disconnect();
        await deliveries.owe(paid.claim);
        inFlight.end(paid.claim);
      },
      release: async () => {
        counted.end();
        await deliveries.owe(paid.claim);
        inFlight.end(paid.claim);
      },
      handlerEnded: () => counted.handlerEnded(),
      undelivered: (response) => deliveries.keep(paid.claim, toStored(response), { isPayers }),
      unreleased: (response) => keepOrOwe(paid, response, { isPayers }, this.#deps),
      done: () => deliveries.done(paid.claim, { isKept }),
      leave: () => run.disconnect(),
      // The money has moved: the payment's time no longer matters.
      onExpired() {},
    };
  }

  #settledRun(paid: PaidRequest, receipt: SettlementResponse) {
    const { logger } = this.#deps;
    const run = new HandlerRun();
    const amount = BigInt(receipt.amount ?? paid.offer.amount);
    const charged = createSettledAmount(paid.offer, amount, (closed) => {
      logRefused(logger, paid, {
        closed,
        remedy: "the money has moved: return it yourself, or settle after the handler",
      });
    });
    return { run, amount, payment: createPayment(paid, charged, run) };
  }

  /** What clients get of what facilitators say about listings. */
  #toRelay(responses: ExtensionResponses | undefined): ExtensionResponses | undefined {
    return this.#deps.relayExtensionResponses ? responses : undefined;
  }
}

class VerifiedAdmission implements HeldAdmission {
  readonly isHeld = true;
  readonly receipt = undefined;
  readonly payment: Payment;
  readonly #paid: PaidRequest;
  readonly #counted: Run;
  readonly #verifyResponses: ExtensionResponses | undefined;
  readonly #deps: AdmissionDeps;
  readonly #run: HandlerRun;
  readonly #amount: ChargedAmount;
  readonly metering: MeteredStream | undefined;
  readonly #startedMs: number;
  #isCancelled = false;
  /** Whether the store has the response. */
  #isKept = false;
  /** The headers of the hook `onPaid`. */
  #added: Headers | undefined;
  #onExpired: ((instead: Promise<GateResponse>) => void) | undefined;

  constructor(
    paid: PaidRequest,
    { counted, verifyResponses }: { counted: Run; verifyResponses: ExtensionResponses | undefined },
    deps: AdmissionDeps,
  ) {
    const { now, timer } = deps;
    // The first millisecond at which it is too late to settle.
    const atMs = paid.settleByMs - SETTLEMENT_MARGIN_MS + 1;
    this.#paid = paid;
    this.#counted = counted;
    this.#verifyResponses = verifyResponses;
    this.#deps = deps;
    this.#startedMs = now();
    this.#run = new HandlerRun({ now, timer, atMs, onExpired: () => this.#expire() });
    if (paid.offer.settle === "metered") {
      const { amount, metering } = this.#meter();
      this.#amount = amount;
      this.metering = metering;
    } else this.#amount = createAmount(paid.offer, paid.route.unmetered ?? "maximum");
    this.payment = createPayment(paid, this.#amount, this.#run);
  }

  get request(): FacilitatorRequest {
    return this.#paid.facilitatorRequest;
  }

  get proof(): Headers {
    return this.#deps.tokens.headersFor(this.#paid.claim.identity);
  }

  get isAmountAwaited(): boolean {
    return this.#amount.isAwaited;
  }

  /** What is never counted costs nothing: it would otherwise cost the maximum, however little was delivered. */
  #meter(): { readonly amount: ChargedAmount; readonly metering: MeteredStream } {
    const { exposure } = this.#deps;
    const { offer, route } = this.#paid;
    const { unmetered = "zero" } = route;
    const amount = createMeteredAmount(offer, unmetered, {
      canPay: (sum) => exposure.canPay(this.#paid, sum),
      onExceeded: () => metering.stop("limit"),
      onRefused: (refused) => metering.refused(refused),
    });
    const unrecorded = exposure.unrecordedOf(offer);
    const giveUp = (reason: CancelReason) => this.#giveUp(reason);
    const extend = (sum: bigint) => exposure.extend(this.#paid, sum);
    const one = {
      paid: this.#paid,
      counted: this.#counted,
      run: this.#run,
      amount,
      unmetered,
      unrecorded,
      extend,
      giveUp,
    };
    const metering = new MeteredStream(one, this.#deps);
    return { amount, metering };
  }

  async complete(given: HandlerResponse): Promise<Release> {
    const { inFlight, leases, logger, events, now } = this.#deps;
    const { claim } = this.#paid;
    this.#run.end();
    this.#deps.deadlines.handlerEnded(this.#paid, this.#startedMs);
    if (events.hears("responded"))
      events.emit("responded", () => ({ ...factsOf(this.#paid), durationMs: now() - this.#startedMs }));
    const closed = this.#amount.close();
    const amount = typeof closed === "bigint" ? closed : undefined;
    const isContradicted = contradicts(given.headers, { paid: this.#paid, amount }, this.#deps);
    const response = withoutPayments(given);
    let release: Release;
    try {
      release = await this.#settle(response, isContradicted ? "contradicted" : closed);
    } catch {
      logger.error("settlement_not_started", { identity: claim.identity, error: "the store failed" });
      void leases.drop(claim);
      this.#tellCancelled("failed");
      release = { kind: "replace", response: unreachable("unexpected_settle_error", RETRY_AFTER_SECONDS) };
    }
    if (!this.#counted.isAbandoned) this.#counted.end();
    inFlight.end(claim, () => toShare(response, release));
    return release;
  }

  async cancel(): Promise<void> {
    this.#counted.abandon();
    this.#run.disconnect();
    await this.#endCancelled("client_gone");
  }

  async release(): Promise<void> {
    this.#counted.end();
    this.#run.end();
    await this.#endCancelled("not_chargeable");
  }

  async #endCancelled(reason: CancelReason): Promise<void> {
    await this.#releaseClaim();
    this.#tellCancelled(reason);
    this.#deps.inFlight.end(this.#paid.claim);
  }

  handlerEnded(): void {
    this.#counted.handlerEnded();
  }

  undelivered(response: HandlerResponse): Promise<void> {
    return this.#deps.deliveries.keep(this.#paid.claim, toStored(withHeaders(response, this.#added)), FIRST);
  }

  unreleased(response: HandlerResponse): Promise<void> {
    return keepOrOwe(this.#paid, withHeaders(response, this.#added), FIRST, this.#deps);
  }

  keepForPayer(response: HandlerResponse): Promise<void> {
    return this.#deps.deliveries.keepForPayer(this.#paid.claim, toStored(withHeaders(response, this.#added)));
  }

  done(): void {
    this.#deps.deliveries.done(this.#paid.claim, { isKept: this.#isKept });
  }

  leave(): void {
    this.#run.disconnect();
  }

  onExpired(listener: (instead: Promise<GateResponse>) => void): void {
    this.#onExpired = listener;
  }

  /** Rejects if the store fails before the facilitator was told. */
  async #settle(response: HandlerResponse, amount: ClosedAmount | "contradicted"): Promise<Release> {
    const paid = this.#paid;
    const { settler, tokens, bodies, logger, now, relayExtensionResponses } = this.#deps;
    const { route, hooks, claim, client, payer, occasion } = paid;
    const verdict = isCharged(paid, response, this.#deps);
    if (verdict === "unknown") {
      await this.#giveUp("not_chargeable");
      return { kind: "replace", response: notDecided() };
    }
    if (!verdict) {
      if (isClientsDoing(response.status)) this.#counted.abandon({ isRequests: true });
      await this.#giveUp("not_chargeable");
      return uncharged(response, notChargedHeaders(payer, paid.offer.requirements.network));
    }
    if (response.isCutShort === true) {
      logger.error("response_cut_short", { route: route.key, remedy: "the body is shorter than its Content-Length" });
      await this.#giveUp("not_chargeable");
      return { kind: "replace", response: cutShort() };
    }
    if (amount === "contradicted") {
      await this.#giveUp("not_chargeable");
      return { kind: "replace", response: amountContradicted() };
    }
    if (typeof amount === "object") {
      logRefused(logger, paid, { closed: amount, remedy: SET_ANOTHER });
      await this.#giveUp("not_chargeable");
      return { kind: "replace", response: amountRefused() };
    }
    if (amount === "missing") {
      logger.error("amount_not_said", { route: route.key, remedy: "call req.payment.settle(amount)" });
      await this.#giveUp("not_chargeable");
      return { kind: "replace", response: amountNotSet() };
    }
    const payment = withAmount(paid, amount);
    const denial = hooks.asks("beforeSettle")
      ? await hooks.ask("beforeSettle", settlingContextOf(payment, response))
      : undefined;
    if (denial !== undefined) {
      await this.#giveUp("denied");
      const receipt = deniedReceipt(denial, payer, paid.offer.requirements.network);
      return { kind: "replace", response: await denied(denial, { route, occasion, receipt }) };
    }
    if (paid.settleByMs - now() < SETTLEMENT_MARGIN_MS) {
      this.#counted.reject();
      await this.#giveUp("expired");
      return { kind: "replace", response: expired() };
    }
    const stored = toStored(response);
    this.#isKept = stored !== undefined;
    const settled = await settler.settle(payment, {
      from: "claimed",
      owner: claim.owner,
      facilitator: undefined,
      response: stored,
      runsHandler: false,
      waiting: { client, keepsResponse: () => this.#run.isDisconnected, responded: response },
    });
    if (settled.kind === "lost") this.#tellCancelled("failed");
    if (settled.kind === "rejected") this.#counted.reject();
    if (settled.kind !== "settled") {
      const proof = tokens.headersFor(claim.identity);
      const receipt = settled.kind === "rejected" ? settled.receipt : undefined;
      const response = notSettled(route, occasion, settled, proof);
      return { kind: "replace", response: await bodies.settlementFailed(paid, receipt, response) };
    }
    const { receipt, added, extensionResponses = this.#verifyResponses } = settled;
    this.#added = added;
    const listing = relayExtensionResponses ? extensionResponses : undefined;
    return { kind: "release", paid: true, headers: paidHeaders(receipt, listing, added) };
  }

  #expire(): void {
    this.#deps.deadlines.handlerEnded(this.#paid, this.#startedMs);
    if (this.metering?.isLive) {
      this.metering.stop("expired");
      return;
    }
    this.#counted.abandon();
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
    void this.#deps.leases.drop({ owner });
    await this.#counted.written;
    await this.#deps.store.release(identity, owner);
    if (this.metering !== undefined) this.#deps.exposure.releaseSoon(this.#paid);
    this.#tellCancelled(reason);
  }

  /** A claim that cannot be released expires. */
  async #releaseClaim(): Promise<void> {
    const { identity, owner } = this.#paid.claim;
    void this.#deps.leases.drop({ owner });
    // First, so that a request that claims the payment anew finds the run counted.
    await this.#counted.written;
    if (this.metering !== undefined) this.#deps.exposure.releaseSoon(this.#paid);
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
    const { events, now } = this.#deps;
    const facts = () => factsOf(this.#paid);
    events.emit("cancelled", () => ({ ...facts(), reason, durationMs: now() - this.#startedMs }));
    this.#paid.hooks.tell("onCancel", () => [contextOf(this.#paid), reason]);
  }
}

/** The first request with a payment is its payer's. */
const FIRST: Proof = Object.freeze({ isPayers: true });

/** What duplicates share: the same response, if all of it was held. */
function toShare(response: HandlerResponse, release: Release): GateResponse | undefined {
  if (release.kind === "replace") return release.response;
  const stored = toStored(response);
  if (stored === undefined) return undefined;
  const shared = release.paid ? stored : { ...stored, headers: reasonsIn(stored) };
  return replayed(shared, release.headers, { isPaid: release.paid });
}

/** A response with headers in place of those of the same names. */
function withHeaders(response: HandlerResponse, added: Headers = []): HandlerResponse {
  const names = new Set(added.map(([name]) => name.toLowerCase()));
  const kept = response.headers.filter(([name]) => !names.has(name.toLowerCase()));
  return { ...response, headers: [...kept, ...added] };
}

/** A response to keep; `undefined`: it is too large. What a header of the handler's says about the amount is no part of it. */
function toStored(response: HandlerResponse): StoredAnswer | undefined {
  const { status, headers, body } = withoutPayments(response);
  return body === undefined ? undefined : { status, headers, body };
}

/** Nothing was sent. A response too large to keep is made anew, and counts as an abandoned run: its client left. */
async function keepOrOwe(
  paid: PaidRequest,
  response: HandlerResponse,
  proof: Proof,
  { deliveries, runs }: Pick<AdmissionDeps, "deliveries" | "runs">,
): Promise<void> {
  const stored = toStored(response);
  if (stored !== undefined) return deliveries.keep(paid.claim, stored, proof);
  // First, so that a request that finds the payment owed finds the run counted.
  const counted = runs.beginSettled(paid);
  counted.abandon();
  await counted.written;
  await deliveries.owe(paid.claim);
}
