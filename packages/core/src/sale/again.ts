/**
 * The same payment again: what a duplicate gets, while the first request is in flight and afterwards.
 *
 *   for another request or other terms   refused; 409 while the outcome is open
 *   claimed                              waits for the first request, and shares its response; else 409. If the owner is
 *                                        dead, the record is released and claimed anew
 *   metering                             409 while it streams. If the owner is dead, what it delivered is settled
 *   settling                             the same; but an abandoned settlement is settled again
 *   settled                              gets the kept response, if there is one; else refused
 *   owed                                 the handler runs, unless it was abandoned too often
 *   unsent, due, unknown                 settled again, then as settled
 *   rejected                             refused, with the receipt
 *
 * A duplicate may come from the payer, from a retrying proxy, or from someone who rebuilt the payment from the chain. A
 * request that proves to be the payer's (proof.ts) never loses its response to one that does not. Without proof, a payment
 * that has an identifier is refused; any other gets copies of a response that the payer may not have received. While the
 * outcome is open, nobody is asked to pay anew: the payer could lack its proof, and would pay twice.
 *
 * @see `docs/reference/lifecycle.md`, "The same payment again"
 * @module
 */
import type { PaymentEventMap, PaymentEvents } from "../events/events.js";
import type { StartTimer } from "../options.js";
import type { SettlementResponse } from "../protocol/documents.js";
import type { OwnBodies } from "../steps/own-bodies.js";
import type { Runs } from "../steps/runs.js";
import { isLeaseOver, type Leases, leaseLeft } from "../store/leases.js";
import type { ClaimRequest, PaymentRecord, PaymentStore, StoredAnswer } from "../store/payment-store.js";
import {
  type GateResponse,
  type Headers,
  inProgress,
  notSettled,
  paidHeaders,
  RETRY_AFTER_SECONDS,
  refusal,
  replayed,
  responseNotKept,
  settlementPending,
  tooManyCopies,
  tooManyPayments,
} from "./answers.js";
import type { Decision } from "./decision.js";
import type { Deliveries } from "./delivery.js";
import type { InFlight } from "./in-flight.js";
import { waitForChange } from "./other-process.js";
import { factsOf } from "./outcome.js";
import { isSameClient, type RetryTokens } from "./proof.js";
import { isUncharged } from "./recover.js";
import type { PaidRequest } from "./request.js";
import type { Settler } from "./settle.js";
import type { SettledRuns } from "./settled-runs.js";

/** What a replay needs. */
export interface ReplayDeps {
  readonly tokens: RetryTokens;
  readonly store: PaymentStore;
  /** Whether other processes may work on a payment. */
  readonly isShared: boolean;
  readonly leases: Pick<Leases, "fromNow" | "hold" | "drop" | "mayBeLost" | "isLost"> | undefined;
  readonly settler: Pick<Settler, "settle">;
  readonly inFlight: Pick<InFlight, "find" | "end">;
  readonly runs: Pick<Runs, "secondsToWait" | "othersOf">;
  readonly settledRuns: Pick<SettledRuns, "start">;
  readonly bodies: OwnBodies;
  readonly deliveries: Pick<Deliveries, "isRunning">;
  readonly events: PaymentEvents;
  readonly now: () => number;
  readonly timer: StartTimer;
}

type How = PaymentEventMap["replayed"]["how"];

/** A duplicate, and whether it proved to be the payer's. */
interface Duplicate {
  readonly paid: PaidRequest;
  readonly isPayers: boolean;
}

/** Decides requests whose payment has a record. */
export class Replay {
  readonly #deps: ReplayDeps;
  readonly #copies = new Copies();
  /** Requests that came before their payment could be seen on chain. */
  readonly #early = new WeakSet<PaidRequest>();
  /** The dead owner whose claim a request has released. */
  readonly #freedFrom = new WeakMap<PaidRequest, string>();

  constructor(deps: ReplayDeps) {
    this.#deps = deps;
  }

