/**
 * How a handler says how much is charged, as handlers of the reference do; only that it never travels in a header.
 *
 * @module
 */
import type { Response } from "express";

/** How much is charged of what was authorized. */
export interface SettlementOverrides {
  /** `"10000"` atomic units, `"12.34%"` of the maximum, or `"$0.0123"`; `"0"` charges nothing. */
  readonly amount: string;
}

/**
 * Says how much is charged for an answer, where the scheme allows less than was authorized (`upto`). The last call counts, up to
 * the end of the answer, or its flushing. Of a request that was served without payment it says nothing.
 *
 * @throws AmountError when it is no amount, or more than was authorized: `req.payment.maxAmount`.
 * @throws StateError when the scheme takes all or nothing, or the answer has gone out.
 */
export function setSettlementOverrides(res: Response, { amount }: SettlementOverrides): void {
  res.req.payment?.settle(amount);
}
