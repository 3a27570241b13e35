/**
 * How the seller's parts are doing: the store, the facilitators, the settlements. For load balancers, and for people.
 *
 * @module
 */
import type { FacilitatorHealth } from "../facilitator/pool-member.js";
import type { StartTimer } from "../options.js";
import type { PaymentStore } from "../store/payment-store.js";

/** The health of one seller's payments in this process. */
export interface PaymentsHealth {
  /**
   * - `ok`: payments can be taken.
   * - `degraded`: a facilitator is down, or the outcome of a settlement is unknown. Free routes, and other facilitators, work.
   * - `failing`: the store does not respond, so no payment is taken.
   * - `draining`: `close` was called. Send no more requests.
   */
  readonly status: "ok" | "degraded" | "failing" | "draining";
  /** Whether the store has responded just now. */
  readonly store: { readonly ok: boolean };
  /** Each facilitator, in the seller's order. */
  readonly facilitators: readonly FacilitatorHealth[];
  readonly settlements: {
    /** Payments that requests of this process are working on, or that are being settled. */
    readonly inFlight: number;
    /** Settlements of this process that are tried again: their outcome is unknown, or they are due. */
    readonly unknown: number;
  };
}

/** What the health needs. */
export interface HealthDeps {
  readonly store: Pick<PaymentStore, "find">;
  readonly facilitators: () => readonly FacilitatorHealth[];
  readonly inFlight: { readonly size: number };
  readonly recovery: { readonly size: number };
  /** Whether the process ends, and who was told. */
  readonly draining: { readonly isDraining: boolean; told(): void };
  readonly timer: StartTimer;
  readonly now: () => number;
}

/** No record has this name: identities of payments are longer. */
const NO_PAYMENT = "farebox-health";

/** A store that takes longer is no use to a request. */
const STORE_MS = 2_000;

/** How long the store's answer holds. Anyone may ask for the health, and the store has other work. */
const FRESH_MS = 1_000;

/** Asks how everything is. */
export class Health {
  readonly #deps: HealthDeps;
  #asked: Promise<boolean> | undefined;
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: HealthDeps) {
    this.#deps = deps;
  }

  /** Never rejects. */
  async ask(): Promise<PaymentsHealth> {
    const { facilitators, inFlight, recovery, draining } = this.#deps;
    const isStoreOk = await this.#askStore();
    const all = facilitators();
    const unknown = recovery.size;
    const isTroubled = unknown > 0 || all.some(({ state }) => state === "down");
    const status = statusOf({ isDraining: draining.isDraining, isStoreOk, isTroubled });
    return Object.freeze({
      status,
      store: Object.freeze({ ok: isStoreOk }),
      facilitators: all,
      settlements: Object.freeze({ inFlight: inFlight.size, unknown }),
    });
  }

  /** As {@link Health.ask}, for a load balancer. From now on it counts as told. */
  async tell(): Promise<PaymentsHealth> {
    const health = await this.ask();
    this.#deps.draining.told();
    return health;
  }

  #askStore(): Promise<boolean> {
    const { now } = this.#deps;
    if (this.#asked === undefined || now() - this.#askedAtMs >= FRESH_MS) {
      this.#askedAtMs = now();
      this.#asked = this.#findNothing();
    }
    return this.#asked;
  }

  #findNothing(): Promise<boolean> {
    const { store, timer } = this.#deps;
    return new Promise((resolve) => {
      const stopTimer = timer(() => resolve(false), STORE_MS);
      const end = (isOk: boolean) => {
        stopTimer();
        resolve(isOk);
      };
      Promise.resolve()
        .then(() => store.find(NO_PAYMENT))
        .then(
          () => end(true),
          () => end(false),
        );
    });
  }
}

function statusOf(is: {
  readonly isDraining: boolean;
  readonly isStoreOk: boolean;
  readonly isTroubled: boolean;
}): PaymentsHealth["status"] {
  if (is.isDraining) return "draining";
  if (!is.isStoreOk) return "failing";
  return is.isTroubled ? "degraded" : "ok";
}
