/**
 * One facilitator of a pool: which networks it serves, what it supports, its health, and calls that never reject.
 *
 *   createPoolMember          the member, with its `/supported` cache
 *   attempt                   one call, unless the circuit breaker is open
 *   createFacilitatorStatus   health and circuit breakers
 *   withDeadlines             deadlines for a facilitator
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
import { isReason } from "../protocol/reasons.js";
import { CallQueue, UNSIGNED_LIMITS, VERIFY_LIMITS } from "./call-queue.js";
import {
  type BreakerCall,
  type BreakerOptions,
  type BreakerState,
  type CircuitBreaker,
  type Clock,
  createCircuitBreaker,
  type Permit,
  SETTLE_THRESHOLDS,
  VERIFY_THRESHOLDS,
} from "./circuit-breaker.js";
import type { CallOptions, Facilitator, FacilitatorRequest } from "./facilitator.js";
import {
  type Operation,
  readSettlementResponse,
  readVerifyResponse,
  refusedAll,
  unreadable,
} from "./http-responses.js";
import { Questions, REFUSES_ONE_REQUEST } from "./questions.js";
import { Refusals } from "./refusals.js";
import { createSupportedCache, findKind, ownsAnyAddress, type Support, spelledAs } from "./supported.js";

/** How a call to one facilitator ended. */
export type Attempt<T> =
  | { readonly kind: "responded"; readonly response: T }
  | { readonly kind: "failed"; readonly error: FacilitatorError; readonly provesNothing?: boolean }
  /** Its circuit breaker is open, or too many calls wait for it. Nothing was sent. */
  | { readonly kind: "skipped"; readonly retryAfterSeconds: number };

/** One facilitator of a pool. */
export interface PoolMember {
  readonly name: string;
  supports(scheme: string, network: string): Support;
  kind(scheme: string, network: string): SupportedKind | undefined;
  /** Identifiers of the extensions that it lists. Empty before its first `/supported`. */
  extensions(): readonly string[];
  /** Whether one of the addresses is known to belong to it. */
  owns(addresses: readonly string[], requirements: PaymentRequirements): boolean;
  /** Its latest `/supported`, without networks that it does not serve. */
  supported(): SupportedResponse | undefined;
  /** Never rejects. */
  verify(request: FacilitatorRequest, options: VerifyOptions): Promise<Attempt<VerifyResponse>>;
  /** Never rejects. */
  settle(request: FacilitatorRequest, options: SettleOptions): Promise<Attempt<SettlementResponse>>;
  /** Seconds until a handler may run for a payer whose payment this facilitator settles; 0: now. */
  admit(payer: string): number;
  /** Whether others are asked first: as far as is known, it does not settle now. */
  isAskedLast(): boolean;
  /** It failed to verify a payment that another facilitator then found good. */
  failedGood(error: FacilitatorError, source: string): void;
  health(): FacilitatorHealth;
  /** The latest failure of any call; for the log. */
  lastError(): FacilitatorError | undefined;
  /** Why `/supported` could not be fetched the last time; `undefined`: it could, or was not fetched yet. */
  supportedError(): FacilitatorError | undefined;
  /** Begins to fetch `/supported`. */
  start(): void;
  /** Resolves after the first fetch, successful or not. Never rejects. */
  readonly asked: Promise<void>;
  close(): void;
}

/**
 * Whether a signature that was not checked yet is not the payer's after all. Asked when the call had to wait for a place, which
 * only checks if others were found to be bad meanwhile, and when `verify` has failed.
 */
export type LateCheck = (when: "waited" | "failed") => boolean;

/** The options of a verification. Payments whose signature may be forged have few calls, and a circuit breaker, of their own. */
export interface VerifyOptions {
  readonly signal: AbortSignal | undefined;
  readonly source: string | undefined;
  readonly isSigned: boolean;
  readonly isForged?: LateCheck | undefined;
}

/** The options of a settlement: by whom, and whether it was tried before. */
export interface SettleOptions extends BreakerCall {
  readonly signal?: AbortSignal | undefined;
  /** Whether the payment was verified. Default `true`. */
  readonly isVerified?: boolean | undefined;
}

