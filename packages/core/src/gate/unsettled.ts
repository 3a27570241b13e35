/**
 * A payment that is to be settled: what every step from the claim to its outcome works on, with a client waiting or not.
 *
 * @module
 */
import type { PaymentFacts } from "../events/events.js";
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import type { Scheme } from "../scheme/scheme.js";
import type { ClaimRequest } from "../store/payment-store.js";

/** One payment, as far as settling it goes. */
export interface UnsettledPayment {
  readonly claim: ClaimRequest;
  readonly payer: string;
  readonly scheme: Scheme;
  /** The key of its route. */
  readonly routeKey: string;
  /** By what its route is listed, where that is not the key. */
  readonly listedAs?: string;
  /** What the facilitator is sent, at verification and at settlement. */
  readonly facilitatorRequest: FacilitatorRequest;
}

/** The payment, of which only so much is to be taken: at settlement the terms say that. */
export function withAmount<T extends UnsettledPayment>(payment: T, amount: bigint): T {
  const { facilitatorRequest } = payment;
  const { paymentRequirements } = facilitatorRequest;
  if (paymentRequirements.amount === amount.toString()) return payment;
  const terms = Object.freeze({ ...paymentRequirements, amount: amount.toString() });
  return { ...payment, facilitatorRequest: { ...facilitatorRequest, paymentRequirements: terms } };
}

/** What events and hooks are told of a payment. */
export function factsOf({ claim, payer, routeKey, facilitatorRequest }: UnsettledPayment): PaymentFacts {
  const { scheme, network, asset, amount } = facilitatorRequest.paymentRequirements;
  return Object.freeze({ payment: claim.identity, route: routeKey, payer, scheme, network, asset, amount });
}
