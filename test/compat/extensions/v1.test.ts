/**
 * Files written for `x402-express` 1.x: the call of version 1, paid by a client of version 2.
 *
 * @module
 */

import { paymentMiddleware, type RoutesConfig } from "@farebox/compat/v1";
import type { PaymentRequired } from "@farebox/core";
import { ConfigError } from "@farebox/core";
import { decodePaymentRequired } from "@farebox/core/protocol";
import { createTestFacilitator, startFacilitatorServer } from "@farebox/testing";
import { ExactEvmScheme } from "@x402/evm";
import { extractDiscoveryInfo } from "@x402/extensions/bazaar";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import express from "express";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "../../serving.js";
import { browse } from "../stage.js";

const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const SOLANA_PAY_TO = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4";
const QUIET = { logger: { info() {}, warn() {}, error() {} } };

/** The README's example, with what public sellers add. */
const ROUTES: RoutesConfig = {
  "GET /weather": {
    price: "$0.001",
    network: "base-sepolia",
    config: {
      description: "d".repeat(600),
      mimeType: "application/json",
      inputSchema: { queryParams: { city: { type: "string", description: "Name of the city", required: true } } },
      outputSchema: { type: "object", properties: { celsius: { type: "number" } } },
      errorMessages: { paymentRequired: "Please pay" },
    },
  },
  "post /users/[id]": {
    price: 0.25,
    network: "base-sepolia",
    config: {
      maxTimeoutSeconds: 120,
      inputSchema: {
        bodyType: "json",
        bodyFields: { text: { type: "string", required: true }, tone: "How to write it" },
      },
    },
  },
  "* /any/*": { price: "0.05", network: "base-sepolia", config: { discoverable: false } },
  "/short": "$0.02",
  "/token": {
    price: {
      amount: "700",
      asset: {
        address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
        decimals: 6,
        eip712: { name: "USDC", version: "2" },
      },
    },
    network: "base-sepolia",
  },
};

async function open(routes: RoutesConfig = ROUTES) {
  const facilitator = createTestFacilitator();
  const server = await startFacilitatorServer({ facilitator });
  const account = privateKeyToAccount(generatePrivateKey());
  facilitator.ledger.fund(account.address, 10_000_000n);
  const seen: string[] = [];
  const createAuthHeaders = async () => {
    seen.push("asked");
    return { verify: { authorization: "v" }, settle: { authorization: "s" }, list: { authorization: "l" } };
  };
  const app = express();
  app.use(paymentMiddleware(PAY_TO, routes, { url: server.url, createAuthHeaders }, { appName: "Shop" }, QUIET));
  app.all(["/weather", "/users/:id", "/any/*rest", "/short", "/token"], (_req, res) => void res.json({ sold: true }));
  const url = await serve(app);
  onTestFinished(() => server.close());
  const client = { network: "eip155:*", client: new ExactEvmScheme(account) } as const;
  const pay = wrapFetchWithPaymentFromConfig(fetch, { schemes: [client] });
  const challenge = async (path: string, method = "GET"): Promise<PaymentRequired> => {
    const { headers } = await fetch(url + path, { method });
    return decodePaymentRequired(headers.get("PAYMENT-REQUIRED") ?? "") as PaymentRequired;
  };
  return { url, pay, challenge, seen, facilitator };
}

test("a seller's routes of version 1 are sold to @x402/fetch of version 2", async () => {
  const { url, pay, seen, facilitator } = await open();
  const paths = [
    ["GET", "/weather"],
    ["POST", "/users/7"],
    ["GET", "/any/thing"],
    ["DELETE", "/any/thing"],
    ["GET", "/short"],
    ["GET", "/token"],
  ] as const;
  for (const [method, path] of paths) {
    const response = await pay(url + path, { method });
    expect([path, response.status, await response.json()]).toEqual([path, 200, { sold: true }]);
  }
  expect(facilitator.ledger.balanceOf(PAY_TO)).toBe(1_000n + 250_000n + 2n * 50_000n + 20_000n + 700n);
  expect(seen.length).toBeGreaterThanOrEqual(paths.length);
});

test("names of networks, shorthands and settings are those of version 2 on the wire", async () => {
  const { challenge } = await open();
  const { accepts, resource } = await challenge("/weather");
  expect(accepts).toMatchObject([
    { scheme: "exact", network: "eip155:84532", amount: "1000", payTo: PAY_TO, maxTimeoutSeconds: 60 },
  ]);
  expect(resource).toMatchObject({ description: "d".repeat(500), mimeType: "application/json" });
  expect((await challenge("/users/7", "POST")).accepts).toMatchObject([{ amount: "250000", maxTimeoutSeconds: 120 }]);
});

test("a route is declared for catalogs unless it is not discoverable, as in version 1", async () => {
  const { challenge } = await open();
  const find = async (path: string, method: string) => {
    const { extensions, resource, accepts } = await challenge(path, method);
    return extractDiscoveryInfo({ x402Version: 2, extensions, resource, payload: {} } as never, accepts[0] as never);
  };
  expect(await find("/weather", "GET")).toMatchObject({ method: "GET", discoveryInfo: { input: { type: "http" } } });
  expect(await find("/users/7", "POST")).toMatchObject({
    method: "POST",
    discoveryInfo: { input: { bodyType: "json" } },
  });
  expect((await challenge("/weather")).extensions).toMatchObject({
    bazaar: { schema: { properties: { input: { properties: { queryParams: { required: ["city"] } } } } } },
  });
  expect((await challenge("/any/thing")).extensions).not.toHaveProperty("bazaar");
});

test("resource and customPaywallHtml replace the URL and the page", async () => {
  const config = { resource: "https://api.example.com/sold", customPaywallHtml: "<h1>Pay here</h1>" };
  const { url, challenge } = await open({ "GET /weather": { price: "$0.01", network: "base-sepolia", config } });
  expect((await challenge("/weather")).resource.url).toBe("https://api.example.com/sold");
  const page = await browse(`${url}/weather`);
  expect([page.status, await page.text()]).toEqual([402, "<h1>Pay here</h1>"]);
});

test("the recipient is that of the network's family", async () => {
  const routes = { "/a": { price: "$0.01", network: "solana-devnet" } };
  expect(() => paymentMiddleware(SOLANA_PAY_TO, routes, { url: "https://facilitator.example" })).not.toThrow();
  expect(() => paymentMiddleware(PAY_TO, routes, { url: "https://facilitator.example" })).toThrow(/payTo/);
});

test("no facilitator is chosen for the seller", () => {
  expect(() => paymentMiddleware(PAY_TO, ROUTES)).toThrow(ConfigError);
  expect(() => paymentMiddleware(PAY_TO, ROUTES)).toThrow(/facilitator: .*x402\.org/);
});

test("prices and networks that cannot be sold are refused at start, all at once", () => {
  const routes = {
    "GET /a": { price: "$0.0000001", network: "base" },
    "GET /b": { price: Number.NaN, network: "base" },
    "GET /c": { price: 1e-7, network: "base" },
    "GET /d": { price: "$1", network: "nowhere" },
  };
  const start = () => paymentMiddleware(PAY_TO, routes, { url: "https://facilitator.example" });
  for (const key of Object.keys(routes)) expect(start, key).toThrow(`routes["${key}"]`);
});
