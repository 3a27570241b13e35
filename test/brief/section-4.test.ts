/**
 * The brief's section 4, "Endpoints". Money is moved on a chain, by the reference's clients.
 *
 * @module
 */
import { affordable, createDiscoveryClient } from "@farebox/bazaar";
import { createExactEvmScheme, createRpcChain, createUptoEvmScheme } from "@farebox/evm/facilitator";
import { createPayments, type RouteConfig, type RoutesConfig, setSettlementOverrides } from "@farebox/express";
import { createFacilitator, facilitatorRouter } from "@farebox/facilitator";
import { anvilAccounts, createTestFacilitator, type LocalChain } from "@farebox/testing";
import { generateKeyPairSigner } from "@solana/kit";
import { x402Client } from "@x402/core/client";
import { ExactEvmScheme } from "@x402/evm";
import { UptoEvmScheme } from "@x402/evm/upto/client";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { ExactSvmScheme } from "@x402/svm/exact/client";
import express, { type RequestHandler } from "express";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Library, SOLANA } from "../catalog/library.js";
import { PATIENT } from "../facilitator/stage.js";
import { axiosClient, fetchClient, payingFetch, referenceFacilitator } from "../interop/peers.js";
import { decode, PATIENT_SELLER } from "../interop/servers.js";
import { borrowChain } from "../worker-chain.js";
import {
  ASSET,
  buy,
  challengeOf,
  closeAllAtEnd,
  declared,
  type Json,
  NETWORK,
  OFFER,
  offerIn,
  openFacilitator,
  openSeller,
  openTools,
  outcomeOf,
  PAYEE,
  readerOf,
  start,
} from "./marketplace.js";

closeAllAtEnd();

let library: Library;
/** Sells what the catalog lists: three routes and a tool. */
let url: string;

beforeAll(async () => {
  library = await openFacilitator();
  const city = {
    inputSchema: { queryParams: { city: { type: "string", description: "Town" } } },
    input: { city: "Rome" },
  };
  const routes = {
    "GET /weather": declared(city),
    "GET /news": declared({}, { description: "News of the day", accepts: { ...OFFER, price: "$0.50" } }),
    "POST /translate": declared({}, { description: "Says it in another language" }),
  };
  ({ url } = await openSeller(library.url, routes));
  await buy(`${url}/weather`);
  await buy(`${url}/news`);
  await buy(`${url}/translate`, { method: "POST" });
  const tools = await openTools(library.url, (some) => {
    some.tool("get_tide", { accepts: OFFER, description: "Tides of a port" }, () => ({ content: [] }));
  });
  await tools.call("get_tide");
});

describe("4.1", () => {
  test("4.1 Method and path: `GET {facilitator_url}/discovery/resources`.", async () => {
    expect((await library.get("/discovery/resources")).json["items"]).toHaveLength(4);
    expect((await fetch(`${library.url}/discovery/resources`, { method: "POST" })).status).toBeGreaterThanOrEqual(400);
  });

  test("4.1 Request parameters (query): `type` (string, `http` or `mcp`), `limit` (integer), `offset` (integer).", async () => {
    const list = async (query: string) => (await library.get(`/discovery/resources?${query}`)).json["items"] as Json[];
    expect((await list("type=mcp")).map(({ type }) => type)).toEqual(["mcp"]);
    expect((await list("type=http")).map(({ type }) => type)).toEqual(["http", "http", "http"]);
    expect((await list("limit=1&offset=1")).map(({ resource }) => resource)).toEqual([`${url}/news`]);
    for (const wrong of ["type=ftp", "limit=x", "offset=-1"]) {
      expect((await library.get(`/discovery/resources?${wrong}`)).status, wrong).toBe(400);
    }
  });

  test("4.1 Client libraries pass `type`, `limit` and `offset` to this operation.", async () => {
    const { items } = await readerOf(library).listResources({ type: "http", limit: 2, offset: 1 });
    expect(items.map(({ resource }) => resource)).toEqual([`${url}/news`, `${url}/translate`]);
  });

  test("4.1 Response: JSON with `items`, an array of discovery resources (2.1). Other top-level fields of the list response: not shown.", async () => {
    const { json, header } = await library.get("/discovery/resources");
    expect(header("content-type")).toMatch(/^application\/json/);
    for (const item of json["items"] as Json[]) {
      const fields = ["accepts", "lastUpdated", "metadata", "resource", "type", "x402Version"];
      expect(Object.keys(item)).toEqual(expect.arrayContaining(fields));
    }
    expect(json["pagination"]).toMatchObject({ limit: 20, offset: 0, total: 4 });
  });

  test("4.1 Client-side use: filter `items` by asset and by amount (compare the amount with a chosen maximum in atomic units).", async () => {
    const { items } = await readerOf(library).listResources({ type: "http" });
    const cheap = items.filter(({ accepts }) =>
      accepts.some(({ asset, amount }) => asset === ASSET && BigInt(amount) <= 1_000n),
    );
    expect(cheap.map(({ resource }) => resource)).toEqual([`${url}/weather`, `${url}/translate`]);
    const { entries } = await createDiscoveryClient({ url: library.url }).list({ type: "http" });
    const affordableOnes = affordable(entries, { asset: ASSET, maxAmount: "1000" });
    expect(affordableOnes.map(({ resource }) => resource)).toEqual(cheap.map(({ resource }) => resource));
  });
});

