/**
 * Reads a payment against the offers of a route: everything that can be told of it without asking anybody.
 *
 * @module
 */
import type { PaymentPayload } from "../protocol/documents.js";
import type { Reason } from "../protocol/reasons.js";
import { matchOffer, type Offer } from "../scheme/offer.js";
import type { IdentifiedPayment } from "../scheme/scheme.js";
import { identifyPayment } from "./identifier.js";
import type { PaymentsConfig } from "./parse-options.js";
import type { PricedRoute } from "./parse-routes.js";

/** A payment that will not do, whoever is asked. */
export interface RefusedPayment {
  readonly kind: "refused";
  /** 400: what came is no payment as it has to be. */
  readonly status: 400 | 402;
  /** For the client. */
  readonly error: string;
  readonly reason: Reason;
  /** What is not as offered. */
  readonly field?: string;
}

/** What was read, or why it is refused. */
export type ReadPayment =
  | {
      readonly kind: "read";
      readonly payment: PaymentPayload;
      readonly offer: Offer;
      readonly reading: IdentifiedPayment;
      /** Digest of the client's id for it. */
      readonly identifier: string | undefined;
    }
  | RefusedPayment;

/** Everything that can be told of a payment without asking anybody. */
export function readPayment(
  route: PricedRoute,
  payment: PaymentPayload,
  config: Pick<PaymentsConfig, "now">,
): ReadPayment {
  const meant = offerMeant(route, payment.accepted);
  if (meant.kind === "refused") return meant;
  const { offer } = meant;
  const reading = offer.scheme.readPayment(payment.payload, offer.requirements, Math.floor(config.now() / 1000));
  if (reading.kind === "refused") {
    return { kind: "refused", status: 402, error: reading.reason, reason: reading.reason };
  }
  // A seller's own scheme may not keep its word, and a record without an end would be kept for ever.
  if (!Number.isSafeInteger(reading.expiresAtSeconds)) throw new TypeError("the scheme does not say when it expires");
  const identified = identifyPayment(route.paymentIdentifier, payment.extensions);
  if (identified.kind === "refused") return { ...identified, status: 400 };
  const read = meant.kind === "lapsed" ? { ...reading, ...LAPSED } : reading;
  return { kind: "read", payment, offer, reading: read, identifier: identified.digest };
}

const LAPSED = Object.freeze({ kind: "expired", expiredReason: "invalid_payment_requirements" } as const);

type Meant = { readonly kind: "offered" | "lapsed"; readonly offer: Offer } | RefusedPayment;

function offerMeant(route: PricedRoute, accepted: PaymentPayload["accepted"]): Meant {
  const match = matchOffer(route.offers, accepted);
  if (match.kind === "mismatched") {
    const lapsed = matchOffer(route.lapsed === undefined ? [] : [route.lapsed], accepted);
    if (lapsed.kind === "matched") return { kind: "lapsed", offer: lapsed.offer };
    const { field } = match;
    const reason = "invalid_payment_requirements";
    return { kind: "refused", status: 402, error: `${reason}: ${field} is not as offered`, reason, field };
  }
  const offer = route.offerFor(match.offer, accepted.extra);
  if (offer !== undefined) return { kind: "offered", offer };
  const reason = "unsupported_scheme";
  return { kind: "refused", status: 402, error: `${reason}: this way to pay is not on offer right now`, reason };
}
