/**
 * One request at a priced route, from top to bottom. READ THIS FIRST.
 *
 *   open     nobody pays: the request passes, or is asked to pay
 *   pay      onRequest hook → price → the payment is read → its signature → bound to the request → validate → claimed
 *   admit    beforeVerify hook → verified → afterVerify hook → the payer's runs, exposure, deadline → the handler runs
 *   finish   the handler has responded → charged? → amount → beforeSettle hook → in time? → settled → released or replaced
 *
 * What comes before a payment is read, if it is configured: before.ts. A payment that is refused: refuse.ts.
 * What a payment is: payment.ts. How money moves: settle.ts. The same payment again: again.ts. A settlement that no request waits for:
 * recover.ts. Every response is made in answers.ts.
 *
 * Nothing that a client sends throws here: every branch returns a {@link Decision}.
 *
 * @see `docs/reference/lifecycle.md`
 * @module
 */
import { SchemeError } from "../errors.js";
import type { CancelReason } from "../events/events.js";
import {
  bodyNotKeptFinding,
  foreignHostFinding,
  notHttpsFinding,
  proxyFinding,
  unnamedRequestFinding,
} from "../events/findings.js";
import type { Hooks, VerifyFailure, WrittenBody } from "../events/hooks.js";
import { describeThrown, errorName } from "../events/logger.js";
import type { LateCheck, PoolCallOptions } from "../facilitator/call.js";
import { secondsToWait } from "../facilitator/http-responses.js";
import { viewOf } from "../pricing/paywall.js";
import type { PricedRoute } from "../pricing/priced-route.js";
import { isForeignHost, isPublicWithoutTls, type Place, resourceUrl } from "../pricing/resource.js";
import type { VerifyResponse } from "../protocol/documents.js";
import { mentionsPayments } from "../protocol/headers.js";
import { isReason } from "../protocol/reasons.js";
import { decodePaymentOf, hasPayment } from "../route/priced-request.js";
import { type BodyDigest, fullPathOf, type GateRequest } from "../route/request.js";
import type { ResolvedTable } from "../route/resolved-table.js";
import { Run } from "../steps/runs.js";
import type { SharedEntry } from "../steps/shared-run.js";
import {
  type AwaitedResponse,
  abandonedTooOften,
  amountContradicted,
  amountNotSet,
  amountRefused,
  challenge,
  cutShort,
  denied,
  deniedReceipt,
  expired,
  type GateResponse,
  identifierConflict,
  incompleteRequest,
  inProgress,
  notChargedHeaders,
  notDecided,
  notSettled,
  paidHeaders,
  RETRY_AFTER_SECONDS,
  refusal,
  replayed,
  shuttingDown,
  tooManyPayments,
  tooMuchExposure,
  unboundBody,
  undecided,
  unnamedRequest,
  unreachable,
} from "./answers.js";
import { askHook, openStore, PriceFailure, price, priceNow, unpriced } from "./before.js";
import {
  contradicts,
  type HandlerResponse,
  isCharged,
  isClientsDoing,
  logRefused,
  type Release,
  SET_ANOTHER,
  uncharged,
  withoutPayments,
} from "./charge.js";
import { checkInput, readPayment } from "./check-payment.js";
import { type Decision, type HeldAdmission, PASS, type Responded, respond } from "./decision.js";
import type { ClosedAmount } from "./handler.js";
import { contextOf, explain, factsOf, type PendingPayment, withAmount } from "./outcome.js";
import { Payment } from "./payment.js";
import { decideExpired, malformed, refuse } from "./refuse.js";
import {
  countedFor,
  type MatchedRequest,
  type ReadPayment,
  SETTLEMENT_MARGIN_MS,
  sourceOf,
  toOccasion,
} from "./request.js";
import { toShare } from "./responded.js";
import type { Seller } from "./seller.js";
import { settlingContextOf } from "./settle.js";
import { type RequestAtHandler, toVerdict, type Verdict } from "./verdict.js";

/** Sells. Never throws or rejects: if a store or a scheme fails, the client gets 503. */
export class Sales {
  readonly #seller: Seller;

  constructor(seller: Seller) {
    this.#seller = seller;
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
    this.#seller.findings.add(unnamedRequestFinding(route.key));
    return unnamedRequest();
  }

