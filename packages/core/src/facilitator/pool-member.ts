/**
 * One facilitator of a pool: which networks it serves, what it supports, its health, and calls.
 *
 * @module
 */
import { FacilitatorError, type FacilitatorErrorCode } from "../errors.js";
import type { PaymentEvents } from "../events/events.js";
import { matchesNetwork } from "../protocol/caip2.js";
import type {
  PaymentRequirements,
  SettlementResponse,
  SupportedKind,
  SupportedResponse,
  VerifyResponse,
} from "../protocol/documents.js";
import { isReason } from "../protocol/reasons.js";
import { askInTime, type Call, type Lane, TimeLimit } from "./call.js";
import { CallQueue, UNSIGNED_LIMITS, VERIFY_LIMITS } from "./call-queue.js";
import {
  type BreakerState,
  CircuitBreaker,
  type Clock,
  SETTLE_THRESHOLDS,
  VERIFY_THRESHOLDS,
  type Way,
} from "./circuit-breaker.js";
import type { Facilitator, FacilitatorRequest } from "./facilitator.js";
import { readSettlementResponse, readVerifyResponse, refusedAll, unavailable, unreadable } from "./http-responses.js";
import { Questions, REFUSES_ONE_REQUEST } from "./questions.js";
import { Refusals } from "./refusals.js";
import {
  createSupportedCache,
  findKind,
  ownsAnyAddress,
  type Support,
  type SupportedCache,
  spelledAs,
} from "./supported.js";

export type { LateCheck } from "./call.js";

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
  readonly facilitator: Facilitator;
  readonly deadlines: CallDeadlines;
  /** CAIP-2 networks and patterns such as `eip155:*` that it serves. `undefined`: all. */
  readonly networks: readonly string[] | undefined;
  readonly clock: Clock;
  /** Called when offers may have changed, with the reason: its `/supported`, or its health. */
  onChange(change: "supported" | "state"): void;
  /** Gets `facilitator_called`. */
  readonly events: CalledEvents | undefined;
}

/** A call that has ended. */
interface EndedCall {
  readonly facilitator: string;
  readonly operation: "verify" | "settle";
  readonly durationMs: number;
  /** `responded`, or the code of its failure. */
  readonly outcome: "responded" | FacilitatorErrorCode;
}

/** Where ended calls are told. */
export type CalledEvents = Pick<PaymentEvents, "hears" | "emit">;

/** A failed call, as it is remembered. */
export type RememberedFailure = Pick<FacilitatorError, "code" | "status" | "says" | "message">;

/** An offer as a facilitator sees it. */
export interface SeenOffer {
  readonly support: Support;
  readonly kind: SupportedKind | undefined;
  /** How it spells the network. The offer may have another facilitator's spelling. */
  readonly network: string;
}

/** Places become free as soon as calls end. */
const BUSY_RETRY_SECONDS = 1;

const TOO_MANY_REQUESTS = 429;

/** A facilitator that was up is down after this many failed fetches of `/supported` in a row, with no other response between them. */
const MAX_SUPPORTED_FAILURES = 3;

/** One facilitator of a pool. It makes no request until it is started or called. */
export class PoolMember {
  readonly name: string;
  readonly verifying: Lane<VerifyResponse>;
  /** To verify payments whose signature may be forged. They have few calls. */
  readonly unsigned: Lane<VerifyResponse>;
  /** What counts here are payments that were verified. A facilitator that verifies may be unable to settle. */
  readonly settling: Lane<SettlementResponse>;
  readonly #facilitator: Facilitator;
  readonly #networks: readonly string[] | undefined;
  readonly #clock: Clock;
  readonly #events: CalledEvents | undefined;
  readonly #onChange: MemberOptions["onChange"];
  readonly #cache: SupportedCache;
  readonly #questions: Questions;
  readonly #refusals: Refusals;
  /** By network and scheme, according to the latest `/supported`: a seller has few offers, and each payment asks several times. */
  readonly #offers = new Map<string, Map<string, SeenOffer>>();
  #state: FacilitatorState = "unknown";
  #sinceMs: number;
  #lastFailure: RememberedFailure | undefined;
  #supportedProblem: string | undefined;
  #hasResponded = false;
  #supportedFailures = 0;

