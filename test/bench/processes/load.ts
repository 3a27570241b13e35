/**
 * Load on one path for some seconds, by autocannon, in a process of its own.
 *
 * @module
 */
import autocannon from "autocannon";
import { atCount } from "../plan.js";
import { readPayments, type Slice } from "./payments.js";

/** What is asked for. */
export interface Load {
  /** With `{n}` where each request has another number. */
  readonly url: string;
  /** Other servers of the same path. The connections go to all servers in turn. */
  readonly otherUrls?: readonly string[];
  /** Where the payments' offers are read. Default: nothing is paid. */
  readonly payAt?: string;
  /** What this server has not been paid with. */
  readonly payloads?: Slice;
  /** Whether the server looks at no payment, or does not know one again: then a few are sent again and again. */
  readonly isRepeated?: boolean;
  readonly connections: number;
  readonly seconds: number;
  /** The status that counts. */
  readonly expect: number;
}

/** The outcome. */
export interface LoadResult {
  readonly requests: number;
  /** How many payments were sent. */
  readonly sent: number;
}

const load: Load = JSON.parse(process.argv[2] ?? "");
const { url, otherUrls = [], connections, seconds: duration } = load;
const payments = await makePayments();
const { pathname } = new URL(url.replace("{n}", "~"));
let count = 0;

const setupRequest: autocannon.Request["setupRequest"] = (request) => {
  count++;
  const path = pathname.includes("~") ? { path: atCount(pathname.replace("~", "{n}"), count) } : {};
  if (payments.length === 0) return { ...request, ...path };
  const payment = payments[load.isRepeated ? count % payments.length : count - 1];
  if (payment === undefined) throw new Error(`${url} served more than ${payments.length} payments in ${duration} s`);
  return { ...request, ...path, headers: { ...request.headers, "PAYMENT-SIGNATURE": payment } };
};

const result = await autocannon({
  // Its types know one URL only.
  url: otherUrls.length === 0 ? atCount(url, 0) : ([url, ...otherUrls] as unknown as string),
  connections,
  duration,
  requests: [{ method: "GET", setupRequest }],
});
const statuses = Object.entries(result.statusCodeStats ?? {});
const wrong = statuses.filter(([status]) => Number(status) !== load.expect);
if (wrong.length > 0 || result.errors > 0 || statuses.length === 0) {
  throw new Error(`${url}: ${JSON.stringify(result.statusCodeStats)}, ${result.errors} errors`);
}
const measured: LoadResult = { requests: result.requests.total, sent: count };
process.send?.(measured);
process.disconnect?.();

/** Beforehand: the core that asks is to be no slower for the payments. */
async function makePayments(): Promise<readonly string[]> {
  const { payAt, payloads } = load;
  if (payAt === undefined || payloads === undefined) return [];
  return readPayments(atCount(payAt, 0), payloads);
}