  /** Decides a request at one route, which the framework has matched by itself. */
  decideAt(route: PricedRoute, request: GateRequest, locate: () => Place): Decision | Promise<Decision> {
    return route.isFree ? PASS : open(this.#seller, route, request, locate);
  }

  /** Asks a client to pay at one route, whatever its request carries. No hook is asked. It passes if there is nothing to pay. */
  async challengeAt(route: PricedRoute, request: GateRequest, locate: () => Place): Promise<Decision> {
    const seller = this.#seller;
    try {
      const matched = match(seller, route, request, locate, 0);
      if (route.priceFor !== undefined) await seller.openStore.open();
      if (route.isPending?.() === true) await seller.facilitator.ready();
      const priced = await price(seller, matched, undefined);
      if ("unpriced" in priced) return unpriced(seller, matched, priced.unpriced);
      return priced.isFree ? PASS : ask(seller, { ...matched, route: priced });
    } catch (error) {
      return failed(seller, error, route.key, request);
    }
  }
}

/** A request at a priced route. It is answered at once if nobody pays, and nobody has to be asked. */
function open(
  seller: Seller,
  route: PricedRoute,
  request: GateRequest,
  locate: () => Place,
): Decision | Promise<Decision> {
  try {
    const isUnpaid = request.payment === undefined && request.paymentSignature === undefined;
    const matched = match(seller, route, request, locate, isUnpaid ? 0 : seller.inFlight.next());
    const { hooks, priceFor, bodies } = route;
    const isUsual = bodies.unavailableBody === undefined;
    const mustWait =
      priceFor !== undefined || route.isPending?.() === true || (hooks.hasOnRequest && hooks.asksAboutRequests);
    if (isUnpaid && !mustWait) {
      const asked = ask(seller, matched);
      return isUsual ? asked : withOwnBody(seller, Promise.resolve(asked), matched);
    }
    const paying = pay(seller, matched);
    return isUsual ? paying : withOwnBody(seller, paying, matched);
  } catch (error) {
    return failed(seller, error, route.key, request);
  }
}

/** A request that a route has matched. Notes what looks wrong about its URL: what a proxy makes of it is only seen with a request. */
function match(
  { publicUrls, findings }: Seller,
  route: PricedRoute,
  request: GateRequest,
  locate: () => Place,
  arrival: number,
): MatchedRequest {
  const url = request.resource ?? route.url ?? resourceUrl(request, publicUrls);
  const isOther = request.resource === undefined && route.url !== undefined && route.isHttp;
  const requestUrl = isOther ? resourceUrl(request, publicUrls) : url;
  if (route.isPublic && isPublicWithoutTls(url)) findings.add(notHttpsFinding());
  if (route.url === undefined && request.resource === undefined) {
    if (publicUrls.publicUrl === undefined && request.isProxyIgnored === true) findings.add(proxyFinding());
    if (publicUrls.allowedHosts.length > 0 && isForeignHost(request, publicUrls)) findings.add(foreignHostFinding());
  }
  return { route, request, url, requestUrl, locate, arrival };
}

/** A request that has to be waited for, up to the claim. Never rejects. */
async function pay(seller: Seller, unpricedRequest: MatchedRequest): Promise<Decision> {
  const { now } = seller;
  const { request, route: listed } = unpricedRequest;
  // A process that ends takes no more payments.
  if (seller.draining.isRefusing && hasPayment(request)) return respond(shuttingDown());
  try {
    const stop = listed.hooks.hasOnRequest ? await askHook(seller, unpricedRequest) : undefined;
    if (stop !== undefined) return stop;

    // The price. It may be signed with a secret that the store keeps. Right after the start, it waits until each facilitator was asked
    // what it supports.
    if (seller.openStore.canAsk) await openStore(seller, unpricedRequest);
    if (listed.isPending?.() === true) await seller.facilitator.ready();
    const decoded = decodePaymentOf(request);
    let matched = unpricedRequest;
    if (listed.priceFor !== undefined) {
      const accepted = decoded.kind === "present" ? decoded.payment.accepted : undefined;
      const priced = await priceNow(seller, matched, accepted);
      if ("kind" in priced) return priced;
      matched = priced;
    }

    // The payment: it must be for one of the route's offers, and good as far as can be told here. A signature of another key may be a
    // contract's: few such payments are verified at a time.
    if (decoded.kind === "absent") return ask(seller, matched);
    if (decoded.kind === "malformed") return await refuse(seller, matched, malformed(request, decoded));
    const read = readPayment(matched.route, decoded.payment, now());
    if (read.kind === "refused") return await refuse(seller, matched, read);
    const refused = seller.signatures.check(read);
    if (refused !== undefined) return await refuse(seller, matched, refused);

    // From here on the payment is bound to this request: its route, method, target, body and offer.
    const digesting = request.digestBody === undefined ? "" : digestBody(seller, matched, read);
    const bodyDigest = typeof digesting === "string" ? digesting : await digesting;
    if (typeof bodyDigest !== "string") return bodyDigest;
    const payment = new Payment(seller, matched, read, bodyDigest);
    const untilMs = now() + seller.copyWaitMs;
    if (read.expired !== undefined) return await decideExpired(seller, payment, read.expired, untilMs);

    const invalid = matched.route.validate === undefined ? undefined : await validate(seller, matched, payment);
    return invalid ?? (await claim(seller, payment, untilMs));
  } catch (error) {
    return failed(seller, error, listed.key, request);
  }
}

/**
 * One request owns the payment. The others get what its record says. In every case they are told, and the claim is released if nothing
 * began.
 */
async function claim(seller: Seller, payment: Payment, untilMs: number): Promise<Decision> {
  const { store, inFlight, leases, replay, events, now } = seller;
  const { claim } = payment;
  for (;;) {
    const askedMs = now();
    const claiming = store.claim(leases === undefined ? claim : { ...claim, leaseUntilMs: leases.fromNow() });
    const claimed = "kind" in claiming ? claiming : await claiming;
    if (claimed.kind === "identifier_taken") {
      events.emit("denied", () => ({ ...factsOf(payment), by: "payment-identifier" }));
      return respond(identifierConflict());
    }
    if (claimed.kind !== "claimed") {
      const decision = await replay.decide(payment, claimed.record, untilMs);
      if (decision === undefined) continue;
      return decision;
    }

    // Duplicates wait for this request, in other processes as long as its lease is renewed.
    inFlight.begin(claim, payment.client);
    leases?.hold(claim, askedMs);
    if (events.hears("claimed")) events.emit("claimed", () => factsOf(payment));
    try {
      const decision = await admit(seller, payment);
      if (decision.kind === "respond") inFlight.end(claim, () => decision.response);
      else if (decision.kind === "run" && !decision.admission.isHeld) inFlight.end(claim);
      return decision;
    } catch (error) {
      // If the release fails, too, the claim expires.
      void leases?.drop(claim);
      try {
        await store.release(claim.identity, claim.owner);
      } catch {
        // The first failure is the one to report.
      }
      inFlight.end(claim);
      throw error;
    }
  }
}

/** The facilitator verifies the payment, or settles it if the offer says so. Then its handler runs. */
async function admit(seller: Seller, payment: Payment): Promise<Decision> {
  const { runs, leases } = seller;
  const { offer } = payment;
  const hooks = payment.hooks.isSilent ? undefined : payment.hooks;
  const isVerified = hooks?.asks("beforeVerify") ? await askBeforeVerify(seller, payment, hooks) : false;
  if (typeof isVerified !== "boolean") return isVerified;
  if (offer.settle === "before") return await settleFirst(seller, payment, isVerified);

  // A payment that may be forged does not count as its payer's before it is verified.
  const asked = runs.isShared ? runs.ask(payment) : undefined;
  if (payment.isSigned || isVerified) asked?.start();
  let decision: Decision | undefined;
  let own: WrittenBody | undefined;
  try {
    decision = isVerified ? undefined : await verify(seller, payment);
    if (decision !== undefined) return decision;
    const after = hooks?.asks("afterVerify") ? await hooks.ask("afterVerify", contextOf(payment)) : undefined;
    if (after?.kind === "denied") return await release(seller, payment, denied(after, payment));
    own = after?.body;

    // A payer's runs without a charge are limited. Most payers have none.
    const alone = runs.isShared ? undefined : runs.beginAlone(payment);
    const run = alone ?? (await beginRun(seller, payment, asked));
    if (!(run instanceof Run)) decision = run;
    else {
      const isChecked = payment.endsEarly || offer.settle === "metered" || leases !== undefined;
      const stop = isChecked ? await checkLast(seller, payment, run) : undefined;
      const started = stop ?? start(seller, payment, run);
      decision = "kind" in started ? started : await started;
    }
  } finally {
    if (decision?.kind !== "run") asked?.remove();
  }
  if (own === undefined || decision.kind !== "run" || !decision.admission.isHeld) return decision;
  return respondFor(seller, payment, decision.admission, own);
}

/** The hook `beforeVerify`: whether it says that the payment is verified, or the response if it denies. */
async function askBeforeVerify(seller: Seller, payment: Payment, hooks: Hooks): Promise<boolean | Responded> {
  const verdict = await hooks.ask("beforeVerify", contextOf(payment));
  if (verdict?.kind === "denied") return release(seller, payment, await denied(verdict, payment));
  if (verdict?.kind !== "verified") return false;
  const { settle } = payment.offer;
  const countedAs = countedFor(payment);
  // What is delivered before it is paid needs a payer who is proven.
  if (settle === "metered" && countedAs !== undefined) return false;
  payment.countedAs = settle === "before" ? undefined : countedAs;
  return true;
}

/** Asks a facilitator whether the payment would settle. If not, the claim is released. `undefined`: it would. */
async function verify(seller: Seller, payment: Payment): Promise<Responded | undefined> {
  const { facilitator, listings, events, logger, now } = seller;
  const { hooks, facilitatorRequest } = payment;
  const startedMs = now();
  let response: VerifyResponse;
  try {
    response = await facilitator.verify(facilitatorRequest, new VerifiedCall(payment));
  } catch (error) {
    const explained = explain(error);
    logger.error("verification_failed", { network: payment.offer.requirements.network, ...explained });
    tellInvalid(seller, payment, { startedMs, reason: UNEXPECTED });
    hooks.tell("onVerifyFailed", () => [contextOf(payment), failureOf(UNEXPECTED, explained["message"], error)]);
    return release(seller, payment, unreachable(UNEXPECTED, secondsToWait(error) ?? RETRY_AFTER_SECONDS));
  }
  const { isValid, extensionResponses: responses } = response;
  if (responses !== undefined) payment.verifyResponses = listings.note({ payment, operation: "verify", responses });
  if (isValid) {
    if (events.hears("verified")) {
      events.emit("verified", () => ({ ...factsOf(payment), durationMs: now() - startedMs }));
    }
    return undefined;
  }
  const reason = isReason(response.invalidReason) ? response.invalidReason : "invalid_payload";
  tellInvalid(seller, payment, { startedMs, reason });
  hooks.tell("onVerifyFailed", () => [contextOf(payment), failureOf(reason, response.invalidMessage)]);
  // The facilitator's own failure is not the payer's fault, and another signature would not help.
  if (reason === UNEXPECTED) return release(seller, payment, unreachable(UNEXPECTED, RETRY_AFTER_SECONDS));
  return release(seller, payment, refusal(payment.route, payment.occasion, reason));
}

/** What the facilitators are told about a payment to verify. A call that never ends keeps it: it has nothing of the request. */
class VerifiedCall implements PoolCallOptions {
  declare readonly payment: string;
  declare readonly isSigned: boolean;
  declare readonly isForged: LateCheck | undefined;
  declare readonly payer: string;
  declare private readonly client: string | undefined;