  constructor({ name, facilitator, deadlines, networks, clock, onChange, events }: MemberOptions) {
    const { verifyMs, settleMs, supportedMs } = deadlines;
    this.name = name;
    this.#facilitator = facilitator;
    this.#networks = networks;
    this.#clock = clock;
    this.#events = events;
    this.#onChange = onChange;
    this.#sinceMs = clock.now();
    this.#refusals = new Refusals(clock);
    const supportedLimit = new TimeLimit("supported", supportedMs);
    const fetch = (signal?: AbortSignal) =>
      askInTime(facilitator, { operation: "supported", request: undefined, limit: supportedLimit, signal });
    const questionLimit = new TimeLimit("verify", verifyMs);
    this.#questions = new Questions({
      verify: (asked) => {
        const request = this.#respell(asked);
        return askInTime(facilitator, { operation: "verify", request, limit: questionLimit, signal: undefined });
      },
      supported: fetch,
      onEnded: (startedMs, outcome) => this.#tell("verify", startedMs, outcome),
      now: () => clock.now(),
    });
    this.#cache = createSupportedCache({
      fetch,
      clock,
      onResponse: (changed) => {
        if (changed) this.#offers.clear();
        this.#supportedProblem = undefined;
        this.#responded();
        if (changed) onChange("supported");
      },
      onFailure: (error) => {
        this.#lastFailure = toFailure(error);
        this.#supportedProblem = error.message;
        this.#supportedFailures++;
        this.#reconsider();
      },
    });
    const settled = { onChange: () => this.#reconsider() };
    const verified = { ...settled, isAlive: () => this.#questions.isAlive() };
    const waiting = { longestWaitMs: verifyMs, clock };
    const onCutShort = (error: FacilitatorError, call: Call<unknown>) => this.#failed(error, call);
    const limit = new TimeLimit("verify", verifyMs);
    const verify = { operation: "verify", limit, read: readVerifyResponse, onCutShort } as const;
    this.unsigned = {
      ...verify,
      breaker: new CircuitBreaker(VERIFY_THRESHOLDS, clock, verified),
      queue: new CallQueue(UNSIGNED_LIMITS, waiting),
      forForged: undefined,
    };
    this.verifying = {
      ...verify,
      breaker: new CircuitBreaker(VERIFY_THRESHOLDS, clock, verified),
      queue: new CallQueue(VERIFY_LIMITS, waiting),
      forForged: this.unsigned,
    };
    this.settling = {
      ...{ operation: "settle", read: readSettlementResponse, onCutShort },
      limit: new TimeLimit("settle", settleMs),
      breaker: new CircuitBreaker(SETTLE_THRESHOLDS, clock, settled),
      queue: undefined,
      forForged: undefined,
    };
  }

  /** Makes a call, unless it would wait too long or is paused. Never rejects: the call's promise does. */
  async make<T extends VerifyResponse | SettlementResponse>(call: Call<T>): Promise<void> {
    const { request, isRetry } = call;
    const { scheme, network } = request.paymentRequirements;
    try {
      const seen = this.see(scheme, network);
      // It may have settled this payment before, whatever it supports now.
      if (seen.support === "no" && !isRetry) throw unsupported(call.lane.operation, request);

      const place = call.lane.queue?.enter(call) ?? true;
      if (place !== true) await waitForPlace(call, place);
      const { operation, breaker, queue, limit, read } = call.lane;

      const way = breaker.isQuiet && !isRetry ? "closed" : breaker.enter(call.source, isRetry);
      if (way === undefined) throw paused(call);
      call.way = way;
      call.madeAtMs = this.#clock.now();
      if (this.#refusals.areForAll) this.#refusals.begin(operation, isRetry);

      const options = limit.begin(call);
      const respelled = seen.network === network ? request : this.#respell(request);
      const sent: unknown = await this.#facilitator[operation](respelled, options);
      // Its time was over, or its caller has given up.
      if (call.isOver) return;
      const response = read(sent, network);
      if (response === undefined) throw unreadable(operation);

      if (way !== "closed" || !breaker.isQuiet) breaker.responded(way, call.source);
      if (this.#state !== "up" || this.#supportedFailures > 0) this.#responded();
      if ("success" in response) {
        if (this.#refusals.areAny || !response.success) this.#settled(response, call);
      } else if (response.isValid) this.#questions.lastGood = request;
      else call.options.isForged?.("failed");
      if (this.#events?.hears("facilitator_called")) this.#tell(operation, call.madeAtMs, "responded");
      // Last: when others take the place, they know whether this one was forged.
      queue?.leave(call, "responded");
      limit.end(call);
      call.memory?.end(call.payment, false);
      call.resolve(response);
    } catch (cause) {
      if (!call.isOver) this.#failed(cause, call);
    }
  }

  /** Seconds until a handler may run for a payer whose payment this facilitator settles, as {@link CircuitBreaker.admit}. */
  admit(payer: string): number {
    return this.settling.breaker.admit(payer);
  }

  /** Whether others are asked first: as far as is known, it does not settle now. */
  isAskedLast(): boolean {
    return this.settling.breaker.state() === "open" || this.#refusals.isPausing;
  }

  /** It failed to verify a payment that another facilitator then found good. */
  failedGood(error: FacilitatorError, source: string): void {
    if (REFUSES_ONE_REQUEST.includes(error.status)) this.#refused(`${error.status}`, source, error);
  }

  /** How it sees an offer, by the latest `/supported`. */
  see(scheme: string, network: string): SeenOffer {
    const known = this.#offers.get(network)?.get(scheme);
    if (known !== undefined) return known;
    const serves = this.#networks?.some((pattern) => matchesNetwork(pattern, network)) ?? true;
    const latest = this.#cache.latest();
    if (latest === undefined) return { support: serves ? "unknown" : "no", kind: undefined, network };
    const kind = findKind(latest, scheme, network);
    const isSupported = serves && kind !== undefined;
    const seen: SeenOffer = {
      support: isSupported ? "yes" : "no",
      kind: isSupported ? kind : undefined,
      network: spelledAs(kind, network),
    };
    const ofNetwork = this.#offers.get(network) ?? new Map<string, SeenOffer>();
    this.#offers.set(network, ofNetwork.set(scheme, seen));
    return seen;
  }

  /** Identifiers of the extensions that it lists. Empty before its first `/supported`. */
  extensions(): readonly string[] {
    return this.#cache.latest()?.extensions ?? [];
  }

  /** Whether one of the addresses is known to belong to it. */
  owns(addresses: readonly string[], requirements: PaymentRequirements): boolean {
    const latest = this.#cache.latest();
    return latest !== undefined && ownsAnyAddress(latest, addresses, requirements);
  }

  /** Its latest `/supported`, without networks that it does not serve. */
  supported(): SupportedResponse | undefined {
    const latest = this.#cache.latest();
    const serves = (network: string) => this.#networks?.some((pattern) => matchesNetwork(pattern, network)) ?? true;
    return latest && { ...latest, kinds: latest.kinds.filter(({ network }) => serves(network)) };
  }

  health(): FacilitatorHealth {
    const { code: lastErrorCode, status: lastErrorStatus, says: lastErrorSays } = this.#lastFailure ?? {};
    return {
      name: this.name,
      state: this.#state,
      sinceMs: this.#sinceMs,
      lastErrorCode,
      lastErrorStatus,
      lastErrorSays,
      breakers: { verify: this.verifying.breaker.state(), settle: this.settling.breaker.state() },
      supportedFetchedAtMs: this.#cache.fetchedAtMs(),
    };
  }

  /** The latest failure of any call; for the log. */
  get lastFailure(): RememberedFailure | undefined {
    return this.#lastFailure;
  }

  /** Why `/supported` could not be fetched the last time; `undefined`: it could, or was not fetched yet. */
  get supportedProblem(): string | undefined {
    return this.#supportedProblem;
  }

  /** Begins to fetch `/supported`. */
  start(): void {
    this.#cache.start();
  }

  /** Resolves after the first fetch, successful or not. Never rejects. */
  get asked(): Promise<void> {
    return this.#cache.asked;
  }

  close(): void {
    this.#cache.close();
  }

  /** Ends a call that failed. A facilitator in this process may throw anything, which does not say whether money moved. */
  #failed(cause: unknown, call: Call<unknown>): void {
    const { lane, way, options, isRetry } = call;
    const { operation, breaker, queue, limit } = lane;
    let error = cause instanceof FacilitatorError ? cause : unreadable(operation, cause);
    if (way !== undefined) {
      error = named(error, this.name);
      let provesNothing = false;
      try {
        provesNothing = (options.signal?.aborted ?? false) || options.isForged?.("failed") === true;
        if (provesNothing) breaker.abandoned(way);
        else this.#count(error, call, way);
        this.#tell(operation, call.madeAtMs, error.code);
      } catch {
        // A seller's clock may throw. The failure of the call is the one to report.
      }
      limit.end(call);
      queue?.leave(call, !provesNothing && error.status === TOO_MANY_REQUESTS ? "too_many" : undefined);
    }
    // If this call did not arrive, an earlier one may have.
    call.memory?.end(call.payment, isRetry || error.outcome !== "none");
    // Some turns later: what the failure leads to begins first.
    call.resolve(Promise.reject(error));
  }

  /** A call failed, and neither its caller nor a forged payment is the reason. */
  #count(error: FacilitatorError, call: Call<unknown>, way: Way): void {
    const { source: payer, lane } = call;
    const { status, code, outcome, retryAfterSeconds } = error;
    this.#lastFailure = toFailure(error);
    if (REFUSES_ONE_REQUEST.includes(status)) {
      lane.breaker.responded(way, payer);
      this.#responded();
      if (lane.operation === "settle") this.#refusedOnce(`${status}`, call, error);
      return;
    }
    const isUnreachable = code === "ERR_FAREBOX_FACILITATOR_UNREACHABLE" && outcome === "none";
    const isGood = isUnreachable ? undefined : this.#isGood(call);
    const isBusy = status === TOO_MANY_REQUESTS;
    lane.breaker.failed(way, { payer, retryAfterSeconds, isUnreachable, isBusy, isGood });
    this.#reconsider();
  }

  /** A settlement got a valid response: it failed, or others have failed before. */
  #settled(response: SettlementResponse, call: Call<unknown>): void {
    const { success, errorReason } = response;
    if (success) {
      this.#refusals.clear();
      this.#reconsider();
    } else if (!isReason(errorReason) || errorReason === "unexpected_settle_error") {
      this.#refusedOnce("no reason", call, refusedAll(this.name, response));
    }
  }

  /** A settlement was refused, in a way that says nothing about the payment, which may be bad. */
  #refusedOnce(said: string, call: Call<unknown>, error: FacilitatorError): void {
    // An earlier attempt may be the very reason.
    if (call.isRetry) return;
    const { source } = call;
    const isGood = this.#isGood(call);
    if (isGood === undefined) this.#refused(said, source, error);
    else void isGood.then((is) => is && this.#refused(said, source, error));
  }

  /** A good payment of somebody was refused, in a way that says nothing about the payment. */
  #refused(said: string, payer = "", error?: FacilitatorError): void {
    this.#refusals.note(said, payer);
    if (error !== undefined) this.#lastFailure = toFailure(error);
    this.#reconsider();
  }

  /** Whether a payment is good, so that a failure to settle it may be the facilitator's. `undefined`: it is. Never rejects. */
  #isGood({ request, options }: Call<unknown>): Promise<boolean> | undefined {
    return options.isVerified === false ? this.#questions.isGood(request) : undefined;
  }

  /** Any call got a valid response. */
  #responded(): void {
    this.#hasResponded = true;
    this.#supportedFailures = 0;
    // A response makes nothing worse.
    if (this.#state !== "up") this.#reconsider();
  }

  #reconsider(): void {
    const next = this.#isDown() ? "down" : this.#hasResponded ? "up" : "unknown";
    if (next === this.#state) return;
    this.#state = next;
    this.#sinceMs = this.#clock.now();
    this.#onChange("state");
  }

  #isDown(): boolean {
    if (this.verifying.breaker.state() !== "closed" || this.settling.breaker.state() !== "closed") return true;
    if (this.#refusals.areForAll) return true;
    return this.#supportedFailures >= (this.#hasResponded ? MAX_SUPPORTED_FAILURES : 1);
  }

  #tell(operation: "verify" | "settle", startedMs: number, outcome: EndedCall["outcome"]): void {
    this.#events?.emit("facilitator_called", () => ({
      ...{ facilitator: this.name, operation, durationMs: this.#clock.now() - startedMs, outcome },
    }));
  }

  /** Spells the network of a request as this facilitator does. */
  #respell(request: FacilitatorRequest): FacilitatorRequest {
    const { paymentRequirements: terms, paymentPayload } = request;
    const { network } = this.see(terms.scheme, terms.network);
    if (network === terms.network) return request;
    const accepted = { ...paymentPayload.accepted, network };
    return {
      ...request,
      paymentPayload: { ...paymentPayload, accepted },
      paymentRequirements: { ...terms, network },
    };
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

