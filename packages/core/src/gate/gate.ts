/**
 * The gate: what happens to one request at a priced route. READ THIS FIRST.
 *
 *   match → challenge: an unpaid request                               (this file)
 *   match → 1 hook → 2 price → 3 read → 4 signature → 5 bind
 *     → 6 validate → 7 claim → 8 in flight → 9 verify and run          (this file)
 *   the handler responds → settle → release or replace the response    (admission.ts)
 *   the same payment again                                             (replay.ts)
 *   a settlement that no request waits for                             (../settlement/recovery.ts)
 *
 * A client's request never throws: every branch returns a {@link Decision}. Every response is made in responses.ts.
 *
 * @see `docs/reference/lifecycle.md`
 * @module
 */
import { BodyNotParsedError, SchemeError } from "../errors.js";
import type { PaymentEvents } from "../events/events.js";
import {
  bodyNotKeptFinding,
  bodyNotParsedFinding,
  type Findings,
  foreignHostFinding,
  notHttpsFinding,
  proxyFinding,
  unnamedRequestFinding,
} from "../events/findings.js";
import type { Denied, VerifyFailure, WrittenBody } from "../events/hooks.js";
import { describeThrown, errorName, type Logger } from "../events/logger.js";
import { secondsToWait } from "../facilitator/http-responses.js";
import type { FacilitatorPool } from "../facilitator/pool.js";
import type { StartTimer } from "../options.js";
import type { Unpriced } from "../pricing/dynamic-price.js";
import { viewOf } from "../pricing/paywall.js";
import type { PricedRoute } from "../pricing/priced-route.js";
import {
  isForeignHost,
  isPublicWithoutTls,
  type Place,
  type PublicUrlSettings,
  resourceUrl,
} from "../pricing/resource.js";
import type { AcceptedRequirements, ExtensionResponses, VerifyResponse } from "../protocol/documents.js";
import { isReason, type Reason } from "../protocol/reasons.js";
import { decodePaymentOf, hasPayment, SellersRequest } from "../route/priced-request.js";
import { type BodyDigest, digestOf, fullPathOf, type GateRequest } from "../route/request.js";
import type { ResolvedTable } from "../route/resolved-table.js";
import type { Leases } from "../settlement/leases.js";
import type { Listings } from "../settlement/listings.js";
import type { OpenStore } from "../settlement/open-store.js";
import { contextOf, explain, factsOf } from "../settlement/outcome.js";
import { type Settler, settlingContextOf } from "../settlement/settle.js";
import type { PaymentRecord, PaymentStore } from "../store/payment-store.js";
import type { Admissions, Decision } from "./admission.js";
import { checkInput, type RefusedPayment, readPayment, type SignatureChecks } from "./check-payment.js";
import type { Deadlines } from "./deadline.js";
import type { Draining } from "./draining.js";
import type { Exposure } from "./exposure.js";
import type { InFlight } from "./in-flight.js";
import type { OwnBodies } from "./own-bodies.js";
import type { Pages } from "./pages.js";
import {
  type MatchedRequest,
  type PaidRequest,
  type ReadPayment,
  sourceOf,
  toOccasion,
  toPaidRequest,
  toQuotedRequest,
  toVerifiedBySeller,
} from "./paid-request.js";
import type { RetryTokens } from "./proof.js";
import { isOpen, type Replay } from "./replay.js";
import {
  type AwaitedResponse,
  abandonedTooOften,
  challenge,
  denied,
  deniedReceipt,
  type GateResponse,
  identifierConflict,
  incompleteRequest,
  inProgress,
  notSettled,
  RETRY_AFTER_SECONDS,
  refusal,
  shuttingDown,
  tooManyPayments,
  tooMuchExposure,
  unboundBody,
  uncheckedInput,
  undecided,
  unnamedRequest,
  unreachable,
} from "./responses.js";
import { Run, type Runs } from "./runs.js";
import type { SharedEntry } from "./shared-run.js";
import { type RequestAtHandler, toVerdict, type Verdict } from "./verdict.js";

