/**
 * The gate: what becomes of one request.
 *
 * A stranger's request is never an exception here: every branch ends in a {@link Decision}.
 *
 * @see `docs/lifecycle.md`
 * @module
 */
import { randomUUID } from "node:crypto";
import { FacilitatorError } from "../errors.js";
import { unreadable } from "../facilitator/http-failures.js";
import { readVerifyResponse } from "../facilitator/read-response.js";
import { decodePaymentSignature } from "../http/payment-signature.js";
import type { PaymentPayload } from "../protocol/payment-payload.js";
import { isReason, type Reason } from "../protocol/reasons.js";
import { type CoverageQuery, cover } from "../route/coverage.js";
import { UNKNOWN_RECEIVERS } from "../route/receivers.js";
import type { RouteTable } from "../route/route-table.js";
import { matchOffer } from "../scheme/match.js";
import type { Offer } from "../scheme/offer.js";
import type { IdentifiedPayment } from "../scheme/scheme.js";
import { createAdmission } from "./admission.js";
import { type Answer, problemAnswer } from "./answer.js";
import { askPersonToPay, askToPay } from "./ask-to-pay.js";
import { toFacilitatorRequest } from "./canonical-payment.js";
import type { Decision } from "./decision.js";
import { foreignHostFinding, proxyFinding } from "./findings.js";
import { askHook, askOnRequest, type PricedRequest } from "./hooks.js";
import { identifyPayment } from "./identifier.js";
import {
  identifierTakenAnswer,
  incompleteRequestAnswer,
  inProgressAnswer,
  type PaidRequest,
  refusal,
  tooManyRunsAnswer,
  undecidedAnswer,
  unreachableAnswer,
} from "./paid-request.js";
import type { PaymentsConfig } from "./parse-options.js";
import type { PricedRoute } from "./parse-routes.js";
import { wantsPage } from "./paywall.js";
import { type Place, placeOf } from "./place.js";
import { fullPathOf, type GateRequest } from "./request.js";
import { isForeignHost, resourceUrl } from "./resource-url.js";
import { settleFirst } from "./settle-first.js";
import { explain } from "./settlement.js";
import { decideOnTaken } from "./taken.js";
import { factsOf } from "./unsettled.js";

/** Decides the requests that meet a table. */
export interface Gate {
  /**
   * Decides at once what is free, and in its own time what is priced.
   *
   * Never throws or rejects: a store or a scheme that fails yields 503, and nothing was charged.
   */
  decide(request: GateRequest): Decision | Promise<Decision>;
}

/** Decides the requests of one route, which the framework has matched by itself. */
export interface RouteGate {
  /** @param locate - Says where the request is; asked only when it is to be known. */
  decide(request: GateRequest, locate: () => Place): Decision | Promise<Decision>;
}

const OPEN: Decision = Object.freeze({ kind: "open" });

/** What the challenge says to a request without a payment. */
const PAYMENT_REQUIRED_ERROR = "Payment required";

/** Where version 1 of the protocol has its payments. Whoever sends one should not wonder why it is not taken. */
const OLD_PAYMENT = "X-PAYMENT";
const OLD_PAYMENT_ERROR = "invalid_x402_version: X-PAYMENT is of x402 version 1; version 2 has PAYMENT-SIGNATURE";

/** How soon a payer may try again when the facilitator does not say. */
const RETRY_AFTER_SECONDS = 5;

const UNEXPECTED = "unexpected_verify_error";

/** Creates the gate of one route table. */
export function createGate(table: RouteTable<PricedRoute>, config: PaymentsConfig): Gate {
  return {
    decide(request) {
      try {
        const coverage = cover(table, toCoverageQuery(request));
        if (coverage.kind === "free") return OPEN;
        if (coverage.kind === "ambiguous") return answered(ambiguousAnswer());
        const { candidate } = coverage;
        const arrival = { route: candidate.entry.value, locate: () => placeOf(candidate, request), request };
        return decideSafely(arrival, config);
      } catch (error) {
        return failed(error, "the router", config);
      }
    },
  };
}

