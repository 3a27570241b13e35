/**
 * Keeps what is measured, and writes it in the text format of Prometheus.
 *
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/
 * @module
 */
import type { Instrument, Labels, Reading, Sink } from "./instruments.js";

/** Seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

/** Series of one instrument. Further ones are added up in one, whose labels are `other`. */
const MAX_SERIES = 1_000;

interface Series {
  readonly labels: Labels;
  /** Of a counter. Sums of money are larger than a number can be. */
  total: bigint;
  /** Of a histogram: how many values each bucket has, without those of smaller ones; the last bucket has no limit. */
  readonly counts: number[];
  sum: number;
}

/** Metrics in memory. */
export class PrometheusText implements Sink {
  readonly #series = new Map<Instrument, Map<string, Series>>();
  readonly #gauges: { readonly instrument: Instrument; readonly read: () => readonly Reading[] }[] = [];

  add(instrument: Instrument, labels: Labels, amount: bigint): void {
    this.#find(instrument, labels).total += amount;
  }

  observe(instrument: Instrument, labels: Labels, seconds: number): void {
    const series = this.#find(instrument, labels);
    const at = BUCKETS.findIndex((limit) => seconds <= limit);
    const bucket = at === -1 ? BUCKETS.length : at;
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
    series.sum += seconds;
  }

  watch(instrument: Instrument, read: () => readonly Reading[]): void {
    this.#gauges.push({ instrument, read });
  }

  /** Everything, as Prometheus reads it. */
  write(): string {
    const lines: string[] = [];
    for (const [instrument, series] of this.#series) {
      const name = instrument.kind === "counter" ? `${instrument.name}_total` : instrument.name;
      writeHead(lines, instrument, name);
      for (const one of series.values()) {
        if (instrument.kind === "counter") lines.push(`${name}${writeLabels(one.labels)} ${one.total}`);
        else writeHistogram(lines, name, one);
      }
    }
    for (const { instrument, read } of this.#gauges) {
      writeHead(lines, instrument, instrument.name);
      for (const { labels, value } of read()) lines.push(`${instrument.name}${writeLabels(labels)} ${value}`);
    }
    return `${lines.join("\n")}\n`;
  }

  #find(instrument: Instrument, labels: Labels): Series {
    const all = this.#series.get(instrument) ?? new Map<string, Series>();
    this.#series.set(instrument, all);
    const found = all.get(keyOf(instrument, labels));
    if (found !== undefined) return found;
    const own = all.size < MAX_SERIES ? labels : Object.fromEntries(instrument.labels.map((name) => [name, "other"]));
    const key = keyOf(instrument, own);
    const series = all.get(key) ?? { labels: own, total: 0n, counts: [], sum: 0 };
    all.set(key, series);
    return series;
  }
}

function keyOf({ labels: names }: Instrument, labels: Labels): string {
  return names.map((name) => labels[name]).join("\n");
}

function writeHead(lines: string[], { kind, help }: Instrument, name: string): void {
  lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`);
}

function writeHistogram(lines: string[], name: string, { labels, counts, sum }: Series): void {
  let count = 0;
  for (const [at, limit] of [...BUCKETS, "+Inf"].entries()) {
    count += counts[at] ?? 0;
    lines.push(`${name}_bucket${writeLabels({ ...labels, le: String(limit) })} ${count}`);
  }
  lines.push(`${name}_sum${writeLabels(labels)} ${sum}`, `${name}_count${writeLabels(labels)} ${count}`);
}

function writeLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
