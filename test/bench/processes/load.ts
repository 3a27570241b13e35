/**
 * Load on one path for some seconds, by autocannon, in a process of its own.
 *
 * @module
 */
import autocannon from "autocannon";
import { atCount } from "../plan.js";
import { preparePayments } from "./payments.js";

/** What is asked for. */
export interface Load {
  /** With `{n}` where each request has another number. */
  readonly url: string;
  /** Other servers of the same path. The connections go to all servers in turn. */
  readonly otherUrls?: readonly string[];
  /** Where the payments' offers are read. Default: nothing is paid. */
  readonly payAt?: string;
  /** Of the first nonce, so that no two runs share one. */
  readonly firstPayment: number;
  /** Whether the payments seem to be signed by contract wallets, so that the seller does not check the signatures. */
  readonly isWallet?: boolean;
  /** How many payments to prepare. Default: 30,000. */
  readonly paymentsPerSecond?: number;
  readonly connections: number;
  readonly seconds: number;
  /** The status that counts. */
  readonly expect: number;
}

/** The outcome. */
export interface LoadResult {
  readonly requests: number;
}

/** More than any seller serves. Bare Express serves more and looks at none of them: there they are sent again. */
const PAYMENTS_PER_SECOND = 30_000;

const load: Load = JSON.parse(process.argv[2] ?? "");
const { url, otherUrls = [], connections, seconds: duration } = load;
const payments = await makePayments();
const { pathname } = new URL(url.replace("{n}", "~"));
let count = 0;

const setupRequest: autocannon.Request["setupRequest"] = (request) => {
  count++;
  const path = pathname.includes("~") ? { path: atCount(pathname.replace("~", "{n}"), count) } : {};
  if (payments.length === 0) return { ...request, ...path };
  const payment = payments[load.url === load.payAt ? count - 1 : count % payments.length];
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
const measured: LoadResult = { requests: result.requests.total };
process.send?.(measured);
process.disconnect?.();

/** Beforehand: the core that asks is to be no slower for the payments. */
async function makePayments(): Promise<readonly string[]> {
  if (load.payAt === undefined) return [];
  const next = await preparePayments(atCount(load.payAt, 0), BigInt(load.firstPayment), load.isWallet);
  return Array.from({ length: (load.paymentsPerSecond ?? PAYMENTS_PER_SECOND) * duration }, next);
}
