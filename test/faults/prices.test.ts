/**
 * Prices that move, are too small, or are asked for by HEAD.
 *
 * @module
 */
import { ConfigError, type DollarPrice } from "@farebox/core";
import type { PriceFunction } from "@farebox/express";
import express from "express";
import { expect, test } from "vitest";
import { openShop, PRICE } from "./shop.js";

const NETWORK = "eip155:84532";

test("a price that moves between challenge and payment stays the challenged one, for that request and body alone", async () => {
  const market = { price: "$0.01" as `$${number}` };
  const price: PriceFunction = ({ body }) => (JSON.stringify(body).includes("gold") ? "$0.5" : market.price);
  const shop = await openShop({
    routes: { "POST /goods": { accepts: { price, network: NETWORK } } },
    build(app, payments, goods) {
      app.use(express.json(), payments);
      app.post("/goods", ...goods);
    },
    handler: (req, res) => void res.json({ paid: req.payment?.amount, for: req.body }),
  });
  const ask = { method: "POST", body: { want: "silver" } };
  const { challenge } = await shop.ask(ask);
  expect(challenge?.accepts[0]?.amount).toBe("10000");
  const payment = await shop.payer.signExact(challenge!.accepts[0]!, { challenge: challenge! });
  market.price = "$0.9";

  const golden = await shop.ask({ ...ask, body: { want: "gold" }, payment });
  expect([golden.status, golden.challenge?.accepts[0]?.amount]).toEqual([402, "500000"]);
  const sold = await shop.ask({ ...ask, payment });
  expect([sold.status, sold.json()]).toEqual([200, { paid: "10000", for: { want: "silver" } }]);
  expect((await shop.ask(ask)).challenge?.accepts[0]?.amount).toBe("900000");
  expect(await shop.income()).toBe(10_000n);
});

test.each<[price: DollarPrice]>([["$0.0000001"], ["$0.0000019"], ["$0.00"]])(
  "a price of %s, which is no amount of atomic units above zero, is refused at start",
  async (price) => {
    const opening = openShop({ routes: { "GET /goods": { price } } });
    await expect(opening).rejects.toThrow(ConfigError);
    await expect(opening).rejects.toThrow('routes["GET /goods"]');
  },
);

test("the smallest possible price is asked for and paid", async () => {
  const shop = await openShop({ routes: { "GET /goods": { price: "$0.000001" } } });
  expect((await shop.ask()).challenge?.accepts).toMatchObject([{ amount: "1" }]);
  expect((await shop.buy()).status).toBe(200);
  expect(await shop.income()).toBe(1n);
});

test("HEAD of a priced GET costs what GET costs, and says nothing about the goods until it is paid", async () => {
  const shop = await openShop();
  const unpaid = await shop.ask({ method: "HEAD" });
  expect(unpaid.status).toBe(402);
  expect(unpaid.challenge?.accepts).toMatchObject([{ amount: String(PRICE) }]);
  expect(unpaid.headers).not.toHaveProperty("etag");
  expect(unpaid.headers).not.toHaveProperty("x-goods");
  expect(shop.runs()).toBe(0);

  const paid = await shop.buy({ method: "HEAD" });
  expect(paid).toMatchObject({ status: 200, headers: { "x-goods": "yes" }, receipt: { success: true } });
  expect(shop.runs()).toBe(1);
  expect(await shop.income()).toBe(PRICE);
});
