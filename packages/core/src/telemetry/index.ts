/**
 * Metrics and traces, as far as the seller wants them. Built as CommonJS, because a process loads it at once when an option asks for it
 * (`load-telemetry.ts`). Imports only types of the rest of core: it would have everything else twice.
 *
 * @module
 */
import { type Measured, measure } from "./measure.js";
import { createOpenTelemetrySink, type OpenTelemetryApi, trace } from "./open-telemetry.js";
import { PrometheusText } from "./prometheus.js";

/** Which options the seller has set. */
export interface MeasuringSettings {
  readonly metrics: boolean;
  readonly telemetry: OpenTelemetryApi | undefined;
}

/** Counts what happens from now on. Returns what `payments.metrics()` reads; `undefined` without the option `metrics`. */
export function startMeasuring(
  { metrics, telemetry }: MeasuringSettings,
  measured: Measured,
): { write(): string } | undefined {
  const text = metrics ? new PrometheusText() : undefined;
  if (text !== undefined) measure(text, measured);
  if (telemetry !== undefined) {
    measure(createOpenTelemetrySink(telemetry), measured);
    trace(telemetry, measured.events);
  }
  return text;
}