/** What the gate needs. */
export interface GateDeps {
  readonly publicUrls: PublicUrlSettings;
  /** How long a duplicate waits for the first request. */
  readonly copyWaitMs: number;
  readonly signatures: SignatureChecks;
  readonly facilitator: Pick<FacilitatorPool, "ready" | "verify" | "admit">;
  readonly store: PaymentStore;
  readonly openStore: Pick<OpenStore, "open">;
  readonly leases: Pick<Leases, "ofRun" | "hold" | "drop" | "mayBeLost" | "isLost">;
  readonly inFlight: InFlight;
  readonly draining: Pick<Draining, "isRefusing">;
  readonly runs: Runs;
  readonly deadlines: Pick<Deadlines, "read">;
  readonly exposure: Pick<Exposure, "reserve" | "releaseSoon">;
  readonly admissions: Admissions;
  readonly replay: Replay;
  readonly settler: Pick<Settler, "settle">;
  readonly tokens: Pick<RetryTokens, "headersFor">;
  readonly bodies: OwnBodies;
  readonly pages: Pages;
  readonly listings: Pick<Listings, "note">;
  readonly events: PaymentEvents;
  readonly findings: Pick<Findings, "add">;
  readonly logger: Logger;
  readonly now: () => number;
  readonly timer: StartTimer;
}

const PASS: Decision = Object.freeze({ kind: "pass", isGranted: false });
const GRANTED: Decision = Object.freeze({ kind: "pass", isGranted: true });

/** Decides requests. Never throws or rejects: if a store or a scheme fails, the client gets 503. */
export class Gate {
  readonly #deps: GateDeps;

  constructor(deps: GateDeps) {
    this.#deps = deps;
  }

  /** Decides a request in front of the routes. */
  decide(table: ResolvedTable<PricedRoute>, request: GateRequest): Decision | Promise<Decision> {
    const verdict = this.inFront(table, request);
    if (verdict.kind === "priced") return verdict.decide(request);
    return verdict.kind === "refused" ? respond(verdict.response) : PASS;
  }

  /** Finds the key of a table that prices a request in front of the routes. */
  inFront(table: ResolvedTable<PricedRoute>, request: GateRequest): Verdict {
    return toVerdict(table.inFront(request), this);
  }

  /** Finds the key of a table that prices a request at a handler. */
  atHandler(table: ResolvedTable<PricedRoute>, { handler, request, ...where }: RequestAtHandler): Verdict {
    return toVerdict(table.atHandler(handler, { ...where, method: request.method, cut: request.cut }), this);
  }

  /** Finds the key of a table that names a request. */
  named(table: ResolvedTable<PricedRoute>, request: GateRequest, mounts: readonly string[]): Verdict {
    const candidate = table.named({ method: request.method, fullPath: fullPathOf(request), mounts });
    const isPriced = candidate !== undefined && !candidate.entry.value.isFree;
    return toVerdict(isPriced ? { kind: "priced", candidate } : { kind: "free" }, this);
  }

  /** Refuses a request at a route's handler that none of the handler's keys names, or that has paid another price. */
  refuseAt(route: PricedRoute): GateResponse {
    this.#deps.findings.add(unnamedRequestFinding(route.key));
    return unnamedRequest();
  }

  /** Decides a request at one route, which the framework has matched by itself. */
  decideAt(route: PricedRoute, request: GateRequest, locate: () => Place): Decision | Promise<Decision> {
    if (route.isFree) return PASS;
    try {
      const isUnpaid = request.payment === undefined && request.paymentSignature === undefined;
      const matched = this.#match(route, request, { locate, arrival: isUnpaid ? 0 : this.#deps.inFlight.next() });
      if (isUnpaid && !mustWait(route)) {
        const asked = this.#challenge(matched);
        const isUsual = route.bodies.unavailableBody === undefined;
        return isUsual ? asked : this.#withOwnBody(Promise.resolve(asked), matched);
      }
      const entered = this.#enter(matched).catch((error) => this.#failed(error, route.key, request));
      return route.bodies.unavailableBody === undefined ? entered : this.#withOwnBody(entered, matched);
    } catch (error) {
      return this.#failed(error, route.key, request);
    }
  }

  /** A 503 may have a body of the seller's. */
  async #withOwnBody(deciding: Promise<Decision>, matched: MatchedRequest): Promise<Decision> {
    const decision = await deciding;
    if (decision.kind !== "respond") return decision;
    return respond(await this.#deps.bodies.unavailable(matched, decision.response));
  }

