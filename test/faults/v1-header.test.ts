import { expect, test } from "vitest";
import { openShop } from "./shop.js";

test("an X-PAYMENT header of x402 v1 buys nothing, and is answered with a challenge that its body shows too", async () => {
  const shop = await openShop();
  const v1 = { x402Version: 1, scheme: "exact", network: "base-sepolia", payload: {} };
  const header = Buffer.from(JSON.stringify(v1)).toString("base64");
  const unpaid = await shop.ask({ headers: { "X-PAYMENT": header } });
  expect(unpaid.status).toBe(402);
  expect(unpaid.challenge).toMatchObject({ x402Version: 2, accepts: [{ scheme: "exact", network: "eip155:84532" }] });
  expect(unpaid.challenge?.error).toMatch(/X-PAYMENT is of x402 version 1; version 2 has PAYMENT-SIGNATURE/);
  expect(unpaid.json()).toEqual(unpaid.challenge);
  expect(shop.runs()).toBe(0);
});
