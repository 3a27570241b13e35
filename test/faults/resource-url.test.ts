/**
 * The resource that a challenge names: below a mount, with a query, behind a proxy.
 *
 * @module
 */
import type { RoutesConfig } from "@farebox/express";
import type { Express, RequestHandler } from "express";
import { expect, test } from "vitest";
import { openShop, PRICE, type ShopPlan } from "./shop.js";

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

test("a challenge below a mount names the resource by its whole path, and so does the payment", async () => {
  const shop = await openShop({
    routes: { "GET /u/:id": { price: "$0.01" } },
    build: (app, payments, goods) => app.use("/api", payments).get("/api/u/:id", ...goods),
  });
  const resource = { url: `${shop.url}/api/u/42` };
  expect((await shop.ask({ path: "/api/u/42" })).challenge).toMatchObject({ resource });
  const paid = await shop.buy({ path: "/api/u/42" });
  expect(paid).toMatchObject({ status: 200, payment: { resource } });
});

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

/** What a TLS proxy in front of the shop sends on. */
const FORWARDED = { Host: "internal:8080", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "api.example.com" };
/** What one sends on that keeps the client's Host. */
const KEPT = { Host: "api.example.com", "X-Forwarded-Proto": "https" };

function buildTrusting(app: Express, payments: RequestHandler, goods: RequestHandler[]): void {
  app.set("trust proxy", true);
  app.use(payments);
  app.get("/goods", ...goods);
}

test.each<[what: string, plan: ShopPlan, headers: Record<string, string>, url: string, warnings: string[]]>([
  [
    "that the seller does not trust is not believed, and the seller is told",
    {},
    FORWARDED,
    "http://internal:8080/goods",
    ["FAREBOX_PROXY_IGNORED"],
  ],
  [
    "that the seller does not trust does not matter to a seller who says publicUrl",
    { options: { publicUrl: "https://api.example.com" } },
    FORWARDED,
    "https://api.example.com/goods",
    [],
  ],
  [
    "that Express trusts is believed about the scheme",
    { build: buildTrusting },
    KEPT,
    "https://api.example.com/goods",
    [],
  ],
  [
    "that Express trusts is believed about the host, of which the first is the client's",
    { build: buildTrusting },
    { ...FORWARDED, "X-Forwarded-Host": "api.example.com:8443, internal:8080" },
    "https://api.example.com:8443/goods",
    [],
  ],
  [
    "that Express trusts, and that names no host, leaves what was asked for",
    { build: buildTrusting },
    { ...KEPT, "X-Forwarded-Host": " " },
    "https://api.example.com/goods",
    [],
  ],
])("a proxy %s", async (_what, plan, headers, url, expected) => {
  const warnings: string[] = [];
  const logger = { info() {}, error() {}, warn: (event: string) => void warnings.push(event) };
  const shop = await openShop({ ...plan, options: { ...plan.options, logger } });
  for (const _again of [1, 2]) {
    const { status, challenge } = await shop.ask({ headers });
    expect(status).toBe(402);
    expect(challenge?.resource.url).toBe(url);
  }
  expect(warnings).toEqual(expected);
});