describe("4.2", () => {
  test("4.2 A natural-language search operation exists. Its method and path: not shown.", async () => {
    const { resources } = await readerOf(library).search({ query: "how is the weather" });
    expect(resources[0]?.resource).toBe(`${url}/weather`);
  });

  test("4.2 Input parameters: `query` (string, natural language), `type` (string, `http` or `mcp`).", async () => {
    const search = async (query: string) =>
      (await library.get(`/discovery/search?${query}`)).json["resources"] as Json[];
    expect((await search("query=tides+of+a+port"))[0]).toMatchObject({ type: "mcp" });
    for (const { type } of await search("query=tides+of+a+port&type=http")) expect(type).toBe("http");
    expect((await library.get("/discovery/search")).status).toBe(400);
  });

  test("4.2 Response: JSON with `resources`, an array of discovery resources, and optionally `pagination`, an object holding `cursor` (string, for the next page).", async () => {
    const first = await readerOf(library).search({ query: "news weather", limit: 1 });
    expect(first.resources).toHaveLength(1);
    const cursor = first.pagination?.cursor;
    expect(cursor).toEqual(expect.any(String));
    const next = await readerOf(library).search({ query: "news weather", limit: 1, cursor: cursor! });
    expect(next.resources).toHaveLength(1);
    expect(next.resources[0]?.resource).not.toBe(first.resources[0]?.resource);
  });

  test("4.2 Pagination is defined by the facilitator: some include top-level `limit` and `cursor`, others omit them.", async () => {
    // Our client reads a catalog of either kind.
    const app = express().get("/discovery/search", ({ query }, res) => {
      const resources = [
        { resource: "https://a.example/x", type: "http", x402Version: 2, accepts: [], lastUpdated: 0 },
      ];
      res.json(query["query"] === "top" ? { resources, limit: 1, cursor: "2" } : { resources });
    });
    const client = createDiscoveryClient({ url: await start(app) });
    expect((await client.search({ query: "top" })).cursor).toBe("2");
    expect((await client.search({ query: "none" })).cursor).toBeUndefined();
  });
});

