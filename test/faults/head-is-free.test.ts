import { expect, test } from "vitest";
import { openShop, PRICE } from "./shop.js";

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