function toCoverageQuery(request: GateRequest): CoverageQuery {
  const { method, path, mountPath, hasOldRouter = false, isUnclear = false } = request;
  const { receiversOf = () => UNKNOWN_RECEIVERS } = request;
  return { method, path, mountPath, fullPath: fullPathOf(request), hasOldRouter, isUnclear, receiversOf };
}

/** Creates the gate of one route. Every request it is asked about is priced. */
export function createRouteGate(route: PricedRoute, config: PaymentsConfig): RouteGate {
  return {
    decide: (request, locate) => decideSafely({ route, locate, request }, config),
  };
}

/** A request at a priced route. */
interface Arrival {
  readonly route: PricedRoute;
  readonly locate: () => Place;
  readonly request: GateRequest;
}

async function decideSafely(arrival: Arrival, config: PaymentsConfig): Promise<Decision> {
  try {
    return await decidePriced(arrival, config);
  } catch (error) {
    return failed(error, arrival.route.key, config);
  }
}

function failed(error: unknown, route: string, { logger }: PaymentsConfig): Decision {
  logger.error("decision_failed", { route, error: error instanceof Error ? error.name : "unknown" });
  return answered(undecidedAnswer(RETRY_AFTER_SECONDS));
}

function ambiguousAnswer(): Answer {
  return problemAnswer({
    status: 400,
    error: "ambiguous_path",
    message:
      "The path may be read in several ways, whose prices differ. Send it without dots, backslashes and encoded separators.",
  });
}

async function decidePriced(arrival: Arrival, config: PaymentsConfig): Promise<Decision> {
  const { route, request } = arrival;
  noteProxy(request, config);
  const url = resourceUrl(request, config);
  const verdict = askOnRequest(config.hooks, toPricedRequest(arrival, url), config.logger);
  const { kind, ...rest } = verdict instanceof Promise ? await verdict : verdict;
  if (kind === "granted") return granted(route, config);
  if ("answer" in rest) return denied(rest.answer, { route: route.key, by: "onRequest" }, config);

  const decoded = decodePaymentSignature(request.paymentSignature);
  if (decoded.kind === "absent") return challengeFirst(arrival, url, config);
  if (decoded.kind === "malformed") {
    config.events.emit("malformed", () => ({ route: route.key, reason: decoded.reason }));
    const error = `${decoded.reason}: PAYMENT-SIGNATURE is ${decoded.problem}`;
    return answered(askToPay(route, { url, method: request.method, error }, { status: 400 }));
  }
  const read = readPayment(arrival, { payment: decoded.payment, url }, config);
  if (read.kind === "refused") {
    config.events.emit("mismatched", () => ({ route: route.key, reason: read.error }));
    const { error, status } = read;
    return answered(askToPay(route, { url, method: request.method, error }, { status }));
  }
  const digest = request.digestBody?.() ?? "";
  const bodyDigest = typeof digest === "string" ? digest : await digest;
  if (bodyDigest === undefined) return answered(incompleteRequestAnswer());
  const paid = toPaidRequest(arrival, { ...read, url, bodyDigest });
  const { reading } = read;
  return reading.kind === "expired" ? decideExpired(paid, reading.expiredReason, config) : claimPayment(paid, config);
}

/** What a proxy in front of us makes of the resource's URL is only seen with a request. */
function noteProxy(request: GateRequest, { publicUrl, allowedHosts, includeQuery, findings }: PaymentsConfig): void {
  if (publicUrl === undefined && request.isProxyIgnored === true) findings.add(proxyFinding());
  if (isForeignHost(request, { publicUrl, allowedHosts, includeQuery })) findings.add(foreignHostFinding());
}

function challengeFirst({ route, request }: Arrival, url: string, { events }: PaymentsConfig): Decision {
  events.emit("challenged", () => ({ route: route.key }));
  const isOld = request.header?.(OLD_PAYMENT) !== undefined;
  const occasion = { url, method: request.method, error: isOld ? OLD_PAYMENT_ERROR : PAYMENT_REQUIRED_ERROR };
  const isPerson = wantsPage(request.accept, request.userAgent);
  return answered(isPerson ? askPersonToPay(route, occasion) : askToPay(route, occasion, { status: 402 }));
}

