/**
 * Sellers and facilitators of Farebox and the reference, paid by the reference's client, on a stand-in for a node. Every
 * combination leaves the same balances.
 */
import { describe, expect, test } from "vitest";
import {
  FEE_PAYER,
  NETWORK,
  PAY_TO,
  PAYER,
  payload,
  requirements,
  USDC,
} from "../../packages/avm/src/payments.fixture.js";
import { decode } from "../interop/servers.js";
import { RICH } from "./ledger.js";
import { nodePerTest } from "./node-per-test.js";
import { ourFacilitator, ourSeller, referenceClient, referenceFacilitator, referenceSeller } from "./peers.js";

const SELLERS = { "our seller": ourSeller, "the reference seller": referenceSeller };
const FACILITATORS = { "our facilitator": ourFacilitator, "the reference facilitator": referenceFacilitator };

const node = nodePerTest();

describe.each(Object.entries(SELLERS))("%s", (_, createSeller) => {
  test.each(Object.entries(FACILITATORS))(
    "the seller with %s is paid by the reference client",
    async (_, createFacilitator) => {
      const facilitator = await node.listen(createFacilitator(node.local));
      const seller = await node.listen(await createSeller(facilitator));
      const pay = referenceClient(PAYER, node.local);

      for (const paid of [1000n, 2000n]) {
        const response = await pay(`${seller}/weather`);
        expect([response.status, await response.json()]).toEqual([200, { weather: "sunny" }]);
        const receipt = decode(response.headers.get("PAYMENT-RESPONSE"));
        expect(receipt).toMatchObject({ success: true, network: NETWORK, payer: PAYER.addr.toString() });
        expect(node.local.ledger.balanceOf(PAY_TO, USDC)).toBe(paid);
        expect(node.local.ledger.balanceOf(PAYER.addr, USDC)).toBe(5_000n - paid);
        expect(node.local.ledger.balanceOf(PAYER.addr)).toBe(RICH);
        expect(node.local.ledger.balanceOf(FEE_PAYER.addr)).toBe(RICH - 2n * paid);
      }
    },
  );
});

test("a payment that is sent twice to a Farebox seller is served once, and moves the money once", async () => {
  const facilitator = await node.listen(ourFacilitator(node.local));
  const app = await ourSeller(facilitator);
  const seller = await node.listen(app);
  const paid = { x402Version: 2, accepted: requirements(), payload: payload() };
  const header = Buffer.from(JSON.stringify(paid)).toString("base64");
  const send = () => fetch(`${seller}/weather`, { headers: { "PAYMENT-SIGNATURE": header } });
  const responses = [...(await Promise.all([send(), send()])), await send()];
  expect(responses.map(({ status }) => status)).toContain(200);
  expect(app.locals["served"]).toBe(1);
  expect(node.local.ledger.balanceOf(PAY_TO, USDC)).toBe(1000n);
});
