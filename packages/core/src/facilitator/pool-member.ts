/**
 * One facilitator of a pool: whom it serves, what it supports, and calls that end in a value.
 *
 * @module
 */

import { FacilitatorError, type FacilitatorErrorCode } from "../errors.js";
import { matchesNetwork } from "../protocol/caip2.js";
import type {
  PaymentRequirements,
  SettlementResponse,
  SupportedKind,
  SupportedResponse,
  VerifyResponse,
} from "../protocol/documents.js";
import {
  type BreakerState,
  type CircuitBreaker,
  type Clock,
  createCircuitBreaker,
  type Permit,
  SETTLE_THRESHOLDS,
  VERIFY_THRESHOLDS,
} from "./circuit-breaker.js";
import type { CallOptions, Facilitator, FacilitatorRequest } from "./facilitator.js";
import { type Operation, readSettlementResponse, readVerifyResponse, unreadable } from "./http-responses.js";
import { createSupportedCache, findKind, ownsAnyAddress, type Support, spelledAs } from "./supported.js";

/** How a call to one facilitator ended. */
export type Attempt<T> =
  | { readonly kind: "answered"; readonly answer: T }
  | { readonly kind: "failed"; readonly error: FacilitatorError }
  /** It is being left alone. Nothing was sent. */
  | { readonly kind: "skipped"; readonly retryAfterSeconds: number };

/** One facilitator of a pool. */
export interface PoolMember {
  readonly name: string;
  supports(scheme: string, network: string): Support;
  kind(scheme: string, network: string): SupportedKind | undefined;
  /** Identifiers of the extensions that it lists; none as long as it has said nothing. */
  extensions(): readonly string[];
  /** Whether one of the addresses is known to be its own. */
  owns(addresses: readonly string[], requirements: PaymentRequirements): boolean;
  /** What it supports of the networks it serves, as far as is known. */
  supported(): SupportedResponse | undefined;
  /** Never rejects. */
  verify(request: FacilitatorRequest, options: CallOptions): Promise<Attempt<VerifyResponse>>;
  /** Never rejects. */
  settle(request: FacilitatorRequest, options: CallOptions): Promise<Attempt<SettlementResponse>>;
  health(): FacilitatorHealth;
  /** Begins to ask what it supports. */
  start(): void;
  /** Resolves once it was asked that, whatever came of it. Never rejects. */
  readonly asked: Promise<void>;
  close(): void;
}

/** What a member is made of. */
export interface MemberOptions {
  readonly name: string;
  /** With deadlines. */
  readonly facilitator: Facilitator;
  /** Networks and patterns it serves; `undefined`: all. */
  readonly networks: readonly string[] | undefined;
  readonly clock: Clock;
  /** Told when what can be offered may have changed: what it supports, or whether it works. */
  onChange(change: "supported" | "state"): void;
}

/** Creates a member that asks nothing until it is started or used. */
export function createPoolMember(options: MemberOptions): PoolMember {
  const { name, facilitator, clock } = options;
  const status = createFacilitatorStatus(name, clock, () => options.onChange("state"));
  const cache = createSupportedCache({
    fetch: (signal) => facilitator.supported({ signal }),
    clock,
    onAnswer(changed) {
      status.told();
      if (changed) options.onChange("supported");
    },
    onFailure: status.silent,
  });
  const kindOf = createKindFinder(cache.latest);
  const parts = { facilitator, status, kindOf };
  const serves = (network: string) => options.networks?.some((pattern) => matchesNetwork(pattern, network)) ?? true;

  return {
    name,
    supports(scheme, network) {
      if (!serves(network)) return "no";
      if (cache.latest() === undefined) return "unknown";
      return kindOf(scheme, network) === undefined ? "no" : "yes";
    },
    kind: (scheme, network) => (serves(network) ? kindOf(scheme, network) : undefined),
    extensions: () => cache.latest()?.extensions ?? [],
    owns(addresses, requirements) {
      const latest = cache.latest();
      return latest !== undefined && ownsAnyAddress(latest, addresses, requirements);
    },
    supported() {
      const latest = cache.latest();
      return latest && { ...latest, kinds: latest.kinds.filter(({ network }) => serves(network)) };
    },
    verify: (request, more) => attempt(parts, { operation: "verify", request, read: readVerifyResponse, more }),
    settle: (request, more) => attempt(parts, { operation: "settle", request, read: readSettlementResponse, more }),
    health: () => ({ ...status.health(), supportedFetchedAtMs: cache.fetchedAtMs() }),
    start: cache.start,
    asked: cache.asked,
    close: cache.close,
  };
}

type KindFinder = (scheme: string, network: string) => SupportedKind | undefined;

/** Looked for once in each answer: a seller has few offers, and each payment asks several times. */
function createKindFinder(latest: () => SupportedResponse | undefined): KindFinder {
  let response: SupportedResponse | undefined;
  const found = new Map<string, Map<string, SupportedKind | undefined>>();
  return (scheme, network) => {
    if (response !== latest()) {
      response = latest();
      found.clear();
    }
    if (response === undefined) return undefined;
    const known = found.get(network) ?? new Map<string, SupportedKind | undefined>();
    if (known.has(scheme)) return known.get(scheme);
    const kind = findKind(response, scheme, network);
    found.set(network, known.set(scheme, kind));
    return kind;
  };
}

