/**
 * Several facilitators as one, in the seller's order of preference.
 *
 * A verification asks the next facilitator whenever one gives no answer: it moves nothing. A settlement asks the next
 * one only when this one provably never got the request; else the money may have moved, and what another says of that
 * proves nothing. From then on the payment is settled with that one facilitator or not at all (`payment-memory.ts`).
 *
 * A refusal is an answer: nobody else is asked for a kinder one.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { ConfigError, type ConfigIssue, describeValue, type FacilitatorError } from "../errors.js";
import { type Logger, neverThrowing, SILENT } from "../events/logger.js";
import { canonicalNetwork, isNetwork, type NetworkPattern } from "../protocol/caip2.js";
import type { PaymentRequirements, SettlementResponse, SupportedKind, VerifyResponse } from "../protocol/documents.js";
import { type Clock, SYSTEM_CLOCK } from "./circuit-breaker.js";
import type { CallOptions, Facilitator, FacilitatorRequest } from "./facilitator.js";
import { unavailable } from "./http-responses.js";
import { createPaymentMemory, createSoleMemory, type Holder, type PaymentMemory } from "./payment-memory.js";
import {
  type Attempt,
  createPoolMember,
  DEFAULT_DEADLINES,
  type Deadlines,
  type FacilitatorHealth,
  type PoolMember,
  withDeadlines,
} from "./pool-member.js";
import { facilitatorAddresses, mergeSupported, type Support, spelledAs } from "./supported.js";

/** What a caller knows of a payment that the request does not say. */
export interface PoolCallOptions extends CallOptions {
  /**
   * What makes the payment one payment, as its scheme says. Default: the scheme's payload, byte for byte, by which the
   * same payment written differently is another one.
   */
  readonly payment?: string;
  /** The only facilitator to ask: the one whose settlement may have got somewhere, from a record that says so. */
  readonly facilitator?: string;
}

/** Several facilitators as one. */
export interface FacilitatorPool extends Facilitator {
  verify(request: FacilitatorRequest, options?: PoolCallOptions): Promise<VerifyResponse>;
  settle(request: FacilitatorRequest, options?: PoolCallOptions): Promise<SettlementResponse>;
  /** Whether any facilitator supports an offer. */
  supports(scheme: string, network: string): Support;
  /** What an offer must carry, e.g. `{ feePayer }`, as the first facilitator says that supports it and is not down. */
  kindExtra(scheme: string, network: string): Readonly<Record<string, unknown>> | undefined;
  /** How that facilitator spells an offer's network; as given when nobody says. */
  spelling(scheme: string, network: string): string;
  /** Identifiers of the extensions that the same facilitator lists. */
  extensions(scheme: string, network: string): readonly string[];
  /** Grows when what facilitators support, add to offers, or call a network, may be something else. */
  readonly revision: number;
  /** Which facilitator a payment was last sent to: it verified it, or was told to settle it. One that is alone has every payment. */
  facilitatorOf(payment: string): string | undefined;
  /** How each facilitator is doing. */
  health(): readonly FacilitatorHealth[];
  /** Begins to ask each what it supports, in the background. */
  start(): void;
  /** Starts, and resolves once each was asked, whatever came of it. Never rejects. */
  ready(): Promise<void>;
  /** Ends what happens in the background. Payments under way can still be settled. */
  close(): void;
}

/**
 * Creates a pool. Nothing happens until it is started or used.
 *
 * @throws ConfigError with every issue at once, when the entries make no pool.
 */
export function createFacilitatorPool(
  entries: readonly FacilitatorEntry[],
  options: PoolOptions = {},
): FacilitatorPool {
  let revision = 0;
  const { members, clock } = createMembers(entries, options, () => revision++);
  const [first] = members;
  const isSole = first !== undefined && members.length === 1;
  const memory = isSole ? createSoleMemory(first.name, clock) : createPaymentMemory(clock);
  const takeTurn = createTurns();
  const start = () => {
    for (const member of members) member.start();
  };
  const ready = async () => {
    start();
    await Promise.all(members.map(({ asked }) => asked));
  };

  return {
    verify(request, more = {}) {
      return verify({ request, members: forVerifying(members, request.paymentRequirements), memory }, more);
    },
    settle(request, more = {}) {
      const payment = more.payment ?? payloadOf(request);
      // One at a time, so that no two settlements of one payment can choose different facilitators.
      return takeTurn(payment, () => {
        const holder = more.facilitator === undefined ? memory.find(payment) : { name: more.facilitator, firm: true };
        const able = forSettling(members, request.paymentRequirements, holder);
        return settle({ request, members: able, memory, payment, firm: holder?.firm ?? false }, more);
      });
    },
    async supported() {
      await ready();
      const known = members.map((member) => member.supported()).filter((response) => response !== undefined);
      if (known.length === 0) throw unavailable("supported", "no facilitator has said what it supports");
      return mergeSupported(known);
    },
    supports: (scheme, network) => anyOf(members.map((member) => member.supports(scheme, network))),
    kindExtra: (scheme, network) => chosenKind(members, scheme, network)?.extra,
    spelling: (scheme, network) => spelledAs(chosenKind(members, scheme, network), network),
    extensions: (scheme, network) => chosenFor(members, scheme, network)?.extensions() ?? [],
    get revision() {
      return revision;
    },
    facilitatorOf: (payment) => memory.find(payment)?.name,
    health: () => members.map((member) => member.health()),
    start,
    ready,
    close() {
      for (const member of members) member.close();
    },
  };
}

