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
import { inProgressAnswer, type PaidRequest, refusal, undecidedAnswer, unreachableAnswer } from "./paid-request.js";
import type { PaymentsConfig } from "./parse-options.js";
import type { PricedRoute } from "./parse-routes.js";
import { wantsPage } from "./paywall.js";
import { type Place, placeOf } from "./place.js";
import { fullPathOf, type GateRequest } from "./request.js";
import { isForeignHost, resourceUrl } from "./resource-url.js";
import { settleFirst } from "./settle-first.js";
import { explain } from "./settlement.js";
import { decideOnTaken } from "./taken.js";

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

async function decidePriced({ route, locate, request }: Arrival, config: PaymentsConfig): Promise<Decision> {
  noteProxy(request, config);
  const url = resourceUrl(request, config);
  const { method } = request;
  const challenge = (status: 400 | 402, error: string) => answered(askToPay(route, { url, method, error }, { status }));

  const decoded = decodePaymentSignature(request.paymentSignature);
  if (decoded.kind === "absent" && wantsPage(request.accept, request.userAgent)) {
    return answered(askPersonToPay(route, { url, method, error: PAYMENT_REQUIRED_ERROR }));
  }
  if (decoded.kind === "absent") return challenge(402, PAYMENT_REQUIRED_ERROR);
  if (decoded.kind === "malformed") {
    return challenge(400, `${decoded.reason}: PAYMENT-SIGNATURE is ${decoded.problem}`);
  }
  const { payment } = decoded;
  const match = matchOffer(route.offers, payment.accepted);
  if (match.kind === "mismatched") {
    return challenge(402, `invalid_payment_requirements: ${match.field} is not as offered`);
  }
  const { offer } = match;
  const reading = offer.scheme.readPayment(payment.payload, offer.requirements, Math.floor(config.now() / 1000));
  if (reading.kind === "refused") return challenge(402, reading.reason);

  const paid = toPaidRequest({ route, offer, reading, payment, url, request, place: locate() });
  return reading.kind === "expired" ? decideExpired(paid, reading.expiredReason, config) : claimAndVerify(paid, config);
}

/** What a proxy in front of us makes of the resource's URL is only seen with a request. */
function noteProxy(request: GateRequest, { publicUrl, allowedHosts, includeQuery, findings }: PaymentsConfig): void {
  if (publicUrl === undefined && request.isProxyIgnored === true) findings.add(proxyFinding());
  if (isForeignHost(request, { publicUrl, allowedHosts, includeQuery })) findings.add(foreignHostFinding());
}

/** Too late to be paid with, but perhaps not too late to ask what became of it. */
async function decideExpired(paid: PaidRequest, reason: Reason, config: PaymentsConfig): Promise<Decision> {
  const record = await config.store.find(paid.claim.identity);
  return record === undefined ? answered(refusal(paid, reason)) : decideOnTaken(paid, record, config);
}

async function claimAndVerify(paid: PaidRequest, config: PaymentsConfig): Promise<Decision> {
  const { identity, owner } = paid.claim;
  const claim = await config.store.claim(paid.claim);
  if (claim.kind === "taken") return decideOnTaken(paid, claim.record, config);
  if (paid.route.settle === "before") return settleFirst(paid, config);

  const refused = await verify(paid, config);
  if (refused !== undefined) {
    await config.store.release(identity, owner);
    return answered(refused);
  }
  return serve(paid, config);
}

/** The handler runs only for a claim that is still ours; and what was not begun may be tried again. */
async function serve(paid: PaidRequest, config: PaymentsConfig): Promise<Decision> {
  const { identity, owner } = paid.claim;
  try {
    const serving = await config.store.transition({ identity, from: "claimed", to: "serving", owner });
    return serving ? { kind: "admitted", admission: createAdmission(paid, config) } : answered(inProgressAnswer());
  } catch (error) {
    await config.store.release(identity, owner);
    throw error;
  }
}

/** Asks the facilitator; `undefined` when the payment is good. Never rejects. */
async function verify(paid: PaidRequest, config: PaymentsConfig): Promise<Answer | undefined> {
  try {
    const response = readVerifyResponse(
      await config.facilitator.verify(paid.facilitatorRequest, { payment: paid.claim.identity }),
    );
    if (response === undefined) throw unreadable("verify");
    const { isValid, invalidReason } = response;
    if (isValid) return undefined;
    const reason = isReason(invalidReason) ? invalidReason : "invalid_payload";
    // The facilitator's own trouble is not the payer's fault, and another signature would not mend it.
    return reason === UNEXPECTED ? unreachableAnswer(UNEXPECTED, RETRY_AFTER_SECONDS) : refusal(paid, reason);
  } catch (error) {
    config.logger.error("verification_failed", { network: paid.offer.requirements.network, ...explain(error) });
    const asked = error instanceof FacilitatorError ? error.retryAfterSeconds : undefined;
    return unreachableAnswer(UNEXPECTED, asked ?? RETRY_AFTER_SECONDS);
  }
}

interface Readable {
  readonly route: PricedRoute;
  readonly offer: Offer;
  readonly reading: IdentifiedPayment;
  readonly payment: PaymentPayload;
  readonly url: string;
  readonly request: GateRequest;
  readonly place: Place;
}

function toPaidRequest({ route, offer, reading, payment, url, request, place }: Readable): PaidRequest {
  const { description, mimeType, extensions } = route;
  const { identity, payer, expiresAtSeconds } = reading;
  const { scheme, network, asset, payTo, amount } = offer.requirements;
  // Not the host: a client may come back by another name of the same server, and `Host` is its own word anyway.
  const target = request.mountPath + request.path + request.search;
  return {
    route,
    offer,
    payer,
    url,
    place,
    method: request.method,
    claim: {
      identity,
      binding: JSON.stringify([route.key, request.method, target, scheme, network, asset, payTo, amount]),
      owner: randomUUID(),
      expiresAtMs: expiresAtSeconds * 1000,
    },
    facilitatorRequest: toFacilitatorRequest(payment, offer, { resource: { url, description, mimeType }, extensions }),
  };
}

function answered(answer: Answer): Decision {
  return { kind: "answer", answer };
}
