/**
 * What is measured: each instrument with its name, its unit and its labels. The values come from events (`measure.ts`) and go to
 * Prometheus text (`prometheus.ts`), to OpenTelemetry (`open-telemetry.ts`), or to both.
 *
 * @see `docs/guides/observability.md`
 * @module
 */

/** One instrument. */
export interface Instrument {
  /** In the form of Prometheus, without the suffix `_total` of counters. */
  readonly name: string;
  readonly kind: "counter" | "histogram" | "gauge";
  readonly help: string;
  readonly labels: readonly string[];
  /** Of OpenTelemetry. */
  readonly unit: string;
}

function counter(name: string, labels: readonly string[], help: string, unit = "{count}"): Instrument {
  return { name, kind: "counter", help, labels, unit };
}

function gauge(name: string, labels: readonly string[], help: string, unit = "{count}"): Instrument {
  return { name, kind: "gauge", help, labels, unit };
}

type InstrumentName =
  | "challenges"
  | "refusals"
  | "grants"
  | "claims"
  | "replays"
  | "payments"
  | "revenue"
  | "calls"
  | "handlers"
  | "hookFailures"
  | "unresolved"
  | "inFlight"
  | "unknownOutcomes"
  | "heldBytes"
  | "facilitatorUp";

export const INSTRUMENTS: Readonly<Record<InstrumentName, Instrument>> = {
  challenges: counter("farebox_challenges", ["route"], "Requests without a payment that got a challenge."),
  refusals: counter(
    "farebox_refusals",
    ["route", "reason"],
    "Requests and payments that were refused before settlement.",
  ),
  grants: counter("farebox_grants", ["route"], "Requests that were let through without payment."),
  claims: counter("farebox_claims", ["route"], "Payments that came for the first time."),
  replays: counter("farebox_replays", ["route", "how"], "Payments that came again, by what their clients got."),
  payments: counter(
    "farebox_payments",
    ["route", "network", "outcome", "reason"],
    "Payments that were admitted, by their outcome. An unknown one counts again when it is known.",
  ),
  revenue: counter(
    "farebox_revenue_atomic",
    ["route", "network", "asset"],
    "Money that moved to the seller, in atomic units of the asset.",
    "{unit}",
  ),
  calls: {
    name: "farebox_facilitator_call_duration_seconds",
    kind: "histogram",
    help: "Time of calls to facilitators, by how they ended.",
    labels: ["facilitator", "operation", "outcome"],
    unit: "s",
  },
  handlers: {
    name: "farebox_handler_duration_seconds",
    kind: "histogram",
    help: "Time of handlers that a payment admitted, until they had responded.",
    labels: ["route"],
    unit: "s",
  },
  hookFailures: counter(
    "farebox_hook_failures",
    ["hook"],
    "Hooks that threw, returned what they may not, or were late.",
  ),
  unresolved: counter("farebox_unresolved", ["route"], "Settlements that a person has to look at."),
  inFlight: gauge("farebox_in_flight", [], "Payments that requests are working on, or that are being settled."),
  unknownOutcomes: gauge("farebox_unknown_outcomes", [], "Settlements that are tried again: unknown, or due."),
  heldBytes: gauge("farebox_held_bytes", [], "Bytes of responses that wait for their settlement.", "By"),
  facilitatorUp: gauge(
    "farebox_facilitator_up",
    ["facilitator"],
    "1: it works. 0: it is down, or has not responded yet.",
  ),
};

/** Labels of a value, by their names. */
export type Labels = Readonly<Record<string, string>>;

/** Takes what is measured. */
export interface Sink {
  add(instrument: Instrument, labels: Labels, amount: bigint): void;
  observe(instrument: Instrument, labels: Labels, seconds: number): void;
  /** Asked when somebody reads. */
  watch(instrument: Instrument, read: () => readonly Reading[]): void;
}

/** A value of a gauge. */
export interface Reading {
  readonly labels: Labels;
  readonly value: number;
}
