/**
 * Routes that are paid before their handler runs: the money moves first, and the handler answers freely.
 *
 * @see `docs/lifecycle.md`, "Settling before the handler"
 * @module
 */
import type { Decision } from "./decision.js";
import type { PaidRequest } from "./paid-request.js";
import type { PaymentsConfig } from "./parse-options.js";
import { createPrepaid } from "./prepaid.js";
import { type SettledOnce, settleOnce, unservedAnswer } from "./settle-once.js";

/** Settles a payment that was just claimed, and lets its handler run if the money has moved. */
export async function settleFirst(paid: PaidRequest, config: PaymentsConfig): Promise<Decision> {
  const settlement = await settleClaim(paid, config);
  if (settlement.kind !== "settled") return { kind: "answer", answer: unservedAnswer(paid, settlement) };
  return { kind: "prepaid", prepaid: createPrepaid(paid, settlement.receipt, config) };
}

/** What was not begun may be tried again. */
async function settleClaim(paid: PaidRequest, config: PaymentsConfig): Promise<SettledOnce> {
  const { identity, owner } = paid.claim;
  try {
    return await settleOnce(paid, { from: "claimed", owner, facilitator: undefined, answer: undefined }, config);
  } catch (error) {
    await config.store.release(identity, owner);
    throw error;
  }
}
