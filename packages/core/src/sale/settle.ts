/**
 * Settles one payment, once: the record says `settling` before the facilitator is told, and how it ended afterwards.
 *
 * @see `docs/reference/lifecycle.md`
 * @module
 */
import { isUtf8 } from "node:buffer";
import type { PaymentEvents } from "../events/events.js";
import { type Findings, transactionRepeatedFinding } from "../events/findings.js";
import type { HeldResponse, Hooks, SettledContext, SettlingContext } from "../events/hooks.js";
import type { FacilitatorPool } from "../facilitator/pool.js";
import { canonicalNetwork } from "../protocol/caip2.js";
import type { ExtensionResponses, SettlementResponse } from "../protocol/documents.js";
import { joinValues } from "../route/request.js";
import type { Listings } from "../steps/listings.js";
import { type Leases, nextOwner } from "../store/leases.js";
import type { KeptSale } from "../store/memory-ledger.js";
import type { ClaimRequest, PaymentState, PaymentStore, StoredAnswer, Transition } from "../store/payment-store.js";
import {
  type Attempt,
  contextOf,
  factsOf,
  moveMoney,
  type Outcome,
  type OutcomeDeps,
  type PendingPayment,
  withoutRequest,
} from "./outcome.js";

/** A response, perhaps with a body too large to be held. */
type RespondedParts = Omit<StoredAnswer, "body"> & { readonly body: StoredAnswer["body"] | undefined };

/** Headers for a response that was paid for. */
type PaidHeaders = Awaited<ReturnType<Hooks["paid"]>>;

/** Where a settlement starts. */
export interface SettlementStart {
  /** The state of the record. */
  readonly from: Extract<PaymentState, "claimed" | "metering" | "settling" | "unsent" | "due" | "unknown">;
  /** The owner of the record. It differs from the claim's owner when another run takes over. */
  readonly owner: string;
  /** The facilitator in the record: it was told to settle before. */
  readonly facilitator: string | undefined;
  /** Kept until the payer has it; `undefined`: no response, or one too large to keep. */
  readonly response: StoredAnswer | undefined;
  /**
   * Whether the handler runs next. Then an outcome that a shared store does not record counts as unknown: another process would settle
   * the payment again, and run the handler as well.
   */
  readonly runsHandler: boolean;
  /** Whether another run takes over for a request without proof: the payer's proof is then owed a response, too. Default `false`. */
  readonly isUnproven?: boolean;
  /** `false`: nobody has verified the payment. Default `true`. */
  readonly isVerified?: boolean;
  /** Which attempt this is, from 1. Default: the second one, if there was one before. */
  readonly attempt?: number;
  /** The client that waits for the outcome, by its address or session if known; `undefined`: no client waits. */
  readonly waiting:
    | {
        readonly client: string | undefined;
        /** What the handler responded, for hooks. Default: `response` of the settlement. */
        readonly responded?: RespondedParts | undefined;
        /** Asked once the payment has settled: whether the response may be needed by another request, too. */
        readonly keepsResponse: () => boolean;
      }
    | undefined;
}

/**
 * How it ended. `due`: a metered response was delivered, and its settlement was refused or not sent. `lost`: another run owned the
 * record, and nothing was done. `overtaken`: another run took the record over meanwhile, and that run says how it ended.
 */
export type Settled =
  | (Outcome & {
      /** What the facilitator said about the extensions that the route declares. */
      readonly extensionResponses?: ExtensionResponses | undefined;
      /** The headers that the hook `onPaid` adds to the response that waits. */
      readonly added?: PaidHeaders | undefined;
    })
  | { readonly kind: "due"; readonly receipt: SettlementResponse; readonly retryAfterSeconds: number }
  | { readonly kind: "lost" }
  | { readonly kind: "overtaken" };

/** What this process knows about requests in flight, as far as settling goes. */
export interface SettlingInFlight {
  /** From now on the payment may be seen on chain, and copied from there. */
  settling(claim: Pick<ClaimRequest, "identity" | "owner">, client: string | undefined): void;
}

