/**
 * The end of a process: the load balancer is told, new payments are refused, and those under way end.
 *
 *   close({ drainMs }) → the next health check says `draining` → new payments get 503 → nothing is under way
 *
 * @module
 */
import type { StartTimer } from "../options.js";
import type { InFlight } from "./in-flight.js";

/** A load balancer that has not asked for so long is none. */
const ASKED_WITHIN_MS = 60_000;

/** Lets payments under way end. */
export class Draining {
  readonly #inFlight: Pick<InFlight, "size" | "whenIdle">;
  readonly #timer: StartTimer;
  readonly #now: () => number;
  #isDraining = false;
  #isRefusing = false;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #onTold: (() => void) | undefined;

  constructor(deps: { inFlight: Pick<InFlight, "size" | "whenIdle">; timer: StartTimer; now: () => number }) {
    this.#inFlight = deps.inFlight;
    this.#timer = deps.timer;
    this.#now = deps.now;
  }

  /** Whether load balancers are to send no more requests. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Whether payments are refused. Load balancers know by then, if there are any. */
  get isRefusing(): boolean {
    return this.#isRefusing;
  }

  /** A health check is answered. */
  told(): void {
    this.#askedAtMs = this.#now();
    if (this.#isDraining) this.#onTold?.();
  }

  /** From now on health checks say so. */
  begin(): void {
    this.#isDraining = true;
  }

  /** Resolves when nothing is under way, or the time is over. */
  drain(drainMs: number): Promise<void> {
    this.begin();
    return new Promise((resolve) => {
      const stopTimer = this.#timer(() => {
        this.#isRefusing = true;
        resolve();
      }, drainMs);
      const refuse = () => {
        this.#onTold = undefined;
        this.#isRefusing = true;
        void this.#inFlight.whenIdle().then(() => {
          stopTimer();
          resolve();
        });
      };
      if (this.#now() - this.#askedAtMs > ASKED_WITHIN_MS) refuse();
      else this.#onTold = refuse;
    });
  }
}
