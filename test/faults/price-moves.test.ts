import type { PriceFunction } from "@farebox/express";
import express from "express";
import { expect, test } from "vitest";
import { openShop } from "./shop.js";

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
