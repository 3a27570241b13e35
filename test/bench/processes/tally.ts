/**
 * The responses to some requests: how many of each status, and how long they took.
 *
 * @module
 */
import { createHistogram, type RecordableHistogram } from "node:perf_hooks";

/** Milliseconds until all of a response was here. At a steady rate they begin when a request is due. */
export interface Percentiles {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** Counts responses. */
export class Tally {
  readonly statuses: Record<string, number> = {};
  mostWaiting = 0;
  readonly #times: RecordableHistogram = createHistogram();

  get count(): number {
    return this.#times.count;
  }

  /** One more response. */
  add(status: number, milliseconds: number): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    this.#times.record(Math.max(1, Math.round(milliseconds * NANOSECONDS)));
  }

  /** So many requests wait for a response now. */
  noteWaiting(count: number): void {
    this.mostWaiting = Math.max(this.mostWaiting, count);
  }

  /** Zeros, if there was none. */
  percentiles(): Percentiles {
    if (this.count === 0) return { p50: 0, p99: 0, p999: 0, max: 0 };
    const at = (percent: number) => this.#times.percentile(percent) / NANOSECONDS;
    return { p50: at(50), p99: at(99), p999: at(99.9), max: at(100) };
  }
}

const NANOSECONDS = 1_000_000;
