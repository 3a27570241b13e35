/**
 * Decisions that end in an answer of ours.
 *
 * @module
 */

import type { Arrival } from "./arrival.js";
import type { Decision } from "./decision.js";
import type { PaymentsConfig } from "./parse-options.js";
import type { RefusedPayment } from "./read-payment.js";
import { askToPay, type GateResponse } from "./responses.js";

/** This goes out, and nothing of a handler's. */
export function answered(answer: GateResponse): Decision {
  return { kind: "respond", response: answer };
}

/** Says why a payment will not do, and what would. */
export function refuse(
  { route, locate, request: { method } }: Arrival,
  { url, refused }: { readonly url: string; readonly refused: RefusedPayment },
  { events }: PaymentsConfig,
): Decision {
  const { status, error, reason, field } = refused;
  if (status === 400) events.emit("malformed", () => ({ route: route.key, reason }));
  else events.emit("mismatched", () => ({ route: route.key, reason, ...(field === undefined ? {} : { field }) }));
  return answered(askToPay(route, { url, method, error, locate }, { status }));
}