function chosenKind(members: readonly PoolMember[], scheme: string, network: string): SupportedKind | undefined {
  return chosenFor(members, scheme, network)?.kind(scheme, network);
}

interface Task {
  readonly request: FacilitatorRequest;
  /** Whom to ask, in order. */
  readonly members: readonly PoolMember[];
  readonly memory: PaymentMemory;
}

async function verify({ request, members, memory }: Task, options: PoolCallOptions): Promise<VerifyResponse> {
  const failures = new Failures("verify", request.paymentRequirements);
  for (const member of members) {
    const attempt = await member.verify(request, passedOn(options));
    if (attempt.kind === "answered") {
      if (attempt.answer.isValid) memory.verified(options.payment ?? payloadOf(request), member.name);
      return attempt.answer;
    }
    failures.add(attempt);
    if (options.signal?.aborted) break;
  }
  throw failures.toError();
}

interface SettleTask extends Task {
  readonly payment: string;
  readonly firm: boolean;
}

async function settle(task: SettleTask, options: CallOptions): Promise<SettlementResponse> {
  const { request, members, memory, payment, firm } = task;
  const failures = new Failures("settle", request.paymentRequirements);
  if (firm && members.length === 0) throw unavailable("settle", "the facilitator that has this payment is not here");
  for (const member of members) {
    // Written down before anything leaves, as if it were already too late.
    memory.sent(payment, member.name);
    const attempt = await member.settle(request, passedOn(options));
    if (attempt.kind === "answered") {
      memory.answered(payment, member.name);
      return attempt.answer;
    }
    failures.add(attempt);
    if (attempt.kind === "failed" && attempt.error.outcome !== "none") break;
    // This one got nothing. If an earlier attempt may have, the payment stays where it is.
    if (firm) break;
    memory.unsent(payment);
    if (options.signal?.aborted) break;
  }
  throw failures.toError();
}

const NOTHING: CallOptions = Object.freeze({});

function passedOn({ signal }: CallOptions): CallOptions {
  return signal === undefined ? NOTHING : { signal };
}

/** Whoever cannot settle now is asked last: a handler must not run for a payment that will not be settled. */
function forVerifying(members: readonly PoolMember[], requirements: PaymentRequirements): readonly PoolMember[] {
  const able = ableFor(members, requirements);
  if (able.length < 2) return able;
  const isOpen = (member: PoolMember) => member.health().breakers.settle === "open";
  return [...able.filter((member) => !isOpen(member)), ...able.filter(isOpen)];
}

/** Whoever has the payment, and nobody else; or whoever has verified it, and then the others. */
function forSettling(
  members: readonly PoolMember[],
  requirements: PaymentRequirements,
  holder: Holder | undefined,
): readonly PoolMember[] {
  if (holder?.firm) return members.filter(({ name }) => name === holder.name);
  const able = ableFor(members, requirements);
  if (holder === undefined || able.length < 2) return able;
  const isHolder = ({ name }: PoolMember) => name === holder.name;
  return [...able.filter(isHolder), ...able.filter((member) => !isHolder(member))];
}

/** An offer may name an address of one facilitator; to every other one the payment would look like a bad one. */
function ableFor(members: readonly PoolMember[], requirements: PaymentRequirements): readonly PoolMember[] {
  const { scheme, network } = requirements;
  const isAble = (member: PoolMember) => member.supports(scheme, network) !== "no";
  const able = members.every(isAble) ? members : members.filter(isAble);
  if (able.length < 2) return able;
  const addresses = facilitatorAddresses(requirements);
  const owners = addresses.length === 0 ? [] : able.filter((member) => member.owns(addresses, requirements));
  return owners.length > 0 ? owners : able;
}

/** Whose word an offer is made by. */
function chosenFor(members: readonly PoolMember[], scheme: string, network: string): PoolMember | undefined {
  const able = members.filter((member) => member.supports(scheme, network) === "yes");
  return able.find((member) => member.health().state !== "down") ?? able[0];
}

