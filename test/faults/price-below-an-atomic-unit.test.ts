import { ConfigError, type DollarPrice } from "@farebox/core";
import { expect, test } from "vitest";
import { openShop } from "./shop.js";

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
