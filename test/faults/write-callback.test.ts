import type { RequestHandler } from "express";
import { expect, test } from "vitest";
import { openShop, PRICE } from "./shop.js";

test.each([
  ["while the answer is held", 1_000_000],
  ["beyond what is held", 2],
])("a handler that awaits the callback of each write comes to its end, %s", async (_when, holdBytes) => {
  const handler: RequestHandler = async (_req, res) => {
    for (const letter of "abcdef") await new Promise((resolve) => res.write(letter, resolve));
    await new Promise<void>((resolve) => res.end(resolve));
  };
  const shop = await openShop({ handler, options: { holdBytes } });
  expect(await shop.buy()).toMatchObject({ status: 200, text: "abcdef", receipt: { success: true } });
  expect(shop.runs()).toBe(1);
  expect(await shop.income()).toBe(PRICE);
});