function anyOf(supports: readonly Support[]): Support {
  if (supports.includes("yes")) return "yes";
  return supports.includes("unknown") ? "unknown" : "no";
}

/** Of several failures the last is thrown; when nobody was asked at all, that. */
class Failures {
  readonly #operation: "verify" | "settle";
  readonly #requirements: PaymentRequirements;
  #last: FacilitatorError | undefined;
  #shortestWait: number | undefined;

  constructor(operation: "verify" | "settle", requirements: PaymentRequirements) {
    this.#operation = operation;
    this.#requirements = requirements;
  }

  add(attempt: Exclude<Attempt<never>, { readonly kind: "answered" }>): void {
    if (attempt.kind === "failed") this.#last = attempt.error;
    else this.#shortestWait = Math.min(this.#shortestWait ?? attempt.retryAfterSeconds, attempt.retryAfterSeconds);
  }

  toError(): FacilitatorError {
    if (this.#last !== undefined) return this.#last;
    const { scheme, network } = this.#requirements;
    const wait = this.#shortestWait;
    return wait === undefined
      ? unavailable(this.#operation, `no facilitator is known to take ${scheme} on ${network}`)
      : unavailable(this.#operation, "every facilitator is left alone for a while after failures", wait);
  }
}

/** Hashed, so that the memory holds no signatures and each entry is equally small. */
function payloadOf({ paymentPayload, paymentRequirements: { scheme, network } }: FacilitatorRequest): string {
  return createHash("sha256")
    .update(JSON.stringify([scheme, canonicalNetwork(network), paymentPayload.payload]))
    .digest("base64");
}

/** One facilitator of a pool. */
export interface FacilitatorEntry {
  readonly facilitator: Facilitator;
  /** For logs, health and records; unique in its pool, e.g. the host of its URL. Never a secret. */
  readonly name: string;
  /** Networks it is asked about, or patterns such as `eip155:*`. Default: all. */
  readonly networks?: readonly NetworkPattern[];
}

/** How a pool goes about its work. */
export interface PoolOptions {
  /** Of each call to each facilitator. */
  readonly deadlines?: Deadlines;
  /** Told of `facilitator_up` and `facilitator_down`. Default: nobody. */
  readonly logger?: Logger;
  /** Told whenever a facilitator's state changes. What it throws is ignored. */
  readonly onChange?: (health: FacilitatorHealth) => void;
  /** Parts of the clock to replace, for tests. */
  readonly clock?: Partial<Clock>;
}

/** What a pool works with. */
export interface PoolParts {
  readonly members: readonly PoolMember[];
  readonly clock: Clock;
}

/**
 * Checks the entries and creates the members.
 *
 * @param onOffersChanged - Called when what can be offered may have changed.
 * @throws ConfigError with every issue at once.
 */
function createMembers(
  entries: readonly FacilitatorEntry[],
  options: PoolOptions,
  onOffersChanged: () => void,
): PoolParts {
  checkEntries(entries);
  const { deadlines = DEFAULT_DEADLINES, onChange = () => {} } = options;
  const clock: Clock = { ...SYSTEM_CLOCK, ...options.clock };
  const logger = neverThrowing(options.logger ?? SILENT);

  const createMember = ({ name, facilitator, networks }: FacilitatorEntry): PoolMember => {
    const member: PoolMember = createPoolMember({
      name,
      facilitator: withDeadlines(facilitator, deadlines),
      networks: networks && [...networks],
      clock,
      onChange(change) {
        onOffersChanged();
        if (change === "state") announce(member.health(), logger, onChange);
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

/** What is told is told after the fact: nobody who listens can change what becomes of a payment. */
function announce(health: FacilitatorHealth, logger: Logger, onChange: (health: FacilitatorHealth) => void): void {
  const { name, state, lastErrorCode } = health;
  if (state === "up") logger.info("facilitator_up", { facilitator: name });
  if (state === "down") logger.error("facilitator_down", { facilitator: name, code: lastErrorCode });
  try {
    onChange(health);
  } catch {
    // The state is what it is, whether or not it could be told.
  }
}

/** Runs a task once all earlier ones of the same key have ended, however they ended. */
export type TakeTurn = <T>(key: string, task: () => Promise<T>) => Promise<T>;

/** Creates turns. Keys nobody waits for are forgotten. */
export function createTurns(): TakeTurn {
  const last = new Map<string, Promise<unknown>>();
  return (key, task) => {
    const before = last.get(key);
    const turn = before === undefined ? task() : before.then(task, task);
    last.set(key, turn);
    const end = () => {
      if (last.get(key) === turn) last.delete(key);
    };
    turn.then(end, end);
    return turn;
  };
}
