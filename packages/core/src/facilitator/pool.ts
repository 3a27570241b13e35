/**
 * Several facilitators as one, in the seller's order of preference.
 *
 *   verify   asks the next facilitator when one gives no valid response: verifying moves no money
 *   settle   asks the next one only if this one provably never got the request; otherwise the money may have moved, and the payment
 *            stays with this facilitator (`payment-memory.ts`)
 *
 * A refusal is a valid response: no other facilitator is asked for a better one.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { ConfigError, type ConfigIssue, describeValue, FacilitatorError } from "../errors.js";
import { type Logger, neverThrowing, SILENT } from "../events/logger.js";
import { canonicalNetwork, isNetwork, type NetworkPattern } from "../protocol/caip2.js";
import type { PaymentRequirements, SettlementResponse, VerifyResponse } from "../protocol/documents.js";
import { Call, type PoolCallOptions } from "./call.js";
import { type Clock, SYSTEM_CLOCK } from "./circuit-breaker.js";
import type { Facilitator, FacilitatorRequest } from "./facilitator.js";
import { unavailable } from "./http-responses.js";
import { createPaymentMemory, type Holder, type PaymentMemory, SoleMemory } from "./payment-memory.js";
import {
  type CallDeadlines,
  type CalledEvents,
  DEFAULT_DEADLINES,
  type FacilitatorHealth,
  PoolMember,
  unsupported,
} from "./pool-member.js";
import { facilitatorAddresses, mergeSupported, type Support } from "./supported.js";

/** One facilitator of a pool. */
export interface FacilitatorEntry {
  readonly facilitator: Facilitator;
  /** For logs, health and records; unique in its pool, e.g. the host of its URL. Never a secret. */
  readonly name: string;
  /** CAIP-2 networks that it is asked about, or patterns such as `eip155:*`. Default: all. */
  readonly networks?: readonly NetworkPattern[];
}

/** The options of a pool. */
export interface PoolOptions {
  /** Deadlines of each call to each facilitator. */
  readonly deadlines?: CallDeadlines;
  /** Gets `facilitator_up` and `facilitator_down`. Default: no logger. */
  readonly logger?: Logger;
  /** Called when a facilitator's state changes. Its errors are ignored. */
  readonly onChange?: (health: FacilitatorHealth) => void;
  /** Gets `facilitator_called`. Default: nobody does. */
  readonly events?: CalledEvents;
  /** Parts of the clock to replace, for tests. */
  readonly clock?: Partial<Clock>;
}

/** Several facilitators as one. */
export interface FacilitatorPool extends Facilitator {
  verify(request: FacilitatorRequest, options?: PoolCallOptions): Promise<VerifyResponse>;
  settle(request: FacilitatorRequest, options?: PoolCallOptions): Promise<SettlementResponse>;
  /**
   * Seconds until a handler may run for a payer whose payment is settled afterwards; 0: now. More than 0 while settlement is
   * paused after failures at every facilitator for the offer. After a pause, one handler may run every few seconds until a
   * settlement succeeds.
   */
  admit(requirements: PaymentRequirements, payer: string): number;
  /** Whether any facilitator supports an offer. */
  supports(scheme: string, network: string): Support;
  /** What an offer must carry, e.g. `{ feePayer }`, according to the first facilitator that supports it and is not down. */
  kindExtra(scheme: string, network: string): Readonly<Record<string, unknown>> | undefined;
  /** How that facilitator spells an offer's network. Default: as given. */
  spelling(scheme: string, network: string): string;
  /** Identifiers of the extensions that the same facilitator lists. */
  extensions(scheme: string, network: string): readonly string[];
  /** Grows when supported kinds, their `extra` or their spelling of networks may have changed. */
  readonly revision: number;
  /** The facilitator that last verified the payment or was told to settle it. In a pool of one, always that one. */
  facilitatorOf(payment: string): string | undefined;
  /** Facilitators whose `/supported` could not be fetched the last time, and why, without any text of theirs. */
  silent(): readonly { readonly name: string; readonly problem: string }[];
  /** The state of each facilitator. */
  health(): readonly FacilitatorHealth[];
  /** Begins to fetch `/supported` of each facilitator, in the background. */
  start(): void;
  /** Starts, and resolves after the first fetch of each, successful or not. Never rejects. */
  ready(): Promise<void>;
  /** Stops the background work. Payments in progress can still be settled. */
  close(): void;
}

