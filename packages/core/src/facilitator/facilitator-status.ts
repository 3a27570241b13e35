/**
 * How a facilitator has been doing, as far as its answers and failures tell.
 *
 * @module
 */
import type { FacilitatorError, FacilitatorErrorCode } from "../errors.js";
import {
  type BreakerState,
  type CircuitBreaker,
  createCircuitBreaker,
  type Permit,
  SETTLE_THRESHOLDS,
  VERIFY_THRESHOLDS,
} from "./circuit-breaker.js";
import type { Clock } from "./clock.js";

/**
 * Whether a facilitator works. It is `down` while one of its breakers is not closed, or when it only ever fails to say
 * what it supports; `unknown` until there is something to go by.
 */
export type FacilitatorState = "up" | "down" | "unknown";

/** How a facilitator is doing: plain values, nothing of its own words. */
export interface FacilitatorHealth {
  readonly name: string;
  readonly state: FacilitatorState;
  /** Since when, in Unix milliseconds. */
  readonly sinceMs: number;
  /** Of the latest call that failed, whichever it was. */
  readonly lastErrorCode: FacilitatorErrorCode | undefined;
  readonly breakers: { readonly verify: BreakerState; readonly settle: BreakerState };
  /** When it last said what it supports, in Unix milliseconds. */
  readonly supportedFetchedAtMs: number | undefined;
}

/** A call that may be made; or one that may not. */
export type BegunCall =
  | { readonly kind: "begun"; readonly permit: Permit }
  | { readonly kind: "refused"; readonly retryAfterSeconds: number };

/** Watches one facilitator. */
export interface FacilitatorStatus {
  begin(operation: "verify" | "settle"): BegunCall;
  /** A call was answered. */
  answered(permit: Permit): void;
  /**
   * A call failed.
   *
   * @param givenUp - By its caller, so that it proves nothing.
   */
  failed(permit: Permit, error: FacilitatorError, givenUp: boolean): void;
  /** It said what it supports. */
  told(): void;
  /** It could not be asked what it supports. */
  silent(error: FacilitatorError): void;
  health(): Omit<FacilitatorHealth, "supportedFetchedAtMs">;
}

/** Failures to fetch `/supported`, in a row and with no other answer in between, of a facilitator that was up. */
const SILENCE_MEANS_DOWN = 3;

/** By these statuses a server says no to one request, not to all: it works. */
const SAYS_NO_TO_ONE: readonly (number | undefined)[] = [400, 402, 406, 409, 410, 413, 414, 415, 422, 431];

/**
 * Creates the status of a facilitator of which nothing is known.
 *
 * @param onChange - Called after its state has changed.
 */
export function createFacilitatorStatus(
  name: string,
  clock: Pick<Clock, "now">,
  onChange: () => void,
): FacilitatorStatus {
  const breakers = createBreakers(clock);
  let state: FacilitatorState = "unknown";
  let sinceMs = clock.now();
  let lastErrorCode: FacilitatorErrorCode | undefined;
  let everAnswered = false;
  let silences = 0;

  const isDown = () => {
    if (breakers.verify.state() !== "closed" || breakers.settle.state() !== "closed") return true;
    return silences >= (everAnswered ? SILENCE_MEANS_DOWN : 1);
  };
  const reconsider = () => {
    const next = isDown() ? "down" : everAnswered ? "up" : "unknown";
    if (next === state) return;
    state = next;
    sinceMs = clock.now();
    onChange();
  };
  const answered = () => {
    everAnswered = true;
    silences = 0;
    reconsider();
  };

  return {
    begin(operation) {
      const permit = breakers[operation].enter();
      if (permit === undefined) return { kind: "refused", retryAfterSeconds: breakers[operation].retryAfterSeconds() };
      return { kind: "begun", permit };
    },
    answered(permit) {
      permit.answered();
      answered();
    },
    failed(permit, error, givenUp) {
      if (givenUp) return permit.abandoned();
      lastErrorCode = error.code;
      return passOn(permit, error) ? answered() : reconsider();
    },
    told: answered,
    silent({ code }) {
      lastErrorCode = code;
      silences++;
      reconsider();
    },
    health: () => ({ name, state, sinceMs, lastErrorCode, breakers: statesOf(breakers) }),
  };
}

type Breakers = Readonly<Record<"verify" | "settle", CircuitBreaker>>;

function createBreakers(clock: Pick<Clock, "now">): Breakers {
  return {
    verify: createCircuitBreaker(VERIFY_THRESHOLDS, clock),
    settle: createCircuitBreaker(SETTLE_THRESHOLDS, clock),
  };
}

function statesOf({ verify, settle }: Breakers): FacilitatorHealth["breakers"] {
  return { verify: verify.state(), settle: settle.state() };
}

/** Tells a breaker of a failure, and yields whether the facilitator works all the same. */
function passOn(permit: Permit, { status, retryAfterSeconds }: FacilitatorError): boolean {
  const works = SAYS_NO_TO_ONE.includes(status);
  if (works) permit.answered();
  else permit.failed(retryAfterSeconds);
  return works;
}
