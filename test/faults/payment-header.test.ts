/**
 * Payment headers that are malformed, or of x402 version 1.
 *
 * @module
 */
import { expect, test } from "vitest";
import { openShop } from "./shop.js";

const base64 = (text: string) => Buffer.from(text).toString("base64");

test.each([
  ["no base64", "%%%", "invalid_payload"],
  ["base64 of no JSON", base64("not json"), "invalid_payload"],
  ["JSON that is no payment", base64('{"x402Version":2}'), "invalid_payload"],
  ["a payment of another version", base64('{"x402Version":1,"payload":{}}'), "invalid_x402_version"],
])(
  "a payment header that is %s is answered 400 with the problem, unlike no payment",
  async (_what, payment, reason) => {
    const shop = await openShop();
    const unpaid = await shop.ask();
    expect(unpaid.status).toBe(402);

    const refused = await shop.ask({ payment });
    expect(refused.status).toBe(400);
    expect(refused.challenge?.error).toMatch(reason);
    expect(refused.json()).toEqual(refused.challenge);
    expect(refused.challenge?.accepts).toEqual(unpaid.challenge?.accepts);
    expect(shop.runs()).toBe(0);
    expect(shop.facilitatorServer.requests.map(({ operation }) => operation)).not.toContain("verify");
  },
);

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