  /** Asks a client to pay at one route, whatever its request carries. No hook is asked. It passes if there is nothing to pay. */
  async challengeAt(route: PricedRoute, request: GateRequest, locate: () => Place): Promise<Decision> {
    try {
      const matched = this.#match(route, request, { locate, arrival: 0 });
      if (route.priceFor !== undefined) await this.#deps.openStore.open();
      if (isPending(route)) await this.#deps.facilitator.ready();
      const priced = await this.#price(matched, undefined);
      if ("unpriced" in priced) return this.#unpriced(matched, priced.unpriced);
      return priced.isFree ? PASS : this.#challenge({ ...matched, route: priced });
    } catch (error) {
      return this.#failed(error, route.key, request);
    }
  }

  #match(
    route: PricedRoute,
    request: GateRequest,
    { locate, arrival }: Pick<MatchedRequest, "locate" | "arrival">,
  ): MatchedRequest {
    const url = request.resource ?? route.url ?? resourceUrl(request, this.#deps.publicUrls);
    const isOther = request.resource === undefined && route.url !== undefined && route.isHttp;
    const requestUrl = isOther ? resourceUrl(request, this.#deps.publicUrls) : url;
    const matched = { route, request, url, requestUrl, locate, arrival };
    this.#noteUrl(matched);
    return matched;
  }

  /** A process that ends takes no more payments. */
  async #enter(matched: MatchedRequest): Promise<Decision> {
    const isRefused = this.#deps.draining.isRefusing && hasPayment(matched.request);
    return isRefused ? respond(shuttingDown()) : this.#pay(matched);
  }

  /** The nine steps of a request that has to be waited for. Steps 8 and 9 are in {@link Gate.#serve}. */
  async #pay(matched: MatchedRequest): Promise<Decision> {
    const { facilitator, store, leases, replay, events, findings, copyWaitMs, now, timer } = this.#deps;
    const { hooks } = matched.route;
    const { request } = matched;

    // 1. The seller's onRequest hook may let the request through, or deny it.
    const verdict = hooks.asksAboutRequests ? await hooks.askAboutRequest(new SellersRequest(matched)) : undefined;
    if (verdict?.kind === "granted") return GRANTED;
    if (verdict?.kind === "denied") return this.#deny(matched, verdict);

    // 2. The price. It may be signed with a secret that the store keeps. Right after the start, it waits until each facilitator was asked what it supports.
    await this.#openStore(matched);
    if (isPending(matched.route)) await facilitator.ready();
    const decoded = decodePaymentOf(request);
    const route = await this.#price(matched, decoded.kind === "present" ? decoded.payment.accepted : undefined);
    if ("unpriced" in route) return this.#unpriced(matched, route.unpriced);
    if (route.isFree) {
      events.emit("granted", () => ({ route: route.key }));
      return GRANTED;
    }
    const priced = { ...matched, route };

    // 3. The payment: it must be for one of the route's offers, and good as far as can be told here.
    if (decoded.kind === "absent") return this.#challenge(priced);
    if (decoded.kind === "malformed") {
      const { reason, problem } = decoded;
      const what = request.payment === undefined ? "PAYMENT-SIGNATURE" : "the payment";
      return this.#refuse(priced, { kind: "refused", status: 400, reason, error: `${reason}: ${what} is ${problem}` });
    }
    const read = readPayment(route, decoded.payment, now());
    if (read.kind === "refused") return this.#refuse(priced, read);

    // 4. The payer's signature. If it is of another key, it may be a contract's: few such payments are verified at a time.
    const checked = this.#deps.signatures.check(read);
    if (checked.kind === "refused") return this.#refuse(priced, checked);

    // 5. From here on the payment is bound to this request: its route, method, target, body and offer.
    let refused: Responded | undefined;
    const isGood = async () => {
      const asked = await this.#askFirst(toPaidRequest(priced, checked, ""));
      if (typeof asked !== "object") return asked;
      refused = asked;
      return false;
    };
    const bodyDigest = await digestOf(request, { timer, isGood });
    if (refused !== undefined) return refused;
    if (typeof bodyDigest !== "string") return this.#unbound(priced, bodyDigest);
    const paid = toPaidRequest(priced, checked, bodyDigest);
    const untilMs = now() + copyWaitMs;
    if (read.reading.kind === "expired") return this.#decideExpired(paid, read.reading.expiredReason, untilMs);

    // 6. The route's validate. A payment that has a record goes by that, even if its request is invalid by now.
    const invalid = await checkInput(priced, findings);
    if (invalid !== undefined && (await store.find(paid.claim.identity)) === undefined) {
      events.emit("denied", () => ({ ...factsOf(paid), by: "validate" }));
      return respond(invalid);
    }

    // 7. The claim: one request owns the payment. The others get what its record says.
    for (;;) {
      const askedMs = now();
      const claimed = await store.claim({ ...paid.claim, leaseUntilMs: leases.ofRun(paid.claim) });
      if (claimed.kind === "claimed") return await this.#serve(paid, askedMs);
      if (claimed.kind === "identifier_taken") {
        events.emit("denied", () => ({ ...factsOf(paid), by: "payment-identifier" }));
        return respond(identifierConflict());
      }
      const decision = await replay.decide(paid, claimed.record, untilMs);
      if (decision !== undefined) return decision;
    }
  }

  /** The seller's onRequest hook denied. A denial with 402 says how to pay, so it needs the price. */
  async #deny(matched: MatchedRequest, denial: Denied): Promise<Decision> {
    if (denial.status !== 402) return respond(await denied(denial, toDenial(matched)));
    await this.#openStore(matched);
    if (isPending(matched.route)) await this.#deps.facilitator.ready();
    const route = await this.#price(matched, undefined);
    if ("unpriced" in route) return this.#unpriced(matched, route.unpriced);
    // There is nothing to pay.
    const status = route.isFree ? 403 : 402;
    return respond(await denied({ ...denial, status }, toDenial({ ...matched, route })));
  }

  /** Opens the store for a payment, and for a price that is signed with its secret. Rejects if it cannot be used. */
  #openStore({ route, request }: MatchedRequest): Promise<void> | undefined {
    const isNeeded = hasPayment(request) || route.priceFor !== undefined;
    return isNeeded ? this.#deps.openStore.open() : undefined;
  }

  /** Steps 8 and 9. In every case, duplicates that wait are told, and the claim is released if nothing began. */
  async #serve(paid: PaidRequest, claimedMs: number): Promise<Decision> {
    const { inFlight, leases, events } = this.#deps;
    const { claim, client, hooks } = paid;

    // 8. In flight: duplicates wait for this request, in other processes as long as its lease is renewed.
    inFlight.begin(claim, client);
    leases.hold(claim, claimedMs);
    if (events.hears("claimed")) events.emit("claimed", () => factsOf(paid));
    try {
      // 9. The facilitator verifies the payment, or settles it if the offer says so. Then the handler runs.
      const verdict = hooks.asks("beforeVerify") ? await hooks.ask("beforeVerify", contextOf(paid)) : undefined;
      const bySeller = verdict?.kind === "verified" ? toVerifiedBySeller(paid) : undefined;
      // What is delivered before it is paid needs a payer who is proven.
      const isUnproven = paid.offer.settle === "metered" && bySeller?.countedAs !== undefined;
      const isVerified = bySeller !== undefined && !isUnproven;
      let decision: Decision;
      if (verdict?.kind === "denied") decision = await this.#release(paid, await denied(verdict, paid));
      else if (paid.offer.settle === "before") decision = await this.#checkThenSettle(paid, isVerified);
      else decision = await this.#verifyThenRun(isVerified ? bySeller : paid, isVerified);
      if (decision.kind === "respond") inFlight.end(claim, () => decision.response);
      if (decision.kind === "run" && !decision.admission.isHeld) inFlight.end(claim);
      return decision;
    } catch (error) {
      await this.#abandon(paid);
      throw error;
    }
  }

  /** `settle: "after"`: the payment is verified, the handler runs, and the money moves afterwards. */
  async #verifyThenRun(paid: PaidRequest, isVerified: boolean): Promise<Decision> {
    const { runs, admissions } = this.#deps;
    const { hooks } = paid;
    // A payment that may be forged does not count as its payer's before it is verified.
    const asked = runs.ask(paid);
    if (paid.isSigned || isVerified) asked?.start();
    let decision: Decision | undefined;
    let own: WrittenBody | undefined;
    try {
      const verified = isVerified ? BY_SELLER : await this.#verify(paid);
      if (verified.kind === "respond") return verified;
      const verdict = hooks.asks("afterVerify") ? await hooks.ask("afterVerify", contextOf(paid)) : undefined;
      if (verdict?.kind === "denied") return await this.#release(paid, denied(verdict, paid));
      own = verdict?.body;
      decision = await this.#runVerified(paid, verified, asked);
    } finally {
      if (decision?.kind !== "run") asked?.remove();
    }
    if (own === undefined || decision.kind !== "run" || !decision.admission.isHeld) return decision;
    return admissions.respond(paid, decision.admission, own);
  }

  /** The payment is good: its handler runs, unless its payer has too many runs. */
  async #runVerified(paid: PaidRequest, verified: Verified, asked: SharedEntry | undefined): Promise<Decision> {
    const { runs, events } = this.#deps;
    const others = asked && (await asked.others());
    // The amount of some schemes is known only when the handler has run.
    if (!paid.offer.scheme.allowsLess && runs.mustSettleFirst(paid, others)) {
      const decision = await this.#settleThenRun(paid, true);
      if (decision.kind === "run") asked?.settle();
      asked?.remove();
      return decision;
    }
    if (runs.secondsToWait(paid, others) > 0) {
      events.emit("denied", () => ({ ...factsOf(paid), by: "abandonedRuns" }));
      return this.#release(paid, abandonedTooOften());
    }
    const begun = runs.begin(paid, { asked, others });
    const run = begun instanceof Promise ? await begun : begun;
    if (!(run instanceof Run)) {
      events.emit("denied", () => ({ ...factsOf(paid), by: run.by }));
      return this.#release(paid, tooManyPayments(run.retryAfterSeconds));
    }
    let decision: Decision | undefined;
    try {
      decision = (await this.#expose(paid)) ?? (await this.#admit(paid, run, verified.extensionResponses));
      return decision;
    } finally {
      if (decision?.kind !== "run") {
        run.end();
        if (paid.offer.settle === "metered") this.#deps.exposure.releaseSoon(paid);
      }
    }
  }

  /** A metered response goes out before it is paid: only if the seller's limits, and what the payer has on chain, allow it. */
  async #expose(paid: PaidRequest): Promise<Decision | undefined> {
    if (paid.offer.settle !== "metered") return undefined;
    const { exposure, events, logger } = this.#deps;
    const refused = await exposure.reserve(paid);
    if (refused === undefined) return undefined;
    const { by } = refused;
    events.emit("denied", () => ({ ...factsOf(paid), by }));
    logger.warn("exposure_refused", { route: paid.routeKey, payer: paid.payer, by });
    switch (by) {
      case "due":
        return this.#release(paid, refusal(paid.route, paid.occasion, "payment_due"));
      case "balance":
        return this.#release(paid, refusal(paid.route, paid.occasion, "insufficient_funds"));
      case "exposureTotal":
        return this.#release(paid, unreachable("unexpected_settle_error", RETRY_AFTER_SECONDS));
      default:
        return this.#release(paid, tooMuchExposure());
    }
  }

  /** All that is left to ask: whether there is time, whether settlement works, and whether the claim is still ours. */
  async #admit(paid: PaidRequest, run: Run, verifyResponses: ExtensionResponses | undefined): Promise<Decision> {
    const { facilitator, leases, tokens, deadlines, admissions, events } = this.#deps;
    const timed = await deadlines.read(paid);
    if (timed === undefined) {
      events.emit("denied", () => ({ ...factsOf(paid), by: "deadline" }));
      return this.#release(paid, refusal(paid.route, paid.occasion, "payment_expired"));
    }
    // Asked last: only a good payment may be the one that finds out whether settlement works again.
    const waitSeconds = facilitator.admit(paid.offer.requirements, paid.payer);
    if (waitSeconds > 0) {
      events.emit("denied", () => ({ ...factsOf(paid), by: "settlementPaused" }));
      return this.#release(paid, unreachable("unexpected_settle_error", waitSeconds));
    }
    if (leases.mayBeLost(paid.claim) && (await leases.isLost(paid.claim)))
      return respond(inProgress(tokens.headersFor(paid.claim.identity)));
    const admission = admissions.admit(timed, run, verifyResponses);
    if (events.hears("admitted")) events.emit("admitted", () => factsOf(paid));
    return { kind: "run", admission };
  }

  /** Asks a facilitator whether the payment would settle. If not, the claim is released. */
  async #verify(paid: PaidRequest): Promise<Verified | Responded> {
    const { facilitator, listings, events, logger, now } = this.#deps;
    const { isSigned, isForged, claim, hooks } = paid;
    const startedMs = now();
    const timed = () => ({ ...factsOf(paid), durationMs: now() - startedMs });
    let response: VerifyResponse;
    try {
      const about = { payment: claim.identity, source: sourceOf(paid), isSigned, isForged };
      response = await facilitator.verify(paid.facilitatorRequest, about);
    } catch (error) {
      const explained = explain(error);
      logger.error("verification_failed", { network: paid.offer.requirements.network, ...explained });
      events.emit("invalid", () => ({ ...timed(), reason: UNEXPECTED }));
      hooks.tell("onVerifyFailed", () => [contextOf(paid), failureOf(UNEXPECTED, explained["message"], error)]);
      return this.#release(paid, unreachable(UNEXPECTED, secondsToWait(error) ?? RETRY_AFTER_SECONDS));
    }
    const extensionResponses = listings.note({
      payment: paid,
      operation: "verify",
      responses: response.extensionResponses,
    });
    if (!response.isValid) {
      const reason = isReason(response.invalidReason) ? response.invalidReason : "invalid_payload";
      events.emit("invalid", () => ({ ...timed(), reason }));
      hooks.tell("onVerifyFailed", () => [contextOf(paid), failureOf(reason, response.invalidMessage)]);
      // The facilitator's own failure is not the payer's fault, and another signature would not help.
      if (reason === UNEXPECTED) return this.#release(paid, unreachable(UNEXPECTED, RETRY_AFTER_SECONDS));
      return this.#release(paid, refusal(paid.route, paid.occasion, reason));
    }
    if (events.hears("verified")) events.emit("verified", timed);
    return { kind: "verified", extensionResponses };
  }

  /**
   * Memory for bodies is short: a payment without money must not take it. One with a record may be used up, and anybody may have copied it
   * from the chain. `undefined`: it waits, or a hook of the seller's has its say first.
   */
  async #askFirst(paid: PaidRequest): Promise<true | Responded | undefined> {
    if (paid.hooks.asks("beforeVerify") || (await this.#deps.store.find(paid.claim.identity)) !== undefined)
      return undefined;
    const verified = await this.#verify(paid);
    return verified.kind === "respond" ? verified : true;
  }

  /** `settle: "before"`: a payment whose signature may be forged is verified first. */
  async #checkThenSettle(paid: PaidRequest, isVerified: boolean): Promise<Decision> {
    const verified = paid.isSigned || isVerified ? undefined : await this.#verify(paid);
    return verified?.kind === "respond" ? verified : this.#settleThenRun(paid, verified !== undefined);
  }

  /** The money moves, and then the handler runs: with `settle: "before"`, and if the payment was abandoned too often. */
  async #settleThenRun(paid: PaidRequest, isVerified: boolean): Promise<Decision> {
    const { store, leases, settler, tokens, bodies, admissions, events } = this.#deps;
    const { claim, client, route, hooks, occasion } = paid;
    const { identity, owner } = claim;
    const denial = hooks.asks("beforeSettle")
      ? await hooks.ask("beforeSettle", settlingContextOf(paid, undefined))
      : undefined;
    if (denial !== undefined) {
      const receipt = deniedReceipt(denial, paid.payer, paid.offer.requirements.network);
      return this.#release(paid, denied(denial, { route, occasion, receipt }));
    }
    const settled = await settler.settle(paid, {
      from: "claimed",
      owner,
      facilitator: undefined,
      response: undefined,
      runsHandler: true,
      isVerified,
      waiting: { client, keepsResponse: () => false },
    });
    // Refused outright, it did not move. A record of it would let strangers fill the memory.
    if (settled.kind === "rejected" && settled.receipt.transaction === "") await store.release(identity, owner);
    if (settled.kind !== "settled") {
      const receipt = settled.kind === "rejected" ? settled.receipt : undefined;
      const response = notSettled(route, occasion, settled, tokens.headersFor(identity));
      return respond(await bodies.settlementFailed(paid, receipt, response));
    }
    if (leases.mayBeLost(claim) && (await leases.isLost(claim)))
      return respond(inProgress(tokens.headersFor(identity)));
    events.emit("admitted", () => factsOf(paid));
    const about = { settleResponses: settled.extensionResponses, added: settled.added };
    return { kind: "run", admission: admissions.admitSettled(paid, settled.receipt, about) };
  }

  /** Prices one request, where the price depends on it. Rejects if a function of the seller's throws. */
  async #price(matched: MatchedRequest, accepted: AcceptedRequirements | undefined): Promise<PricedRoute | Unpriced> {
    const { route, request } = matched;
    if (route.priceFor === undefined) return route;
    const occasion = {
      request: new SellersRequest(matched),
      hasBody: request.hasBody === true,
      binding: toQuotedRequest(matched),
      accepted,
      nowSeconds: Math.floor(this.#deps.now() / 1000),
    };
    const priced = await route.priceFor(occasion).catch((cause) => Promise.reject(new PriceFailure(cause)));
    if (!("unpriced" in priced) && !priced.isFree && isPending(priced)) await this.#deps.facilitator.ready();
    return priced;
  }

  /** A price function read a body that no parser has read, or that cannot be told from others. */
  #unpriced({ route }: MatchedRequest, reason: Unpriced["unpriced"]): Decision {
    if (reason === "no_text") return respond(unboundBody(reason));
    const { findings, logger } = this.#deps;
    const { name, code, message } = new BodyNotParsedError(route.key);
    logger.error("decision_failed", { route: route.key, error: name, code, message });
    findings.add(bodyNotParsedFinding(route.key));
    return respond(uncheckedInput());
  }

  /** A payment cannot be bound to a body that has no digest. */
  #unbound({ route }: MatchedRequest, digest: Exclude<BodyDigest, string>): Decision {
    if (digest === undefined) return respond(incompleteRequest());
    if (digest.problem === "not_kept") this.#deps.findings.add(bodyNotKeptFinding(route.key));
    return respond(unboundBody(digest.problem));
  }

  /** Asks for payment: a person with a browser gets a page. */
  #challenge(matched: MatchedRequest): Decision | Promise<Decision> {
    const { route, request } = matched;
    const isVersion1 = request.header?.("X-PAYMENT") !== undefined;
    const error = request.error ?? (isVersion1 ? VERSION_1_ERROR : "Payment required");
    const occasion = toOccasion(matched, error);
    const view = route.isHttp && request.accept !== undefined ? viewOf(request) : undefined;
    const response =
      view === undefined
        ? challenge(route, occasion, { status: 402 })
        : this.#deps.pages.show(view, { matched, occasion });
    const isPage = view !== undefined;
    if (!(response instanceof Promise)) return this.#challenged(matched, response, isPage);
    return response
      .then((made) => this.#challenged(matched, made, isPage))
      .catch((failure) => this.#failed(failure, route.key, request));
  }

  #challenged(matched: MatchedRequest, response: GateResponse, isPage: boolean): Decision | Promise<Decision> {
    const { route } = matched;
    const { events } = this.#deps;
    if (response.status === 402 && events.hears("challenged")) events.emit("challenged", () => ({ route: route.key }));
    if (isPage || route.bodies.unpaidBody === undefined) return respond(response);
    const own = this.#deps.bodies.unpaid(matched, response);
    return own instanceof Promise ? own.then(respond) : respond(own);
  }

  /** Says what is wrong with the payment, and asks for another one. */
  async #refuse(matched: MatchedRequest, refused: RefusedPayment): Promise<Decision> {
    const { status, error, reason, field, identity, former } = refused;
    const { route } = matched;
    const { store, events } = this.#deps;
    const record = identity === undefined ? undefined : await store.find(identity);
    // Where the price is the request's, the payment may be for another request.
    const isByRequest = route.isByRequest || matched.request.resource !== undefined;
    if (record !== undefined && former !== undefined && !isByRequest) {
      const decided = await this.#decideFormer(matched, former, record);
      if (decided !== undefined) return decided;
    }
    if (status === 400) events.emit("malformed", () => ({ route: route.key, reason }));
    else events.emit("mismatched", () => ({ route: route.key, reason, ...(field === undefined ? {} : { field }) }));
    // The payment may yet turn out to have paid.
    if (record !== undefined && isOpen(record)) return respond(inProgress());
    return respond(await challenge(route, toOccasion(matched, error), { status }));
  }

  /**
   * The seller has changed its offers since. A payment that has a record for this very request and for the terms that it names gets what
   * the record gives: it may have paid, and its payer may have nothing for it yet.
   */
  async #decideFormer(
    matched: MatchedRequest,
    former: ReadPayment,
    found: PaymentRecord,
  ): Promise<Decision | undefined> {
    const { store, signatures, replay, now, timer, copyWaitMs } = this.#deps;
    const untilMs = now() + copyWaitMs;
    const checked = signatures.check(former);
    if (checked.kind === "refused") return undefined;
    const bodyDigest = await digestOf(matched.request, { timer, isGood: async () => true });
    if (typeof bodyDigest !== "string") return undefined;
    const paid = toPaidRequest(matched, checked, bodyDigest);
    let record: PaymentRecord | undefined = found;
    for (let isFirst = true; record?.binding === paid.claim.binding; isFirst = false) {
      const decision = await replay.decide(paid, record, untilMs);
      if (decision !== undefined) return decision;
      if (!isFirst) return respond(inProgress());
      record = await store.find(found.identity);
    }
    return undefined;
  }

  /** An expired payment cannot pay any more, but its record may say what happened to it. */
  async #decideExpired(paid: PaidRequest, reason: Reason, untilMs: number): Promise<Decision> {
    const { store, replay, events } = this.#deps;
    for (let isFirst = true; ; isFirst = false) {
      const record = await store.find(paid.claim.identity);
      if (record === undefined) {
        events.emit("mismatched", () => ({ route: paid.routeKey, reason }));
        return respond(await refusal(paid.route, paid.occasion, reason));
      }
      const decision = await replay.decide(paid, record, untilMs);
      if (decision !== undefined) return decision;
      if (isFirst) continue;
      replay.tell(paid, "pending");
      return respond(inProgress());
    }
  }

  /** Something failed before the handler ran. If the release fails, too, the claim expires. */
  async #abandon({ claim }: PaidRequest): Promise<void> {
    const { store, inFlight, leases } = this.#deps;
    void leases.drop(claim);
    try {
      await store.release(claim.identity, claim.owner);
    } catch {
      // The first failure is the one to report.
    }
    inFlight.end(claim);
  }

  /** The handler does not run, and the payment can be used again. Rejects if the store fails. */
  async #release({ claim }: PaidRequest, response: AwaitedResponse): Promise<Responded> {
    void this.#deps.leases.drop(claim);
    await this.#deps.store.release(claim.identity, claim.owner);
    return respond(response instanceof Promise ? await response : response);
  }

  /** 503. Something of ours or of the seller's failed: a price function, a store, a scheme. */
  #failed(error: unknown, route: string, request: GateRequest): Decision {
    if (error instanceof PriceFailure) {
      this.#deps.logger.error("price_failed", { route, ...describeThrown(error.cause) });
      this.#deps.events.emit("price_failed", () => ({ route }));
      return respond(undecided("price", hasPayment(request)));
    }
    const explained = error instanceof SchemeError ? { code: error.code, message: error.message } : {};
    this.#deps.logger.error("decision_failed", { route, error: errorName(error), ...explained });
    return respond(undecided("request", hasPayment(request)));
  }

  /** Notes what looks wrong about a resource's URL. What a proxy makes of it is only seen with a request. */
  #noteUrl({ route, request, url }: MatchedRequest): void {
    const { publicUrls, findings } = this.#deps;
    if (route.isPublic && isPublicWithoutTls(url)) findings.add(notHttpsFinding());
    if (route.url !== undefined || request.resource !== undefined) return;
    if (publicUrls.publicUrl === undefined && request.isProxyIgnored === true) findings.add(proxyFinding());
    if (publicUrls.allowedHosts.length > 0 && isForeignHost(request, publicUrls)) findings.add(foreignHostFinding());
  }
}

