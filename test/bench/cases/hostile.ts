/**
 * The costs of a header that no client in good faith would send.
 *
 * @module
 */
import { PATHS } from "../plan.js";
import { runProbe, startServer } from "../processes/spawn.js";
import { median } from "../statistics.js";
import type { Effort } from "./effort.js";

/** Milliseconds for the whole request. */
export interface Hostile {
  readonly title: string;
  readonly medianMs: number;
  readonly slowestMs: number;
}

const encode = (text: string) => Buffer.from(text).toString("base64");

/** As long as Node lets through, all told. */
const BYTES = 15_000;

const HEADERS: readonly { readonly title: string; readonly hostile: string; readonly expect: number }[] = [
  { title: "15 KB that are not base64", hostile: "%".repeat(BYTES), expect: 400 },
  { title: "15 KB of base64 that is not JSON", hostile: encode("\u0000".repeat((BYTES * 3) / 4)), expect: 400 },
  { title: "arrays, 5,000 deep", hostile: encode("[".repeat(5_000)), expect: 400 },
  { title: "objects, 1,500 deep", hostile: encode(`${'{"a":'.repeat(1_500)}1${"}".repeat(1_500)}`), expect: 400 },
  { title: "1,000 fields", hostile: encode(`{${fields(1_000)}}`), expect: 400 },
  { title: "a number of 10,000 digits", hostile: encode(`{"x402Version":${"9".repeat(10_000)}}`), expect: 400 },
];

function fields(count: number): string {
  return Array.from({ length: count }, (_, at) => `"k${at}":1`).join(",");
}

/** Measures Farebox. */
export async function measureHostile({ requests, note }: Effort): Promise<Hostile[]> {
  const server = await startServer({ side: "farebox", fillers: 0, offers: 1 });
  const all: Hostile[] = [];
  for (const { title, hostile, expect } of HEADERS) {
    note(`hostile: ${title}`);
    const { wholeMs } = await runProbe({ url: server.url + PATHS.paid, hostile, requests, warmUp: 20, expect });
    all.push({ title, medianMs: median(wholeMs), slowestMs: Math.max(...wholeMs) });
  }
  await server.close();
  return all;
}
