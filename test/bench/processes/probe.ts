/**
 * One request after another on one connection, each timed, in a process of its own.
 *
 * @module
 */
import { Agent, request } from "node:http";
import { readPayments, type Slice } from "./payments.js";

/** What is asked for. */
export interface Probe {
  readonly url: string;
  /** Where the payments' offers are read. Default: nothing is paid. */
  readonly payAt?: string;
  readonly payloads?: Slice;
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
  /** How many payments were sent. */
  readonly sent: number;
}

const probe: Probe = JSON.parse(process.argv[2] ?? "");
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const { payAt, payloads } = probe;
const payments = payAt === undefined || payloads === undefined ? [] : await readPayments(payAt, payloads);
let sent = 0;

const firstByteMs: number[] = [];
const wholeMs: number[] = [];
let bytes = 0;
for (let at = -probe.warmUp; at < probe.requests; at++) {
  const timed = await ask(payments[sent++]);
  if (at < 0) continue;
  firstByteMs.push(timed.firstByteMs);
  wholeMs.push(timed.wholeMs);
  bytes = timed.bytes;
}
const measured: ProbeResult = { firstByteMs, wholeMs, bytes, sent };
process.send?.(measured);
process.disconnect?.();
agent.destroy();

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
