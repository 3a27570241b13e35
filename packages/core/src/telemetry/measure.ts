/**
 * Counts events. Labels are of bounded sets: keys of routes, never paths; reasons of the protocol; names of facilitators.
 *
 * @module
 */
import type { PaymentEvents, PaymentFacts } from "../events/events.js";
import type { FacilitatorHealth } from "../facilitator/pool-member.js";
import { INSTRUMENTS, type Sink } from "./instruments.js";

/** What is measured. */
export interface Measured extends Gauges {
  readonly events: Pick<PaymentEvents, "on">;
  /** Whether a reason is one of the protocol's. A facilitator may write any. */
  readonly isReason: (reason: string) => boolean;
}

/** What is asked for when somebody reads. */
export interface Gauges {
  readonly inFlight: () => number;
  readonly unknownOutcomes: () => number;
  readonly heldBytes: () => number;
  readonly facilitators: () => readonly FacilitatorHealth[];
}

/** From now on, the sink gets what happens. */
export function measure(sink: Sink, { events, isReason, ...gauges }: Measured): void {
  const known = (reason: string) => (isReason(reason) ? reason : "other");
  const count = (instrument: Parameters<Sink["add"]>[0], labels: Parameters<Sink["add"]>[1]) =>
    sink.add(instrument, labels, 1n);
  const { challenges, refusals, grants, claims, replays, payments, revenue } = INSTRUMENTS;

  events.on("challenged", ({ route }) => count(challenges, { route }));
  events.on("granted", ({ route }) => count(grants, { route }));
  events.on("malformed", ({ route, reason }) => count(refusals, { route, reason }));
  events.on("mismatched", ({ route, reason }) => count(refusals, { route, reason: known(reason) }));
  events.on("invalid", ({ route, reason }) => count(refusals, { route, reason: known(reason) }));
  events.on("denied", ({ route, by }) => count(refusals, { route, reason: by }));
  events.on("price_failed", ({ route }) => count(refusals, { route, reason: "price_failed" }));
  events.on("claimed", ({ route }) => count(claims, { route }));
  events.on("replayed", ({ route, how }) => count(replays, { route, how }));

  const ended = ({ route, network }: PaymentFacts, outcome: string, reason = "") =>
    count(payments, { route, network, outcome, reason });
  events.on("settled", (event) => {
    ended(event, "settled");
    const { route, network, asset, amount } = event;
    sink.add(revenue, { route, network, asset }, BigInt(amount));
  });
  events.on("rejected", (event) => ended(event, "rejected", known(event.reason)));
  events.on("cancelled", (event) => ended(event, "cancelled", event.reason));
  events.on("unsent", (event) => ended(event, "unsent"));
  events.on("unknown", (event) => ended(event, "unknown"));
  events.on("unresolved", ({ route }) => count(INSTRUMENTS.unresolved, { route }));
  events.on("responded", ({ route, durationMs }) => sink.observe(INSTRUMENTS.handlers, { route }, durationMs / 1000));
  events.on("facilitator_called", ({ facilitator, operation, outcome, durationMs }) =>
    sink.observe(INSTRUMENTS.calls, { facilitator, operation, outcome }, durationMs / 1000),
  );
  events.on("hook_failed", ({ hook }) => count(INSTRUMENTS.hookFailures, { hook }));

  const watch = (instrument: Parameters<Sink["watch"]>[0], read: () => number) =>
    sink.watch(instrument, () => [{ labels: {}, value: read() }]);
  watch(INSTRUMENTS.inFlight, gauges.inFlight);
  watch(INSTRUMENTS.unknownOutcomes, gauges.unknownOutcomes);
  watch(INSTRUMENTS.heldBytes, gauges.heldBytes);
  sink.watch(INSTRUMENTS.facilitatorUp, () =>
    gauges.facilitators().map(({ name, state }) => ({ labels: { facilitator: name }, value: state === "up" ? 1 : 0 })),
  );
}
