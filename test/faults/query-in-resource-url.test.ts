import { expect, test } from "vitest";
import { openShop, PRICE } from "./shop.js";

test("whatever the query says, it is one resource, and a payment signed for one query buys another", async () => {
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

test("a seller may ask for the query, which then is there as it came", async () => {
  const shop = await openShop({ options: { includeQuery: true } });
  const { challenge } = await shop.ask({ path: "/goods?b=2&a=1" });
  expect(challenge?.resource.url).toBe(`${shop.url}/goods?b=2&a=1`);
});