/**
 * Whether a facilitator works.
 *
 * - `up`: it has responded.
 * - `down`: one of its circuit breakers is not closed, it refuses to settle for everybody, or `/supported` keeps failing.
 * - `unknown`: it has neither responded nor failed yet.
 */
export type FacilitatorState = "up" | "down" | "unknown";

/** The health of a facilitator: plain values. */
export interface FacilitatorHealth {
  readonly name: string;
  readonly state: FacilitatorState;
  /** When it entered this state, in Unix milliseconds. */
  readonly sinceMs: number;
  /** The code of the latest failed call of any kind. */
  readonly lastErrorCode: FacilitatorErrorCode | undefined;
  /** The HTTP status of that call, if it is an error. */
  readonly lastErrorStatus: number | undefined;
  /** What it said in that call, as {@link FacilitatorError.says}. For the operator, not for clients. */
  readonly lastErrorSays: string | undefined;
  readonly breakers: { readonly verify: BreakerState; readonly settle: BreakerState };
  /** When `/supported` was last fetched, in Unix milliseconds. */
  readonly supportedFetchedAtMs: number | undefined;
}

/** How long each call may take, and the hook that a response waits for, in milliseconds. */
export interface Deadlines {
  /** Default 5000. */
  readonly verifyMs: number;
  /** Default 30000: a settlement waits for a block. */
  readonly settleMs: number;
  /** Default 5000. */
  readonly supportedMs: number;
  /** How long a response waits for the hook `onPaid`. Default 5000. */
  readonly hookMs: number;
}

/** The deadlines of calls. */
export type CallDeadlines = Omit<Deadlines, "hookMs">;

/** The options of a member. */
export interface MemberOptions {
  readonly name: string;
  /** With deadlines. */
  readonly facilitator: Facilitator;
  /** The deadline of `verify`. A call waits for its place as long. */
  readonly verifyMs: number;
  /** CAIP-2 networks and patterns such as `eip155:*` that it serves. `undefined`: all. */
  readonly networks: readonly string[] | undefined;
  readonly clock: Clock;
  /** Called when offers may have changed, with the reason: its `/supported`, or its health. */
  onChange(change: "supported" | "state"): void;
  /** Called when a call of `verify` or `settle` has ended. Must not throw. */
  onCalled?(call: EndedCall): void;
}

/** A call that has ended. */
export interface EndedCall {
  readonly facilitator: string;
  readonly operation: "verify" | "settle";
  readonly durationMs: number;
  /** `responded`, or the code of its failure. */
  readonly outcome: "responded" | FacilitatorErrorCode;
}

