/**
 * One payment, from the request that it came with to the delivered response: what it is, who may run its handler, and how that ends.
 *
 *   read → claimed → verified → {@link Payment.run} → the handler responds → settled → delivered
 *                                      └─ cancelled, expired, released: nothing is charged
 *
 * What happens in which order is told in sale.ts.
 *
 * @see `docs/reference/lifecycle.md`
 * @module
 */
import { hash } from "node:crypto";
import type { CancelReason, PaymentEvents } from "../events/events.js";
import type { Hooks } from "../events/hooks.js";
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import type { LateCheck } from "../facilitator/pool-member.js";
import type { ChallengeOccasion } from "../pricing/challenge.js";
import { CHARGE, type PricedRoute } from "../pricing/priced-route.js";
import type { Place } from "../pricing/resource.js";
import type { ExtensionResponses, PaymentPayload } from "../protocol/documents.js";
import { SellersRequest } from "../route/priced-request.js";
import { boundTermsOf, type Offer } from "../scheme/offer.js";
import type { Scheme } from "../scheme/scheme.js";
import type { Deadlines } from "../steps/deadline.js";
import type { Exposure } from "../steps/exposure.js";
import type { Listings } from "../steps/listings.js";
import { MeteredStream, type MeteringDeps } from "../steps/metering.js";
import type { Run, Runs } from "../steps/runs.js";
import { type Leases, nextOwner } from "../store/leases.js";
import type { ClaimRequest, PaymentStore } from "../store/payment-store.js";
import { expired, type GateResponse, type Headers } from "./answers.js";
import type { HandlerResponse, Release } from "./charge.js";
import type { HeldAdmission } from "./decision.js";
import type { Deliveries, Proof } from "./delivery.js";
import type { Expiries } from "./expiries.js";
import {
  type ChargedAmount,
  HandlerSignal,
  HandlersPayment,
  MeteredAmount,
  type Payment as PaymentOfHandler,
  WholeAmount,
} from "./handler.js";
import type { InFlight } from "./in-flight.js";
import { contextOf, factsOf } from "./outcome.js";
import type { RetryTokens } from "./proof.js";
import {
  type MatchedRequest,
  type PaidRequest,
  type ReadPayment,
  SETTLEMENT_MARGIN_MS,
  storable,
  toFacilitatorRequest,
} from "./request.js";
import { keepOrOwe, toStored, withHeaders } from "./responded.js";

/** What a payment needs of its seller. */
export interface PaymentDeps extends MeteringDeps {
  readonly tokens: Pick<RetryTokens, "headersFor">;
  readonly store: PaymentStore;
  readonly inFlight: Pick<InFlight, "end">;
  readonly leases: Pick<Leases, "drop"> | undefined;
  readonly deliveries: Deliveries;
  readonly runs: Pick<Runs, "beginSettled">;
  readonly exposure: Exposure;
  readonly deadlines: Pick<Deadlines, "handlerEnded">;
  readonly listings: Pick<Listings, "note">;
  readonly events: PaymentEvents;
  readonly now: () => number;
  readonly expiries: Pick<Expiries, "add" | "remove">;
  /** The handler has responded. Never rejects. */
  readonly finish: (payment: Payment, response: HandlerResponse) => Promise<Release>;
}

/** The first request with a payment is its payer's. */
const FIRST: Proof = Object.freeze({ isPayers: true });

/**
 * A payment for one of our offers.
 *
 * Its fields are only declared: V8 would define them by another function, before the constructor sets them.
 */
export class Payment implements PaidRequest, HeldAdmission {
  declare readonly isHeld: true;
  declare readonly receipt: undefined;
  declare readonly deps: PaymentDeps;
  declare readonly matched: MatchedRequest;
  declare readonly route: PricedRoute;
  declare readonly routeKey: string;
  declare readonly listedAs: string | undefined;
  declare readonly hooks: Hooks;
  declare readonly asked: PricedRoute["asked"];
  declare readonly offer: Offer;
  declare readonly scheme: Scheme;
  declare readonly decimals: number | undefined;
  declare readonly payload: PaymentPayload;
  declare readonly payer: string;
  declare readonly place: Place;
  declare readonly occasion: Omit<ChallengeOccasion, "error">;
  declare readonly client: string | undefined;
  declare readonly retryToken: string | undefined;
  declare readonly arrival: number;
  declare readonly claim: ClaimRequest;
  declare readonly facilitatorRequest: FacilitatorRequest;
  declare readonly isSigned: boolean;
  declare readonly isForged: LateCheck | undefined;
  /** Whether it may end before the time that its record is kept for. */
  declare readonly endsEarly: boolean;
  declare settleByMs: number;
  declare countedAs: string | undefined;
  /** What the facilitator said about listings when it verified the payment. */
  declare verifyResponses: ExtensionResponses | undefined;

