/**
 * Payment events, for counters, alerts and traces.
 *
 * Every event is also published on the channel `farebox:<type>` of `node:diagnostics_channel`.
 *
 * @module
 */
import { type Channel, channel } from "node:diagnostics_channel";
import type { ExtensionStatus } from "../protocol/documents.js";
import type { Reason } from "../protocol/reasons.js";
import { errorName, type Logger } from "./logger.js";

/**
 * The payment that an event is about. Contains no secrets: no signature, header or body, and not the client's payment-identifier,
 * which gives access to the kept response.
 */
export interface PaymentFacts {
  /** The identity of the payment: for `exact` on EVM its network, asset, payer and nonce. */
  readonly payment: string;
  /** The key of the route, e.g. `GET /weather/:city`. */
  readonly route: string;
  readonly payer: string;
  readonly scheme: string;
  /** CAIP-2, e.g. `eip155:8453`. */
  readonly network: string;
  readonly asset: string;
  /** Atomic units as a decimal string, e.g. `"10000"`. */
  readonly amount: string;
}

interface Timed {
  /** Milliseconds. */
  readonly durationMs: number;
}

/** Why nothing is charged. `failed`: the store failed, or another run owned the payment. */
export type CancelReason = "client_gone" | "expired" | "not_chargeable" | "denied" | "failed";

/**
 * The hook, check or limit that refused a request or a payment. `payment-identifier`: another payment has the same id.
 * `settlementPaused`: settlement failed too often just now, for all payers or for this one, so the handler does not run.
 * `abandonedRuns`: the client left too often, and the payment cannot settle before the handler runs. `balance`: the payer has
 * not enough for all payments that are being served. `exposurePerPayer`, `exposureTotal`: so much is streaming, or not yet settled. `due`:
 * the payer has not paid for an earlier metered response. `deadline`: too little time is left until the chain
 * no longer takes the payment.
 */
export type DeniedBy =
  | "onRequest"
  | "beforeVerify"
  | "afterVerify"
  | "beforeSettle"
  | "validate"
  | "maxRunsPerPayer"
  | "abandonedRuns"
  | "balance"
  | "exposurePerPayer"
  | "exposureTotal"
  | "due"
  | "deadline"
  | "settlementPaused"
  | "payment-identifier";

/**
 * Every event, with its fields besides `type` and `atMs`.
 *
 * @see `docs/reference/events.md`
 */
export interface PaymentEventMap {
  /** A request without a payment got the challenge. */
  readonly challenged: { readonly route: string };
  /** The payment, or its payment-identifier, is malformed or missing. */
  readonly malformed: { readonly route: string; readonly reason: Reason };
  /** The payment matches none of the offers, or the scheme refused it before the facilitator was asked. */
  readonly mismatched: {
    readonly route: string;
    readonly reason: string;
    /** The field that differs from the offer, e.g. `amount`. */
    readonly field?: string;
  };
  /** A price function, or a `payTo` function, threw or returned no price. The client got 503. The log has the error. */
  readonly price_failed: { readonly route: string };
  /** `onRequest`, or a dynamic price of zero, let a request through without payment. */
  readonly granted: { readonly route: string };
  /** A request was refused. With `PaymentFacts` if it had a payment. */
  readonly denied: { readonly route: string; readonly by: DeniedBy } & Partial<PaymentFacts>;
  /** The request owns the payment. */
  readonly claimed: PaymentFacts;
  /**
   * A duplicate of an earlier payment. Its client gets:
   *
   * - `shared`: the response of the first request, which is in flight.
   * - `stored`: the kept response.
   * - `owed`: a run of the handler, because the money moved and no response is kept.
   * - `pending`: a response that says to try again later.
   * - `refused`: a refusal.
   */
  readonly replayed: PaymentFacts & { readonly how: "shared" | "stored" | "owed" | "pending" | "refused" };
  /** The facilitator accepted the payment. */
  readonly verified: PaymentFacts & Timed;
  /** The facilitator refused the payment, or failed (`unexpected_verify_error`). */
  readonly invalid: PaymentFacts & Timed & { readonly reason: string };
  /** The handler is about to run. */
  readonly admitted: PaymentFacts;
  /** The handler has responded, and its response is held. `durationMs` counts from `admitted`. Not of a payment that settled before. */
  readonly responded: PaymentFacts & Timed;
  /** Nothing is charged although the handler was admitted. `durationMs` counts from `admitted`. */
  readonly cancelled: PaymentFacts & Timed & { readonly reason: CancelReason };
  /** The money moved. `durationMs` is the time of the settlement. */
  readonly settled: PaymentFacts & Timed & { readonly transaction: string };
  /** The money did not move and will not; or not so far, for a metered response, which is settled again until the payment expires. */
  readonly rejected: PaymentFacts & Timed & { readonly reason: string };
  /** The facilitator was not reached: the money did not move. */
  readonly unsent: PaymentFacts & Timed;
  /** The money may have moved. Farebox keeps asking, and the next event for this payment has the outcome. */
  readonly unknown: PaymentFacts & Timed;
  /** The payment's time is over, and its outcome is still unknown: a person has to look. */
  readonly unresolved: PaymentFacts;
  /** A facilitator reported on an extension that the route declares. */
  readonly extension_outcome: PaymentFacts & {
    /** Its identifier, e.g. `bazaar`. */
    readonly extension: string;
    readonly operation: "verify" | "settle";
    readonly status: ExtensionStatus;
    /** The facilitator's text, at most 200 printable ASCII characters. */
    readonly rejectedReason?: string;
  };
  /** A hook threw, returned what it may not, or took longer than it may. The log has the error. */
  readonly hook_failed: { readonly hook: string };
  /** A call to a facilitator has ended. */
  readonly facilitator_called: Timed & {
    readonly facilitator: string;
    readonly operation: "verify" | "settle";
    /** `responded`, also if it refused; or the code of its failure. */
    readonly outcome: string;
  };
  /** A facilitator works, or works again. */
  readonly facilitator_up: { readonly facilitator: string };
  /** A facilitator fails, with the code of its latest failure. */
  readonly facilitator_down: { readonly facilitator: string; readonly code: string | undefined };
}