/** Creates a member. It makes no request until it is started or used. */
export function createPoolMember(options: MemberOptions): PoolMember {
  const { name, facilitator, clock, onCalled } = options;
  const questions = new Questions({
    facilitator,
    respell: (request) => respell(request),
    onEnded: (startedMs, outcome) =>
      onCalled?.({ facilitator: name, operation: "verify", durationMs: clock.now() - startedMs, outcome }),
    now: () => clock.now(),
  });
  const isAlive = () => questions.isAlive();
  const status = createFacilitatorStatus(name, clock, { isAlive, onChange: () => options.onChange("state") });
  const cache = createSupportedCache({
    fetch: (signal) => facilitator.supported({ signal }),
    clock,
    onResponse(changed) {
      status.supportedFetched();
      if (changed) options.onChange("supported");
    },
    onFailure: status.supportedFailed,
  });
  const kindOf = createKindFinder(cache.latest);
  const respell = createSpeller(cache.latest, kindOf);
  const parts = { name, facilitator, status, questions, respell, clock, onCalled };
  const time = { longestWaitMs: options.verifyMs, clock };
  const queues = { verify: new CallQueue(VERIFY_LIMITS, time), unsigned: new CallQueue(UNSIGNED_LIMITS, time) };
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
    async verify(request, { signal, source, isSigned, isForged }) {
      const from = source ?? "";
      let lane: "verify" | "unsigned" = isSigned ? "verify" : "unsigned";
      let place = queues[lane].enter(from);
      if (typeof place !== "boolean" && (await place) && isForged?.("waited") === true) {
        queues[lane].leave(from);
        lane = "unsigned";
        place = queues[lane].enter(from);
      }
      const hasPlace = typeof place === "boolean" ? place : await place;
      if (!hasPlace) return { kind: "skipped", retryAfterSeconds: BUSY_RETRY_SECONDS };
      const queue = queues[lane];
      const about = { payer: source };
      const read = readVerifyResponse;
      const made = await attempt(parts, { operation: "verify", lane, request, read, signal, about, isForged });
      if (made.kind === "responded") {
        queue.note("responded");
        // Before others take the place.
        if (made.response.isValid) questions.lastGood = request;
        else isForged?.("failed");
      }
      if (made.kind === "failed" && made.provesNothing !== true && made.error.status === TOO_MANY_REQUESTS) {
        queue.note("too_many");
      }
      queue.leave(from);
      return made;
    },
    settle(request, { signal, payer, isRetry = false, isVerified }) {
      const about = { payer, isRetry };
      const read = readSettlementResponse;
      return attempt(parts, { operation: "settle", lane: "settle", request, read, signal, about, isVerified });
    },
    admit: status.admit,
    isAskedLast: status.isAskedLast,
    failedGood: status.failedGood,
    health: () => ({ ...status.health(), supportedFetchedAtMs: cache.fetchedAtMs() }),
    lastError: status.lastError,
    supportedError: status.supportedError,
    start: cache.start,
    asked: cache.asked,
    close: cache.close,
  };
}

/** Places become free as soon as calls end. */
const BUSY_RETRY_SECONDS = 1;

const TOO_MANY_REQUESTS = 429;

type KindFinder = (scheme: string, network: string) => SupportedKind | undefined;

/** Looks up each offer once per `/supported` response: a seller has few offers, and each payment asks several times. */
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

/** Spells the network of a request as the member does. The offer may have another facilitator's spelling. */
type Speller = (request: FacilitatorRequest) => FacilitatorRequest;

/** Looks at each offer once per `/supported` response. */
function createSpeller(latest: () => SupportedResponse | undefined, kindOf: KindFinder): Speller {
  let response: SupportedResponse | undefined;
  let spelledRight = new WeakSet<PaymentRequirements>();
  return (request) => {
    const { paymentRequirements: terms, paymentPayload } = request;
    if (response !== latest()) {
      response = latest();
      spelledRight = new WeakSet();
    }
    if (spelledRight.has(terms)) return request;
    const network = spelledAs(kindOf(terms.scheme, terms.network), terms.network);
    if (network === terms.network) {
      spelledRight.add(terms);
      return request;
    }
    const accepted = { ...paymentPayload.accepted, network };
    return {
      ...request,
      paymentPayload: { ...paymentPayload, accepted },
      paymentRequirements: { ...terms, network },
    };
  };
}

const NOTHING: CallOptions = Object.freeze({});

interface Parts {
  readonly name: string;
  /** With deadlines. */
  readonly facilitator: Facilitator;
  readonly status: FacilitatorStatus;
  readonly questions: Questions;
  readonly respell: Speller;
  readonly clock: Clock;
  readonly onCalled: MemberOptions["onCalled"];
}

/** One call to a facilitator. */
interface Call<T> {
  readonly operation: "verify" | "settle";
  readonly lane: Lane;
  readonly request: FacilitatorRequest;
  /** Returns `undefined` for an invalid response. */
  readonly read: (response: unknown, network: string) => T | undefined;
  readonly signal: AbortSignal | undefined;
  readonly about: BreakerCall;
  readonly isForged?: LateCheck | undefined;
  /** `false`: the payment is to be settled, and nobody has verified it. */
  readonly isVerified?: boolean | undefined;
}