  /**
   * Decides a duplicate; `undefined`: the record changed meanwhile, so look again.
   *
   * @param untilMs - How long the duplicate may wait for the first request, in Unix milliseconds.
   */
  async decide(paid: PaidRequest, record: PaymentRecord, untilMs: number): Promise<Decision | undefined> {
    // The same payment for another request, or for other terms.
    if (record.binding !== paid.claim.binding) return this.#refuse(paid, record, inProgress());
    const isPayers = this.#isPayers(paid, record);
    const duplicate = { paid, isPayers };
    const isRefused = !isPayers && record.identifier !== undefined;
    const refuse = () => this.#refuse(paid, record, settlementPending(RETRY_AFTER_SECONDS));
    switch (record.state) {
      case "claimed":
        if (!this.#isOwnerDead(record)) return this.#wait(duplicate, record, untilMs);
        return this.#free(duplicate, record, untilMs);
      case "metering":
        if (!this.#isOwnerDead(record)) return this.#inProgress(duplicate);
        if (isUncharged(record)) return this.#free(duplicate, record, untilMs);
        return isRefused ? refuse() : this.#settle(duplicate, record, record.state);
      case "settling": {
        const isAbandoned = leaseLeft(record, this.#deps.now()) === 0;
        if (!isAbandoned || this.#deps.inFlight.find(record.identity) !== undefined) {
          return this.#wait(duplicate, record, untilMs);
        }
        return isRefused ? refuse() : this.#settle(duplicate, record, record.state);
      }
      case "rejected": {
        const error = record.receipt?.errorReason ?? "payment_already_used";
        this.tell(paid, "refused");
        const refused = refusal(paid.route, paid.occasion, error, record.receipt);
        return { kind: "respond", response: await this.#deps.bodies.settlementFailed(paid, record.receipt, refused) };
      }
      case "unsent":
      case "due":
      case "unknown":
        return isRefused ? refuse() : this.#settle(duplicate, record, record.state);
      case "owed":
        return isRefused ? refuse() : this.#runOwed(duplicate, record, record.state);
      case "settled":
        return isRefused ? refuse() : this.#giveKept(duplicate, record, untilMs);
      default:
        return record.state satisfies never;
    }
  }

  /** Announces what a duplicate gets. */
  tell(paid: PaidRequest, how: How): void {
    this.#deps.events.emit("replayed", () => ({ ...factsOf(paid), how }));
  }

  /** Whether a request proves to be the payer's. */
  #isPayers(paid: PaidRequest, { identity, identifier, state }: PaymentRecord): boolean {
    const publicSince = this.#deps.inFlight.find(identity)?.publicSince ?? 0;
    if (state === "claimed" || paid.arrival < publicSince) this.#early.add(paid);
    if (this.#early.has(paid) || this.#deps.tokens.isGood(paid.retryToken, identity)) return true;
    if (identifier !== undefined) return identifier === paid.claim.identifier;
    // No facilitator was reached, so nothing is on chain.
    return state === "unsent";
  }

  /** The header of the retry token, for the payer. */
  #proofFor({ paid, isPayers }: Duplicate): Headers {
    return isPayers ? this.#deps.tokens.headersFor(paid.claim.identity) : [];
  }

  /** Whether a record has an owner that no longer renews its lease. The lease of one in this process may be late. */
  #isOwnerDead(record: PaymentRecord): boolean {
    return isLeaseOver(record, this.#deps.now()) && this.#deps.inFlight.find(record.identity) === undefined;
  }

  /** The owner died before anything was charged: the payment can be claimed anew. */
  async #free(duplicate: Duplicate, record: PaymentRecord, untilMs: number): Promise<Decision | undefined> {
    const { identity, owner } = record;
    // A store that does not release would keep this request here for good.
    if (this.#freedFrom.get(duplicate.paid) === owner) return this.#wait(duplicate, record, untilMs);
    this.#freedFrom.set(duplicate.paid, owner);
    await this.#deps.store.release(identity, owner);
    return undefined;
  }

  /** Waits for the first request. */
  async #wait(duplicate: Duplicate, record: PaymentRecord, untilMs: number): Promise<Decision | undefined> {
    const { inFlight, now, timer } = this.#deps;
    const { paid, isPayers } = duplicate;
    const first = inFlight.find(record.identity);
    const delayMs = untilMs - now();
    const isElsewhere = first === undefined && this.#deps.isShared;
    if (first === undefined && !isElsewhere) return this.#inProgress(duplicate);
    if (delayMs <= 0 || !this.#copies.enter(record.identity)) return this.#inProgress(duplicate);
    if (first === undefined) {
      const hasChanged = await waitForChange(record, untilMs, this.#deps).finally(() =>
        this.#copies.leave(record.identity),
      );
      return hasChanged ? undefined : this.#inProgress(duplicate);
    }
    let stopTimer = () => {};
    const timeout = new Promise<"timeout">((resolve) => {
      stopTimer = timer(() => resolve("timeout"), delayMs);
    });
    const ended = await Promise.race([first.ended, timeout]);
    stopTimer();
    this.#copies.leave(record.identity);
    if (ended === "timeout") return this.#inProgress(duplicate);
    if (paid.arrival < (first.publicSince ?? Number.POSITIVE_INFINITY)) this.#early.add(paid);
    const isEarly = this.#early.has(paid);
    const isSame = record.identifier === undefined && isSameClient(paid.client, first.client);
    if (ended === undefined || !(isPayers || isEarly || isSame)) return undefined;
    return this.#copy({ paid, isPayers: isPayers || isEarly }, ended, "shared");
  }

  /** The chain takes a payment once, so settling again is safe. */
  async #settle(
    duplicate: Duplicate,
    record: PaymentRecord,
    from: "metering" | "settling" | "unsent" | "due" | "unknown",
  ): Promise<Decision> {
    const { settler, inFlight } = this.#deps;
    const { paid } = duplicate;
    const wasStreamed = record.mode === "metered" && record.answer === undefined;
    const { owner, facilitator, answer: response, request = paid.facilitatorRequest } = record;
    // As it was at first: the handler may have set an amount, and the identifier and expiry are the first request's.
    const payment = { ...paid, facilitatorRequest: request, claim: asRecorded(paid.claim, record) };
    // The response stays for the payer: this client may be another one, or may disconnect.
    const waiting = { client: paid.client, keepsResponse: () => true };
    let decision: Decision | undefined;
    try {
      const runsHandler = response === undefined && !wasStreamed;
      const isVerified = paid.offer.settle !== "before";
      const isUnproven = !duplicate.isPayers && !wasStreamed;
      const start = { from, owner, facilitator, response, runsHandler, isVerified, isUnproven, waiting };
      const settled = await settler.settle(payment, start);
      if (settled.kind !== "settled") {
        const isRefused = settled.kind === "rejected" || settled.kind === "due";
        this.tell(paid, isRefused ? "refused" : "pending");
        const proof = this.#proofFor(duplicate);
        const response = notSettled(paid.route, paid.occasion, settled, proof);
        const receipt = isRefused ? settled.receipt : undefined;
        decision = { kind: "respond", response: await this.#deps.bodies.settlementFailed(paid, receipt, response) };
      } else if (wasStreamed) {
        this.tell(paid, "refused");
        decision = { kind: "respond", response: responseNotKept(duplicate.isPayers ? settled.receipt : undefined) };
      } else if (response === undefined) {
        decision = await this.#admit(duplicate, settled.receipt, { isOwed: false, added: settled.added });
      } else {
        decision = this.#replay(duplicate, response, settled.receipt, settled.added);
      }
      return decision;
    } finally {
      if (decision?.kind !== "run" || !decision.admission.isHeld) inFlight.end(paid.claim);
    }
  }

  /** The money moved and no response was kept: the handler runs, for one request only. */
  async #runOwed(
    duplicate: Duplicate,
    { identity, owner, receipt }: PaymentRecord,
    from: "owed" | "settled",
  ): Promise<Decision> {
    const { store, runs, leases, now } = this.#deps;
    const { paid, isPayers } = duplicate;
    const taken = { newOwner: paid.claim.owner, mark: isPayers ? null : "unproven" } as const;
    const waitSeconds = runs.secondsToWait(paid, await runs.othersOf(paid));
    if (waitSeconds > 0) {
      this.tell(paid, "pending");
      return { kind: "respond", response: tooManyPayments(waitSeconds) };
    }
    const askedMs = now();
    const lease = leases === undefined ? {} : { leaseUntilMs: leases.fromNow() };
    const isOurs =
      receipt !== undefined && (await store.transition({ identity, from, to: "settled", owner, ...taken, ...lease }));
    if (!isOurs) return this.#inProgress(duplicate);
    leases?.hold(paid.claim, askedMs);
    return this.#admit(duplicate, receipt, { isOwed: true });
  }

  /**
   * A settled payment. Anyone can read it from the chain, so a response that was delivered is gone, but for those who know
   * the payment's identifier. One that the payer may not have received is kept, and goes out several times.
   */
  async #giveKept(duplicate: Duplicate, record: PaymentRecord, untilMs: number): Promise<Decision | undefined> {
    const { paid, isPayers } = duplicate;
    const { identity, answer, receipt, mark } = record;
    // Its owner is about to deliver it.
    const isAtWork = leaseLeft(record, this.#deps.now()) > 0 || this.#deps.deliveries.isRunning(record);
    if (answer !== undefined && receipt !== undefined && (isPayers || !(isAtWork || mark === "for_payer"))) {
      return this.#replay(duplicate, answer, receipt);
    }
    // The handler runs once more, for another request.
    if (this.#deps.inFlight.find(identity) !== undefined) return this.#wait(duplicate, record, untilMs);
    // The owner died before its response was delivered, and the response was not kept, or the store had no room for it.
    const isLost = isLeaseOver(record, this.#deps.now()) || (!isAtWork && mark === "undelivered");
    if (isLost) return this.#runOwed(duplicate, record, "settled");
    const isStreamed = paid.offer.settle === "before";
    const isOwed = isPayers && mark === "unproven";
    if (isOwed && (isStreamed || !isAtWork)) return this.#runOwed(duplicate, record, "settled");
    // Its owner may be dead, and the payer without proof: whether it was delivered is known when the lease ends.
    if (isAtWork) return isStreamed ? this.#inProgress(duplicate) : this.#wait(duplicate, record, untilMs);
    if (!isPayers) return this.#refuse(paid, record, inProgress());
    this.tell(paid, "refused");
    return { kind: "respond", response: responseNotKept(receipt) };
  }

  /** @param added - Headers of the hook `onPaid`. Default: it was not called now. */
  #replay(duplicate: Duplicate, answer: StoredAnswer, receipt: SettlementResponse, added?: Headers): Decision {
    return this.#copy(duplicate, replayed(answer, paidHeaders(receipt, undefined, added), { isPaid: true }), "stored");
  }

  /** Gives a response once more, unless it was given too often. */
  #copy({ paid, isPayers }: Duplicate, response: GateResponse, how: "shared" | "stored"): Decision {
    const { identity } = paid.claim;
    // Strangers cannot use up the payer's copies.
    const waitSeconds = this.#copies.take(`${isPayers ? "payer" : "anyone"}|${identity}`, response, this.#deps.now());
    this.tell(paid, waitSeconds > 0 ? "refused" : how);
    if (waitSeconds > 0) return { kind: "respond", response: tooManyCopies(waitSeconds) };
    return { kind: "respond", response, isReplay: true };
  }

  async #admit(
    duplicate: Duplicate,
    receipt: SettlementResponse,
    facts: { readonly isOwed: boolean; readonly added?: Headers | undefined },
  ): Promise<Decision> {
    const { settledRuns, leases, events } = this.#deps;
    const { paid, isPayers } = duplicate;
    if (leases?.mayBeLost(paid.claim) && (await leases.isLost(paid.claim))) return this.#inProgress(duplicate);
    this.tell(paid, "owed");
    events.emit("admitted", () => factsOf(paid));
    return { kind: "run", admission: settledRuns.start(paid, receipt, { ...facts, isPayers }) };
  }

  #inProgress(duplicate: Duplicate): Decision {
    this.tell(duplicate.paid, "pending");
    return { kind: "respond", response: inProgress(this.#proofFor(duplicate)) };
  }

  /**
   * Gives a duplicate nothing. It is asked to pay anew only if the money of this payment has moved, or has not.
   *
   * @param whileOpen - The response while that is not known. It has no challenge.
   */
  async #refuse(paid: PaidRequest, record: PaymentRecord, whileOpen: GateResponse): Promise<Decision> {
    if (isOpen(record)) {
      this.tell(paid, "pending");
      return { kind: "respond", response: whileOpen };
    }
    this.tell(paid, "refused");
    return { kind: "respond", response: await refusal(paid.route, paid.occasion, "payment_already_used") };
  }
}

/** Whether the money of a payment may move, or may have moved, and nothing says so yet. */
export function isOpen({ state }: PaymentRecord): boolean {
  return state === "metering" || state === "settling" || state === "unknown";
}

/** The claim with the mode, identifier and expiry of the first request: what comes later proves nothing. */
function asRecorded(claim: ClaimRequest, { identifier, expiresAtMs, mode }: PaymentRecord): ClaimRequest {
  const { identifier: _, ...rest } = claim;
  return { ...rest, expiresAtMs, mode, ...(identifier === undefined ? {} : { identifier }) };
}

/** How many copies of its response one payment buys at once, and how many duplicates may wait for it. */
const MAX_COPIES = 16;

/** After this time there may be one more. */
const COPY_MS = 60_000;

/** A larger response counts as several copies. */
const COPY_BYTES = 1024 * 1024;

/** So that a very large response, too, is there for more than one request. */
const MAX_WEIGHT = 4;

/** Payments whose copies are counted. Each is one that was paid for. */
const MAX_COUNTED = 10_000;

/** Counts copies of responses, so that one payment does not buy the seller's bandwidth. By process. */
class Copies {
  readonly #waiting = new Map<string, number>();
  /** When the count of each key is down to zero again, in Unix milliseconds. The latest count is the last entry. */
  readonly #zeroAtMs = new Map<string, number>();

