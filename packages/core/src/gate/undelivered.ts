/**
 * What was paid for and not received: kept for the payer who comes again, or owed.
 *
 * @see `docs/reference/lifecycle.md`, "States"
 * @module
 */
import type { StoredAnswer } from "../store/payment-store.js";
import type { PaidRequest } from "./paid-request.js";
import type { PaymentsConfig } from "./parse-options.js";

/** Keeps an answer whose delivery broke off; one that is too large to keep is `undefined`, and is lost. Never rejects. */
export async function keepAnswer(
  paid: PaidRequest,
  answer: StoredAnswer | undefined,
  config: PaymentsConfig,
): Promise<void> {
  if (answer === undefined) return;
  const { identity, owner } = paid.claim;
  try {
    await config.store.transition({ identity, from: "settled", to: "settled", owner, answer });
  } catch {
    config.logger.error("answer_not_kept", { identity, error: "the store failed" });
  }
}

/** Nothing has gone out: the same payment, sent again, runs the handler. Never rejects. */
export async function oweRun(paid: PaidRequest, config: PaymentsConfig): Promise<void> {
  const { identity, owner } = paid.claim;
  try {
    if (await config.store.transition({ identity, from: "settled", to: "owed", owner })) return;
    config.logger.error("run_not_owed", { identity, error: "the record is not ours" });
  } catch {
    config.logger.error("run_not_owed", { identity, error: "the store failed" });
  }
}