/** What a settler needs. */
export interface SettlerDeps extends OutcomeDeps {
  readonly store: PaymentStore;
  readonly facilitator: Pick<FacilitatorPool, "settle" | "facilitatorOf">;
  readonly inFlight: SettlingInFlight;
  /** Counts runs that are not paid for. */
  readonly runs: { settled(payment: Pick<PendingPayment, "claim" | "payer" | "countedAs">): void };
  readonly listings: Pick<Listings, "note">;
  readonly findings: Pick<Findings, "add">;
  readonly events: PaymentEvents;
  readonly hooks: Pick<Hooks, "isSilent" | "tell" | "hearsOfPaid" | "paid">;
  /** `undefined`: leases are not renewed. They are as long as a settlement may take. */
  readonly leases: Pick<Leases, "hold" | "drop" | "fromNow"> | undefined;
  /** How long a settlement takes at most. */
  readonly settleMs: number;
  readonly now: () => number;
  /** Counts metered responses that are not paid for. */
  readonly exposure: {
    releaseSoon(payment: PendingPayment): void;
    owes(payment: PendingPayment, about: { readonly isDue: boolean }): void;
  };
  readonly ledger: {
    sold(payment: PendingPayment, how: SettledHow): KeptSale;
    settled(sale: KeptSale): void;
  };
  /** Takes over a payment whose outcome is unknown, or that is due. */
  readonly onUnknown: (payment: PendingPayment, retryAfterSeconds: number) => void;
}

/** How a payment has settled, for the ledger. */
interface SettledHow {
  readonly receipt: SettlementResponse;
  readonly settledAtMs: number;
  readonly latencyMs: number;
  readonly attempt: number;
  readonly facilitator: string | undefined;
}

/** Whether the response of a payment is out, and can be had no more. One in a single piece is held until it has settled. */
function isStreamed({ claim }: PendingPayment, { from, response }: SettlementStart): boolean {
  return claim.mode === "metered" && from !== "claimed" && response === undefined;
}

/** A run that takes over brings a mark of its own, or removes the one that is there: that was about the run before. */
function markOf({ isUnproven = false }: SettlementStart): Pick<Transition, "mark"> {
  return { mark: isUnproven ? "unproven" : null };
}

/** Whether the record says how the settlement ended, see {@link Settler.#record}. */
type Recorded = "done" | "overtaken" | "repeated" | "failed";

/** After this time, a payment that is due may settle. */
const DUE_RETRY_SECONDS = 5;

/** After this time, the same payment sent again may find out more. */
const UNRECORDED_RETRY_SECONDS = 5;

/** Settles payments. */
export class Settler {
  readonly #deps: SettlerDeps;

  constructor(deps: SettlerDeps) {
    this.#deps = deps;
  }

