/**
 * The tour: one request without a payment, one with a payment, and the result on the chain. It checks all that it prints.
 *
 * @module
 */
import { createDiscoveryClient } from "@farebox/bazaar";
import { createPublicClient, formatUnits, http } from "viem";
import { decodeHeader, type Exchange, payFor } from "./client.js";
import { insist } from "./demo-error.js";
import { good, heading, line, value } from "./screen.js";
import type { Stage } from "./stage.js";

/** The price of `GET /weather` in atomic units: $0.001 of an asset with 6 decimals. */
const PRICE = 1000n;

/** Walks through a payment, and checks each part. */
export async function walkThrough(stage: Stage): Promise<void> {
  const url = `${stage.sellerUrl}/weather`;
  const before = await readBalances(stage);

  const exchanges: Exchange[] = [];
  const response = await payFor(url, stage.payer, (exchange) => exchanges.push(exchange));
  const [unpaid, paid] = exchanges;
  insist(
    unpaid !== undefined && paid !== undefined && exchanges.length === 2,
    "the client sends two requests: unpaid, then paid",
  );

  await showChallenge(unpaid);
  showPayment(paid);
  const transaction = await showResponse(paid, response);
  await showChain(stage, transaction, before);
  await showListing(stage, url);
}

async function showChallenge({ request, response }: Exchange): Promise<void> {
  heading("A request without payment");
  line(`${request.method} ${request.url}`);
  line(`${response.status} ${response.statusText}`);
  const challenge = decodeHeader(response.headers.get("PAYMENT-REQUIRED"));
  insist(response.status === 402 && challenge !== undefined, "an unpaid request is answered 402 with PAYMENT-REQUIRED");
  line("PAYMENT-REQUIRED, decoded:");
  value(challenge);
  const body = await response.json();
  insist(JSON.stringify(body) === JSON.stringify(challenge), "the body is the same challenge");
  good("402, and the body equals the header");
}

function showPayment({ request }: Exchange): void {
  heading("The client (@x402/fetch) signs and sends the request again");
  line(`${request.method} ${request.url}`);
  const payment = decodeHeader(request.headers.get("PAYMENT-SIGNATURE"));
  insist(payment !== undefined, "the second request carries PAYMENT-SIGNATURE");
  line("the payload of PAYMENT-SIGNATURE, decoded:");
  value(payment["payload"]);
}

async function showResponse({ response }: Exchange, paid: Response): Promise<string> {
  heading("The response");
  line(`${response.status} ${response.statusText}`);
  line(await paid.text());
  const receipt = decodeHeader(response.headers.get("PAYMENT-RESPONSE"));
  insist(response.status === 200 && receipt?.["success"] === true, "a paid request is answered 200 with a receipt");
  line("PAYMENT-RESPONSE, the receipt, decoded:");
  value(receipt);
  good("200, with the receipt");
  return String(receipt["transaction"]);
}

interface Balances {
  readonly payer: bigint;
  readonly seller: bigint;
}

async function readBalances({ chain, payer, seller }: Stage): Promise<Balances> {
  return { payer: await chain.balanceOf(payer.address), seller: await chain.balanceOf(seller.address) };
}

async function showChain(stage: Stage, transaction: string, before: Balances): Promise<void> {
  heading("On the chain");
  const client = createPublicClient({ transport: http(stage.chain.rpcUrl) });
  const { status, blockNumber } = await client.getTransactionReceipt({ hash: transaction as `0x${string}` });
  line(`transaction ${transaction}: ${status}, in block ${blockNumber}`);
  const after = await readBalances(stage);
  line(`           ${"before".padStart(12)}${"after".padStart(12)}  USDC`);
  line(`payer      ${usdc(before.payer)}${usdc(after.payer)}  ${stage.payer.address}`);
  line(`seller     ${usdc(before.seller)}${usdc(after.seller)}  ${stage.seller.address}`);
  insist(status === "success", "the transaction succeeded");
  insist(before.payer - after.payer === PRICE, "the payer paid the price");
  insist(after.seller - before.seller === PRICE, "the seller was paid the price");
  good("the payer paid $0.001 and the seller has it");
}

async function showListing({ facilitatorUrl }: Stage, url: string): Promise<void> {
  heading("In the catalog");
  const query = "is it going to rain today?";
  line(`GET ${facilitatorUrl}/discovery/search?query=${encodeURIComponent(query)}`);
  const { entries } = await createDiscoveryClient({ url: facilitatorUrl }).search({ query });
  const [entry] = entries;
  insist(entry?.resource === url, "a paid service is found by its description");
  value({ resource: entry.resource, description: entry.description, lastUpdated: entry.lastUpdated });
  good("the facilitator has listed it");
}

function usdc(amount: bigint): string {
  return formatUnits(amount, 6).padStart(12);
}
