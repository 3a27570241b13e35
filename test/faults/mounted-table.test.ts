import type { RoutesConfig } from "@farebox/express";
import { expect, test } from "vitest";
import { openShop, PRICE } from "./shop.js";

const price = "$0.01";

test.each<[written: string, routes: RoutesConfig]>([
  ["with the mount's path", { "GET /api/m": { price } }],
  ["without it", { "GET /m": { price } }],
])("a table that is mounted at /api prices a key written %s", async (_written, routes) => {
  const shop = await openShop({
    routes,
    build: (app, payments, goods) => app.use("/api", payments).get("/api/m", ...goods),
  });
  expect((await shop.ask({ path: "/api/m" })).status).toBe(402);
  expect(shop.runs()).toBe(0);
  expect((await shop.buy({ path: "/api/m" })).status).toBe(200);
  expect(shop.runs()).toBe(1);
  expect(await shop.income()).toBe(PRICE);
});
