/**
 * The same payment again: what a duplicate gets, while the first request is in flight and afterwards.
 *
 *   for another request or other terms   refused
 *   claimed, serving                     waits for the first request, and shares its response
 *   settling                             the same; but an abandoned settlement is settled again
 *   settled                              gets the kept response, if there is one for this client
 *   owed                                 the handler runs
 *   unsent, unknown                      settled again, then as settled
 *   rejected                             refused, with the receipt
 *
 * Once a payment may be seen on chain, a duplicate without the payment's identifier is refused if the payment has one.
 *
 * A duplicate may come from the payer, from a retrying proxy, or from someone who copied the payment.
 *
 * @see `docs/reference/lifecycle.md`, "The same payment again"
 * @module
 */
import type { PaymentEventMap, PaymentEvents } from "../events/events.js";
import type { StartTimer } from "../options.js";
import type { SettlementResponse } from "../protocol/documents.js";
import { factsOf } from "../settlement/outcome.js";
import { leaseLeft } from "../settlement/recovery.js";
import type { Settler } from "../settlement/settle.js";
import type { ClaimRequest, PaymentRecord, PaymentStore, StoredAnswer } from "../store/payment-store.js";
import type { Admissions, Decision } from "./admission.js";
import type { InFlight } from "./in-flight.js";
import type { PaidRequest } from "./paid-request.js";
import {
  inProgress,
  notSettled,
  paidHeaders,
  refusal,
  replayed,
  responseNotKept,
  tooManyPayments,
} from "./responses.js";
import type { Runs } from "./runs.js";

/** What a replay needs. */
export interface ReplayDeps {
  readonly store: PaymentStore;
  readonly settler: Pick<Settler, "settle">;
  readonly inFlight: Pick<InFlight, "find" | "end">;
  readonly runs: Pick<Runs, "secondsToWait">;
  readonly admissions: Pick<Admissions, "admitSettled" | "keep">;
  readonly events: PaymentEvents;
  readonly now: () => number;
  readonly timer: StartTimer;
}

type How = PaymentEventMap["replayed"]["how"];

/** Decides requests whose payment has a record. */
export class Replay {
  readonly #deps: ReplayDeps;

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
    if (record.binding !== paid.claim.binding) return this.#alreadyUsed(paid);
    // Anyone who watches the chain can copy a payment, but not the identifier that its payer gave it.
    const isPayers = record.identifier === undefined || record.identifier === paid.claim.identifier;
    switch (record.state) {
      case "claimed":
      case "serving":
        return this.#wait(paid, record, untilMs);
      case "settling": {
        const isAbandoned = leaseLeft(record, this.#deps.now()) === 0;
        if (!isAbandoned || this.#deps.inFlight.find(record.identity) !== undefined) {
          return this.#wait(paid, record, untilMs);
        }
        return isPayers ? this.#settle(paid, record, record.state) : this.#alreadyUsed(paid);
      }
      case "rejected": {
        const error = record.receipt?.errorReason ?? "payment_already_used";
        this.tell(paid, "refused");
        return { kind: "respond", response: refusal(paid.route, paid.occasion, error, record.receipt) };
      }
      case "unsent":
      case "unknown":
        return isPayers ? this.#settle(paid, record, record.state) : this.#alreadyUsed(paid);
      case "owed":
        return isPayers ? this.#runOwed(paid, record) : this.#alreadyUsed(paid);
      case "settled":
        if (!isPayers) return this.#alreadyUsed(paid);
        return record.identifier === undefined ? this.#takeKept(paid, record) : this.#giveKept(paid, record);
      default:
        return record.state satisfies never;
    }
  }

  /** Announces what a duplicate gets. */
  tell(paid: PaidRequest, how: How): void {
    this.#deps.events.emit("replayed", () => ({ ...factsOf(paid), how }));
  }

