/**
 * The brief's section 1, "What the service does". Its sentence about the early state of discovery says nothing that can be tested.
 *
 * @module
 */
import type { Catalog } from "@farebox/bazaar/facilitator";
import { x402ResourceServer } from "@farebox/compat";
import { createPayments } from "@farebox/express";
import { createFacilitator, facilitatorRouter } from "@farebox/facilitator";
import { createTestFacilitator } from "@farebox/testing";
import { generateKeyPairSigner } from "@solana/kit";
import { x402Client } from "@x402/core/client";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm";
import { ExactEvmScheme as ServerScheme } from "@x402/evm/exact/server";
import { ExactSvmScheme } from "@x402/svm/exact/client";
import express from "express";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { z } from "zod";
import { paymentFor, SOLANA, yesScheme } from "../catalog/library.js";
import { PATIENT_SELLER } from "../interop/servers.js";
import {
  ASSET,
  buy,
  challengeOf,
  closeAllAtEnd,
  declared,
  entriesOf,
  listRoute,
  NETWORK,
  OFFER,
  offerIn,
  openFacilitator,
  openSeller,
  openTools,
  PAYEE,
  readerOf,
  start,
  textOf,
} from "./marketplace.js";

closeAllAtEnd();

const library = await openFacilitator();

const CITY = { queryParams: { city: { type: "string", description: "Name of the town", required: true } } };
const TOOL = { accepts: OFFER, description: "The weather in a city", inputSchema: { city: z.string() } } as const;
const sunny = ({ city }: { city: string }) => ({ content: [{ type: "text" as const, text: `sunny in ${city}` }] });

test("1 The service is a catalog through which buyers find payment-enabled services, learn their price, payment options and input schemas, and then call and pay for them.", async () => {
  const catalog = await openFacilitator();
  await listRoute(
    catalog,
    "GET /weather",
    declared({ inputSchema: CITY, input: { city: "Rome" } }),
    "/weather?city=Rome",
  );
  const { items } = await readerOf(catalog).listResources();
  expect(items).toHaveLength(1);
  const [found] = items;
  expect(found?.accepts).toMatchObject([
    { scheme: "exact", network: NETWORK, amount: "1000", asset: ASSET, payTo: PAYEE },
  ]);
  const schema = { properties: { city: { description: "Name of the town" } }, required: ["city"] };
  expect(found).toMatchObject({
    extensions: { bazaar: { schema: { properties: { input: { properties: { queryParams: schema } } } } } },
  });
  const bought = await buy(`${found?.resource}?city=Oslo`);
  expect([bought.status, await bought.json()]).toMatchObject([200, { query: { city: "Oslo" } }]);
});

test("1 Two kinds of resource are cataloged: HTTP endpoints (methods GET, POST, PUT, PATCH, DELETE, HEAD) and MCP tools.", async () => {
  const catalog = await openFacilitator();
  const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];
  const routes = Object.fromEntries(methods.map((method) => [`${method} /of/${method}`, declared()]));
  const { url } = await openSeller(catalog.url, routes);
  for (const method of methods) expect((await buy(`${url}/of/${method}`, { method })).status, method).toBe(200);
  const seller = await openTools(catalog.url, (tools) => void tools.tool("get_weather", TOOL, sunny));
  await seller.call("get_weather", { city: "Rome" });
  const entries = await entriesOf(catalog);
  expect(entries.map(({ type, method, toolName }) => [type, method ?? toolName])).toEqual([
    ...methods.map((method) => ["http", method]),
    ["mcp", "get_weather"],
  ]);
});

test("1 A facilitator that supports the discovery extension may offer `{facilitator_url}/discovery/resources`.", async () => {
  expect((await library.get("/discovery/resources")).status).toBe(200);
  const without = createFacilitator({ schemes: [yesScheme()] });
  const url = await start(express().use(facilitatorRouter(without, { open: true })));
  expect((await fetch(`${url}/supported`)).status).toBe(200);
  expect((await fetch(`${url}/discovery/resources`)).status).toBe(404);
});

test("1 It returns the services registered through that facilitator.", async () => {
  const [one, other] = [await openFacilitator(), await openFacilitator()];
  const { url } = await listRoute(one, "GET /weather", declared(), "/weather");
  expect((await entriesOf(one)).map(({ resource }) => resource)).toEqual([`${url}/weather`]);
  expect(await entriesOf(other)).toEqual([]);
});