describe("4.3", () => {
  const account = privateKeyToAccount(generatePrivateKey());

  /** A seller behind a facilitator that reads signatures, and what it got. */
  async function openShop(routes: RoutesConfig) {
    const facilitator = createTestFacilitator();
    facilitator.ledger.fund(account.address, 1_000_000n);
    const requests: { method: string; path: string; signature: string | undefined }[] = [];
    const payments = createPayments({ ...PATIENT_SELLER, facilitator, strict: false });
    const app = express().set("env", "test");
    app.use((req, _res, next) => {
      requests.push({ method: req.method, path: req.url, signature: req.get("PAYMENT-SIGNATURE") });
      next();
    });
    app.use(payments.routes(routes));
    app.all(/.*/, (_req, res) => void res.json({ sold: true }));
    return { facilitator, requests, url: await start(app) };
  }

  const pay = wrapFetchWithPaymentFromConfig(fetch, {
    schemes: [{ network: "eip155:*", client: new ExactEvmScheme(account) }],
  });

  test("4.3 The method and path are defined by the seller (route key `<METHOD> <path>`).", async () => {
    const shop = await openShop({ "PUT /notes/:id": declared() });
    expect((await challengeOf(`${shop.url}/notes/7`, { method: "PUT" })).status).toBe(402);
    expect((await fetch(`${shop.url}/elsewhere`)).status).toBe(200);
  });

  test("4.3.1 A request without payment returns HTTP 402 Payment Required with header `PAYMENT-REQUIRED`: a base64-encoded JSON object with the payment requirements (the list of options, each as in 2.2).", async () => {
    const shop = await openShop({ "GET /weather": { accepts: [OFFER, { ...OFFER, payTo: account.address }] } });
    const response = await fetch(`${shop.url}/weather`);
    expect([response.status, response.statusText]).toEqual([402, "Payment Required"]);
    const header = response.headers.get("PAYMENT-REQUIRED") ?? "";
    expect(Buffer.from(header, "base64").toString("base64")).toBe(header);
    const accepts = [{ payTo: PAYEE, maxAmountRequired: "1000" }, { payTo: account.address }];
    expect(decode(header)).toMatchObject({ x402Version: 2, accepts });
  });

  test("4.3.2 The client selects an option by its `network` (`eip155:*` uses the EVM scheme, `solana:*` uses the SVM scheme)", async () => {
    const solana = { ...OFFER, network: SOLANA, payTo: "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4" };
    const { header } = await challengeOf(`${(await openShop({ "GET /weather": declared() })).url}/weather`);
    const evm = offerIn(header);
    const accepts = [
      { ...evm, network: solana.network, payTo: solana.payTo, asset: "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU" },
      evm,
    ];
    const client = new x402Client().register("eip155:*", new ExactEvmScheme(account));
    const payment = await client.createPaymentPayload({ ...header, accepts } as never);
    expect(payment.accepted.network).toBe(NETWORK);
    // The other one asks its node for the token.
    let asked = 0;
    const node = await start(
      express().use((_req, res) => {
        asked += 1;
        res.status(404).end();
      }),
    );
    const scheme = new ExactSvmScheme(await generateKeyPairSigner(), { rpcUrl: node });
    const svm = new x402Client().register("solana:*", scheme);
    await expect(svm.createPaymentPayload({ ...header, accepts } as never)).rejects.toThrow();
    expect(asked).toBeGreaterThan(0);
  });

  test("4.3.2 … creates and signs a payment payload, and repeats the original request with header `PAYMENT-SIGNATURE` carrying the proof of payment.", async () => {
    const shop = await openShop({ "POST /notes": declared() });
    expect((await pay(`${shop.url}/notes?x=1`, { method: "POST" })).status).toBe(200);
    const [first, second] = shop.requests;
    expect(first).toEqual({ method: "POST", path: "/notes?x=1", signature: undefined });
    expect(second).toEqual({ method: "POST", path: "/notes?x=1", signature: expect.any(String) });
    const proof = { payload: { signature: expect.stringMatching(/^0x/), authorization: { from: account.address } } };
    expect(decode(second?.signature ?? "")).toMatchObject({ x402Version: 2, accepted: { payTo: PAYEE }, ...proof });
  });

  test("4.3.3 The server verifies the payment through the facilitator. If valid, it returns the normal response (HTTP 200 with the resource body).", async () => {
    const shop = await openShop({ "GET /weather": declared() });
    const response = await pay(`${shop.url}/weather`);
    expect([response.status, await response.json()]).toEqual([200, { sold: true }]);
    expect(shop.facilitator.ledger.balanceOf(PAYEE)).toBe(1_000n);
    // Who has no money gets nothing.
    expect((await payingFetch(generatePrivateKey())(`${shop.url}/weather`)).status).toBe(402);
    expect(shop.facilitator.ledger.balanceOf(PAYEE)).toBe(1_000n);
  });

  test("4.3.4 After a payment that carried the `bazaar` extension, the facilitator may add `EXTENSION-RESPONSES` (Section 6).", async () => {
    expect(outcomeOf(await buy(`${url}/weather`))).toEqual({ status: "success" });
  });
});

