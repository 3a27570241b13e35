import { expect, test } from "vitest";
import { openShop, PRICE } from "./shop.js";

test("a resource is the same for every query, and a payment signed for one query buys another", async () => {
  const shop = await openShop();
  const urls: unknown[] = [];
  for (const query of ["?b=2&a=1", "?a=1&b=2", ""]) {
    const { challenge } = await shop.ask({ path: `/goods${query}` });
    urls.push(challenge?.resource.url);
  }
  expect(urls).toEqual(Array(3).fill(`${shop.url}/goods`));
  const payment = await shop.sign({ path: "/goods?a=1&b=2" });
  expect((await shop.buy({ path: "/goods?b=2&a=1", payment })).status).toBe(200);
  expect(await shop.income()).toBe(PRICE);
});

test("a resource has the query as it came where the seller asks for it", async () => {
  const shop = await openShop({ options: { includeQuery: true } });
  const { challenge } = await shop.ask({ path: "/goods?b=2&a=1" });
  expect(challenge?.resource.url).toBe(`${shop.url}/goods?b=2&a=1`);
});