test("1 The catalog format is open, so each facilitator may implement its own discovery layer.", async () => {
  const shelf: string[] = [];
  const own: Catalog = {
    rules: {},
    async register({ resource }) {
      shelf.push(resource);
      return { kind: "listed" };
    },
    list: async () => ({ entries: [], total: shelf.length }),
    search: async () => ({ entries: [], isPartial: false }),
    find: async () => undefined,
    countEach: async (filters) => filters.map(() => 0),
    isCursor: () => false,
  };
  const facilitator = createFacilitator({ schemes: [yesScheme()], catalog: own });
  const url = await start(express().use(facilitatorRouter(facilitator, { open: true })));
  await facilitator.settle(paymentFor({ url: "https://api.example.com/own" }));
  expect(shelf).toEqual(["https://api.example.com/own"]);
  expect(await readerOf({ url }).listResources()).toMatchObject({ items: [], pagination: { total: 1 } });
});

test("1 A service becomes discoverable when its route configuration carries the `bazaar` extension.", async () => {
  const catalog = await openFacilitator();
  const { url } = await openSeller(catalog.url, {
    "GET /undeclared": { accepts: OFFER },
    "GET /declared": declared(),
  });
  expect((await buy(`${url}/undeclared`)).status).toBe(200);
  expect((await buy(`${url}/declared`)).status).toBe(200);
  expect((await entriesOf(catalog)).map(({ resource }) => resource)).toEqual([`${url}/declared`]);
});

test("1 Only payment-protocol-compatible services can be listed; non-compatible services cannot.", async () => {
  const catalog = await openFacilitator({ owners: { checkOwners: true, unverified: "hide" } });
  const free = await start(express().get("/free", (_req, res) => void res.json({})));
  const { outcome } = await catalog.post("/settle", paymentFor({ url: `${free}/free` }));
  expect(outcome).toMatchObject({ bazaar: { status: expect.stringMatching(/^(?:processing|rejected)$/) } });
  await listRoute(catalog, "GET /weather", declared(), "/weather");
  await expect.poll(async () => (await entriesOf(catalog)).length, { timeout: 60_000 }).toBe(1);
  expect((await entriesOf(catalog))[0]?.resource).toMatch(/\/weather$/);
});

test("1 A service is registered when a payment that carries the `bazaar` extension is processed by the facilitator.", async () => {
  const catalog = await openFacilitator();
  const { url } = await openSeller(catalog.url, { "GET /weather": declared() });
  await challengeOf(`${url}/weather`);
  expect(await entriesOf(catalog)).toEqual([]);
  await buy(`${url}/weather`);
  expect(await entriesOf(catalog)).toHaveLength(1);
});

test("1 The facilitator extracts the extension from the payment payload and indexes the resource.", async () => {
  const catalog = await openFacilitator();
  const { url } = await openSeller(catalog.url, { "GET /weather": declared({ input: { city: "Rome" } }) });
  await buy(`${url}/weather`);
  const { resources } = await readerOf(catalog).search({ query: "weather" });
  expect(resources).toMatchObject([
    { resource: `${url}/weather`, extensions: { bazaar: { info: { input: { queryParams: { city: "Rome" } } } } } },
  ]);
});

test("1 For an MCP tool this yields an entry with `type` equal to `mcp`.", async () => {
  const seller = await openTools(library.url, (tools) => void tools.tool("get_weather", TOOL, sunny));
  expect(textOf(await seller.call("get_weather", { city: "Rome" }))).toBe("sunny in Rome");
  const { items } = await readerOf(library).listResources({ type: "mcp" });
  expect(items).toMatchObject([{ type: "mcp", resource: `${seller.url}/mcp` }]);
});

test("1 Listing is free.", async () => {
  const catalog = await openFacilitator();
  const seller = await listRoute(catalog, "GET /weather", declared(), "/weather");
  const receipt = JSON.parse(Buffer.from(seller.response.headers.get("PAYMENT-RESPONSE") ?? "", "base64").toString());
  expect(receipt).toMatchObject({ success: true });
  // The one payment is for the price of the service, to its seller.
  expect(seller.entry.accepts).toMatchObject([{ amount: "1000", payTo: PAYEE }]);
  expect((await library.get("/discovery/resources")).status).toBe(200);
});

test("1 Each service sets its own per-call price, paid through the payment protocol.", async () => {
  const { url } = await openSeller(library.url, {
    "GET /cheap": declared({}, { accepts: OFFER }),
    "GET /dear": declared({}, { accepts: { ...OFFER, price: "$2.50" } }),
  });
  const prices = ["cheap", "dear"].map(async (path) => offerIn((await challengeOf(`${url}/${path}`)).header)["amount"]);
  expect(await Promise.all(prices)).toEqual(["1000", "2500000"]);
});

