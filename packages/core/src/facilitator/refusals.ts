/**
 * Refusals to settle that are the same for everybody: the facilitator's, and not the payments'.
 *
 * A facilitator whose free tier is used up, or whose account is closed, refuses each payment with the same status, and works otherwise. After
 * the same refusal of several payers' good payments in a row it is asked last: other facilitators settle, and if there is none, it is still
 * asked. After a pause one payment tries it. The pause doubles until a settlement succeeds.
 *
 * @module
 */
import type { Clock } from "./circuit-breaker.js";

/** So many payers whose payments are good have no common fault. */
const PAYERS = 3;

/** As long as settlements pause after failures. Each trial may cost a buyer. */
const FIRST_PAUSE_MS = 30_000;

const LONGEST_PAUSE_MS = 60 * 60_000;

/** The refusals of one facilitator since its last successful settlement. */
export class Refusals {
  /** Whether there are any. A field, which each settlement reads. */
  areAny = false;
  /** Whether they are the same for everybody. A field, which each settlement reads. */
  areForAll = false;
  readonly #clock: Pick<Clock, "now">;
  /** Who was refused, by what was said. */
  readonly #refused = new Map<string, Set<string>>();
  #pauseMs = FIRST_PAUSE_MS;
  #untilMs = 0;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** Whether other facilitators are asked first. */
  get isPausing(): boolean {
    return this.areForAll && this.#clock.now() < this.#untilMs;
  }

  /** A payer's good payment was refused. @param said - One of a few texts, such as a status. */
  note(said: string, payer: string): void {
    this.areAny = true;
    const payers = this.#refused.get(said) ?? new Set<string>();
    if (payers.size < PAYERS) this.#refused.set(said, payers.add(payer));
    if (this.areForAll || payers.size < PAYERS) return;
    this.areForAll = true;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#untilMs = this.#clock.now() + FIRST_PAUSE_MS;
  }

  /** A call begins while they are the same for everybody. A settlement after a pause is the trial, and others wait for the next one. */
  begin(operation: "verify" | "settle", isRetry: boolean): void {
    const nowMs = this.#clock.now();
    if (operation === "verify" || isRetry || nowMs < this.#untilMs) return;
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
    this.#untilMs = nowMs + this.#pauseMs;
  }

  /** A settlement has succeeded. */
  clear(): void {
    this.areAny = false;
    this.areForAll = false;
    this.#refused.clear();
  }
}
