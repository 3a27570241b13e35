/**
 * Payments for load: each one distinct, by its nonce and its payer. Their signatures are not checked.
 *
 * @module
 */
import { record } from "../recorded.js";

/** How many payers there are. */
const PAYERS = 1_000n;

/** Yields the next `PAYMENT-SIGNATURE`. */
export type NextPayment = () => string;

/** Prepares payments for the first offer of a route. With `isWallet` they seem to be signed by contract wallets. */
export async function preparePayments(url: string, first: bigint, isWallet = false): Promise<NextPayment> {
  const { headers } = await record(url);
  const challenge = JSON.parse(Buffer.from(headers["payment-required"] ?? "", "base64").toString("utf8"));
  const { accepts, resource, extensions } = challenge;
  const [accepted] = accepts;
  const validBefore = String(Math.floor(Date.now() / 1000) + accepted.maxTimeoutSeconds);
  let count = first;
  return () => {
    count += 1n;
    const authorization = {
      from: hex((count % PAYERS) + 1n, 20),
      to: accepted.payTo,
      value: accepted.amount,
      validAfter: "0",
      validBefore,
      nonce: hex(count, 32),
    };
    const payload = { signature: isWallet ? OF_A_WALLET : SIGNATURE, authorization };
    const payment = { x402Version: 2, payload, extensions, resource, accepted };
    return Buffer.from(JSON.stringify(payment)).toString("base64");
  };
}

const SIGNATURE = `0x${"11".repeat(64)}1b`;
/** Longer than a key's, so only the chain can check it. */
const OF_A_WALLET = `0x${"11".repeat(96)}`;

function hex(value: bigint, bytes: number): string {
  return `0x${value.toString(16).padStart(bytes * 2, "0")}`;
}