  /** Settles a payment. Rejects only if the store fails before the facilitator was told. */
  async settle(payment: PendingPayment, start: SettlementStart): Promise<Settled> {
    const { store, facilitator: pool, inFlight, listings, leases, now } = this.#deps;
    const { claim, facilitatorRequest: request } = payment;
    const { identity, owner } = claim;
    const facilitator = start.facilitator ?? pool.facilitatorOf(identity);
    const isTakenOver = start.owner !== owner;
    leases?.hold(claim);
    let isOurs = false;
    try {
      const moving = store.transition({
        identity,
        from: start.from,
        to: "settling",
        owner: start.owner,
        newOwner: owner,
        request,
        // The lease of a store that cannot renew is as long as a settlement may take.
        leaseUntilMs: leases === undefined ? now() + this.#deps.settleMs : leases.fromNow(),
        ...(facilitator === undefined ? {} : { facilitator }),
        ...(start.response === undefined ? {} : { answer: start.response }),
        ...(isTakenOver ? markOf(start) : {}),
      });
      isOurs = typeof moving === "boolean" ? moving : await moving;
    } finally {
      if (!isOurs) void leases?.drop(claim);
      // Its lease is the new owner's, or another process has it.
      if (isTakenOver) void leases?.drop({ owner: start.owner });
    }
    if (!isOurs) return { kind: "lost" };
    inFlight.settling(claim, start.waiting?.client);

    const startedMs = now();
    const attempt: Attempt = {
      payment,
      facilitator: start.facilitator,
      isRepeated: start.from === "unknown" || start.from === "settling",
      isVerified: start.isVerified,
      extensionResponses: undefined,
    };
    const reached = await moveMoney(attempt, this.#deps);
    const responses = attempt.extensionResponses;
    const extensionResponses = responses && listings.note({ payment, operation: "settle", responses });
    const isNoted = reached.kind === "settled" && payment.asked?.asksAboutReceipts === true;
    let outcome = isNoted ? await noteOn(payment, reached, start) : reached;
    let recording = this.#record(payment, outcome, start, startedMs);
    let record = typeof recording === "string" ? recording : await recording;
    if (record === "repeated") {
      outcome = this.#doubt(payment, outcome);
      recording = this.#record(payment, outcome, start, startedMs, true);
      record = typeof recording === "string" ? recording : await recording;
    }
    if (outcome.kind === "settled") this.#deps.runs.settled(payment);
    if (record === "overtaken") return { kind: "overtaken" };
    if (record === "failed" && start.runsHandler && leases !== undefined) {
      void leases.drop(claim);
      return { kind: "unknown", retryAfterSeconds: UNRECORDED_RETRY_SECONDS };
    }
    return this.#conclude(payment, outcome, start, { startedMs, isRecorded: record === "done", extensionResponses });
  }

  /** The outcome is written down, as far as it can be: those who want to know of it are told. */
  #conclude(
    payment: PendingPayment,
    outcome: Outcome,
    start: SettlementStart,
    about: {
      readonly startedMs: number;
      readonly isRecorded: boolean;
      readonly extensionResponses: ExtensionResponses | undefined;
    },
  ): Settled | Promise<Settled> {
    const { startedMs, isRecorded, extensionResponses } = about;
    const isMetered = payment.claim.mode === "metered";
    const wasStreamed = isMetered && isStreamed(payment, start);
    if (isMetered) this.#count(payment, outcome, wasStreamed);
    const durationMs = this.#deps.now() - startedMs;
    if (outcome.kind === "settled") this.#tellSettled(payment, outcome.receipt, start, durationMs);
    else this.#tell(payment, outcome, { isNews: outcome.kind !== start.from, durationMs });
    // A payment whose outcome the store did not record is settled again, and the hook called then.
    const { hooks = this.#deps.hooks } = payment;
    if (outcome.kind === "settled" && isRecorded && !hooks.isSilent && hooks.hearsOfPaid) {
      const takesHeaders = start.waiting !== undefined && !wasStreamed;
      const told = hooks.paid(() => settledContextOf(payment, outcome.receipt, start), { takesHeaders });
      if (start.waiting !== undefined) return told.then((added) => ({ ...outcome, extensionResponses, added }));
    }
    if (wasStreamed && (outcome.kind === "rejected" || outcome.kind === "unsent")) return this.#due(payment, outcome);
    return extensionResponses === undefined ? outcome : { ...outcome, extensionResponses };
  }

  /** What a metered response may still cost the seller. */
  #count(payment: PendingPayment, { kind }: Outcome, wasStreamed: boolean): void {
    const { exposure } = this.#deps;
    if (kind === "settled" || !wasStreamed) exposure.releaseSoon(payment);
    else exposure.owes(payment, { isDue: kind !== "unknown" });
  }

