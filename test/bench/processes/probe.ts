/**
 * One request after another on one connection, each timed, in a process of its own.
 *
 * @module
 */
import { Agent, request } from "node:http";
import { Mint } from "./payments.js";

/** What is asked for. */
export interface Probe {
  readonly url: string;
  /** Where the payments' offers are read. Default: nothing is paid. */
  readonly payAt?: string;
  /** Sent as it is, in place of a payment. */
  readonly hostile?: string;
  readonly requests: number;
  readonly warmUp: number;
  readonly expect: number;
}

/** Milliseconds of each request, and what came back. */
export interface ProbeResult {
  /** Until the first byte of the body. */
  readonly firstByteMs: readonly number[];
  readonly wholeMs: readonly number[];
  /** Of one answer. */
  readonly bytes: number;
}

/** Farebox takes payments that are valid for up to an hour longer than it asks for. */
const SENT_WITHIN_MS = 1_800_000;

const probe: Probe = JSON.parse(process.argv[2] ?? "");
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const payments: string[] = [];
if (probe.payAt !== undefined) {
  const mint = await Mint.open(probe.payAt);
  while (payments.length < probe.warmUp + probe.requests) payments.push(await mint.sign(SENT_WITHIN_MS));
}

const firstByteMs: number[] = [];
const wholeMs: number[] = [];
let bytes = 0;
for (let at = -probe.warmUp; at < probe.requests; at++) {
  const timed = await ask(payments[at + probe.warmUp]);
  if (at < 0) continue;
  firstByteMs.push(timed.firstByteMs);
  wholeMs.push(timed.wholeMs);
  bytes = timed.bytes;
}
const measured: ProbeResult = { firstByteMs, wholeMs, bytes };
process.send?.(measured);
process.on("disconnect", () => process.exit());

interface Timed {
  readonly firstByteMs: number;
  readonly wholeMs: number;
  readonly bytes: number;
}

function ask(next: string | undefined): Promise<Timed> {
  const payment = probe.hostile ?? next;
  const headers = payment === undefined ? {} : { "PAYMENT-SIGNATURE": payment };
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const asking = request(probe.url, { agent, headers }, (answer) => {
      if (answer.statusCode !== probe.expect) reject(new Error(`${probe.url}: ${answer.statusCode}`));
      let first: number | undefined;
      let received = 0;
      answer.on("data", (chunk: Buffer) => {
        first ??= performance.now() - started;
        received += chunk.length;
      });
      answer.on("error", reject);
      answer.on("end", () => {
        const wholeMs = performance.now() - started;
        resolve({ firstByteMs: first ?? wholeMs, wholeMs, bytes: received });
      });
    });
    asking.on("error", reject);
    asking.end();
  });
}