const PURSE = 1_000_000n;
const MAXIMUM = 100_000n;

describe("on a chain", () => {
  let chain: LocalChain;
  let facilitatorUrl: string;
  beforeAll(async () => {
    chain = await borrowChain();
    const { network, rpcUrl } = chain;
    const rpc = createRpcChain({ network, rpcUrl, privateKey: anvilAccounts[0]!.privateKey, ...PATIENT });
    const schemes = [createExactEvmScheme({ chain: rpc }), createUptoEvmScheme({ chain: rpc })];
    facilitatorUrl = await start(express().use(facilitatorRouter(createFacilitator({ schemes }), { open: true })));
  });
  afterAll(() => chain.close());

  test("4.3.3 The server verifies the payment through the facilitator: the reference's, too", async () => {
    const facilitator = await start(referenceFacilitator(chain, anvilAccounts[1]!.privateKey));
    const payTo = privateKeyToAccount(generatePrivateKey()).address;
    const seller = await openSeller(facilitator, { "GET /weather": declared({}, { accepts: { ...OFFER, payTo } }) });
    const [rich, poor] = [generatePrivateKey(), generatePrivateKey()];
    await chain.fund(privateKeyToAccount(rich).address, { usdc: PURSE });
    expect(await fetchClient(rich, `${seller.url}/weather`)).toMatchObject({ status: 200, json: { path: "/weather" } });
    expect((await fetchClient(poor, `${seller.url}/weather`)).status).toBe(402);
    expect(await chain.balanceOf(payTo)).toBe(1_000n);
  });

  /** Sells words by `upto`. What it returns buys them once, and says what was taken. */
  async function openSale(handler: RequestHandler, price: unknown = "$0.10") {
    const payTo = privateKeyToAccount(generatePrivateKey()).address;
    const account = privateKeyToAccount(generatePrivateKey());
    await chain.fund(account.address, { usdc: PURSE, eth: 10n ** 18n });
    await chain.approvePermit2(account.address);
    const accepts = { scheme: "upto", price, network: chain.network, payTo };
    const payments = createPayments({ ...PATIENT_SELLER, facilitator: facilitatorUrl, strict: false });
    const app = express()
      .set("env", "test")
      .use(payments.routes({ "GET /words": { accepts } as RouteConfig }));
    app.get("/words", handler);
    const client = new UptoEvmScheme(account, { rpcUrl: chain.rpcUrl });
    const pay = wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network: "eip155:*", client }] });
    const words = `${await start(app)}/words`;
    return async () => {
      const before = await chain.balanceOf(account.address);
      const response = await pay(words);
      const taken = before - (await chain.balanceOf(account.address));
      const header = response.headers.get("PAYMENT-RESPONSE");
      return { status: response.status, taken, receipt: header === null ? undefined : decode(header) };
    };
  }

  let amount = "";
  const setting: RequestHandler = (_req, res) => {
    setSettlementOverrides(res, { amount });
    res.json({ words: 5 });
  };

  test("4.4 A handler may set an override with a field `amount` (string) before responding, to fix the amount actually settled.", async () => {
    const take = await openSale(setting);
    amount = "2345";
    expect(await take()).toMatchObject({ status: 200, taken: 2_345n, receipt: { success: true, amount: "2345" } });
  });

  test.each([
    ["digits only", "Atomic units of the token", "none", "7001", 7_001n],
    ["`<number>%`", "Percentage of the authorized maximum", "two decimal places", "12.34%", 12_340n],
    ["`<number>%`", "floored to an atomic unit", "of 100,001 units", "33.33%", 33_330n],
    ["`$<decimal>`", "Dollar price, converted with the token decimals", "none", "$0.05", 50_000n],
    ["`$<decimal>`", "rounded to the nearest atomic unit", "up", "$0.0123456", 12_346n],
    ["`$<decimal>`", "rounded to the nearest atomic unit", "down", "$0.0123454", 12_345n],
  ])("4.4 %s: %s (%s)", async (_format, _meaning, rounding, said, taken) => {
    const take = await openSale(setting, rounding.startsWith("of") ? "$0.100001" : "$0.10");
    amount = said;
    expect(await take()).toMatchObject({ status: 200, taken, receipt: { amount: String(taken) } });
  });

  const refusing: RequestHandler = (_req, res) => {
    try {
      setSettlementOverrides(res, { amount });
      res.json({});
    } catch (error) {
      res.status(500).json({ code: (error as { code?: string }).code });
    }
  };

  // 4.4 Dollar price, …; valid when the route uses dollar-prefixed pricing
  test("4.4 `$<decimal>`: valid when the route uses dollar-prefixed pricing", async () => {
    const take = await openSale(refusing, {
      asset: ASSET,
      amount: String(MAXIMUM),
      extra: { name: "USDC", version: "2" },
    });
    amount = "$0.05";
    expect(await take()).toMatchObject({ status: 500, taken: 0n });
  });

  test("4.4 Percentage: up to two decimal places", async () => {
    const take = await openSale(refusing);
    amount = "12.345%";
    expect(await take()).toMatchObject({ status: 500, taken: 0n });
  });

  test("4.4 Rules: the resolved amount must be less than or equal to the authorized maximum.", async () => {
    const take = await openSale(refusing);
    amount = String(MAXIMUM);
    expect(await take()).toMatchObject({ status: 200, taken: MAXIMUM });
    for (amount of [String(MAXIMUM + 1n), "100.01%", "$0.100001"]) {
      expect(await take(), amount).toMatchObject({ status: 500, taken: 0n });
    }
  });

  test("4.4 An amount of `0` causes no on-chain transaction and no charge.", async () => {
    const take = await openSale(setting);
    amount = "0";
    expect(await take()).toMatchObject({
      status: 200,
      taken: 0n,
      receipt: { success: true, transaction: "", amount: "0" },
    });
  });

  test("4.4 The `upto` scheme is available on EVM networks only.", () => {
    const payments = createPayments({ ...PATIENT_SELLER, facilitator: createTestFacilitator() });
    const on = (network: string, payTo: string) => () =>
      payments.routes({ "GET /words": { accepts: { ...OFFER, scheme: "upto", network, payTo } as never } });
    expect(on(SOLANA, "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4")).toThrow(/upto/);
    expect(on(NETWORK, PAYEE)).not.toThrow();
  });

  test("4.5 `exact` (default): the client pays the advertised price exactly; works on all networks and all SDKs.", async () => {
    const payTo = privateKeyToAccount(generatePrivateKey()).address;
    const { scheme: _, ...unnamed } = { ...OFFER, payTo };
    const seller = await openSeller(facilitatorUrl, { "GET /weather": { accepts: unnamed } });
    for (const pay of [fetchClient, axiosClient]) {
      const key = generatePrivateKey();
      await chain.fund(privateKeyToAccount(key).address, { usdc: PURSE });
      expect(await pay(key, `${seller.url}/weather`)).toMatchObject({ status: 200, receipt: { success: true } });
      expect(await chain.balanceOf(privateKeyToAccount(key).address)).toBe(PURSE - 1_000n);
    }
    expect(await chain.balanceOf(payTo)).toBe(2_000n);
  });

  test("4.5 `upto`: the client authorizes a maximum; the server settles only the amount actually used.", async () => {
    const take = await openSale((req, res) => {
      for (const _word of ["one", "two", "three"]) req.payment?.charge("$0.001");
      res.json({});
    });
    expect(await take()).toMatchObject({ status: 200, taken: 3_000n });
  });
});
