/**
 * Sends what is measured to OpenTelemetry, with a span for each call to a facilitator that a payment waits for, each handler and each
 * settlement. The seller passes `@opentelemetry/api`; nothing is loaded without it.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/http/http-spans/
 * @module
 */
import type { PaymentEvents, PaymentFacts } from "../events/events.js";
import type { Instrument, Labels, Sink } from "./instruments.js";

type Attributes = Readonly<Record<string, string | number>>;

interface Span {
  setStatus(status: { readonly code: number }): unknown;
  end(endTime?: number): void;
}

/** What is used of `@opentelemetry/api`, in any version from 1.4. */
export interface OpenTelemetryApi {
  readonly trace: {
    getTracer(name: string): {
      startSpan(
        name: string,
        options: { readonly kind: number; readonly startTime: number; readonly attributes: Attributes },
      ): Span;
    };
  };
  readonly metrics: {
    getMeter(name: string): {
      createCounter(name: string, options: InstrumentOptions): { add(value: number, labels: Labels): void };
      createHistogram(name: string, options: InstrumentOptions): { record(value: number, labels: Labels): void };
      createObservableGauge(
        name: string,
        options: InstrumentOptions,
      ): { addCallback(read: (result: { observe(value: number, labels: Labels): void }) => void): void };
    };
  };
}

interface InstrumentOptions {
  readonly description: string;
  readonly unit: string;
}

const LIBRARY = "farebox";

/** Values of OpenTelemetry's enumerations. */
const INTERNAL = 0;
const CLIENT = 2;
const ERROR = 2;

/** A sink for metrics. The SDK decides what becomes of them. */
export function createOpenTelemetrySink({ metrics }: OpenTelemetryApi): Sink {
  const meter = metrics.getMeter(LIBRARY);
  const counters = new Map<Instrument, { add(value: number, labels: Labels): void }>();
  const histograms = new Map<Instrument, { record(value: number, labels: Labels): void }>();
  return {
    add(instrument, labels, amount) {
      const counter = find(counters, instrument, (...about) => meter.createCounter(...about));
      // OpenTelemetry counts in floating point. What the ledger and Prometheus text say is exact.
      counter.add(Number(amount), labels);
    },
    observe(instrument, labels, seconds) {
      find(histograms, instrument, (...about) => meter.createHistogram(...about)).record(seconds, labels);
    },
    watch(instrument, read) {
      meter.createObservableGauge(...about(instrument)).addCallback((result) => {
        for (const { labels, value } of read()) result.observe(value, labels);
      });
    },
  };
}

function find<T>(
  known: Map<Instrument, T>,
  instrument: Instrument,
  create: (name: string, options: InstrumentOptions) => T,
): T {
  const found = known.get(instrument) ?? create(...about(instrument));
  known.set(instrument, found);
  return found;
}

/** `farebox_facilitator_call_duration_seconds` is `farebox.facilitator_call.duration` in OpenTelemetry. */
function about({ name, help, unit }: Instrument): readonly [name: string, options: InstrumentOptions] {
  const named = name.replace(/^farebox_/, "farebox.").replace(/_duration_seconds$/, ".duration");
  return [named, { description: help, unit }];
}

/** Makes a span of each step when it has ended. Its parent is what the step ran in, such as the request. */
export function trace({ trace: traces }: OpenTelemetryApi, events: Pick<PaymentEvents, "on">): void {
  const tracer = traces.getTracer(LIBRARY);
  const write = (
    name: string,
    { atMs, durationMs }: { readonly atMs: number; readonly durationMs: number },
    {
      kind = INTERNAL,
      attributes,
      error,
    }: { readonly kind?: number; attributes: Attributes; error?: string | undefined },
  ) => {
    const failed = error === undefined ? {} : { "error.type": error };
    const span = tracer.startSpan(name, {
      kind,
      startTime: atMs - durationMs,
      attributes: { ...attributes, ...failed },
    });
    if (error !== undefined) span.setStatus({ code: ERROR });
    span.end(atMs);
  };
  events.on("facilitator_called", (event) => {
    const { facilitator, operation, outcome } = event;
    const attributes = { "server.address": facilitator, "farebox.operation": operation };
    const error = outcome === "responded" ? undefined : outcome;
    write(`farebox.facilitator.${operation}`, event, { kind: CLIENT, attributes, error });
  });
  events.on("verified", (event) => write("farebox.verify", event, { attributes: attributesOf(event) }));
  events.on("invalid", (event) =>
    write("farebox.verify", event, { attributes: attributesOf(event), error: event.reason }),
  );
  events.on("responded", (event) => write("farebox.handler", event, { attributes: attributesOf(event) }));
  events.on("settled", (event) => {
    const attributes = { ...attributesOf(event), "farebox.transaction": event.transaction };
    write("farebox.settle", event, { attributes });
  });
  events.on("rejected", (event) =>
    write("farebox.settle", event, { attributes: attributesOf(event), error: event.reason }),
  );
  for (const type of ["unsent", "unknown"] as const) {
    events.on(type, (event) => write("farebox.settle", event, { attributes: attributesOf(event), error: type }));
  }
}

function attributesOf({ route, scheme, network, asset, amount }: PaymentFacts): Attributes {
  const [, method, path] = /^(?:([A-Z-]+) )?(\/.*)$/.exec(route) ?? [];
  return {
    ...(path === undefined ? {} : { "http.route": path }),
    ...(method === undefined ? {} : { "http.request.method": method }),
    "farebox.route": route,
    "farebox.scheme": scheme,
    "farebox.network": network,
    "farebox.asset": asset,
    "farebox.amount": amount,
  };
}