  // Of the run of its handler.
  declare counted: Run | undefined;
  declare startedMs: number;
  declare amount: ChargedAmount | undefined;
  declare metering: MeteredStream | undefined;
  declare handed: PaymentOfHandler | undefined;
  /** The response of the handler, while it settles. */
  declare responded: HandlerResponse | undefined;
  /** Whether the store has the response. */
  declare isKept: boolean;
  /** The headers of the hook `onPaid`. */
  declare added: Headers | undefined;
  declare handlerSignal: HandlerSignal | undefined;
  /** From when on it cannot settle, in Unix milliseconds. */
  declare tooLateMs: number;
  declare isCancelTold: boolean;
  declare expiryListener: ((instead: Promise<GateResponse>) => void) | undefined;

  /** @param bodyDigest - What the payment is bound to, beside its route, method, target and offer. */
  constructor(deps: PaymentDeps, matched: MatchedRequest, read: ReadPayment, bodyDigest: string) {
    const { route, request, url } = matched;
    const { offer, payment, identity, payer, identifier } = read;
    const { key, description, mimeType, service } = route;
    const { method, client, retryToken } = request;
    const place = matched.locate();
    // Not the host: a client may come back by another name of the same server.
    const target = request.mountPath + request.path + request.search;
    // JSON keeps apart what differs. This is one list.
    const bound = `${JSON.stringify([key, method, target, bodyDigest]).slice(0, -1)},${boundTermsOf(offer.requirements).slice(1)}`;
    const claim: { -readonly [Field in keyof ClaimRequest]: ClaimRequest[Field] } = {
      identity,
      binding: hash("sha256", bound, "base64url"),
      mode: offer.settle,
      route: storable(key),
      method: storable(method),
      target: storable(target),
      hasBody: bodyDigest !== "",
      owner: nextOwner(),
      expiresAtMs: read.expiresAtMs,
    };
    if (identifier !== undefined) claim.identifier = identifier;
    // As long as the handler may run, where the store cannot renew it.
    claim.leaseUntilMs = read.expiresAtMs;
    const occasion = {
      url,
      method,
      locate: () => place,
      request: route.asked && new SellersRequest(matched, payment),
    };
    this.isHeld = true;
    this.receipt = undefined;
    this.deps = deps;
    this.matched = matched;
    this.route = route;
    this.routeKey = key;
    this.listedAs = key === CHARGE ? `${method} ${place.routeTemplate ?? CHARGE}` : undefined;
    this.hooks = route.hooks;
    this.asked = route.asked;
    this.offer = offer;
    this.scheme = offer.scheme;
    this.decimals = offer.asset.decimals;
    this.payload = payment;
    this.payer = payer;
    this.place = place;
    this.occasion = occasion;
    this.client = client;
    this.retryToken = retryToken;
    this.arrival = matched.arrival;
    this.claim = claim;
    this.facilitatorRequest = toFacilitatorRequest(payment, offer, {
      resource: { url, description, mimeType, ...service },
      extensions: route.declareAt(occasion),
      compiled: route.declarations.compiled,
    });
    this.isSigned = read.isSigned;
    this.isForged = read.isForged;
    this.settleByMs = Math.min(read.settleByMs, read.expiresAtMs);
    this.endsEarly = offer.scheme.readDeadline !== undefined || this.settleByMs < read.expiresAtMs;
    this.countedAs = undefined;
    this.verifyResponses = undefined;
    this.counted = undefined;
    this.startedMs = 0;
    this.amount = undefined;
    this.metering = undefined;
    this.handed = undefined;
    this.responded = undefined;
    this.isKept = false;
    this.added = undefined;
    this.handlerSignal = undefined;
    this.tooLateMs = 0;
    this.isCancelTold = false;
    this.expiryListener = undefined;
  }

  get request(): FacilitatorRequest {
    return this.facilitatorRequest;
  }

  /** What the handler sees. */
  get payment(): PaymentOfHandler {
    if (this.handed === undefined) throw new TypeError("its handler does not run");
    return this.handed;
  }

  get proof(): Headers {
    return this.deps.tokens.headersFor(this.claim.identity);
  }

  get isAmountAwaited(): boolean {
    return this.amount?.isAwaited === true;
  }

  /** For the handler. Made when it first asks: few do. */
  get signal(): AbortSignal {
    this.handlerSignal ??= new HandlerSignal();
    return this.handlerSignal.signal;
  }

  /** The payment is verified: its handler runs. It settles when the handler has responded. */
  run(counted: Run): void {
    this.counted = counted;
    this.startedMs = this.deps.now();
    this.tooLateMs = this.settleByMs - SETTLEMENT_MARGIN_MS + 1;
    this.deps.expiries.add(this);
    if (this.offer.settle === "metered") this.meter(counted);
    else if (this.scheme.allowsLess) this.amount = new MeteredAmount(this.offer, this.route.unmetered ?? "maximum");
    else this.amount = new WholeAmount(this.offer);
    this.handed = new HandlersPayment(this, this.amount as ChargedAmount, this);
  }