  /** A metered response is delivered. It is settled again, until its payment expires. */
  #due(
    payment: PendingPayment,
    outcome: Extract<Outcome, { readonly kind: "rejected" | "unsent" }>,
  ): Extract<Settled, { readonly kind: "due" }> {
    const retryAfterSeconds = outcome.kind === "unsent" ? outcome.retryAfterSeconds : DUE_RETRY_SECONDS;
    const receipt = outcome.kind === "rejected" ? outcome.receipt : unsentReceipt(payment);
    this.#deps.onUnknown(withoutRequest(payment), retryAfterSeconds);
    return { kind: "due", receipt, retryAfterSeconds };
  }

  /**
   * A facilitator says that this payment was settled by a transaction that has paid for another one. If the chain has shown that it did
   * both, it may; otherwise the money may not have moved.
   */
  #doubt(payment: PendingPayment, outcome: Outcome): Outcome {
    const { leases, logger, findings } = this.#deps;
    leases?.hold(payment.claim);
    if (outcome.kind !== "settled" || outcome.isFound === true) return outcome;
    const { route, network, payer } = factsOf(payment);
    logger.error("settlement_unknown", { route, network, payer, repeats: idOf(outcome.receipt) });
    findings.add(transactionRepeatedFinding(route));
    return { kind: "unknown", retryAfterSeconds: UNRECORDED_RETRY_SECONDS };
  }

  /**
   * Writes the outcome down. `overtaken`: another run has the record. `repeated`: its transaction has paid for another payment.
   * `failed`: the store did not take it; the outcome stands, and the operator has to look.
   */
  #record(
    payment: PendingPayment,
    outcome: Outcome,
    start: SettlementStart,
    startedMs: number,
    isRepeated = false,
  ): Recorded | Promise<Recorded> {
    const { store, ledger, logger } = this.#deps;
    const { change, sold } = this.#changeTo(payment, outcome, start, { startedMs, isRepeated });
    const changing = changeSurely(store, change);
    if (changing !== true) return this.#recordLate(payment, outcome, { changing, change, sold });
    try {
      if (sold !== undefined) ledger.settled(sold);
      return "done";
    } catch {
      logger.error("outcome_not_recorded", { identity: change.identity, outcome: outcome.kind });
      return "failed";
    }
  }

  /** As {@link Settler.#record}, if the store takes time, or has not changed the record. */
  async #recordLate(
    payment: PendingPayment,
    outcome: Outcome,
    {
      changing,
      change,
      sold,
    }: {
      readonly changing: boolean | Promise<boolean>;
      readonly change: Transition;
      readonly sold: KeptSale | undefined;
    },
  ): Promise<Recorded> {
    const { store, leases, logger, ledger } = this.#deps;
    const { identity, owner } = payment.claim;
    try {
      if (await changing) {
        if (sold !== undefined) ledger.settled(sold);
        return "done";
      }
      const record = await store.find(identity);
      if (record !== undefined && record.owner !== owner) {
        void leases?.drop(payment.claim);
        return "overtaken";
      }
      if (record?.state === "settling" && change.transaction !== undefined) return "repeated";
    } catch {
      // As if it had not changed.
    }
    logger.error("outcome_not_recorded", { identity, outcome: outcome.kind });
    return "failed";
  }

  /** What the record becomes, and what it has sold. */
  #changeTo(
    payment: PendingPayment,
    outcome: Outcome,
    start: SettlementStart,
    { startedMs, isRepeated }: { readonly startedMs: number; readonly isRepeated: boolean },
  ): { readonly change: Change; readonly sold: KeptSale | undefined } {
    const { leases, ledger, now, facilitator: pool } = this.#deps;
    const { claim } = payment;
    const { identity, owner } = claim;
    const change = { identity, from: "settling", owner, leaseUntilMs: null } as Change;
    // Which facilitator has the payment: none if it was never sent, otherwise the one that was told.
    const told = start.facilitator ?? pool.facilitatorOf(identity);
    if (outcome.kind === "unsent") change.facilitator = null;
    else if (start.facilitator === undefined && told !== undefined) change.facilitator = told;
    const isShared = leases !== undefined;
    const isAtWork =
      claim.mode === "metered" && isStreamed(payment, start)
        ? changeStreamed(change, payment, outcome, isShared)
        : changeHeld(change, outcome, start, { claim, isShared });
    if (isAtWork && isShared) change.leaseUntilMs = leases.fromNow();
    else void leases?.drop(claim);
    let sold: KeptSale | undefined;
    if (outcome.kind === "settled") {
      const { receipt } = outcome;
      if (!isRepeated && receipt.transaction !== "") {
        const { network, transaction } = receipt;
        // In one spelling.
        const id = HEX.test(transaction) ? `0x${transaction.slice(-64).toLowerCase()}` : transaction;
        change.transaction = `${canonicalNetwork(network)}|${id}`;
      }
      const settledAtMs = now();
      sold = ledger.sold(payment, {
        ...{ receipt, settledAtMs, latencyMs: settledAtMs - startedMs, facilitator: told },
        attempt: start.attempt ?? (start.from === "claimed" || start.from === "metering" ? 1 : 2),
      });
      if (sold.entry !== undefined) change.entry = sold.entry;
    }
    return { change, sold };
  }

  #tellSettled(
    payment: PendingPayment,
    receipt: SettlementResponse,
    { from, owner }: SettlementStart,
    durationMs: number,
  ): void {
    const { events, logger } = this.#deps;
    const { hooks = this.#deps.hooks } = payment;
    // An unknown outcome is logged where it is seen; that it is known by now, here.
    if (from === "unknown" || from === "due" || owner !== payment.claim.owner) {
      const { route, network, payer, asset, amount } = factsOf(payment);
      logger.info("settlement_recovered", { route, network, payer, asset, amount, transaction: idOf(receipt) });
    }
    const { transaction } = receipt;
    if (events.hears("settled")) events.emit("settled", () => ({ ...factsOf(payment), durationMs, transaction }));
    if (!hooks.isSilent) hooks.tell("afterSettle", () => [contextOf(payment), copyOf(receipt)]);
  }

  /** An unknown outcome is resolved in the background from here on, whether or not the client comes back. */
  #tell(
    payment: PendingPayment,
    outcome: Exclude<Outcome, SettledOutcome>,
    { isNews, durationMs }: { readonly isNews: boolean; readonly durationMs: number },
  ): void {
    const { events, onUnknown, logger } = this.#deps;
    const { hooks = this.#deps.hooks } = payment;
    const about = () => ({ ...factsOf(payment), durationMs });
    switch (outcome.kind) {
      case "rejected": {
        const { receipt } = outcome;
        const { route, network, payer, asset, amount } = factsOf(payment);
        logger.warn("settlement_rejected", { route, network, payer, asset, amount, reason: receipt.errorReason });
        events.emit("rejected", () => ({ ...about(), reason: receipt.errorReason ?? "unexpected_settle_error" }));
        hooks.tell("afterSettle", () => [contextOf(payment), copyOf(receipt)]);
        return;
      }
      case "unsent":
        if (isNews) events.emit("unsent", about);
        return;
      case "unknown":
        onUnknown(withoutRequest(payment), outcome.retryAfterSeconds);
        if (!isNews) return;
        events.emit("unknown", about);
        hooks.tell("onSettleUnknown", () => [contextOf(payment)]);
        return;
      default:
        outcome satisfies never;
    }
  }
}