/** `settled`, `rejected`, … */
export type PaymentEventType = keyof PaymentEventMap;

/** An event of one type, or of any: `{ type: "granted", atMs: 1767225600000, route: "GET /weather" }`. */
export type PaymentEvent<T extends PaymentEventType = PaymentEventType> = {
  readonly [K in T]: { readonly type: K; readonly atMs: number } & PaymentEventMap[K];
}[T];

/** Gets events. It is not awaited. If it throws or rejects, the error is logged and the payment continues. */
export type PaymentListener<T extends PaymentEventType> = (event: PaymentEvent<T>) => void;

/** Publishes events to listeners. */
export interface PaymentEvents {
  /** Adds a listener for one type of event. Returns a function that removes it. */
  on<T extends PaymentEventType>(type: T, listener: PaymentListener<T>): () => void;
  /** Whether anybody listens: asked where every payment passes, to describe nothing for nobody. */
  hears(type: PaymentEventType): boolean;
  /** Publishes an event. Calls `describe` only if there is a listener. Never throws. */
  emit<T extends PaymentEventType>(type: T, describe: () => PaymentEventMap[T]): void;
}

const TYPES = Object.keys({
  challenged: true,
  malformed: true,
  mismatched: true,
  price_failed: true,
  granted: true,
  denied: true,
  claimed: true,
  replayed: true,
  verified: true,
  invalid: true,
  admitted: true,
  responded: true,
  cancelled: true,
  settled: true,
  rejected: true,
  unsent: true,
  unknown: true,
  unresolved: true,
  extension_outcome: true,
  hook_failed: true,
  facilitator_called: true,
  facilitator_up: true,
  facilitator_down: true,
} satisfies Record<PaymentEventType, true>) as readonly PaymentEventType[];

/** Whether a value is the type of an event. */
export function isPaymentEventType(type: unknown): type is PaymentEventType {
  return TYPES.some((known) => known === type);
}

/** Creates events without listeners. */
export function createPaymentEvents(logger: Logger, now: () => number): PaymentEvents {
  const topics = new Map(TYPES.map((type) => [type, createTopic(type)]));
  const hears = (type: PaymentEventType) => {
    const topic = topics.get(type);
    return topic !== undefined && (topic.listeners.size > 0 || topic.channel.hasSubscribers);
  };
  return {
    hears,
    on(type, listener) {
      // Wrapped, so that one function can listen twice and be removed once.
      const entry: Entry = { hear: listener };
      topics.get(type)?.listeners.add(entry);
      return () => void topics.get(type)?.listeners.delete(entry);
    },
    emit(type, describe) {
      const topic = topics.get(type);
      if (topic === undefined || !hears(type)) return;
      try {
        const event = Object.freeze({ type, atMs: now(), ...describe() });
        // If a subscriber throws, Node reports it later as an uncaught exception.
        topic.channel.publish(event);
        for (const entry of [...topic.listeners]) tell(entry, event, logger);
      } catch (error) {
        // The money may just have moved: a failing clock must not turn that into an error.
        logger.error("event_failed", { type, error: errorName(error) });
      }
    },
  };
}

function tell({ hear }: Entry, event: { readonly type: PaymentEventType }, logger: Logger): void {
  const failed = (error: unknown) => logger.error("listener_failed", { type: event.type, error: errorName(error) });
  try {
    // A listener is stored under the type of its events.
    const said = hear(event as never);
    // An async listener that rejects would end the process.
    if (said !== undefined) Promise.resolve(said).catch(failed);
  } catch (error) {
    failed(error);
  }
}

interface Entry {
  readonly hear: (event: never) => unknown;
}

interface Topic {
  readonly channel: Channel;
  readonly listeners: Set<Entry>;
}

function createTopic(type: PaymentEventType): Topic {
  return { channel: channel(`farebox:${type}`), listeners: new Set() };
}
