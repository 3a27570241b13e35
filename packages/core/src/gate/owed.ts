/**
 * A payment that is owed a run: it was settled, and there is nothing to show for it.
 *
 * @module
 */
import type { PaidRequest } from "./paid-request.js";
import type { PaymentsConfig } from "./parse-options.js";

/** Notes that the same payment, sent again, is to run the handler. Never rejects. */
export async function oweRun(paid: PaidRequest, config: PaymentsConfig): Promise<void> {
  const { identity, owner } = paid.claim;
  try {
    if (await config.store.transition({ identity, from: "settled", to: "owed", owner })) return;
    config.logger.error("run_not_owed", { identity, error: "the record is not ours" });
  } catch {
    config.logger.error("run_not_owed", { identity, error: "the store failed" });
  }
}
