/**
 * Payment events: what becomes of requests and payments, for whoever wants to count, alert or trace.
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
 * Which payment an event is about, and what it is worth. Nothing in it is secret: no signature, no header, no body, and
 * not the id that its client gave it, by which the client can ask for its answer.
 */
export interface PaymentFacts {
  /** What makes the payment one payment: network, asset, payer and nonce, for `exact` on EVM. */
  readonly payment: string;
  /** The key of the route. */
  readonly route: string;
  readonly payer: string;
  readonly scheme: string;
  /** CAIP-2. */
  readonly network: string;
  readonly asset: string;
  /** Atomic units as a decimal string. */
  readonly amount: string;
}

/** Milliseconds that something took. */
interface Timed {
  readonly durationMs: number;
}

/** Why nothing is charged. `failed`: the store failed, or another run had the payment. */
export type CancelReason = "client_gone" | "expired" | "not_chargeable" | "denied" | "failed";

/** Who refuses a request or a payment: a hook, a check, a limit, or another payment that has the same id. */
export type DeniedBy =
  | "onRequest"
  | "beforeVerify"
  | "afterVerify"
  | "beforeSettle"
  | "validate"
  | "maxRunsPerPayer"
  | "payment-identifier";

/**
 * Every event, and what it says besides its type and time.
 *
 * @see `docs/reference/events.md`
 */
export interface PaymentEventMap {
  /** A request without a payment was told what it costs. */
  readonly challenged: { readonly route: string };
  /** What came as a payment was none, or its payment-identifier was missing or malformed. */
  readonly malformed: { readonly route: string; readonly reason: Reason };
  /** The payment was for none of the offers, or the scheme refused it without asking anybody. */
  readonly mismatched: {
    readonly route: string;
    readonly reason: string;
    /** What is not as offered, e.g. `amount`. */
    readonly field?: string;
  };
  /** A hook, or a price by request that is zero, let a request through without payment. */
  readonly granted: { readonly route: string };
  /** A request or a payment was refused; which payment, if there was one. */
  readonly denied: { readonly route: string; readonly by: DeniedBy } & Partial<PaymentFacts>;
  /** One request owns the payment now. */
  readonly claimed: PaymentFacts;
  /**
   * The payment was seen before, and its client gets: `shared`, what the first run's client gets; `stored`, the answer that
   * was kept; `owed`, a run of the handler, for the money has moved; `pending`, to be told to come back; `refused`, nothing.
   */
  readonly replayed: PaymentFacts & { readonly how: "shared" | "stored" | "owed" | "pending" | "refused" };
  readonly verified: PaymentFacts & Timed;
  /** The facilitator said no, or could not be asked: then the reason is `unexpected_verify_error`. */
  readonly invalid: PaymentFacts & Timed & { readonly reason: string };
  /** The handler is about to run. */
  readonly admitted: PaymentFacts;
  /** Nothing is charged though the handler was admitted. `durationMs` is how long ago that was. */
  readonly cancelled: PaymentFacts & Timed & { readonly reason: CancelReason };
  /** The money moved. `durationMs` is how long settlement took. */
  readonly settled: PaymentFacts & Timed & { readonly transaction: string };
  /** The money did not move and will not. */
  readonly rejected: PaymentFacts & Timed & { readonly reason: string };
  /** The facilitator was not reached: the money did not move. */
  readonly unsent: PaymentFacts & Timed;
  /** The money may have moved. It is asked again until it is known, and said again only when it is. */
  readonly unknown: PaymentFacts & Timed;
  /** The payment has expired, and what became of it is still not known: somebody has to look. */
  readonly unresolved: PaymentFacts;
  /** A facilitator said what has become of something we had declared. */
  readonly extension_outcome: PaymentFacts & {
    /** `bazaar`. */
    readonly extension: string;
    readonly operation: "verify" | "settle";
    readonly status: ExtensionStatus;
    /** A facilitator's own words, at most 200 printable ASCII characters. */
    readonly rejectedReason?: string;
  };
  readonly facilitator_up: { readonly facilitator: string };
  readonly facilitator_down: { readonly facilitator: string; readonly code: string | undefined };
}

/** `settled`, `rejected`, … */
export type PaymentEventType = keyof PaymentEventMap;

/** An event of one type, or of any. */
export type PaymentEvent<T extends PaymentEventType = PaymentEventType> = {
  readonly [K in T]: { readonly type: K; readonly atMs: number } & PaymentEventMap[K];
}[T];

/** Hears of events. It is not waited for; what it throws, or rejects with, is logged and changes nothing. */
export type PaymentListener<T extends PaymentEventType> = (event: PaymentEvent<T>) => void;

/** Tells listeners. */
export interface PaymentEvents {
  /** Listens for one type of event. Yields what ends that. */
  on<T extends PaymentEventType>(type: T, listener: PaymentListener<T>): () => void;
  /** Tells everybody who listens; what the event says is only put together when somebody does. Never throws. */
  emit<T extends PaymentEventType>(type: T, describe: () => PaymentEventMap[T]): void;
}

const TYPES = Object.keys({
  challenged: true,
  malformed: true,
  mismatched: true,
  granted: true,
  denied: true,
  claimed: true,
  replayed: true,
  verified: true,
  invalid: true,
  admitted: true,
  cancelled: true,
  settled: true,
  rejected: true,
  unsent: true,
  unknown: true,
  unresolved: true,
  extension_outcome: true,
  facilitator_up: true,
  facilitator_down: true,
} satisfies Record<PaymentEventType, true>) as readonly PaymentEventType[];

/** Whether there are events of that name. */
export function isPaymentEventType(type: unknown): type is PaymentEventType {
  return TYPES.some((known) => known === type);
}

/** Creates events that nobody listens to yet. */
export function createPaymentEvents(logger: Logger, now: () => number): PaymentEvents {
  const topics = new Map(TYPES.map((type) => [type, createTopic(type)]));
  return {
    on(type, listener) {
      // Wrapped, so that the same function may listen twice and each time be ended by itself.
      const entry: Entry = { hear: listener };
      topics.get(type)?.listeners.add(entry);
      return () => void topics.get(type)?.listeners.delete(entry);
    },
    emit(type, describe) {
      const topic = topics.get(type);
      if (topic === undefined || !isHeard(topic)) return;
      try {
        const event = Object.freeze({ type, atMs: now(), ...describe() });
        // A subscriber that throws is Node's to report; it does so later, as an exception that nobody caught.
        topic.channel.publish(event);
        for (const entry of [...topic.listeners]) tell(entry, event, logger);
      } catch (error) {
        // Money may have moved a moment ago: a clock that fails must not make that an error.
        logger.error("event_failed", { type, error: errorName(error) });
      }
    },
  };
}

function isHeard({ listeners, channel }: Topic): boolean {
  return listeners.size > 0 || channel.hasSubscribers;
}

function tell({ hear }: Entry, event: { readonly type: PaymentEventType }, logger: Logger): void {
  const failed = (error: unknown) => logger.error("listener_failed", { type: event.type, error: errorName(error) });
  try {
    // Listeners stand under the type of event that they listen for.
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
