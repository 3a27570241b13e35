/**
 * Copies of a payment that is being served: they wait for its first run, and may be told what its client was told.
 *
 * @see `docs/reference/lifecycle.md`, "The same payment again"
 * @module
 */
import type { PaymentRecord } from "../store/payment-store.js";
import type { Answer } from "./answer.js";
import type { OngoingRun } from "./ongoing.js";
import type { PaidRequest } from "./paid-request.js";
import type { PaymentsConfig } from "./parse-options.js";

/** How long a copy has waited for. */
export type Waited =
  /** The first run's answer is the copy's, too. */
  | { readonly kind: "shared"; readonly answer: Answer }
  /** The first run is over: its record says more. */
  | { readonly kind: "over" }
  /** It goes on, or is not here. */
  | { readonly kind: "running" };

const RUNNING: Waited = Object.freeze({ kind: "running" });
const OVER: Waited = Object.freeze({ kind: "over" });

/**
 * Waits for the run that has a payment.
 *
 * @param untilMs - Unix milliseconds.
 */
export async function waitForRun(
  paid: PaidRequest,
  { record, untilMs }: { readonly record: PaymentRecord; readonly untilMs: number },
  { ongoing, now, timer }: Pick<PaymentsConfig, "ongoing" | "now" | "timer">,
): Promise<Waited> {
  const run = ongoing.find(paid.claim.identity);
  const delayMs = untilMs - now();
  if (run === undefined || delayMs <= 0) return RUNNING;
  // Decided now: later, whoever has seen the payment on chain could have come in between.
  const share = mayShare(paid, record, run);
  let stop: () => void = () => {};
  const patience = new Promise<"still">((resolve) => {
    stop = timer(() => resolve("still"), delayMs);
  });
  const ended = await Promise.race([run.ended, patience]);
  stop();
  if (ended === "still") return RUNNING;
  return share && ended !== undefined ? { kind: "shared", answer: ended } : OVER;
}

/**
 * Until the facilitator is told to move the money, a payment is known to its payer and to us. From then on it may be seen
 * on chain by anybody: then only what comes with the same id, or from the same address, is the payer's for all we know.
 */
function mayShare({ claim, client }: PaidRequest, record: PaymentRecord, run: OngoingRun): boolean {
  if (!run.isSettling) return true;
  if (record.identifier !== undefined) return claim.identifier === record.identifier;
  return client !== undefined && client === run.client;
}