  constructor({ claim, isSigned, isForged, payer, client }: Payment) {
    this.payment = claim.identity;
    this.isSigned = isSigned;
    this.isForged = isForged;
    this.payer = payer;
    this.client = client;
  }

  /** Looked for only if the facilitators ask. */
  get source(): string {
    return sourceOf({ client: this.client, payer: this.payer });
  }
}

function tellInvalid(
  { events, now }: Seller,
  payment: Payment,
  { startedMs, reason }: { readonly startedMs: number; readonly reason: string },
): void {
  events.emit("invalid", () => ({ ...factsOf(payment), durationMs: now() - startedMs, reason }));
}

/** Counts one more run of a payer who may have others; or decides, if he may not have one more. */
async function beginRun(seller: Seller, payment: Payment, asked: SharedEntry | undefined): Promise<Run | Decision> {
  const { runs, events } = seller;
  const others = asked && (await asked.others());
  // The amount of some schemes is known only when the handler has run.
  if (!payment.scheme.allowsLess && runs.mustSettleFirst(payment, others)) {
    const decision = await settleThenRun(seller, payment, true);
    if (decision.kind === "run") asked?.settle();
    asked?.remove();
    return decision;
  }
  if (runs.secondsToWait(payment, others) > 0) {
    events.emit("denied", () => ({ ...factsOf(payment), by: "abandonedRuns" }));
    return release(seller, payment, abandonedTooOften());
  }
  const run = await runs.begin(payment, { asked, others });
  if (run instanceof Run) return run;
  events.emit("denied", () => ({ ...factsOf(payment), by: run.by }));
  return release(seller, payment, tooManyPayments(run.retryAfterSeconds));
}

/** The last checks of what is configured: the seller's exposure, the chain's end of the payment, the lease. The run ends if one refuses. */
async function checkLast(seller: Seller, payment: Payment, run: Run): Promise<Decision | undefined> {
  const { deadlines, leases, events, exposure } = seller;
  const { offer, claim } = payment;
  let isGood = false;
  try {
    const tooMuch = offer.settle === "metered" ? await expose(seller, payment) : undefined;
    if (tooMuch !== undefined) return tooMuch;
    if (payment.endsEarly && !(await deadlines.read(payment))) {
      events.emit("denied", () => ({ ...factsOf(payment), by: "deadline" }));
      return await release(seller, payment, refusal(payment.route, payment.occasion, "payment_expired"));
    }
    if (leases?.mayBeLost(claim) && (await leases.isLost(claim))) return respond(inProgress(payment.proof));
    isGood = true;
    return undefined;
  } finally {
    if (!isGood) {
      run.end();
      if (offer.settle === "metered") exposure.releaseSoon(payment);
    }
  }
}

/** The payment is good: its handler runs, unless settlement is paused. */
function start(seller: Seller, payment: Payment, run: Run): Decision | Promise<Decision> {
  const { facilitator, events, exposure } = seller;
  let isRunning = false;
  try {
    // Asked last: only a good payment may be the one that finds out whether settlement works again.
    const waitSeconds = facilitator.admit(payment.offer.requirements, payment.payer);
    if (waitSeconds > 0) {
      events.emit("denied", () => ({ ...factsOf(payment), by: "settlementPaused" }));
      return release(seller, payment, unreachable("unexpected_settle_error", waitSeconds));
    }
    payment.run(run);
    isRunning = true;
  } finally {
    if (!isRunning) {
      run.end();
      if (payment.offer.settle === "metered") exposure.releaseSoon(payment);
    }
  }
  if (events.hears("admitted")) events.emit("admitted", () => factsOf(payment));
  return { kind: "run", admission: payment };
}

/** A metered response goes out before it is paid: only if the seller's limits, and what the payer has on chain, allow it. */
async function expose(seller: Seller, payment: Payment): Promise<Responded | undefined> {
  const { exposure, events, logger } = seller;
  const refused = await exposure.reserve(payment);
  if (refused === undefined) return undefined;
  const { by } = refused;
  events.emit("denied", () => ({ ...factsOf(payment), by }));
  logger.warn("exposure_refused", { route: payment.routeKey, payer: payment.payer, by });
  switch (by) {
    case "due":
      return release(seller, payment, refusal(payment.route, payment.occasion, "payment_due"));
    case "balance":
      return release(seller, payment, refusal(payment.route, payment.occasion, "insufficient_funds"));
    case "exposureTotal":
      return release(seller, payment, unreachable("unexpected_settle_error", RETRY_AFTER_SECONDS));
    default:
      return release(seller, payment, tooMuchExposure());
  }
}

/** `settle: "before"`: a payment whose signature may be forged is verified first. */
async function settleFirst(seller: Seller, payment: Payment, isVerified: boolean): Promise<Decision> {
  const mustVerify = !payment.isSigned && !isVerified;
  const stop = mustVerify ? await verify(seller, payment) : undefined;
  return stop ?? settleThenRun(seller, payment, mustVerify);
}

/** The money moves, and then the handler runs: with `settle: "before"`, and if the payment was abandoned too often. */
async function settleThenRun(seller: Seller, payment: Payment, isVerified: boolean): Promise<Decision> {
  const { store, leases, settler, bodies, settledRuns, events } = seller;
  const { claim, route, hooks, occasion } = payment;
  const { identity, owner } = claim;
  const denial = hooks.asks("beforeSettle")
    ? await hooks.ask("beforeSettle", settlingContextOf(payment, undefined))
    : undefined;
  if (denial !== undefined) {
    const receipt = deniedReceipt(denial, payment.payer, payment.offer.requirements.network);
    return release(seller, payment, denied(denial, { route, occasion, receipt }));
  }
  const settled = await settler.settle(payment, {
    from: "claimed",
    owner,
    facilitator: undefined,
    response: undefined,
    runsHandler: true,
    isVerified,
    waiting: { client: payment.client, keepsResponse: () => false },
  });
  // Refused outright, it did not move. A record of it would let strangers fill the memory.
  if (settled.kind === "rejected" && settled.receipt.transaction === "") await store.release(identity, owner);
  if (settled.kind !== "settled") {
    const receipt = settled.kind === "rejected" ? settled.receipt : undefined;
    const response = notSettled(route, occasion, settled, payment.proof);
    return respond(await bodies.settlementFailed(payment, receipt, response));
  }
  if (leases?.mayBeLost(claim) && (await leases.isLost(claim))) return respond(inProgress(payment.proof));
  events.emit("admitted", () => factsOf(payment));
  const about = { settleResponses: settled.extensionResponses, added: settled.added };
  return { kind: "run", admission: settledRuns.start(payment, settled.receipt, about) };
}

/** The handler has responded: settles, if the response is charged. Never rejects. */
export async function finish(seller: Seller, payment: Payment, given: HandlerResponse): Promise<Release> {
  const { inFlight, leases, logger, events, now } = seller;
  const { claim, startedMs, counted } = payment;
  seller.expiries.remove(payment);
  if (payment.endsEarly) seller.deadlines.handlerEnded(payment, startedMs);
  if (events.hears("responded")) {
    events.emit("responded", () => ({ ...factsOf(payment), durationMs: now() - startedMs }));
  }
  const closed = payment.amount?.close() ?? "missing";
  const amount = typeof closed === "bigint" ? closed : undefined;
  const isMentioned = mentionsPayments(given.headers);
  const isContradicted = isMentioned && contradicts(given.headers, { paid: payment, amount }, seller);
  const response = isMentioned ? withoutPayments(given) : given;
  let released: Release;
  try {
    released = await charge(seller, payment, response, isContradicted ? "contradicted" : closed);
  } catch {
    logger.error("settlement_not_started", { identity: claim.identity, error: "the store failed" });
    void leases?.drop(claim);
    payment.tellCancelled("failed");
    released = { kind: "replace", response: unreachable("unexpected_settle_error", RETRY_AFTER_SECONDS) };
  }
  if (counted?.isAbandoned === false) counted.end();
  inFlight.end(claim, () => toShare(response, released));
  return released;
}

/** Whether the response is charged, and how much. Rejects if the store fails before the facilitator was told. */
function charge(
  seller: Seller,
  payment: Payment,
  response: HandlerResponse,
  amount: ClosedAmount | "contradicted",
): Promise<Release> {
  const { route, counted, payer, offer } = payment;
  const isPlainSale = route.chargeable === undefined && response.status >= 200 && response.status < 300;
  const verdict = isPlainSale || isCharged(payment, response, seller);
  if (verdict === "unknown") return keep(payment, "not_chargeable", { kind: "replace", response: notDecided() });
  if (!verdict) {
    if (isClientsDoing(response.status)) counted?.abandon({ isRequests: true });
    return keep(payment, "not_chargeable", uncharged(response, notChargedHeaders(payer, offer.requirements.network)));
  }
  if (response.isCutShort === true) {
    seller.logger.error("response_cut_short", {
      route: route.key,
      remedy: "the body is shorter than its Content-Length",
    });
    return keep(payment, "not_chargeable", { kind: "replace", response: cutShort() });
  }
  if (typeof amount !== "bigint") {
    return keep(payment, "not_chargeable", { kind: "replace", response: withoutAmount(seller, payment, amount) });
  }
  return settle(seller, payment, response, amount);
}

/** Nothing is charged. */
async function keep(payment: Payment, reason: CancelReason, released: Release): Promise<Release> {
  await payment.giveUp(reason);
  return released;
}

/** The money moves, unless a hook denies it or it is too late. The response goes out with its receipt, or another one in its place. */
async function settle(seller: Seller, payment: Payment, response: HandlerResponse, amount: bigint): Promise<Release> {
  const { settler, bodies, now } = seller;
  const { route, hooks, claim, payer, occasion, counted } = payment;
  const charged: PendingPayment =
    amount === payment.offer.amount ? payment : withAmount<PendingPayment>(payment, amount);
  const isAsked = !hooks.isSilent && hooks.asks("beforeSettle");
  const denial = isAsked ? await hooks.ask("beforeSettle", settlingContextOf(charged, response)) : undefined;
  if (denial !== undefined) {
    await payment.giveUp("denied");
    const receipt = deniedReceipt(denial, payer, payment.offer.requirements.network);
    return { kind: "replace", response: await denied(denial, { route, occasion, receipt }) };
  }
  if (payment.settleByMs - now() < SETTLEMENT_MARGIN_MS) {
    counted?.reject();
    return await keep(payment, "expired", { kind: "replace", response: expired() });
  }
  const { status, headers, body } = response;
  const stored = body === undefined ? undefined : { status, headers, body };
  payment.isKept = stored !== undefined;
  payment.responded = response;
  const settled = await settler.settle(charged, {
    from: "claimed",
    owner: claim.owner,
    facilitator: undefined,
    response: stored,
    runsHandler: false,
    waiting: payment,
  });
  payment.responded = undefined;
  if (settled.kind === "settled") {
    payment.added = settled.added;
    const said = seller.relayExtensionResponses ? (settled.extensionResponses ?? payment.verifyResponses) : undefined;
    return { kind: "release", paid: true, headers: paidHeaders(settled.receipt, said, settled.added) };
  }
  if (settled.kind === "lost") payment.tellCancelled("failed");
  if (settled.kind === "rejected") counted?.reject();
  const receipt = settled.kind === "rejected" ? settled.receipt : undefined;
  const instead = notSettled(route, occasion, settled, payment.proof);
  return { kind: "replace", response: await bodies.settlementFailed(payment, receipt, instead) };
}

/** The handler's amount cannot be charged. What it meant is never guessed. */
function withoutAmount(
  { logger }: Seller,
  payment: Payment,
  amount: Exclude<ClosedAmount, bigint> | "contradicted",
): GateResponse {
  if (amount === "contradicted") return amountContradicted();
  if (typeof amount === "object") {
    logRefused(logger, payment, { closed: amount, remedy: SET_ANOTHER });
    return amountRefused();
  }
  logger.error("amount_not_said", { route: payment.routeKey, remedy: "call req.payment.settle(amount)" });
  return amountNotSet();
}

/** The seller responds in place of the handler: settles, and yields the response. Never rejects. */
async function respondFor(
  { deliveries }: Seller,
  { claim }: Payment,
  admission: HeldAdmission,
  { contentType, body }: WrittenBody,
): Promise<Decision> {
  const response = { status: 200, headers: [["Content-Type", contentType]], body: Buffer.from(body) } as const;
  admission.handlerEnded();
  // Whether the client is still there shows when the response is written. Until then the store keeps it.
  admission.leave();
  const released = await admission.complete(response);
  if (released.kind === "replace") return respond(released.response);
  const answer = replayed(response, released.headers, { isPaid: released.paid });
  if (!released.paid) return respond(answer);
  const onClosed = (isDelivered: boolean) => {
    if (!isDelivered) return void admission.undelivered(response);
    admission.done();
    // With an identifier, it may be fetched again.
    if (claim.identifier === undefined) deliveries.delivered(claim);
  };
  return { kind: "respond", response: answer, onClosed };
}

/** The handler does not run, and the payment can be used again. Rejects if the store fails. */
async function release({ leases, store }: Seller, { claim }: Payment, response: AwaitedResponse): Promise<Responded> {
  void leases?.drop(claim);
  await store.release(claim.identity, claim.owner);
  return respond(response instanceof Promise ? await response : response);
}

/** The route's validate. A payment that has a record goes by that, even if its request is invalid by now. */
async function validate(seller: Seller, matched: MatchedRequest, payment: Payment): Promise<Decision | undefined> {
  const invalid = await checkInput(matched, seller.findings);
  if (invalid === undefined || (await seller.store.find(payment.claim.identity)) !== undefined) return undefined;
  seller.events.emit("denied", () => ({ ...factsOf(payment), by: "validate" }));
  return respond(invalid);
}

/** The digest of a request's body; or the response, if it has none. */
function digestBody(seller: Seller, matched: MatchedRequest, read: ReadPayment): string | Promise<string | Decision> {
  let refused: Responded | undefined;
  const isGood = async () => {
    const asked = await askFirst(seller, new Payment(seller, matched, read, ""));
    if (typeof asked !== "object") return asked;
    refused = asked;
    return false;
  };
  const digesting = matched.request.digestBody?.({ timer: seller.timer, isGood });
  if (typeof digesting === "string") return digesting;
  return Promise.resolve(digesting).then((digest) => {
    if (refused !== undefined) return refused;
    return typeof digest === "string" ? digest : unbound(seller, matched, digest);
  });
}

/** A payment cannot be bound to a body that has no digest. */
function unbound({ findings }: Seller, { route }: MatchedRequest, digest: Exclude<BodyDigest, string>): Decision {
  if (digest === undefined) return respond(incompleteRequest());
  if (digest.problem === "not_kept") findings.add(bodyNotKeptFinding(route.key));
  return respond(unboundBody(digest.problem));
}

/**
 * Memory for bodies is short: a payment without money must not take it. One with a record may be used up, and anybody may have copied it
 * from the chain. `undefined`: it waits, or a hook of the seller's has its say first.
 */
async function askFirst(seller: Seller, payment: Payment): Promise<true | Responded | undefined> {
  if (payment.hooks.asks("beforeVerify") || (await seller.store.find(payment.claim.identity)) !== undefined) {
    return undefined;
  }
  return (await verify(seller, payment)) ?? true;
}

/** Asks for payment: a person with a browser gets a page. */
function ask(seller: Seller, matched: MatchedRequest): Decision | Promise<Decision> {
  const { route, request } = matched;
  const isVersion1 = request.header?.("X-PAYMENT") !== undefined;
  const error = request.error ?? (isVersion1 ? VERSION_1_ERROR : "Payment required");
  const occasion = toOccasion(matched, error);
  const view = route.isHttp && request.accept !== undefined ? viewOf(request) : undefined;
  const response =
    view === undefined ? challenge(route, occasion, { status: 402 }) : seller.pages.show(view, { matched, occasion });
  const isPage = view !== undefined;
  if (!(response instanceof Promise)) return asked(seller, matched, response, isPage);
  return response
    .then((made) => asked(seller, matched, made, isPage))
    .catch((failure) => failed(seller, failure, route.key, request));
}

function asked(
  { events, bodies }: Seller,
  matched: MatchedRequest,
  response: GateResponse,
  isPage: boolean,
): Decision | Promise<Decision> {
  const { route } = matched;
  if (response.status === 402 && events.hears("challenged")) events.emit("challenged", () => ({ route: route.key }));
  if (isPage || route.bodies.unpaidBody === undefined) return { kind: "respond", response };
  const own = bodies.unpaid(matched, response);
  return own instanceof Promise ? own.then(respond) : respond(own);
}

/** A 503 may have a body of the seller's. */
async function withOwnBody(
  { bodies }: Seller,
  deciding: Promise<Decision>,
  matched: MatchedRequest,
): Promise<Decision> {
  const decision = await deciding;
  if (decision.kind !== "respond") return decision;
  return respond(await bodies.unavailable(matched, decision.response));
}

/** 503. Something of ours or of the seller's failed: a price function, a store, a scheme. */
function failed({ logger, events }: Seller, error: unknown, route: string, request: GateRequest): Decision {
  if (error instanceof PriceFailure) {
    logger.error("price_failed", { route, ...describeThrown(error.cause) });
    events.emit("price_failed", () => ({ route }));
    return respond(undecided("price", hasPayment(request)));
  }
  const explained = error instanceof SchemeError ? { code: error.code, message: error.message } : {};
  logger.error("decision_failed", { route, error: errorName(error), ...explained });
  return respond(undecided("request", hasPayment(request)));
}

const UNEXPECTED = "unexpected_verify_error";

function failureOf(reason: string, message: unknown, error?: unknown): VerifyFailure {
  const text = typeof message === "string" ? { message } : {};
  return Object.freeze({ reason, ...text, ...(error === undefined ? {} : { error }) });
}

/** Version 1 of the protocol has another header. Its clients should learn why they are not served. */
const VERSION_1_ERROR = "invalid_x402_version: X-PAYMENT is of x402 version 1; version 2 has PAYMENT-SIGNATURE";