/** Makes a call, unless the circuit breaker is open, and notes how it ended. Never rejects. */
async function attempt<T extends VerifyResponse | SettlementResponse>(
  { name, facilitator, status, questions, respell, clock, onCalled }: Parts,
  { operation, lane, request, read, signal, about, isForged, isVerified }: Call<T>,
): Promise<Attempt<T>> {
  const begun = status.begin(lane, about);
  if (begun.kind === "refused") return { kind: "skipped", retryAfterSeconds: begun.retryAfterSeconds };
  const startedMs = clock.now();
  const ended = (outcome: EndedCall["outcome"]) =>
    onCalled?.({ facilitator: name, operation, durationMs: clock.now() - startedMs, outcome });
  // Nobody's payment counts that may be bad.
  const counts = () => (isVerified === false ? questions.isGood(request) : undefined);
  const { refusals } = status;
  if (lane === "settle" && refusals.areForAll) refusals.begin(about);
  try {
    const sent = await facilitator[operation](respell(request), signal === undefined ? NOTHING : { signal });
    const response = read(sent, request.paymentRequirements.network);
    if (response === undefined) throw unreadable(operation);
    status.responded(begun.permit);
    if ("success" in response && (refusals.areAny || !response.success)) status.settled(response, about, counts);
    ended("responded");
    return { kind: "responded", response };
  } catch (cause) {
    // A facilitator in this process may throw anything, which does not say whether money moved.
    const error = named(cause instanceof FacilitatorError ? cause : unreadable(operation, cause), name);
    const provesNothing = (signal?.aborted ?? false) || isForged?.("failed") === true;
    if (provesNothing) begun.permit.abandoned();
    else status.failed(begun.permit, error, { lane, about, counts });
    ended(error.code);
    return { kind: "failed", error, provesNothing };
  }
}

