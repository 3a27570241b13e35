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
import type { RouteTable } from "../route/route-table.js";
import { matchOffer } from "../scheme/match.js";
import type { Offer } from "../scheme/offer.js";
import type { IdentifiedPayment } from "../scheme/scheme.js";
import { createAdmission } from "./admission.js";
import { type Answer, challengeAnswer, pageAnswer } from "./answer.js";
import { toFacilitatorRequest } from "./canonical-payment.js";
import type { Decision } from "./decision.js";
import { inProgressAnswer, type PaidRequest, refusal, undecidedAnswer, unreachableAnswer } from "./paid-request.js";
import type { PaymentsConfig } from "./parse-options.js";
import type { PricedRoute } from "./parse-routes.js";
import { wantsPage, writePaywall } from "./paywall.js";
import { type GateRequest, resourceUrl } from "./request.js";
import { explain } from "./settlement.js";
import { decideOnTaken } from "./taken.js";

/** Decides requests. */
export interface Gate {
  /** Never rejects: a store or a scheme that fails yields 503, and nothing was charged. */
  decide(request: GateRequest): Promise<Decision>;
}

const OPEN: Decision = Object.freeze({ kind: "open" });

/** What the challenge says to a request without a payment. */
const PAYMENT_REQUIRED_ERROR = "Payment required";

/** How soon a payer may try again when the facilitator does not say. */
const RETRY_AFTER_SECONDS = 5;

const UNEXPECTED = "unexpected_verify_error";

/** Creates the gate of one route table. */
export function createGate(routes: RouteTable<PricedRoute>, config: PaymentsConfig): Gate {
  return {
    async decide(request) {
      const entry = routes(request);
      if (entry === undefined) return OPEN;
      try {
        return await decidePriced(entry.value, request, config);
      } catch (error) {
        config.logger.error("decision_failed", {
          route: entry.key,
          error: error instanceof Error ? error.name : "unknown",
        });
        return answered(undecidedAnswer(RETRY_AFTER_SECONDS));
      }
    },
  };
}

async function decidePriced(route: PricedRoute, request: GateRequest, config: PaymentsConfig): Promise<Decision> {
  const url = resourceUrl(request, config.publicUrl);
  const write = (error: string) => route.challenge({ url, method: request.method, error });
  const challenge = (status: 400 | 402, error: string) => answered(challengeAnswer(status, write(error)));

  const decoded = decodePaymentSignature(request.paymentSignature);
  if (decoded.kind === "absent" && wantsPage(request.accept, request.userAgent)) {
    const written = write(PAYMENT_REQUIRED_ERROR);
    return answered(pageAnswer(written, writePaywall(route, url, written)));
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

  const paid = toPaidRequest({ route, offer, reading, payment, url, request });
  return reading.kind === "expired" ? decideExpired(paid, reading.expiredReason, config) : claimAndVerify(paid, config);
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
    const response = readVerifyResponse(await config.facilitator.verify(paid.facilitatorRequest));
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
}

function toPaidRequest({ route, offer, reading, payment, url, request }: Readable): PaidRequest {
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
