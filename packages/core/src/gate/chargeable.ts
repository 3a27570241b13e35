/**
 * Which answers are sales. The seller says; what the seller says wrongly is never charged by mistake.
 *
 * @module
 */
import type { LogFields } from "../events/logger.js";

/** What a seller decides by: the head of the handler's answer. */
export interface ChargeableAnswer {
  readonly status: number;
}

/** Whether an answer is to be charged for. It is asked once per answer, and answers at once. */
export type Chargeable = (answer: ChargeableAnswer) => boolean;

/** An error and a redirect are not sales. */
export const isSuccess: Chargeable = ({ status }) => status >= 200 && status < 300;

/**
 * Asks whether an answer is to be charged for.
 *
 * A 304 never is: it has no content, and may be the answer to a stale condition that the client could not take back.
 *
 * @param report - Told when the seller's function fails; the answer is not charged then.
 */
export function isChargeable(
  chargeable: Chargeable,
  { status }: ChargeableAnswer,
  report: (event: string, fields: LogFields) => void,
): boolean {
  if (status === 304) return false;
  try {
    const verdict: unknown = chargeable({ status });
    if (typeof verdict === "boolean") return verdict;
    report("chargeable_failed", { status, error: `it returned ${describeVerdict(verdict)}` });
  } catch (error) {
    report("chargeable_failed", { status, error: error instanceof Error ? error.name : "not an error" });
  }
  return false;
}

/** A promise comes too late to be asked; one that rejects would end the process if nobody heard it. */
function describeVerdict(verdict: unknown): string {
  if (typeof verdict !== "object" || verdict === null) return verdict === null ? "null" : typeof verdict;
  Promise.resolve(verdict).catch(() => {});
  return verdict instanceof Promise ? "a promise" : "an object";
}
