import type { Express, RequestHandler } from "express";
import { expect, test } from "vitest";
import { openShop, type ShopPlan } from "./shop.js";

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