/** A hash of EVM, which some write without its prefix. Ids of other chains have other lengths. */
const HEX = /^(?:0x)?[0-9a-f]{64}$/i;

/** The transaction, if it looks like one: a facilitator may write anything there. */
function idOf({ transaction }: SettlementResponse): string | undefined {
  return /^\w{1,90}$/.test(transaction) ? transaction : undefined;
}

type SettledOutcome = Extract<Outcome, { kind: "settled" }>;

/** Adds what extensions say to the receipt. The record has yet to be written, and the lease is still held. */
async function noteOn(payment: PendingPayment, outcome: SettledOutcome, start: SettlementStart): Promise<Outcome> {
  const { receipt } = outcome;
  const noted = await payment.asked?.addToReceipt(receipt, () => settledContextOf(payment, receipt, start));
  return noted === undefined ? outcome : { ...outcome, receipt: noted };
}

function settledContextOf(
  payment: PendingPayment,
  receipt: SettlementResponse,
  { response, waiting }: SettlementStart,
): SettledContext {
  const context = Object.freeze({
    ...settlingContextOf(payment, waiting?.responded ?? response),
    receipt: copyOf(receipt),
  });
  claims.set(context, payment.claim);
  return context;
}

const claims = new WeakMap<SettledContext, SettledFor>();

/** The request that a settled payment came with first, also if nobody waits for it now. */
export type SettledFor = Pick<ClaimRequest, "method" | "target" | "hasBody">;

/** The request that a settled payment is bound to. `undefined`: this is no context that a hook got. */
export function settledFor(context: SettledContext): SettledFor | undefined {
  return claims.get(context);
}

/** What hooks are told before the money moves. `responded`: what the handler did, if it ran. */
export function settlingContextOf(payment: PendingPayment, responded: RespondedParts | undefined): SettlingContext {
  return Object.freeze({ ...contextOf(payment), response: responded && new SellersResponse(responded) });
}

/**
 * Changes a record. If the store fails, it is asked once more, since a connection that broke may be there again. Rejects if it fails twice.
 * Otherwise a response that was delivered would count as lost, and the handler would run once more for a duplicate.
 */
export function changeSurely(
  store: Pick<PaymentStore, "transition" | "find">,
  change: Transition,
): boolean | Promise<boolean> {
  try {
    const changing = store.transition(change);
    return typeof changing === "boolean" ? changing : Promise.resolve(changing).catch(() => changeAgain(store, change));
  } catch {
    return changeAgain(store, change);
  }
}

