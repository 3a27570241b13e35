/**
 * A handler that has been paid for before it runs.
 *
 * @see `docs/reference/lifecycle.md`, "Settling before the handler"
 * @module
 */

import type { SettlementResponse } from "../protocol/documents.js";
import { encodePaymentResponse, PAYMENT_RESPONSE } from "../protocol/headers.js";
import { type Payment, toPayment } from "./handlers-payment.js";
import { relayHeaders } from "./listings.js";
import type { PaidRequest } from "./paid-request.js";
import type { PaymentsConfig } from "./parse-options.js";
import { Run } from "./run.js";
import { settledTab } from "./tab.js";
import { oweRun } from "./undelivered.js";

/** The right to run a handler that has been paid for. Nothing here ever rejects. */
export interface Prepaid {
  readonly payment: Payment;
  /** The receipt: on the response before the handler runs, and on it whatever the handler does. */
  readonly headers: readonly (readonly [string, string])[];
  /** The handler cannot be run, for nobody is left to answer: the same payment sent again runs it. */
  cancel(): Promise<void>;
  /** The client left before the answer was delivered: tells the handler. */
  leave(): void;
}

/** Lets the handler of a settled payment run. The record says `settled`, so no other request runs it too. */
export function createPrepaid(paid: PaidRequest, receipt: SettlementResponse, config: PaymentsConfig): Prepaid {
  const run = new Run();
  return {
    payment: toPayment(paid, { run, tab: settledTab(paid.offer, BigInt(receipt.amount ?? paid.offer.amount)) }),
    headers: [[PAYMENT_RESPONSE, encodePaymentResponse(receipt)], ...relayHeaders(paid.said, config)],
    cancel: () => oweRun(paid, config),
    leave: () => run.leave(),
  };
}