function toPricedRequest({ route, request }: Arrival, url: string): PricedRequest {
  return {
    method: request.method,
    path: fullPathOf(request),
    url,
    route: route.key,
    hasPayment: request.paymentSignature !== undefined,
    header: (name) => request.header?.(name),
  };
}

function granted({ key: route }: PricedRoute, { events }: PaymentsConfig): Decision {
  events.emit("granted", () => ({ route }));
  return OPEN;
}

function denied(
  answer: Answer,
  about: { readonly route: string; readonly by: string },
  { events }: PaymentsConfig,
): Decision {
  events.emit("denied", () => about);
  return answered(answer);
}

type ReadPayment =
  | {
      readonly kind: "read";
      readonly payment: PaymentPayload;
      readonly offer: Offer;
      readonly reading: IdentifiedPayment;
      /** Digest of the client's id for it. */
      readonly identifier: string | undefined;
    }
  | { readonly kind: "refused"; readonly status: 400 | 402; readonly error: string };

/** Everything that can be told of a payment without asking anybody. */
function readPayment(
  { route }: Arrival,
  { payment }: { readonly payment: PaymentPayload; readonly url: string },
  config: PaymentsConfig,
): ReadPayment {
  const match = matchOffer(route.offers, payment.accepted);
  if (match.kind === "mismatched") {
    return { kind: "refused", status: 402, error: `invalid_payment_requirements: ${match.field} is not as offered` };
  }
  const { offer } = match;
  const reading = offer.scheme.readPayment(payment.payload, offer.requirements, Math.floor(config.now() / 1000));
  if (reading.kind === "refused") return { kind: "refused", status: 402, error: reading.reason };
  // A seller's own scheme may not keep its word, and a record without an end would be kept for ever.
  if (!Number.isSafeInteger(reading.expiresAtSeconds)) throw new TypeError("the scheme does not say when it expires");
  const identified = identifyPayment(route.paymentIdentifier, payment.extensions);
  if (identified.kind === "refused") return { kind: "refused", status: 400, error: identified.error };
  return { kind: "read", payment, offer, reading, identifier: identified.digest };
}

/** Too late to be paid with, but perhaps not too late to ask what became of it. */
async function decideExpired(paid: PaidRequest, reason: Reason, config: PaymentsConfig): Promise<Decision> {
  const record = await config.store.find(paid.claim.identity);
  if (record === undefined) return answered(refusal(paid, reason));
  const taken = { record, untilMs: config.now() + config.copyWaitMs };
  return (await decideOnTaken(paid, taken, config)) ?? answered(inProgressAnswer());
}

/** One request gets the payment; the others go by what became of it. */
async function claimPayment(paid: PaidRequest, config: PaymentsConfig): Promise<Decision> {
  const untilMs = config.now() + config.copyWaitMs;
  for (;;) {
    const claim = await config.store.claim(paid.claim);
    if (claim.kind === "claimed") return serveClaim(paid, config);
    if (claim.kind === "identifier_taken") {
      return denied(identifierTakenAnswer(), { route: paid.routeKey, by: "payment-identifier" }, config);
    }
    const decision = await decideOnTaken(paid, { record: claim.record, untilMs }, config);
    if (decision !== undefined) return decision;
  }
}

/** Whatever comes of a claim, copies that wait for it hear of it; what was not begun may be tried again. */
async function serveClaim(paid: PaidRequest, config: PaymentsConfig): Promise<Decision> {
  const { claim, client } = paid;
  config.ongoing.begin(claim, client);
  config.events.emit("claimed", () => factsOf(paid));
  try {
    const decision = await decideClaimed(paid, config);
    if (decision.kind === "answer") config.ongoing.end(claim, decision.answer);
    else if (decision.kind === "prepaid") config.ongoing.end(claim);
    return decision;
  } catch (error) {
    await config.store.release(claim.identity, claim.owner).catch(() => {});
    config.ongoing.end(claim);
    throw error;
  }
}

async function decideClaimed(paid: PaidRequest, config: PaymentsConfig): Promise<Decision> {
  const barred = await askBefore("beforeVerify", paid, config);
  if (barred !== undefined) return barred;
  if (paid.route.settle === "before") return settleFirst(paid, config);

  const refused = await verify(paid, config);
  if (refused !== undefined) {
    await config.store.release(paid.claim.identity, paid.claim.owner);
    return answered(refused);
  }
  return (await askBefore("afterVerify", paid, config)) ?? serve(paid, config);
}