/** The network of a request in the spelling of whom it goes to; an offer may have been made in another one's. */
function respell(request: FacilitatorRequest, kindOf: KindFinder): FacilitatorRequest {
  const { paymentRequirements: terms, paymentPayload } = request;
  const network = spelledAs(kindOf(terms.scheme, terms.network), terms.network);
  if (network === terms.network) return request;
  const accepted = { ...paymentPayload.accepted, network };
  return {
    ...request,
    paymentPayload: { ...paymentPayload, accepted },
    paymentRequirements: { ...terms, network },
  };
}

interface Parts {
  /** With deadlines. */
  readonly facilitator: Facilitator;
  readonly status: FacilitatorStatus;
  readonly kindOf: KindFinder;
}

/** What a facilitator is asked. */
interface Call<T> {
  readonly operation: "verify" | "settle";
  readonly request: FacilitatorRequest;
  /** Yields `undefined` for an answer that cannot be read. */
  readonly read: (answer: unknown, network: string) => T | undefined;
  readonly more: CallOptions;
}

/** Makes a call, unless the facilitator is being left alone, and notes how it ended. Never rejects. */
async function attempt<T>(
  { facilitator, status, kindOf }: Parts,
  { operation, request, read, more }: Call<T>,
): Promise<Attempt<T>> {
  const begun = status.begin(operation);
  if (begun.kind === "refused") return { kind: "skipped", retryAfterSeconds: begun.retryAfterSeconds };
  try {
    const said = await facilitator[operation](respell(request, kindOf), more);
    const answer = read(said, request.paymentRequirements.network);
    if (answer === undefined) throw unreadable(operation);
    status.answered(begun.permit);
    return { kind: "answered", answer };
  } catch (cause) {
    // A facilitator in this process may throw anything; what that means for the money, it does not say.
    const error = cause instanceof FacilitatorError ? cause : unreadable(operation, cause);
    status.failed(begun.permit, error, more.signal?.aborted ?? false);
    return { kind: "failed", error };
  }
}

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
function createFacilitatorStatus(name: string, clock: Pick<Clock, "now">, onChange: () => void): FacilitatorStatus {
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

/** How long each call may take, in milliseconds. */
export interface Deadlines {
  /** Default 5000. */
  readonly verifyMs: number;
  /** Default 30000: a settlement waits for a block. */
  readonly settleMs: number;
  /** Default 5000. */
  readonly supportedMs: number;
}

/** Used where a seller says nothing. */
export const DEFAULT_DEADLINES: Deadlines = Object.freeze({ verifyMs: 5_000, settleMs: 30_000, supportedMs: 5_000 });

/**
 * Puts deadlines on a facilitator. A call that runs over rejects with `ERR_FAREBOX_FACILITATOR_TIMEOUT`, whose outcome
 * for `settle` is `"unknown"`: the money may have moved.
 */
export function withDeadlines(facilitator: Facilitator, deadlines: Deadlines): Facilitator {
  return {
    verify: (request, { signal } = {}) => {
      const limits = { operation: "verify", deadlineMs: deadlines.verifyMs, signal } as const;
      return within(limits, (options) => facilitator.verify(request, options));
    },
    settle: (request, { signal } = {}) => {
      const limits = { operation: "settle", deadlineMs: deadlines.settleMs, signal } as const;
      return within(limits, (options) => facilitator.settle(request, options));
    },
    supported: ({ signal } = {}) => {
      const limits = { operation: "supported", deadlineMs: deadlines.supportedMs, signal } as const;
      return within(limits, (options) => facilitator.supported(options));
    },
  };
}

const GIVEN_UP = "before its caller gave up";

interface Limits {
  readonly operation: Operation;
  readonly deadlineMs: number;
  /** The caller's own: it may give up before. */
  readonly signal: AbortSignal | undefined;
}

/** Makes a call that ends with its deadline, or when its caller gives up. The first end counts. */
async function within<T>(
  { operation, deadlineMs, signal }: Limits,
  call: (options: CallOptions) => Promise<T>,
): Promise<T> {
  if (signal?.aborted) throw unanswered(operation, GIVEN_UP, "none");
  const controller = new AbortController();
  const { promise: ended, reject } = withRejection();
  const end = (when: string) => {
    reject(unanswered(operation, when, operation === "settle" ? "unknown" : "none"));
    controller.abort();
  };
  const giveUp = () => end(GIVEN_UP);
  const timer = setTimeout(() => end(`within ${deadlineMs} ms`), deadlineMs);
  // `/supported` is asked in the background, which keeps no process alive.
  if (operation === "supported") timer.unref();
  signal?.addEventListener("abort", giveUp);
  try {
    // A seller's own facilitator may yield something that is not a promise.
    return await Promise.race([call({ signal: controller.signal }), ended]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}

function withRejection(): { readonly promise: Promise<never>; readonly reject: (error: Error) => void } {
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<never>((_, rejectIt) => {
    reject = rejectIt;
  });
  return { promise, reject };
}

function unanswered(operation: Operation, when: string, outcome: "none" | "unknown"): FacilitatorError {
  return new FacilitatorError(`facilitator did not answer ${operation} ${when}`, {
    code: "ERR_FAREBOX_FACILITATOR_TIMEOUT",
    operation,
    outcome,
  });
}