/**
 * Creates a pool. It makes no request until it is started or used.
 *
 * @throws {@link ConfigError} with every issue at once, for an empty list, a name used twice, or a network that is not CAIP-2
 */
export function createFacilitatorPool(
  entries: readonly FacilitatorEntry[],
  options: PoolOptions = {},
): FacilitatorPool {
  /** Who can take an offer, looked up once for each revision. */
  let known = new WeakMap<PaymentRequirements, readonly PoolMember[]>();
  const { members, clock } = createMembers(entries, options, () => {
    pool.revision++;
    known = new WeakMap();
  });
  const ableFor = (requirements: PaymentRequirements) => {
    const able = known.get(requirements) ?? findAble(members, requirements);
    known.set(requirements, able);
    return able;
  };
  const sole = members.length === 1 ? members[0] : undefined;
  const memory = createPaymentMemory(clock);
  /** The payments that are being settled. */
  const underWay = new Map<string, Promise<SettlementResponse>>();
  const soleMemory = new SoleMemory(clock, underWay);
  const whoSettles = (request: FacilitatorRequest, holder: Holder | undefined) => {
    if (holder?.firm !== true) return forSettling(ableFor(request.paymentRequirements), holder);
    const told = members.filter(({ name }) => name === holder.name);
    if (told.length > 0) return told;
    throw unavailable("settle", "the facilitator that was told to settle this payment is not in the pool");
  };
  const settleWithOne = async (request: FacilitatorRequest, payment: string, options: PoolCallOptions) => {
    const { facilitator, signal } = options;
    const holder = facilitator === undefined ? memory.find(payment) : { name: facilitator, firm: true };
    const isRetry = holder?.firm ?? false;
    let failure: FacilitatorError | undefined;
    for (const member of whoSettles(request, holder)) {
      // Noted before the request is sent: from here on it may arrive.
      memory.sent(payment, member.name);
      try {
        const call = new Call(member.settling, request, options, payment);
        call.isRetry = isRetry;
        void member.make(call);
        const response = await call.promise;
        memory.responded(payment, member.name);
        return response;
      } catch (error) {
        if (!(error instanceof FacilitatorError)) throw error;
        failure = moreTelling(failure, error);
        // If this call did not arrive, an earlier one to the same facilitator may have.
        if (error.outcome !== "none" || isRetry) break;
        memory.unsent(payment);
        if (signal?.aborted) break;
      }
    }
    throw failure ?? unsupported("settle", request);
  };
  const start = () => {
    for (const member of members) member.start();
  };
  const ready = async () => {
    start();
    await Promise.all(members.map(({ asked }) => asked));
  };

  const pool: FacilitatorPool & { revision: number } = {
    verify(request, options = {}) {
      if (sole === undefined)
        return verify(request, { members: askableFirst(ableFor(request.paymentRequirements)), memory }, options);
      const call = new Call(options.isSigned === false ? sole.unsigned : sole.verifying, request, options);
      void sole.make(call);
      return call.promise;
    },
    settle(request, options = {}) {
      const { payment = payloadOf(request), facilitator } = options;
      // One at a time: two concurrent settlements of one payment could choose different facilitators.
      const before = underWay.get(payment);
      if (before !== undefined) {
        const next = () => pool.settle(request, options);
        return before.then(next, next);
      }
      if (sole === undefined || (facilitator !== undefined && facilitator !== sole.name)) {
        const settlement = settleWithOne(request, payment, options);
        underWay.set(payment, settlement);
        const end = () => void underWay.delete(payment);
        settlement.then(end, end);
        return settlement;
      }
      const call = new Call(sole.settling, request, options, payment);
      call.memory = soleMemory;
      // Noted before the request is sent: from here on it may arrive.
      const isInDoubt = soleMemory.begin(payment, call.promise);
      call.isRetry = isInDoubt || facilitator !== undefined;
      void sole.make(call);
      return call.promise;
    },
    admit(requirements, payer) {
      if (sole?.settling.breaker.isQuiet) return 0;
      let shortest: number | undefined;
      for (const member of ableFor(requirements)) {
        const wait = member.admit(payer.toLowerCase());
        if (wait === 0) return 0;
        shortest = Math.min(shortest ?? wait, wait);
      }
      return shortest ?? 0;
    },
    async supported() {
      await ready();
      const latest = members.map((member) => member.supported()).filter((response) => response !== undefined);
      if (latest.length === 0) throw unavailable("supported", "no facilitator has responded to /supported yet");
      return mergeSupported(latest);
    },
    supports: (scheme, network) => anyOf(members.map((member) => member.see(scheme, network).support)),
    kindExtra: (scheme, network) => chosenFor(members, scheme, network)?.see(scheme, network).kind?.extra,
    spelling: (scheme, network) => chosenFor(members, scheme, network)?.see(scheme, network).network ?? network,
    extensions: (scheme, network) => chosenFor(members, scheme, network)?.extensions() ?? [],
    revision: 0,
    facilitatorOf: (payment) => (sole ?? memory.find(payment))?.name,
    silent: () =>
      members.flatMap((member) => {
        const problem = member.supportedProblem;
        return problem === undefined ? [] : [{ name: member.name, problem }];
      }),
    health: () => members.map((member) => member.health()),
    start,
    ready,
    close() {
      for (const member of members) member.close();
    },
  };
  return pool;
}