async function askBefore(
  hook: "beforeVerify" | "afterVerify",
  paid: PaidRequest,
  config: PaymentsConfig,
): Promise<Decision | undefined> {
  const { hooks, logger, store } = config;
  const verdict = await askHook(hooks, hook, { facts: () => factsOf(paid), logger });
  if (verdict.kind !== "denied") return undefined;
  await store.release(paid.claim.identity, paid.claim.owner);
  return denied(verdict.answer, { route: paid.routeKey, by: hook }, config);
}

/** The handler runs only for a claim that is still ours. */
async function serve(paid: PaidRequest, config: PaymentsConfig): Promise<Decision> {
  const { identity, owner } = paid.claim;
  if (!config.ongoing.serve(paid.claim, paid.payer.toLowerCase())) {
    await config.store.release(identity, owner);
    return denied(tooManyRunsAnswer(), { route: paid.routeKey, by: "maxRunsPerPayer" }, config);
  }
  const serving = await config.store.transition({ identity, from: "claimed", to: "serving", owner });
  if (!serving) return answered(inProgressAnswer());
  config.events.emit("admitted", () => factsOf(paid));
  return { kind: "admitted", admission: createAdmission(paid, config) };
}

/** Asks the facilitator; `undefined` when the payment is good. Never rejects. */
async function verify(paid: PaidRequest, config: PaymentsConfig): Promise<Answer | undefined> {
  const startedMs = config.now();
  const about = () => ({ ...factsOf(paid), durationMs: config.now() - startedMs });
  const invalid = (reason: string) => config.events.emit("invalid", () => ({ ...about(), reason }));
  try {
    const response = readVerifyResponse(
      await config.facilitator.verify(paid.facilitatorRequest, { payment: paid.claim.identity }),
    );
    if (response === undefined) throw unreadable("verify");
    const { isValid, invalidReason } = response;
    if (isValid) {
      config.events.emit("verified", about);
      return undefined;
    }
    const reason = isReason(invalidReason) ? invalidReason : "invalid_payload";
    invalid(reason);
    // The facilitator's own trouble is not the payer's fault, and another signature would not mend it.
    return reason === UNEXPECTED ? unreachableAnswer(UNEXPECTED, RETRY_AFTER_SECONDS) : refusal(paid, reason);
  } catch (error) {
    config.logger.error("verification_failed", { network: paid.offer.requirements.network, ...explain(error) });
    invalid(UNEXPECTED);
    const asked = error instanceof FacilitatorError ? error.retryAfterSeconds : undefined;
    return unreachableAnswer(UNEXPECTED, asked ?? RETRY_AFTER_SECONDS);
  }
}

type Readable = Extract<ReadPayment, { kind: "read" }> & { readonly url: string; readonly bodyDigest: string };

function toPaidRequest({ route, locate, request }: Arrival, readable: Readable): PaidRequest {
  const { offer, reading, payment, identifier, url, bodyDigest } = readable;
  const { description, mimeType, extensions } = route;
  const { identity, payer, expiresAtSeconds } = reading;
  const { scheme, network, asset, payTo, amount } = offer.requirements;
  // Not the host: a client may come back by another name of the same server, and `Host` is its own word anyway.
  const target = request.mountPath + request.path + request.search;
  const binding = [route.key, request.method, target, bodyDigest, scheme, network, asset, payTo, amount];
  return {
    route,
    routeKey: route.key,
    offer,
    scheme: offer.scheme,
    payer,
    url,
    place: locate(),
    method: request.method,
    client: request.client,
    claim: {
      identity,
      binding: JSON.stringify(binding),
      owner: randomUUID(),
      expiresAtMs: expiresAtSeconds * 1000,
      ...(identifier === undefined ? {} : { identifier }),
    },
    facilitatorRequest: toFacilitatorRequest(payment, offer, { resource: { url, description, mimeType }, extensions }),
  };
}

function answered(answer: Answer): Decision {
  return { kind: "answer", answer };
}