async function changeAgain(store: Pick<PaymentStore, "transition" | "find">, change: Transition): Promise<boolean> {
  if (await store.transition(change)) return true;
  // The first call may have changed it.
  const record = await store.find(change.identity);
  return record?.owner === (change.newOwner ?? change.owner) && record.state === change.to;
}

/** A transition in the making. What the outcome is says to which state. */
type Change = { -readonly [Field in keyof Transition]: Transition[Field] };

/**
 * The state of the record once the outcome is known, and what it keeps and forgets.
 *
 * @returns Whether the client has yet to get the response, or an unknown outcome is asked for again. Other processes see to it if this one
 *   dies.
 */
function changeHeld(
  change: Change,
  outcome: Outcome,
  start: SettlementStart,
  { claim, isShared }: { readonly claim: ClaimRequest; readonly isShared: boolean },
): boolean {
  if (outcome.kind !== "settled") {
    change.to = outcome.kind;
    if (outcome.kind !== "rejected") return isShared && outcome.kind === "unknown";
    change.receipt = outcome.receipt;
    change.request = null;
    change.answer = null;
    change.identifier = null;
    return false;
  }
  change.receipt = outcome.receipt;
  change.request = null;
  // No request waited: the record keeps the response, or owes one to the same payment sent again.
  const isOwed = start.waiting === undefined && start.response === undefined;
  change.to = isOwed ? "owed" : "settled";
  if (start.waiting === undefined) {
    if (isOwed) return false;
    change.mark = "undelivered";
    change.newOwner = nextOwner();
    return false;
  }
  // A payment with an identifier may fetch its response again.
  const isGone = start.waiting.keepsResponse();
  if ((claim.identifier !== undefined || isGone) && start.response !== undefined) {
    if (!isGone) change.delivers = true;
    return false;
  }
  // Until it is delivered, the response stays for other processes.
  if (!isShared) change.answer = null;
  return isShared;
}

/** As {@link changeHeld}, for a response that is out. Nothing is kept, and no other run makes it anew. */
function changeStreamed(change: Change, payment: PendingPayment, outcome: Outcome, isShared: boolean): boolean {
  switch (outcome.kind) {
    case "settled":
      change.to = "settled";
      change.receipt = outcome.receipt;
      change.request = null;
      return false;
    case "rejected":
      change.to = "due";
      change.receipt = outcome.receipt;
      return false;
    case "unsent":
      change.to = "due";
      change.receipt = unsentReceipt(payment);
      return false;
    default:
      change.to = outcome.kind;
      return isShared;
  }
}

/** The receipt of a payment that is due because no facilitator was reached. */
function unsentReceipt({ payer, facilitatorRequest }: PendingPayment): SettlementResponse {
  const { network } = facilitatorRequest.paymentRequirements;
  return { success: false, errorReason: "unexpected_settle_error", payer, transaction: "", network };
}

/** A response for hooks. JSON has its body as text, or its length. */
class SellersResponse implements HeldResponse {
  readonly status: number;
  readonly headers: HeldResponse["headers"];
  readonly body: Uint8Array | undefined;

  constructor({ status, headers, body }: RespondedParts) {
    this.status = status;
    this.headers = joinHeaders(headers);
    // A copy: what goes out, and into the store, stays as it is.
    this.body = body && new Uint8Array(body);
  }

  toJSON(): object {
    const { status, headers, body } = this;
    if (body === undefined) return { status, headers };
    return { status, headers, body: isUtf8(body) ? Buffer.from(body).toString() : `[${body.length} bytes]` };
  }
}

function joinHeaders(headers: StoredAnswer["headers"]): HeldResponse["headers"] {
  const byName: Record<string, string[]> = Object.create(null);
  for (const [name, value] of headers) {
    byName[name.toLowerCase()] ??= [];
    byName[name.toLowerCase()]?.push(...(typeof value === "string" ? [value] : value));
  }
  return joinValues(byName);
}

/** The receipt itself has yet to go to the client, so hooks get a copy. */
function copyOf(receipt: SettlementResponse): SettlementResponse {
  return Object.freeze({ ...receipt });
}
