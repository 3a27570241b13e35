/**
 * The reference's client and its own helper for `payment-identifier`, with our seller on a real chain.
 */
import { anvilAccounts, type LocalChain } from "@farebox/testing";
import { x402Client } from "@x402/core/client";
import { ExactEvmScheme } from "@x402/evm";
import { appendPaymentIdentifierToExtensions, generatePaymentId } from "@x402/extensions/payment-identifier";
import { wrapFetchWithPayment } from "@x402/fetch";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { borrowChain } from "../worker-chain.js";
import { ourFacilitator, ourSeller } from "./peers.js";
import { listen, type Running } from "./servers.js";

const PRICE = 1_000n;

let chain: LocalChain;
const running: Running[] = [];

beforeAll(async () => {
  chain = await borrowChain();
});

afterAll(async () => {
  for (const server of running) await server.close();
  await chain.close();
});

async function openSeller() {
  const facilitator = await listen(ourFacilitator(chain, anvilAccounts[0]!.privateKey));
  const payTo = privateKeyToAccount(generatePrivateKey()).address;
  const seller = await listen(ourSeller(payTo, facilitator.url));
  running.push(facilitator, seller);
  return { url: `${seller.url}/weather`, income: () => chain.balanceOf(payTo) };
}

/** A client that gives every payment the same id, and remembers the last payment it sent. */
async function createClient(id: string) {
  const account = privateKeyToAccount(generatePrivateKey());
  await chain.fund(account.address, { usdc: 10n * PRICE });
  const client = new x402Client().register("eip155:*", new ExactEvmScheme(account));
  client.onBeforePaymentCreation(async ({ paymentRequired }) => {
    appendPaymentIdentifierToExtensions(paymentRequired.extensions ?? {}, id);
  });
  let sent = "";
  const pay = wrapFetchWithPayment(async (input, init) => {
    const request = new Request(input, init);
    sent = request.headers.get("PAYMENT-SIGNATURE") ?? sent;
    return fetch(request);
  }, client);
  return { pay, sent: () => sent };
}

test("a payment sent again with its id gets the same answer and receipt, and is charged once", async () => {
  const { url, income } = await openSeller();
  const { pay, sent } = await createClient(generatePaymentId());
  const first = await pay(url);
  const answer = await first.text();
  expect(first.status).toBe(200);
  for (const _again of [1, 2]) {
    const again = await fetch(url, { headers: { "PAYMENT-SIGNATURE": sent() } });
    expect([again.status, await again.text()]).toEqual([200, answer]);
    expect(again.headers.get("PAYMENT-RESPONSE")).toBe(first.headers.get("PAYMENT-RESPONSE"));
  }
  expect(await income()).toBe(PRICE);
});

test("a new payment under the id of another is refused without being charged", async () => {
  const { url, income } = await openSeller();
  const { pay } = await createClient(generatePaymentId());
  expect((await pay(url)).status).toBe(200);
  const again = await pay(url);
  expect([again.status, await again.json()]).toMatchObject([409, { error: "payment_identifier_conflict" }]);
  expect(await income()).toBe(PRICE);
});
