/**
 * What a payment is bound to: the request it came with first, and the terms it was signed for.
 *
 * @see `docs/reference/lifecycle.md`
 * @module
 */
import { canonicalNetwork } from "../protocol/caip2.js";
import type { Offer } from "../scheme/offer.js";

/** A request that a payment can be bound to. */
export interface BoundRequest {
  readonly routeKey: string;
  readonly method: string;
  readonly target: string;
  readonly bodyDigest: string;
}

/** One request is most often like the one before; then the records of both payments share one text. */
const last = new WeakMap<Offer, { readonly request: BoundRequest; readonly text: string }>();

/** Writes a binding: JSON, the same for the same. */
export function bindingOf(request: BoundRequest, offer: Offer): string {
  const known = last.get(offer);
  if (known !== undefined && isSame(known.request, request)) return known.text;
  const { scheme, network, asset, payTo, amount } = offer.requirements;
  const { routeKey, method, target, bodyDigest } = request;
  const terms = [scheme, canonicalNetwork(network), asset, payTo, amount];
  const text = JSON.stringify([routeKey, method, target, bodyDigest, ...terms]);
  last.set(offer, { request, text });
  return text;
}

function isSame(a: BoundRequest, b: BoundRequest): boolean {
  return a.target === b.target && a.bodyDigest === b.bodyDigest && a.method === b.method && a.routeKey === b.routeKey;
}