/** Asks several facilitators to verify a payment, one after the other until one responds. */
async function verify(
  request: FacilitatorRequest,
  { members, memory }: { readonly members: readonly PoolMember[]; readonly memory: PaymentMemory },
  options: PoolCallOptions,
): Promise<VerifyResponse> {
  const failures: { readonly member: PoolMember; readonly error: FacilitatorError }[] = [];
  for (const member of members) {
    try {
      const call = new Call(options.isSigned === false ? member.unsigned : member.verifying, request, options);
      void member.make(call);
      const response = await call.promise;
      if (response.isValid) {
        const identity = options.payment ?? payloadOf(request);
        memory.verified(identity, member.name);
        for (const { member: other, error } of failures) other.failedGood(error, options.source ?? identity);
      }
      return response;
    } catch (error) {
      if (!(error instanceof FacilitatorError)) throw error;
      failures.push({ member, error });
      if (options.signal?.aborted) break;
    }
  }
  const [failure, ...others] = failures.map(({ error }) => error);
  throw failure === undefined ? unsupported("verify", request) : others.reduce(moreTelling, failure);
}

/** Facilitators that cannot settle now are asked last: a handler must not run for a payment that will not be settled. */
function askableFirst(able: readonly PoolMember[]): readonly PoolMember[] {
  return able.length < 2 ? able : last(able, (member) => member.isAskedLast());
}

/** The same members, some of them at the end. */
function last(members: readonly PoolMember[], isLast: (member: PoolMember) => boolean): readonly PoolMember[] {
  const those = members.filter(isLast);
  return those.length === 0 ? members : [...members.filter((member) => !those.includes(member)), ...those];
}

/** First the facilitator that verified the payment, then the others. Those that refuse to settle for everybody are asked last. */
function forSettling(able: readonly PoolMember[], holder: Holder | undefined): readonly PoolMember[] {
  if (able.length < 2) return able;
  return askableFirst(holder === undefined ? able : last(able, ({ name }) => name !== holder.name));
}

/** An offer may name an address of one facilitator. To all others, its payments would look invalid. */
function findAble(members: readonly PoolMember[], requirements: PaymentRequirements): readonly PoolMember[] {
  const { scheme, network } = requirements;
  const isAble = (member: PoolMember) => member.see(scheme, network).support !== "no";
  const able = members.every(isAble) ? members : members.filter(isAble);
  if (able.length < 2) return able;
  const addresses = facilitatorAddresses(requirements);
  const owners = addresses.length === 0 ? [] : able.filter((member) => member.owns(addresses, requirements));
  return owners.length > 0 ? owners : able;
}

