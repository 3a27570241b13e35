/**
 * Prices, recipients and networks are texts that are checked at start, and no price comes from a floating-point number.
 */
import { ConfigError, createPayments, type Price, price, type RouteConfig, usd } from "@farebox/express";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { NEWEST, openShop, PAY_TO } from "./shop.js";

const NETWORK = "eip155:84532";
/** Mezo, whose dollar has 18 decimals. */
const FINE = "eip155:31612";
const FLOAT = `$${3 * 0.1}`;
const ACCEPTS = { price: "$0.01", network: NETWORK, payTo: PAY_TO };
const SILENT = { info() {}, warn() {}, error() {} };

function issuesOf(route: unknown, options: object = {}) {
  try {
    const payments = createPayments({ facilitator: "http://127.0.0.1:9", logger: SILENT, ...options });
    payments.close();
    payments.routes({ "GET /x": route as RouteConfig });
    payments.close();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.issues;
    throw error;
  }
}

describe("a text that cannot be sold is one issue at start", () => {
  test.each<[field: string, text: string | undefined, expected: string]>([
    ["price", "0.01", "a dollar price"],
    ["price", "0.01USDC", "a dollar price"],
    ["price", "$x", "a dollar price"],
    ["price", "€1", "a dollar price"],
    ["price", "$1,000", "a dollar price"],
    ["price", "$-0.01", "a dollar price"],
    ["price", "$NaN", "a dollar price"],
    ["price", "", "a dollar price"],
    ["price", undefined, "a dollar price"],
    ["network", "base", '"eip155:8453", as CAIP-2 writes "base"'],
    ["network", "base-sepolia", '"eip155:84532", as CAIP-2 writes "base-sepolia"'],
    ["network", "eip155:base", '"eip155:8453", as CAIP-2 writes "eip155:base"'],
    ["network", "8453", '"eip155:8453", as CAIP-2 writes "8453"'],
    ["network", "solana:devnet", '"solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", as CAIP-2 writes "solana:devnet"'],
    ["network", "Avalanche Fuji", '"eip155:43113", as CAIP-2 writes "Avalanche Fuji"'],
    ["network", "eip155:*", "a CAIP-2 network"],
    ["network", "", "a CAIP-2 network"],
    ["network", undefined, "a CAIP-2 network"],
    ["payTo", "209693Bc6afc0C5328bA36FaF03C514EF312287C", "0x"],
    ["payTo", "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4", "0x"],
    ["payTo", "vitalik.eth", "0x"],
    ["payTo", "", "0x"],
    ["payTo", undefined, "the address to be paid"],
  ])("%s: %j", (field, text, expected) => {
    expect(issuesOf({ accepts: { ...ACCEPTS, [field]: text } })).toEqual([
      {
        path: `routes["GET /x"].accepts.${field}`,
        expected: expect.stringContaining(expected),
        received: text === undefined ? "nothing" : JSON.stringify(text),
      },
    ]);
  });

  test("a network of another family is an issue of the scheme", () => {
    expect(issuesOf({ accepts: { ...ACCEPTS, network: "cosmos:hub" } })).toMatchObject([
      { path: 'routes["GET /x"].accepts.scheme', expected: expect.stringContaining("cosmos:hub") },
    ]);
  });

  test.each([NETWORK, FINE])("a price of a floating-point number is refused on %s", (network) => {
    for (const written of [FLOAT, "$1e-7", "$0.7999999999999999", `${0.1 * 3} USD`, `$${1 / 3}`, `$${1e21}`]) {
      expect(issuesOf({ accepts: { ...ACCEPTS, network, price: written } })).toEqual([
        {
          path: 'routes["GET /x"].accepts.price',
          expected: expect.stringContaining('compute it exactly, as in price("$0.10").times(3)'),
          received: JSON.stringify(written),
        },
      ]);
    }
  });

  test("an asset of 18 decimals can be priced to its last decimal", () => {
    for (const written of ["$0.123456789012345678", "$0.000000000000000001", "$1000000000000000000"]) {
      expect(issuesOf({ accepts: { ...ACCEPTS, network: FINE, price: written } })).toEqual([]);
    }
  });
});

describe.each(NEWEST)("on %s", (_, express) => {
  const sell = async (accepts: Partial<typeof ACCEPTS> | { readonly price: RouteConfig["price"] }) => {
    const log: { event: string; fields: object }[] = [];
    const note = (event: string, fields: object) => void log.push({ event, fields });
    const shop = await openShop(express, {
      routes: { "GET /paid": { accepts: { ...ACCEPTS, ...accepts } as NonNullable<RouteConfig["accepts"]> } },
      options: { logger: { info() {}, warn() {}, error: note } },
      handler: (_req, res) => void res.json({ paid: true }),
    });
    return { shop, log };
  };

  test("texts of the environment are sold", async () => {
    vi.stubEnv("TEST_PRICE", "$0.02");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { shop } = await sell({
      price: process.env["TEST_PRICE"]!,
      network: NETWORK as string,
      payTo: PAY_TO as string,
    });
    expect((await shop.pay()).status).toBe(200);
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  test.each<[price: unknown, received: string]>([
    [FLOAT, '"$0.30000000000000004"'],
    ["0.01", '"0.01"'],
    [0.01, "0.01"],
    [undefined, "nothing"],
  ])("a price function that returns %j sells nothing, and the log names it", async (returned, received) => {
    const { shop, log } = await sell({ price: () => returned as Price });
    expect([(await shop.ask()).status, (await shop.pay()).status]).toEqual([503, 503]);
    expect(shop.facilitator.settled).toEqual([]);
    expect(log[0]).toMatchObject({ event: "price_failed", fields: { route: "GET /paid", error: "PriceError" } });
    expect(JSON.stringify(log[0]?.fields)).toContain(JSON.stringify(`received ${received}`).slice(1, -1));
  });

  test.each<[what: string, price: RouteConfig["price"], amount: string]>([
    ["a fixed price", usd("0.1").times(3), "300000"],
    ["a price by request", () => price("$0.002").times(117), "234000"],
    ["a promise of a price", async () => usd("0.0000015").times(3).plus("$0.01").roundUp(), "10005"],
  ])("%s that is computed is sold to the last unit", async (_what, computed, amount) => {
    const { shop } = await sell({ price: computed });
    expect((await shop.ask()).challenge?.accepts[0]?.amount).toBe(amount);
    expect((await shop.pay()).status).toBe(200);
  });

  test("a computed price that would have to be rounded sells nothing until rounding is asked for", async () => {
    const { shop, log } = await sell({ price: () => usd("0.0000015").times(3) });
    expect((await shop.ask()).status).toBe(503);
    expect(JSON.stringify(log)).toContain("at most 6 decimals");
  });
});
