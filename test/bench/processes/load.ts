/**
 * Load on one path for some seconds, by autocannon, in a process of its own.
 *
 * @module
 */
import autocannon from "autocannon";
import { preparePayments } from "./payments.js";

/** What is asked for. */
export interface Load {
  readonly url: string;
  /** Where the payments' offers are read. Default: nothing is paid. */
  readonly payAt?: string;
  /** Of the first nonce, so that no two runs share one. */
  readonly firstPayment: number;
  readonly connections: number;
  readonly seconds: number;
  /** The status that counts. */
  readonly expect: number;
}

/** What came of it. */
export interface LoadResult {
  readonly perSecond: number;
  readonly megabytesPerSecond: number;
}

const load: Load = JSON.parse(process.argv[2] ?? "");
const next = load.payAt === undefined ? undefined : await preparePayments(load.payAt, BigInt(load.firstPayment));
const setupRequest: autocannon.Request["setupRequest"] = (request) => ({
  ...request,
  headers: { ...request.headers, ...(next === undefined ? {} : { "PAYMENT-SIGNATURE": next() }) },
});

const { url, connections, seconds: duration } = load;
const result = await autocannon({ url, connections, duration, requests: [{ method: "GET", setupRequest }] });
const statuses = Object.entries(result.statusCodeStats ?? {});
const wrong = statuses.filter(([status]) => Number(status) !== load.expect);
if (wrong.length > 0 || result.errors > 0 || statuses.length === 0) {
  throw new Error(`${url}: ${JSON.stringify(result.statusCodeStats)}, ${result.errors} errors`);
}
const measured: LoadResult = {
  perSecond: result.requests.total / result.duration,
  megabytesPerSecond: result.throughput.total / result.duration / 1_000_000,
};
process.send?.(measured);
process.disconnect?.();
