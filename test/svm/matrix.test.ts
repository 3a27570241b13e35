/**
 * Sellers and facilitators of Farebox and the reference, paid by the reference's client, with the real token program. Every
 * combination leaves the same balances.
 */
import type { Express } from "express";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FEE_PAYER, NETWORK, PAY_TO, PAYER, payload, requirements } from "../../packages/svm/src/payments.fixture.js";
import { decode, type Running, listen as start } from "../interop/servers.js";
import { type LocalSvm, startLocalSvm } from "./local-svm.js";
import { ourFacilitator, ourSeller, referenceClient, referenceFacilitator, referenceSeller } from "./peers.js";

const SELLERS = { "our seller": ourSeller, "the reference seller": referenceSeller };
const FACILITATORS = { "our facilitator": ourFacilitator, "the reference facilitator": referenceFacilitator };

let local: LocalSvm;
let servers: Running[] = [];

beforeEach(async () => {
  local = await startLocalSvm(FEE_PAYER.publicKey);
  local.fund(PAYER.publicKey, 5_000n);
  local.fund(PAY_TO, 0n);
});

afterEach(async () => {
  for (const server of servers) await server.close();
  servers = [];
  await local.close();
});

async function listen(app: Express): Promise<string> {
  const server = await start(app);
  servers.push(server);
  return server.url;
}

describe.each(Object.entries(SELLERS))("%s", (_, createSeller) => {
  describe.each(Object.entries(FACILITATORS))("with %s", (_, createFacilitator) => {
    test.each([{}, { memo: "invoice 7, größer" }])(
      "the seller is paid by the reference client with %j",
      async (extra) => {
        const facilitator = await listen(await createFacilitator(local.rpcUrl));
        const seller = await listen(createSeller(facilitator, extra));
        const pay = await referenceClient(PAYER, local.rpcUrl);

        for (const paid of [1000n, 2000n]) {
          // Waits for the next block: with a fixed memo, the same payment would be made again.
          local.expire();
          const response = await pay(`${seller}/weather`);
          expect(response.status).toBe(200);
          expect(await response.json()).toEqual({ weather: "sunny" });
          const receipt = decode(response.headers.get("PAYMENT-RESPONSE"));
          expect(receipt).toMatchObject({ success: true, network: NETWORK, payer: PAYER.publicKey.toBase58() });
          expect(local.balanceOf(PAY_TO)).toBe(paid);
          expect(local.balanceOf(PAYER.publicKey)).toBe(5_000n - paid);
        }
      },
    );
  });
});

test("a payment that is sent twice to a Farebox seller is served once, and moves the money once", async () => {
  const facilitator = await listen(await ourFacilitator(local.rpcUrl));
  const app = ourSeller(facilitator);
  const seller = await listen(app);
  const offer = requirements();
  const paid = { x402Version: 2, accepted: offer, payload: payload({ blockhash: local.blockhash() }) };
  const header = Buffer.from(JSON.stringify(paid)).toString("base64");
  const send = () => fetch(`${seller}/weather`, { headers: { "PAYMENT-SIGNATURE": header } });
  const responses = [...(await Promise.all([send(), send()])), await send()];
  expect(responses.map(({ status }) => status)).toContain(200);
  expect(app.locals["served"]).toBe(1);
  expect(local.balanceOf(PAY_TO)).toBe(1000n);
});