test("1 Buyers need no API keys and no account; the flow is discover, select, pay, use.", async () => {
  const catalog = await openFacilitator();
  await listRoute(catalog, "GET /weather", declared(), "/weather");
  const listed = await fetch(`${catalog.url}/discovery/resources`, { headers: {} });
  const { items } = (await listed.json()) as { items: { resource: string }[] };
  expect(await (await buy(items[0]!.resource)).json()).toMatchObject({ path: "/weather" });
});

test("1 Basic flow 1. Discovery: the client queries the list (or search) operation.", async () => {
  const catalog = await openFacilitator();
  const { url } = await listRoute(catalog, "GET /weather", declared(), "/weather");
  const reader = readerOf(catalog);
  expect((await reader.listResources()).items[0]?.resource).toBe(`${url}/weather`);
  expect((await reader.search({ query: "weather" })).resources[0]?.resource).toBe(`${url}/weather`);
});

test("1 Basic flow 2. Selection: the client picks a service by price, capability and requirements.", async () => {
  const catalog = await openFacilitator();
  const { url } = await openSeller(catalog.url, {
    "GET /news": declared({}, { description: "News of the day" }),
    "GET /dear": declared({}, { accepts: { ...OFFER, price: "$1" } }),
    "GET /weather": declared({ inputSchema: CITY, input: { city: "Rome" } }),
  });
  for (const path of ["news", "dear", "weather?city=Rome"]) await buy(`${url}/${path}`);
  const { resources } = await readerOf(catalog).search({ query: "weather" });
  const affordable = resources.filter(({ accepts }) => accepts.some(({ amount }) => BigInt(amount) <= 1_000n));
  expect(affordable[0]).toMatchObject({
    resource: `${url}/weather`,
    extensions: { bazaar: { info: { input: { queryParams: { city: "Rome" } } } } },
  });
});

test("1 Basic flow 3. Execution: the client calls the service; the service answers 402 with payment requirements; the client signs a payment and retries (see Section 4.3).", async () => {
  const { url } = await openSeller(library.url, { "GET /weather": declared() });
  const { status, header } = await challengeOf(`${url}/weather`);
  expect([status, offerIn(header)]).toMatchObject([402, { scheme: "exact", payTo: PAYEE }]);
  expect((await buy(`${url}/weather`)).status).toBe(200);
});

/** Chain references as published, and the stablecoin of each. */
const NETWORKS = [
  ["EVM mainnet", "eip155:8453", PAYEE, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"],
  ["EVM test network", "eip155:84532", PAYEE, ASSET],
  [
    "SVM mainnet",
    "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
    "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4",
    "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
  ],
  [
    "SVM devnet",
    SOLANA,
    "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4",
    "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
  ],
  [
    "AVM test network (in the seller quickstart)",
    "algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe",
    "Y76M3MSY6DKBRHBL7C3NNDXGS5IIMQVQVUAB6MP4XEMMGVF2QWNPL226CA",
    "10458941",
  ],
] as const;

test.each(NETWORKS)("1 Payments are in a USD stablecoin. %s: %s", async (_name, network, payTo, asset) => {
  const schemes = [yesScheme("exact", network)].map((scheme) => ({ ...scheme, extra: { feePayer: payTo } }));
  const facilitator = createFacilitator({ schemes });
  const { url } = await openSeller(facilitator, { "GET /weather": { accepts: { ...OFFER, network, payTo } } });
  expect(offerIn((await challengeOf(`${url}/weather`)).header)).toMatchObject({ network, asset, amount: "1000" });
});

test("1 Network identifiers use the CAIP-2 format (protocol version 2).", () => {
  const payments = createPayments({ ...PATIENT_SELLER, facilitator: createTestFacilitator() });
  expect(() =>
    payments.routes({ "GET /weather": { accepts: { ...OFFER, network: "base-sepolia" as never } } }),
  ).toThrow(/CAIP-2/);
});

test("1 Wildcard registrations for client and server schemes use `eip155:*` and `solana:*`.", async () => {
  const { header } = await challengeOf(
    `${(await openSeller(library.url, { "GET /weather": declared() })).url}/weather`,
  );
  const client = new x402Client()
    .register("eip155:*", new ExactEvmScheme(privateKeyToAccount(generatePrivateKey())))
    .register("solana:*", new ExactSvmScheme(await generateKeyPairSigner()));
  expect(await client.createPaymentPayload(header as never)).toMatchObject({ accepted: { network: NETWORK } });
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: library.url })).register(
    "eip155:*",
    new ServerScheme() as never,
  );
  expect(server.hasRegisteredScheme(NETWORK, "exact")).toBe(true);
});
