/**
 * One route with several ways to pay: each has its own price, transfer method, and time at which the money moves.
 */
import { encodePaymentSignature } from "@farebox/core/protocol";
import type { PaymentOption } from "@farebox/express";
import { describe, expect, test } from "vitest";
import { openShop, PAY_TO, type Shop, type ShopPlan, VERSIONS } from "./shop.js";

const NETWORK = "eip155:84532";
const OPTION: PaymentOption = { price: "$0.01", network: NETWORK, payTo: PAY_TO };

async function payBy(shop: Shop, at: number) {
  const { challenge } = await shop.ask();
  const offer = challenge!.accepts[at]!;
  const payment = await shop.payer.signExact(offer, { challenge: challenge! });
  return shop.ask({ payment: encodePaymentSignature(payment) });
}

describe.each(VERSIONS)("on %s", (_, express) => {
  const sell = (accepts: readonly PaymentOption[], plan: ShopPlan = {}) =>
    openShop(express, {
      routes: { "GET /paid": { accepts } },
      handler: (req, res) => void res.json({ amount: req.payment?.amount }),
      ...plan,
    });

  test.each(["exact", "upto"])("a quote for a price in dollars holds for %s by Permit2", async (scheme) => {
    let price = "$0.01";
    const shop = await sell([{ ...OPTION, scheme, price: () => price, extra: { assetTransferMethod: "permit2" } }]);
    const { challenge } = await shop.ask();
    const offer = challenge!.accepts[0]!;
    expect(offer).toMatchObject({ amount: "10000", extra: { name: "USDC", assetTransferMethod: "permit2" } });
    const sign = scheme === "upto" ? shop.payer.signUpto : shop.payer.signExact;
    const payment = await sign(offer, { challenge: challenge! });
    price = "$0.02";
    const paid = await shop.ask({ payment: encodePaymentSignature(payment) });
    expect([paid.status, paid.challenge?.error]).toEqual([200, undefined]);
  });
});
