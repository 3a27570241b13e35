/**
 * What may come before a payment is read, if the seller has set it: the hook `onRequest`, and a price that depends on the request.
 *
 * @module
 */
import { BodyNotParsedError } from "../errors.js";
import { bodyNotParsedFinding } from "../events/findings.js";
import type { Denied } from "../events/hooks.js";
import type { Unpriced } from "../pricing/dynamic-price.js";
import type { PricedRoute } from "../pricing/priced-route.js";
import type { AcceptedRequirements } from "../protocol/documents.js";
import { hasPayment, SellersRequest } from "../route/priced-request.js";
import { denied, unboundBody, uncheckedInput } from "./answers.js";
import { type Decision, GRANTED, respond } from "./decision.js";
import { type MatchedRequest, toOccasion, toQuotedRequest } from "./request.js";
import type { Seller } from "./seller.js";

/** The seller's onRequest hook may let the request through, or deny it. */
export async function askHook(seller: Seller, matched: MatchedRequest): Promise<Decision | undefined> {
  const { hooks } = matched.route;
  const verdict = hooks.asksAboutRequests ? await hooks.askAboutRequest(new SellersRequest(matched)) : undefined;
  if (verdict?.kind === "granted") return GRANTED;
  return verdict?.kind === "denied" ? deny(seller, matched, verdict) : undefined;
}

/** The seller's onRequest hook denied. A denial with 402 says how to pay, so it needs the price. */
async function deny(seller: Seller, matched: MatchedRequest, denial: Denied): Promise<Decision> {
  if (denial.status !== 402) return respond(await denied(denial, toDenial(matched)));
  await openStore(seller, matched);
  if (matched.route.isPending?.() === true) await seller.facilitator.ready();
  const route = await price(seller, matched, undefined);
  if ("unpriced" in route) return unpriced(seller, matched, route.unpriced);
  // There is nothing to pay.
  const status = route.isFree ? 403 : 402;
  return respond(await denied({ ...denial, status }, toDenial({ ...matched, route })));
}

/** A request with the price that is its own; or the decision, if it has none or has nothing to pay. */
export async function priceNow(
  seller: Seller,
  matched: MatchedRequest,
  accepted: AcceptedRequirements | undefined,
): Promise<MatchedRequest | Decision> {
  const route = await price(seller, matched, accepted);
  if ("unpriced" in route) return unpriced(seller, matched, route.unpriced);
  if (!route.isFree) return { ...matched, route };
  seller.events.emit("granted", () => ({ route: route.key }));
  return GRANTED;
}

/** Prices one request, where the price depends on it. Rejects if a function of the seller's throws. */
export async function price(
  { facilitator, now }: Seller,
  matched: MatchedRequest,
  accepted: AcceptedRequirements | undefined,
): Promise<PricedRoute | Unpriced> {
  const { route, request } = matched;
  if (route.priceFor === undefined) return route;
  const occasion = {
    request: new SellersRequest(matched),
    hasBody: request.hasBody === true,
    binding: toQuotedRequest(matched),
    accepted,
    nowSeconds: Math.floor(now() / 1000),
  };
  const priced = await route.priceFor(occasion).catch((cause) => Promise.reject(new PriceFailure(cause)));
  if (!("unpriced" in priced) && !priced.isFree && priced.isPending?.() === true) await facilitator.ready();
  return priced;
}

/** A price function read a body that no parser has read, or that cannot be told from others. */
export function unpriced(
  { findings, logger }: Seller,
  { route }: MatchedRequest,
  reason: Unpriced["unpriced"],
): Decision {
  if (reason === "no_text") return respond(unboundBody(reason));
  const { name, code, message } = new BodyNotParsedError(route.key);
  logger.error("decision_failed", { route: route.key, error: name, code, message });
  findings.add(bodyNotParsedFinding(route.key));
  return respond(uncheckedInput());
}

/** Opens the store for a payment, and for a price that is signed with its secret. Rejects if it cannot be used. */
export function openStore(seller: Seller, { route, request }: MatchedRequest): Promise<void> | undefined {
  return hasPayment(request) || route.priceFor !== undefined ? seller.openStore.open() : undefined;
}

/** Where a request was denied before it was priced, or before its payment was read. */
function toDenial(matched: MatchedRequest) {
  return { route: matched.route, occasion: toOccasion(matched, "") };
}

/** A function of the seller's that prices a request failed. */
export class PriceFailure {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}
