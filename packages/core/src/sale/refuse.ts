/**
 * A payment that is none, is for none of the offers, or is too late: refused, unless its record says more.
 *
 * @module
 */
import type { Reason } from "../protocol/reasons.js";
import { digestOf, type GateRequest } from "../route/request.js";
import type { PaymentRecord } from "../store/payment-store.js";
import { isOpen } from "./again.js";
import { challenge, inProgress, refusal } from "./answers.js";
import type { RefusedPayment } from "./check-payment.js";
import { type Decision, respond } from "./decision.js";
import { Payment } from "./payment.js";
import { type MatchedRequest, type ReadPayment, toOccasion } from "./request.js";
import type { Seller } from "./seller.js";

export function malformed(
  request: GateRequest,
  { reason, problem }: { readonly reason: Reason; readonly problem: string },
): RefusedPayment {
  const what = request.payment === undefined ? "PAYMENT-SIGNATURE" : "the payment";
  return { kind: "refused", status: 400, reason, error: `${reason}: ${what} is ${problem}` };
}

/** Says what is wrong with the payment, and asks for another one. */
export async function refuse(seller: Seller, matched: MatchedRequest, refused: RefusedPayment): Promise<Decision> {
  const { status, error, reason, field, identity, former } = refused;
  const { route } = matched;
  const { store, events } = seller;
  const record = identity === undefined ? undefined : await store.find(identity);
  // Where the price is the request's, the payment may be for another request.
  const isByRequest = route.isByRequest || matched.request.resource !== undefined;
  if (record !== undefined && former !== undefined && !isByRequest) {
    const decided = await decideFormer(seller, matched, former, record);
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
async function decideFormer(
  seller: Seller,
  matched: MatchedRequest,
  former: ReadPayment,
  found: PaymentRecord,
): Promise<Decision | undefined> {
  const { store, signatures, replay, now, timer } = seller;
  const untilMs = now() + seller.copyWaitMs;
  if (signatures.check(former) !== undefined) return undefined;
  const bodyDigest = await digestOf(matched.request, { timer, isGood: async () => true });
  if (typeof bodyDigest !== "string") return undefined;
  const payment = new Payment(seller, matched, former, bodyDigest);
  let record: PaymentRecord | undefined = found;
  for (let isFirst = true; record?.binding === payment.claim.binding; isFirst = false) {
    const decision = await replay.decide(payment, record, untilMs);
    if (decision !== undefined) return decision;
    if (!isFirst) return respond(inProgress());
    record = await store.find(found.identity);
  }
  return undefined;
}

/** An expired payment cannot pay any more, but its record may say what happened to it. */
export async function decideExpired(
  seller: Seller,
  payment: Payment,
  reason: Reason,
  untilMs: number,
): Promise<Decision> {
  const { store, replay, events } = seller;
  for (let isFirst = true; ; isFirst = false) {
    const record = await store.find(payment.claim.identity);
    if (record === undefined) {
      events.emit("mismatched", () => ({ route: payment.routeKey, reason }));
      return respond(await refusal(payment.route, payment.occasion, reason));
    }
    const decision = await replay.decide(payment, record, untilMs);
    if (decision !== undefined) return decision;
    if (isFirst) continue;
    replay.tell(payment, "pending");
    return respond(inProgress());
  }
}