  /** A duplicate is about to wait; `false`: too many wait already. */
  enter(identity: string): boolean {
    const waiting = this.#waiting.get(identity) ?? 0;
    if (waiting >= MAX_COPIES) return false;
    this.#waiting.set(identity, waiting + 1);
    return true;
  }

  leave(identity: string): void {
    const waiting = (this.#waiting.get(identity) ?? 0) - 1;
    if (waiting > 0) this.#waiting.set(identity, waiting);
    else this.#waiting.delete(identity);
  }

  /** Counts a copy; or says after how many seconds there may be one. */
  take(key: string, { body }: GateResponse, nowMs: number): number {
    // Responses of ours are short, and no handler made them.
    if (typeof body === "string") return 0;
    this.#forget(nowMs);
    const weight = Math.min(Math.max(Math.ceil(body.byteLength / COPY_BYTES), 1), MAX_WEIGHT);
    const zeroAtMs = Math.max(this.#zeroAtMs.get(key) ?? 0, nowMs) + weight * COPY_MS;
    const tooLateMs = zeroAtMs - nowMs - MAX_COPIES * COPY_MS;
    if (tooLateMs > 0) return Math.ceil(tooLateMs / 1000);
    this.#zeroAtMs.delete(key);
    this.#zeroAtMs.set(key, zeroAtMs);
    return 0;
  }

  /** Forgets counts that are down to zero, from the oldest on, and the oldest of too many. */
  #forget(nowMs: number): void {
    for (const [key, zeroAtMs] of this.#zeroAtMs) {
      if (zeroAtMs > nowMs && this.#zeroAtMs.size < MAX_COUNTED) return;
      this.#zeroAtMs.delete(key);
    }
  }
}
