/**
 * What a facilitator is sent: our offer, our resource, our declarations, and of the client's words only the scheme's
 * payload and its additions to extensions that we declared.
 *
 * @see x402 v2 §5.1.2 "Extensions": a client may add to the info it received, not change it
 * @module
 */
import { type Draft, put } from "../draft.js";
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import type { Extensions, PaymentPayload, ResourceInfo } from "../protocol/documents.js";
import { isJsonObject, type JsonObject } from "../protocol/json.js";
import { PAYMENT_IDENTIFIER } from "../protocol/payment-identifier.js";
import type { Offer } from "../scheme/offer.js";

/** The discovery declaration is the seller's alone: what a client adds would end up in a public catalog. */
const SELLERS_OWN = "bazaar";

/** Builds the body of `verify` and `settle`. */
export function toFacilitatorRequest(
  payment: PaymentPayload,
  offer: Offer,
  about: { readonly resource: ResourceInfo; readonly extensions: Extensions | undefined },
): FacilitatorRequest {
  const ours = withHelpful(about.extensions, offer, payment.extensions);
  const paymentPayload: Draft<FacilitatorRequest["paymentPayload"]> = {
    x402Version: 2,
    payload: payment.payload,
    accepted: offer.requirements,
    resource: about.resource,
  };
  put(paymentPayload, "extensions", mergeExtensions(ours, payment.extensions));
  return { x402Version: 2, paymentPayload, paymentRequirements: offer.requirements };
}

/** Together with what the offer's scheme declares by itself, where the client has made use of that. */
function withHelpful(
  declared: Extensions | undefined,
  { scheme, requirements }: Offer,
  theirs: PaymentPayload["extensions"],
): Extensions | undefined {
  if (!isJsonObject(theirs)) return declared;
  const helpful = Object.entries(scheme.extensionsFor?.(requirements) ?? {});
  const used = helpful.filter(([identifier]) => Object.hasOwn(theirs, identifier));
  return used.length === 0 ? declared : { ...Object.fromEntries(used), ...declared };
}

function mergeExtensions(ours: Extensions | undefined, theirs: PaymentPayload["extensions"]): JsonObject | undefined {
  if (ours === undefined) return undefined;
  // The id of a payment is between its client and us: whoever has it gets the answer.
  const shared = Object.entries(ours).filter(([identifier]) => identifier !== PAYMENT_IDENTIFIER);
  if (shared.length === 0) return undefined;
  const merged = shared.map(([identifier, declared]) => {
    const echoed = identifier === SELLERS_OWN ? undefined : theirs?.[identifier];
    if (!isJsonObject(echoed) || !isJsonObject(echoed["info"])) return [identifier, declared];
    return [identifier, { ...declared, info: { ...withoutPrototype(echoed["info"]), ...declared.info } }];
  });
  return Object.fromEntries(merged);
}

/** A key called `__proto__` is harmless here, but perhaps not to whoever copies the object field by field. */
function withoutPrototype(added: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(added).filter(([name]) => name !== "__proto__"));
}
