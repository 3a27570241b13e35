/**
 * A request that has arrived at a priced route, and what becomes of it once its payment has been read.
 *
 * @module
 */
import { type Draft, put } from "../draft.js";
import { fullPathOf, type GateRequest } from "../route/request.js";
import type { ClaimRequest } from "../store/payment-store.js";
import { bindingOf } from "./binding.js";
import { toFacilitatorRequest } from "./canonical-payment.js";
import type { PricedRequest } from "./hooks.js";
import type { PriceRequest } from "./options.js";
import { nextOwner } from "./owner.js";
import type { PaidRequest } from "./paid-request.js";
import { CHARGE, type PricedRoute } from "./parse-routes.js";
import type { ReadPayment } from "./read-payment.js";
import type { Place } from "./resource.js";

/** A request at a priced route. */
export interface Arrival {
  readonly route: PricedRoute;
  readonly locate: () => Place;
  readonly request: GateRequest;
}

/** What was read of a payment, and what it is bound to. */
export interface Readable {
  readonly url: string;
  readonly bodyDigest: string;
  readonly read: Extract<ReadPayment, { kind: "read" }>;
}

/** A request with a readable payment: everything that later steps work on. */
export function toPaidRequest({ route, locate, request }: Arrival, readable: Readable): PaidRequest {
  const { url, bodyDigest } = readable;
  const { offer, reading, payment, identifier } = readable.read;
  const { description, mimeType, service } = route;
  const place = locate();
  const extensions = route.declareAt({ method: request.method, locate: () => place });
  const resource = { url, description, mimeType, ...service };
  const { identity, payer, expiresAtSeconds } = reading;
  const bound = { routeKey: route.key, method: request.method, target: targetOf(request), bodyDigest };
  const binding = bindingOf(bound, offer);
  const claim: Draft<ClaimRequest> = { identity, binding, owner: nextOwner(), expiresAtMs: expiresAtSeconds * 1000 };
  put(claim, "identifier", identifier);
  const paid: Draft<PaidRequest> = {
    route,
    routeKey: route.key,
    offer,
    scheme: offer.scheme,
    payer,
    url,
    place,
    method: request.method,
    client: request.client,
    claim,
    facilitatorRequest: toFacilitatorRequest(payment, offer, { resource, extensions }),
  };
  if (route.key === CHARGE) paid.listedAs = `${request.method} ${place.routeTemplate ?? CHARGE}`;
  return paid;
}

/** Not the host: a client may come back by another name of the same server, and `Host` is its own word anyway. */
export function targetOf({ mountPath, path, search }: GateRequest): string {
  return mountPath + path + search;
}

/** What hooks see of a request. */
export function toPricedRequest({ route, request }: Arrival, url: string): PricedRequest {
  return {
    method: request.method,
    path: fullPathOf(request),
    url,
    route: route.key,
    hasPayment: request.payment !== undefined || request.paymentSignature !== undefined,
    // The names that every object has yield what is no text.
    header(name) {
      const value: unknown = request.header?.(name);
      return typeof value === "string" ? value : undefined;
    },
  };
}

/** What functions of the seller's see of it. */
export function toPriceRequest(arrival: Arrival, url: string): PriceRequest {
  const { search, body } = arrival.request;
  return { ...toPricedRequest(arrival, url), search, body, pathParams: arrival.locate().pathParams };
}