/** The facilitator whose `/supported` an offer follows. */
function chosenFor(members: readonly PoolMember[], scheme: string, network: string): PoolMember | undefined {
  const able = members.filter((member) => member.see(scheme, network).support === "yes");
  return able.find((member) => member.health().state !== "down") ?? able[0];
}

function anyOf(supports: readonly Support[]): Support {
  if (supports.includes("yes")) return "yes";
  return supports.includes("unknown") ? "unknown" : "no";
}

/** Of two failures the later one; or that of a call that was made; or the shorter wait, if none was made. */
function moreTelling(before: FacilitatorError | undefined, after: FacilitatorError): FacilitatorError {
  if (before === undefined || after.facilitator !== undefined) return after;
  if (before.facilitator !== undefined) return before;
  return (after.retryAfterSeconds ?? 0) < (before.retryAfterSeconds ?? 0) ? after : before;
}

/** A digest: the memory then holds no signatures, and all entries have the same size. */
function payloadOf({ paymentPayload, paymentRequirements: { scheme, network } }: FacilitatorRequest): string {
  return createHash("sha256")
    .update(JSON.stringify([scheme, canonicalNetwork(network), paymentPayload.payload]))
    .digest("base64");
}

/**
 * Checks the entries and creates the members.
 *
 * @param onOffersChanged - Called when offers may have changed.
 * @throws {@link ConfigError} with every issue at once
 */
function createMembers(
  entries: readonly FacilitatorEntry[],
  options: PoolOptions,
  onOffersChanged: () => void,
): { readonly members: readonly PoolMember[]; readonly clock: Clock } {
  checkEntries(entries);
  const { deadlines = DEFAULT_DEADLINES, onChange = () => {}, events } = options;
  const clock: Clock = { ...SYSTEM_CLOCK, ...options.clock };
  const logger = neverThrowing(options.logger ?? SILENT);

  const createMember = ({ name, facilitator, networks }: FacilitatorEntry): PoolMember => {
    const member: PoolMember = new PoolMember({
      name,
      facilitator,
      deadlines,
      networks: networks && [...networks],
      clock,
      events,
      onChange(change) {
        onOffersChanged();
        if (change === "state") announce(member, logger, onChange);
      },
    });
    return member;
  };
  return { members: entries.map(createMember), clock };
}

function checkEntries(entries: readonly FacilitatorEntry[]): void {
  const issues: ConfigIssue[] = [];
  const add = (path: string, expected: string, received: unknown) => {
    issues.push({ path, expected, received: describeValue(received) });
  };
  if (entries.length === 0) add("facilitators", "at least one", entries);
  for (const [at, { name, networks }] of entries.entries()) {
    const path = `facilitators[${at}]`;
    const isTaken = entries.slice(0, at).some((entry) => entry.name === name);
    if (name === "" || isTaken) add(`${path}.name`, "a name that no other has", name);
    const isGood = networks === undefined || (networks.length > 0 && networks.every(isPattern));
    if (!isGood) add(`${path}.networks`, 'CAIP-2 networks or "<namespace>:*", at least one', networks);
  }
  if (issues.length > 0) throw new ConfigError(issues);
}

function isPattern(pattern: string): boolean {
  return isNetwork(pattern.replace(/:\*$/, ":0"));
}

/** Tells listeners after the change. Their errors cannot affect a payment. */
function announce(member: PoolMember, logger: Logger, onChange: (health: FacilitatorHealth) => void): void {
  const health = member.health();
  const { name, state } = health;
  if (state === "up") logger.info("facilitator_up", { facilitator: name });
  if (state === "down") {
    const { code, status, message, says } = member.lastFailure ?? {};
    logger.error("facilitator_down", { facilitator: name, code, status, message, ...(says && { says }) });
  }
  try {
    onChange(health);
  } catch {
    // A listener that fails changes nothing.
  }
}