/** The same error with the name of the facilitator, which its client does not know. */
function named(error: FacilitatorError, facilitator: string): FacilitatorError {
  const { message, code, operation, outcome, status, retryAfterSeconds, says, cause } = error;
  const failure = {
    ...{ code, operation, outcome, facilitator },
    ...(status === undefined ? {} : { status }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(says === undefined ? {} : { says }),
  };
  return new FacilitatorError(message, failure, cause === undefined ? undefined : { cause });
}

/** Whether a call may be made. */
export type BegunCall =
  | { readonly kind: "begun"; readonly permit: Permit }
  | { readonly kind: "refused"; readonly retryAfterSeconds: number };

/** Watches one facilitator. */
export interface FacilitatorStatus {
  begin(lane: Lane, about: BreakerCall): BegunCall;
  /** Seconds until a handler may run for a payer, as {@link CircuitBreaker.admit}. */
  admit(payer: string): number;
  /** What it refuses to settle. */
  readonly refusals: Refusals;
  isAskedLast(): boolean;
  failedGood(error: FacilitatorError, source: string): void;
  /** A call got a valid response. */
  responded(permit: Permit): void;
  /** A settlement got a valid response: it failed, or others have failed before. */
  settled(response: SettlementResponse, about: BreakerCall, counts: Counts): void;
  /** A call failed, and neither its caller nor a forged payment is the reason. */
  failed(permit: Permit, error: FacilitatorError, call: FailedCall): void;
  /** `/supported` was fetched. */
  supportedFetched(): void;
  /** `/supported` could not be fetched. */
  supportedFailed(error: FacilitatorError): void;
  health(): Omit<FacilitatorHealth, "supportedFetchedAtMs">;
  lastError(): FacilitatorError | undefined;
  supportedError(): FacilitatorError | undefined;
}

/** Whether a payment is good, so that a failure to settle it may be the facilitator's. `undefined`: it is. Never rejects. */
type Counts = () => Promise<boolean> | undefined;

interface FailedCall {
  readonly lane: Lane;
  readonly about: BreakerCall;
  readonly counts: Counts;
}

/** A facilitator that was up is down after this many failed fetches of `/supported` in a row, with no other response between them. */
const MAX_SUPPORTED_FAILURES = 3;

interface StatusOptions {
  /** As {@link BreakerOptions.isAlive}. */
  isAlive(): Promise<boolean>;
  /** Called after its state has changed. */
  onChange(): void;
}

/** Creates the status of a facilitator, which is unknown at first. */
function createFacilitatorStatus(
  name: string,
  clock: Pick<Clock, "now">,
  { isAlive, onChange }: StatusOptions,
): FacilitatorStatus {
  const breakers = createBreakers(clock, { isAlive, onChange: () => reconsider() });
  const refusals = new Refusals(clock);
  let state: FacilitatorState = "unknown";
  let sinceMs = clock.now();
  let lastError: FacilitatorError | undefined;
  let supportedError: FacilitatorError | undefined;
  let hasResponded = false;
  let supportedFailures = 0;

  const isDown = () => {
    if (breakers.verify.state() !== "closed" || breakers.settle.state() !== "closed") return true;
    if (refusals.areForAll) return true;
    return supportedFailures >= (hasResponded ? MAX_SUPPORTED_FAILURES : 1);
  };
  const reconsider = () => {
    const next = isDown() ? "down" : hasResponded ? "up" : "unknown";
    if (next === state) return;
    state = next;
    sinceMs = clock.now();
    onChange();
  };
  const responded = () => {
    hasResponded = true;
    supportedFailures = 0;
    // A response makes nothing worse.
    if (state !== "up") reconsider();
  };

  /** A good payment of somebody was refused, in a way that says nothing about the payment. */
  const refused = (said: string, payer = "", error?: FacilitatorError) => {
    refusals.note(said, payer);
    if (error !== undefined) lastError = error;
    reconsider();
  };
  /** @param counts - Asked once. */
  const refusedOnce = (said: string, { payer, isRetry }: BreakerCall, counts: Counts, error: FacilitatorError) => {
    // An earlier attempt may be the very reason.
    if (isRetry) return;
    const isGood = counts();
    if (isGood === undefined) refused(said, payer, error);
    else void isGood.then((is) => is && refused(said, payer, error));
  };

  return {
    refusals,
    isAskedLast: () => breakers.settle.state() === "open" || refusals.isPausing,
    failedGood(error, source) {
      if (REFUSES_ONE_REQUEST.includes(error.status)) refused(`${error.status}`, source, error);
    },
    settled(response, about, counts) {
      const { success, errorReason } = response;
      if (success) {
        refusals.clear();
        reconsider();
      } else if (!isReason(errorReason) || errorReason === "unexpected_settle_error") {
        refusedOnce("no reason", about, counts, refusedAll(name, response));
      }
    },
    begin(lane, about) {
      const breaker = breakers[lane];
      const permit = breaker.enter(about);
      if (permit !== undefined) return { kind: "begun", permit };
      // A payment that was tried before waits for the breaker, not for its payer's pause.
      return { kind: "refused", retryAfterSeconds: breaker.retryAfterSeconds(about.isRetry ? undefined : about.payer) };
    },
    admit: (payer) => breakers.settle.admit(payer),
    responded(permit) {
      permit.responded();
      responded();
    },
    failed(permit, error, { lane, about, counts }) {
      lastError = error;
      if (!REFUSES_ONE_REQUEST.includes(error.status)) {
        const { code, outcome, retryAfterSeconds } = error;
        const isUnreachable = code === "ERR_FAREBOX_FACILITATOR_UNREACHABLE" && outcome === "none";
        const isBusy = error.status === TOO_MANY_REQUESTS;
        permit.failed(retryAfterSeconds, isUnreachable, { isBusy, isGood: isUnreachable ? undefined : counts() });
        return reconsider();
      }
      permit.responded();
      responded();
      if (lane === "settle") refusedOnce(`${error.status}`, about, counts, error);
    },
    supportedFetched() {
      supportedError = undefined;
      responded();
    },
    supportedFailed(error) {
      lastError = error;
      supportedError = error;
      supportedFailures++;
      reconsider();
    },
    health() {
      const { code: lastErrorCode, status: lastErrorStatus, says: lastErrorSays } = lastError ?? {};
      return { name, state, sinceMs, lastErrorCode, lastErrorStatus, lastErrorSays, breakers: statesOf(breakers) };
    },
    lastError: () => lastError,
    supportedError: () => supportedError,
  };
}

/** Calls of one kind, with a circuit breaker of their own. `unsigned`: to verify payments whose signature may be forged. */
type Lane = "verify" | "unsigned" | "settle";

type Breakers = Readonly<Record<Lane, CircuitBreaker>>;

function createBreakers(clock: Pick<Clock, "now">, options: Required<BreakerOptions>): Breakers {
  const { onChange } = options;
  return {
    verify: createCircuitBreaker(VERIFY_THRESHOLDS, clock, options),
    unsigned: createCircuitBreaker(VERIFY_THRESHOLDS, clock, options),
    // What counts there are payments that were verified. A facilitator that verifies may be unable to settle.
    settle: createCircuitBreaker(SETTLE_THRESHOLDS, clock, { onChange }),
  };
}

function statesOf({ verify, settle }: Breakers): FacilitatorHealth["breakers"] {
  return { verify: verify.state(), settle: settle.state() };
}

/** The deadlines if the seller sets none. */
export const DEFAULT_DEADLINES: Deadlines = Object.freeze({
  verifyMs: 5_000,
  settleMs: 30_000,
  supportedMs: 5_000,
  hookMs: 5_000,
});

/**
 * Adds deadlines to a facilitator. A call past its deadline rejects with `ERR_FAREBOX_FACILITATOR_TIMEOUT`. Its outcome is `"unknown"`
 * for `settle`, because the money may have moved, and `"none"` otherwise.
 */
export function withDeadlines(facilitator: Facilitator, deadlines: CallDeadlines): Facilitator {
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
  /** The caller's own signal: it may give up earlier. */
  readonly signal: AbortSignal | undefined;
}

/** Makes a call that ends at its deadline, or when its caller gives up, whichever is first. */
function within<T>({ operation, deadlineMs, signal }: Limits, call: (options: CallOptions) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) throw timedOut(operation, GIVEN_UP, "none");
    const options = new EndingCall();
    const end = (when: string) => {
      over();
      reject(timedOut(operation, when, operation === "settle" ? "unknown" : "none"));
      options.end();
    };
    const giveUp = () => end(GIVEN_UP);
    const timer = setTimeout(() => end(`within ${deadlineMs} ms`), deadlineMs);
    const over = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", giveUp);
    };
    // `/supported` is fetched in the background and must not keep the process alive.
    if (operation === "supported") timer.unref();
    signal?.addEventListener("abort", giveUp);
    const responded = (response: T) => {
      over();
      resolve(response);
    };
    const failed = (error: unknown) => {
      over();
      reject(error);
    };
    try {
      // A seller's own facilitator may return a value that is not a promise.
      Promise.resolve(call(options)).then(responded, failed);
    } catch (error) {
      failed(error);
    }
  });
}

/**
 * Shared by all calls: V8 keeps a getter of one call, with all that it holds, until the next full collection. Enumerable,
 * because a seller's facilitator may copy its options.
 */
const SIGNAL: PropertyDescriptor & ThisType<EndingCall> = {
  enumerable: true,
  get() {
    return this.startSignal();
  },
};

/** The options of a call that may be ended early. */
class EndingCall implements CallOptions {
  declare readonly signal: AbortSignal;
  #controller: AbortController | undefined;
  #isEnded = false;

  constructor() {
    Object.defineProperty(this, "signal", SIGNAL);
  }

  end(): void {
    this.#isEnded = true;
    this.#controller?.abort();
  }

  /** The signal is made when it is asked for: few facilitators in this process do. */
  startSignal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isEnded) this.#controller.abort();
    return this.#controller.signal;
  }
}

function timedOut(operation: Operation, when: string, outcome: "none" | "unknown"): FacilitatorError {
  return new FacilitatorError(`facilitator did not respond to ${operation} ${when}`, {
    code: "ERR_FAREBOX_FACILITATOR_TIMEOUT",
    operation,
    outcome,
  });
}