/** Waits for a place: in another lane, if others were found to be forged meanwhile and this payment is, too. */
async function waitForPlace(call: Call<unknown>, place: boolean | Promise<boolean>): Promise<void> {
  const { operation, queue, forForged } = call.lane;
  if (!(await place)) throw unavailable(operation, PAUSED, BUSY_RETRY_SECONDS);
  if (forForged === undefined || call.options.isForged?.("waited") !== true) return;
  queue?.leave(call);
  call.lane = forForged;
  await waitForPlace(call, forForged.queue?.enter(call) ?? true);
}

/** The breaker refuses a call, which leaves its place. */
function paused(call: Call<unknown>): FacilitatorError {
  const { operation, breaker, queue } = call.lane;
  queue?.leave(call);
  // A payment that was tried before waits for the breaker, not for its payer's pause.
  return unavailable(operation, PAUSED, breaker.retryAfterSeconds(call.isRetry ? undefined : call.source));
}

/** Not the error itself: through its stack, an error may keep the request that waited for the call. */
function toFailure({ code, status, says, message }: FacilitatorError): RememberedFailure {
  return { code, status, says, message };
}

/** Why a call is not made. */
const PAUSED = "all of them are paused after failures";

/** No facilitator of the pool takes a payment. */
export function unsupported(
  operation: "verify" | "settle",
  { paymentRequirements: { scheme, network } }: FacilitatorRequest,
): FacilitatorError {
  return unavailable(operation, `no facilitator supports ${scheme} on ${network}`);
}

/** The deadlines if the seller sets none. */
export const DEFAULT_DEADLINES: Deadlines = Object.freeze({
  verifyMs: 5_000,
  settleMs: 30_000,
  supportedMs: 5_000,
  hookMs: 5_000,
});