  /** Waits for the first request in this process. */
  async #wait(paid: PaidRequest, record: PaymentRecord, untilMs: number): Promise<Decision | undefined> {
    const { inFlight, now, timer } = this.#deps;
    const first = inFlight.find(paid.claim.identity);
    const delayMs = untilMs - now();
    if (first === undefined || delayMs <= 0) return this.#inProgress(paid);
    // Decided before the wait. During it, someone who sees the payment on chain may turn up.
    const mayShare = first.isSettling ? isSamePayer(paid, record, first.client) : true;
    let stopTimer = () => {};
    const timeout = new Promise<"timeout">((resolve) => {
      stopTimer = timer(() => resolve("timeout"), delayMs);
    });
    const ended = await Promise.race([first.ended, timeout]);
    stopTimer();
    if (ended === "timeout") return this.#inProgress(paid);
    if (!mayShare || ended === undefined) return undefined;
    this.tell(paid, "shared");
    return { kind: "respond", response: ended };
  }

  /** The chain takes a payment once, so settling again is safe. */
  async #settle(paid: PaidRequest, record: PaymentRecord, from: "settling" | "unsent" | "unknown"): Promise<Decision> {
    const { settler, inFlight } = this.#deps;
    const { owner, facilitator, answer: response, request = paid.facilitatorRequest } = record;
    // As it was at first: the handler may have set an amount, and the identifier and expiry are the first request's.
    const payment = { ...paid, facilitatorRequest: request, claim: asRecorded(paid.claim, record) };
    const waiting = { client: paid.client };
    try {
      const settled = await settler.settle(payment, { from, owner, facilitator, response, waiting });
      if (settled.kind !== "settled") {
        this.tell(paid, settled.kind === "rejected" ? "refused" : "pending");
        return { kind: "respond", response: notSettled(paid.route, paid.occasion, settled) };
      }
      const { receipt } = settled;
      return response === undefined
        ? this.#admit(paid, receipt, { isOwed: false })
        : this.#replay(paid, response, receipt);
    } finally {
      inFlight.end(paid.claim);
    }
  }

  /** The money moved and no response was kept: the handler runs, for one request only. */
  async #runOwed(paid: PaidRequest, { identity, owner, receipt }: PaymentRecord): Promise<Decision> {
    const { store, runs } = this.#deps;
    const newOwner = paid.claim.owner;
    const waitSeconds = runs.secondsToWait(paid);
    if (waitSeconds > 0) {
      this.tell(paid, "pending");
      return { kind: "respond", response: tooManyPayments(waitSeconds) };
    }
    const isOurs =
      receipt !== undefined && (await store.transition({ identity, from: "owed", to: "settled", owner, newOwner }));
    return isOurs ? this.#admit(paid, receipt, { isOwed: true }) : this.#alreadyUsed(paid);
  }

  /** With the payment's identifier, the kept response can be fetched again and again. */
  #giveKept(paid: PaidRequest, { answer, receipt }: PaymentRecord): Decision {
    if (answer !== undefined && receipt !== undefined) return this.#replay(paid, answer, receipt);
    this.tell(paid, "refused");
    return { kind: "respond", response: responseNotKept(receipt) };
  }

  /**
   * Without an identifier, a settled payment proves nothing: anyone can read it from the chain. Only a response whose
   * delivery broke off goes out, to one request.
   */
  async #takeKept(paid: PaidRequest, { identity, owner, answer, receipt }: PaymentRecord): Promise<Decision> {
    const { store } = this.#deps;
    if (answer === undefined || receipt === undefined) return this.#alreadyUsed(paid);
    const newOwner = paid.claim.owner;
    const taking = { identity, from: "settled", to: "settled", owner, newOwner, answer: null } as const;
    return (await store.transition(taking)) ? this.#replay(paid, answer, receipt) : this.#alreadyUsed(paid);
  }

  #replay(paid: PaidRequest, answer: StoredAnswer, receipt: SettlementResponse): Decision {
    this.tell(paid, "stored");
    return {
      kind: "respond",
      response: replayed(answer, paidHeaders(receipt), { isPaid: true }),
      undelivered: () => this.#deps.admissions.keep(paid, answer),
    };
  }

  #admit(paid: PaidRequest, receipt: SettlementResponse, about: { readonly isOwed: boolean }): Decision {
    const { admissions, events } = this.#deps;
    this.tell(paid, "owed");
    events.emit("admitted", () => factsOf(paid));
    return { kind: "run", admission: admissions.admitSettled(paid, receipt, about) };
  }

  #inProgress(paid: PaidRequest): Decision {
    this.tell(paid, "pending");
    return { kind: "respond", response: inProgress() };
  }

  #alreadyUsed(paid: PaidRequest): Decision {
    this.tell(paid, "refused");
    return { kind: "respond", response: refusal(paid.route, paid.occasion, "payment_already_used") };
  }
}

/**
 * Whether a duplicate comes from the payer, as far as can be known once the payment may be seen on chain: it has the same
 * identifier, or it comes from the same address.
 */
function isSamePayer({ claim, client }: PaidRequest, { identifier }: PaymentRecord, firstClient: string | undefined) {
  if (identifier !== undefined) return claim.identifier === identifier;
  return client !== undefined && client === firstClient;
}

/** The claim with the identifier and expiry of the first request: what comes later proves nothing. */
function asRecorded(claim: ClaimRequest, { identifier, expiresAtMs }: PaymentRecord): ClaimRequest {
  const { identifier: _, ...rest } = claim;
  return { ...rest, expiresAtMs, ...(identifier === undefined ? {} : { identifier }) };
}