  /** What is never counted costs nothing: it would otherwise cost the maximum, however little was delivered. */
  private meter(counted: Run): void {
    const { exposure } = this.deps;
    const { unmetered = "zero" } = this.route;
    const amount = new MeteredAmount(this.offer, unmetered, {
      canPay: (sum) => exposure.canPay(this, sum),
      onExceeded: () => metering.stop("limit"),
      onRefused: (refused) => metering.refused(refused),
    });
    const about = {
      ...{ paid: this, counted, amount, unmetered, run: this },
      unrecorded: exposure.unrecordedOf(this.offer),
      extend: (sum: bigint) => exposure.extend(this, sum),
      giveUp: (reason: CancelReason) => this.giveUp(reason),
    };
    const metering = new MeteredStream(about, this.deps);
    this.amount = amount;
    this.metering = metering;
  }

  // How it ends: each of these is called once, but for `handlerEnded` and `leave`.

  complete(response: HandlerResponse): Promise<Release> {
    return this.deps.finish(this, response);
  }

  async cancel(): Promise<void> {
    this.counted?.abandon();
    this.leave();
    await this.endCancelled("client_gone");
  }

  async release(): Promise<void> {
    this.counted?.end();
    this.end();
    await this.endCancelled("not_chargeable");
  }

  private async endCancelled(reason: CancelReason): Promise<void> {
    await this.releaseClaim();
    this.tellCancelled(reason);
    this.deps.inFlight.end(this.claim);
  }

  /** It is too late to settle. The client is answered before the handler hears of it. */
  expire(): void {
    this.deps.deadlines.handlerEnded(this, this.startedMs);
    if (this.metering?.isLive) this.metering.stop("expired");
    else {
      this.counted?.abandon();
      const instead = this.endExpired();
      this.expiryListener?.(instead);
    }
    this.tell("expired");
  }

  private async endExpired(): Promise<GateResponse> {
    await this.releaseClaim();
    this.tellCancelled("expired");
    this.deps.inFlight.end(this.claim, expired);
    return expired();
  }

  /** Nothing is charged, and the payment can be used again. Rejects if the store fails. */
  async giveUp(reason: CancelReason): Promise<void> {
    const { identity, owner } = this.claim;
    void this.deps.leases?.drop({ owner });
    await this.counted?.written;
    await this.deps.store.release(identity, owner);
    if (this.metering !== undefined) this.deps.exposure.releaseSoon(this);
    this.tellCancelled(reason);
  }

  /** A claim that cannot be released expires. */
  private async releaseClaim(): Promise<void> {
    const { identity, owner } = this.claim;
    void this.deps.leases?.drop({ owner });
    // First, so that a request that claims the payment anew finds the run counted.
    await this.counted?.written;
    if (this.metering !== undefined) this.deps.exposure.releaseSoon(this);
    try {
      await this.deps.store.release(identity, owner);
    } catch {
      this.deps.logger.error("claim_not_released", { identity, error: "the store failed" });
    }
  }

  /** Says once that nothing is charged. */
  tellCancelled(reason: CancelReason): void {
    if (this.isCancelTold) return;
    this.isCancelTold = true;
    const { events, now } = this.deps;
    events.emit("cancelled", () => ({ ...factsOf(this), reason, durationMs: now() - this.startedMs }));
    this.hooks.tell("onCancel", () => [contextOf(this), reason]);
  }

  handlerEnded(): void {
    this.counted?.handlerEnded();
  }

  /** The handler responded: from here on it cannot run out of time. */
  end(): void {
    this.deps.expiries.remove(this);
  }

  leave(): void {
    this.end();
    this.tell("client_gone");
  }

  /** Tells the handler to stop. */
  tell(reason: Parameters<HandlerSignal["tell"]>[0]): void {
    this.handlerSignal ??= new HandlerSignal();
    this.handlerSignal.tell(reason);
  }

  onExpired(listener: (instead: Promise<GateResponse>) => void): void {
    this.expiryListener = listener;
  }

  // What becomes of the response.

  /** Whether the response may be needed by another request: its client has left. */
  keepsResponse(): boolean {
    return this.handlerSignal?.isDisconnected === true;
  }

  undelivered(response: HandlerResponse): Promise<void> {
    return this.deps.deliveries.keep(this.claim, toStored(withHeaders(response, this.added)), FIRST);
  }

  unreleased(response: HandlerResponse): Promise<void> {
    return keepOrOwe(this, withHeaders(response, this.added), FIRST, this.deps);
  }

  keepForPayer(response: HandlerResponse): Promise<void> {
    return this.deps.deliveries.keepForPayer(this.claim, toStored(withHeaders(response, this.added)));
  }

  done(): void {
    this.deps.deliveries.done(this.claim, { isKept: this.isKept });
  }
}