/** Whether somebody has to be asked before a request at a route can be answered. */
function mustWait(route: PricedRoute): boolean {
  const { hooks, priceFor } = route;
  return priceFor !== undefined || isPending(route) || (hooks.hasOnRequest && hooks.asksAboutRequests);
}

function isPending({ isPending }: PricedRoute): boolean {
  return isPending?.() === true;
}

const UNEXPECTED = "unexpected_verify_error";

type Responded = Extract<Decision, { readonly kind: "respond" }>;

/** The facilitator says that the payment would settle. */
interface Verified {
  readonly kind: "verified";
  readonly extensionResponses: ExtensionResponses | undefined;
}

/** The seller says that the payment is good. */
const BY_SELLER: Verified = Object.freeze({ kind: "verified", extensionResponses: undefined });

function failureOf(reason: string, message: unknown, error?: unknown): VerifyFailure {
  const text = typeof message === "string" ? { message } : {};
  return Object.freeze({ reason, ...text, ...(error === undefined ? {} : { error }) });
}

/** Where a request was denied before it was priced, or before its payment was read. */
function toDenial(matched: MatchedRequest) {
  return { route: matched.route, occasion: toOccasion(matched, "") };
}

/** A function of the seller's that prices a request failed. */
class PriceFailure {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

/** Version 1 of the protocol has another header. Its clients should learn why they are not served. */
const VERSION_1_ERROR = "invalid_x402_version: X-PAYMENT is of x402 version 1; version 2 has PAYMENT-SIGNATURE";

function respond(response: GateResponse): Responded {
  return { kind: "respond", response };
}
