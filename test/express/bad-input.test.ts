import type { PaymentPayload } from "@farebox/core";
import { encodePaymentSignature } from "@farebox/core/protocol";
import type { RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { openShop, type Shop, VERSIONS } from "./shop.js";

const base64 = (text: string) => Buffer.from(text, "utf8").toString("base64");
const json = (document: unknown) => base64(JSON.stringify(document));
const nested = (depth: number) =>
  `{"x402Version":2,"accepted":{},"payload":{"a":${"[".repeat(depth)}${"]".repeat(depth)}}}`;

/** A handler that must never run for a bad payment. */
const sold: RequestHandler = (_req, res) => void res.set("X-Sold", "1").send("sold");

/** Nothing was sold, charged or leaked, and the server still responds. */
async function expectUnharmed(shop: Shop, received: string): Promise<void> {
  expect(received.toLowerCase()).not.toContain("x-sold");
  expect(received).not.toMatch(/own words|\n\s+at |node_modules|\.(js|ts):\d+/);
  expect(shop.facilitator.settled).toEqual([]);
  expect(await shop.ask({ path: "/free" })).toMatchObject({ status: 200 });
}

const MALFORMED: readonly (readonly [what: string, value: string])[] = [
  ["text", "nonsense"],
  ["nothing", ""],
  ["base64url", json({ x402Version: 2, text: "???>>>" }).replaceAll("/", "_").replaceAll("+", "-").replace(/=*$/, "_")],
  ["base64 with a gap", `${json({ x402Version: 2 })} ${json({})}`],
  ["base64 of text", base64("nonsense")],
  ["base64 of bytes that are no text", Buffer.from([0xff, 0xfe, 0x00]).toString("base64")],
  ["JSON by itself", JSON.stringify({ x402Version: 2 })],
  ["null", json(null)],
  ["a number", json(2)],
  ["a text", json("2")],
  ["a list", json([{ x402Version: 2 }])],
  ["an empty object", json({})],
  ["version 1", json({ x402Version: 1, scheme: "exact", network: "base", payload: {} })],
  ['version "2"', json({ x402Version: "2", accepted: {}, payload: {} })],
  ["no payload", json({ x402Version: 2, accepted: {} })],
  ["a payload that is a list", json({ x402Version: 2, accepted: {}, payload: [] })],
  ["accepted that is null", json({ x402Version: 2, accepted: null, payload: {} })],
  ["accepted that is empty", json({ x402Version: 2, accepted: {}, payload: {} })],
  ["a prototype", base64('{"x402Version":2,"__proto__":{"accepted":{},"payload":{}}}')],
  ["5,000 levels", base64(nested(5000))],
  ["33 levels", base64(nested(33))],
  ["an open document", base64("[".repeat(9000))],
];

describe.each(VERSIONS)("on %s, a malformed payment", (_, express) => {
  test("every malformed payment header gets 400 with a challenge", async () => {
    const shop = await openShop(express, { handler: sold });
    for (const [what, value] of MALFORMED) {
      const response = await shop.ask({ payment: value });
      expect(response, what).toMatchObject({ status: 400, headers: { "cache-control": "no-store" } });
      expect(response.challenge?.error, what).toMatch(/^invalid_(payload|x402_version): PAYMENT-SIGNATURE is /);
      expect(response.json(), what).toEqual(response.challenge);
      await expectUnharmed(shop, JSON.stringify(response));
    }
  });

  test("a payment header that occurs twice gets 400, even if both are good", async () => {
    const shop = await openShop(express, { handler: sold });
    const { header } = await shop.sign();
    const twice = shop.request(header).replace(/(PAYMENT-SIGNATURE: .*\r\n)/, "$1$1");
    const line = await shop.connect(twice);
    const received = await line.until("\r\n\r\n");
    expect(received).toMatch(/^HTTP\/1\.1 400 /);
    await expectUnharmed(shop, received);
  });

  test("a payment header of 20 KB is refused by Node, and gets 400 from a server that accepts it", async () => {
    const long = base64("x".repeat(15_000));
    const shop = await openShop(express, { handler: sold });
    const patient = await openShop(express, { handler: sold, server: { maxHeaderSize: 65_536 } });
    expect((await shop.ask({ payment: long })).status).toBe(431);
    const response = await patient.ask({ payment: long });
    expect(response).toMatchObject({ status: 400, challenge: { error: expect.stringContaining("longer than") } });
    await expectUnharmed(patient, JSON.stringify(response));
  });
});

type Change = (payment: PaymentPayload) => unknown;

const changeAccepted = (fields: object): Change => {
  return (payment) => ({ ...payment, accepted: { ...payment.accepted, ...fields } });
};

const changeAuthorization = (fields: object): Change => {
  return (payment) => {
    const { authorization } = payment.payload as { authorization: object };
    return { ...payment, payload: { ...payment.payload, authorization: { ...authorization, ...fields } } };
  };
};

const OTHER = "0x000000000000000000000000000000000000dEaD";
const FIELD = (field: string) => `invalid_payment_requirements: ${field} is not as offered`;

describe.each(VERSIONS)("on %s, a payment for something else", (_, express) => {
  const CHANGES: readonly (readonly [what: string, change: Change, reason: string])[] = [
    ["a smaller amount accepted", changeAccepted({ amount: "1" }), FIELD("amount")],
    ["the amount as a number", changeAccepted({ amount: 10000 }), "invalid_payload"],
    ["another payTo", changeAccepted({ payTo: OTHER }), FIELD("payTo")],
    ["another asset", changeAccepted({ asset: OTHER }), FIELD("asset")],
    ["another network", changeAccepted({ network: "eip155:8453" }), FIELD("network")],
    ["another scheme", changeAccepted({ scheme: "upto" }), FIELD("scheme")],
    ["another recipient", changeAuthorization({ to: OTHER }), "recipient_mismatch"],
    ["another value", changeAuthorization({ value: "1" }), "value_mismatch"],
    ["a window that is over", changeAuthorization({ validBefore: "1" }), "valid_before"],
    ["a window without end", changeAuthorization({ validBefore: "9".repeat(78) }), "valid_before"],
    ["a window to come", changeAuthorization({ validAfter: "9999999999" }), "valid_after"],
    ["an invalid nonce", changeAuthorization({ nonce: "0x1" }), "invalid_payload"],
    ["an invalid payer", changeAuthorization({ from: "me" }), "invalid_payload"],
    ["no signature", (payment) => ({ ...payment, payload: {} }), "invalid_payload"],
  ];

  test("a payment for anything else is refused, and no facilitator is asked", async () => {
    const shop = await openShop(express, { handler: sold });
    const { payment } = await shop.sign();
    for (const [what, change, reason] of CHANGES) {
      const response = await shop.ask({ payment: json(change(payment)) });
      expect([400, 402], what).toContain(response.status);
      expect(response.challenge?.error, what).toContain(reason);
      expect(shop.facilitator.verified, what).toEqual([]);
      await expectUnharmed(shop, JSON.stringify(response));
    }
  });

  test("a payment that differs only in `extra`, `resource` or unknown fields is taken, and facilitators get our offer", async () => {
    const shop = await openShop(express, { handler: sold });
    const { payment } = await shop.sign();
    const { accepted, payload } = payment;
    const changed = {
      x402Version: 2,
      accepted: { ...accepted, extra: { name: "Fake" }, maxTimeoutSeconds: 9, more: 1 },
      payload,
      resource: { url: "https://elsewhere.example" },
      extensions: { bazaar: { info: { fake: true } } },
      more: true,
    };
    expect((await shop.ask({ payment: json(changed) })).status).toBe(200);
    const [verified] = shop.facilitator.verified;
    expect(verified).toMatchObject({ accepted: { extra: { name: "USDC", version: "2" }, maxTimeoutSeconds: 300 } });
    expect(verified?.resource?.url).toBe(`${shop.url}/paid`);
    expect(JSON.stringify(verified)).not.toMatch(/ake|more|elsewhere/);
  });

  test("a payment in other bytes is still the same payment", async () => {
    const shop = await openShop(express, { handler: sold });
    const { payment } = await shop.sign();
    const { x402Version, accepted, payload } = payment;
    expect((await shop.ask({ payment: encodePaymentSignature(payment) })).status).toBe(200);
    const again = await shop.ask({ payment: base64(JSON.stringify({ payload, accepted, x402Version }, null, 2)) });
    expect(again).toMatchObject({ status: 402, challenge: { error: "payment_already_used" } });
    expect(shop.facilitator.settled).toHaveLength(1);
  });
});
