/**
 * Tools whose resource is `mcp://tool/<name>`, which says no server: sold to a client of the reference, and listed by a catalog that
 * believes only servers, unless a test says otherwise.
 */
import { createDiscoveryClient } from "@farebox/bazaar";
import { createPayments, type Payments } from "@farebox/express";
import { createPaidTools, type PaidTools } from "@farebox/mcp";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { x402Client } from "@x402/core/client";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm";
import { declareDiscoveryExtension, extractDiscoveryInfo, withBazaar } from "@x402/extensions/bazaar";
import express, { type Express } from "express";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, onTestFinished, test } from "vitest";
import { ASSET, type Library, NETWORK, PAYEE, paymentFor, yesScheme } from "../catalog/library.js";
import { entriesOf, NEW_PAYEE, openHere, SQUATTER, serve } from "../catalog/sellers.js";
import { PATIENT_SELLER } from "../interop/servers.js";
import { challengeOf, mcpEndpoint, receiptOf, textOf } from "./shop.js";

const NAME = "get_weather";
const RESOURCE = `mcp://tool/${NAME}`;
const UNKNOWN = "FAREBOX_TOOL_URL_UNKNOWN";
const inputSchema = { properties: { city: { type: "string" } }, required: ["city"] };
const description = "The weather in a city, now";

interface SellerPlan {
  readonly payTo?: string;
  /** Default: the seller says where its server is. */
  readonly serverUrl?: string | undefined;
  readonly sell?: (tools: PaidTools) => void;
  readonly app?: (app: Express, payments: Payments) => void;
}

const sellWeather = (
  tools: PaidTools,
  extensions: Record<string, object> = { bazaar: { toolName: NAME, inputSchema } },
) =>
  tools.tool(NAME, { price: "$0.001", description, resource: { url: RESOURCE }, extensions }, () => ({
    content: [{ type: "text", text: "sunny" }],
  }));

/** A seller of a tool, with its documents. */
async function openSeller({ url: facilitator }: Library, plan: SellerPlan = {}) {
  const { payTo = PAYEE, serverUrl = "/mcp", sell = sellWeather } = plan;
  const app = express();
  const { url } = await serve(app);
  const options = { ...PATIENT_SELLER, facilitator, strict: false, networks: [NETWORK], publicUrl: url } as const;
  const payments = createPayments({ ...options, payTo: { "eip155:*": payTo } });
  onTestFinished(() => payments.close());
  const tools = createPaidTools(payments, "serverUrl" in plan && plan.serverUrl === undefined ? {} : { serverUrl });
  sell(tools);
  app.get("/.well-known/x402", payments.wellKnown());
  plan.app?.(app, payments);
  app.use("/mcp", mcpEndpoint(tools));
  const unknown = () => payments.report().findings.filter(({ code }) => code === UNKNOWN);
  return { url, payments, unknown, buy: () => buyAt(`${url}/mcp`) };
}

/** Calls the tool by the client of the MCP SDK, and pays its challenge by that of the reference. */
async function buyAt(url: string): Promise<CallToolResult> {
  const client = new Client({ name: "buyer", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)) as never);
  const account = privateKeyToAccount(generatePrivateKey());
  const wallet = new x402Client().register("eip155:*", new ExactEvmScheme(account));
  const call = { name: NAME, arguments: { city: "Porto" } };
  try {
    const challenge = challengeOf((await client.callTool(call)) as CallToolResult);
    const payment = await wallet.createPaymentPayload(challenge as never);
    return (await client.callTool({ ...call, _meta: { "x402/payment": payment } })) as CallToolResult;
  } finally {
    await client.close();
  }
}

/** A payment as a facilitator gets it, for a tool of the name. */
const bazaar = { info: { input: { type: "mcp", toolName: NAME, inputSchema } }, schema: {} };
async function settle({ post }: Library, changes: { payTo?: string; serverUrl?: string; network?: string } = {}) {
  const { payTo = PAYEE, serverUrl, network = NETWORK } = changes;
  const declared = serverUrl === undefined ? bazaar : { ...bazaar, serverUrl };
  const { outcome } = await post("/settle", paymentFor({ url: RESOURCE, bazaar: declared, terms: { payTo, network } }));
  return (outcome as { bazaar: { status: string; rejectedReason?: string } }).bazaar;
}

const payeesOf = async (shop: Library) =>
  (await entriesOf(shop)).map(({ resource, accepts, verified = false }) => [
    resource,
    verified,
    ...accepts.map(({ payTo }) => payTo),
  ]);

describe("a tool whose seller says where its server is", () => {
  test.each<[how: string, sell: SellerPlan["sell"]]>([
    ["in the options", undefined],
    [
      "beside a declaration of the reference's helper",
      (tools) => sellWeather(tools, declareDiscoveryExtension({ toolName: NAME, description, inputSchema })),
    ],
  ])("is listed by its name once the server confirms it, %s", async (_how, sell) => {
    const settled: unknown[] = [];
    const scheme = yesScheme();
    const settle: typeof scheme.settle = (request, ...rest) => {
      settled.push(request);
      return scheme.settle(request, ...rest);
    };
    const shop = await openHere({ schemes: [{ ...scheme, settle }] });
    const seller = await openSeller(shop, sell === undefined ? {} : { sell });
    const bought = await seller.buy();
    expect([textOf(bought), receiptOf(bought)?.success]).toEqual(["sunny", true]);
    await shop.catalog.checkDue();

    const entry = {
      resource: RESOURCE,
      type: "mcp",
      toolName: NAME,
      serverUrl: `${seller.url}/mcp`,
      description,
      verified: true,
      discoveryInfo: { input: { type: "mcp", toolName: NAME } },
      accepts: [{ payTo: PAYEE, resource: RESOURCE, outputSchema: { input: { type: "mcp", toolName: NAME } } }],
    };
    const theirs = withBazaar(new HTTPFacilitatorClient({ url: shop.url })).extensions.bazaar;
    expect((await theirs.listResources({ type: "mcp" })).items).toMatchObject([entry]);
    expect((await theirs.search({ query: "will it rain?", type: "mcp" })).resources).toMatchObject([entry]);
    expect((await theirs.listResources({ type: "http" })).items).toEqual([]);
    const ours = createDiscoveryClient({ url: shop.url });
    expect((await ours.list({ type: "mcp", verified: true })).entries).toMatchObject([entry]);
    expect(await shop.catalog.find({ resource: RESOURCE, toolName: NAME })).toMatchObject(entry);
    const page = await (await fetch(`${shop.url}/?service=${encodeURIComponent(RESOURCE)}&tool=${NAME}`)).text();
    expect(page).toContain(`${seller.url}/mcp`);

    await seller.buy();
    expect(seller.payments.listing(`tool ${NAME}`)?.status).toBe("success");
    expect(seller.unknown()).toEqual([]);
    const { paymentPayload, paymentRequirements } = settled[0] as Record<string, never>;
    const read = extractDiscoveryInfo(paymentPayload!, paymentRequirements!);
    expect(read).toMatchObject({ toolName: NAME, discoveryInfo: { input: { toolName: NAME } } });
  });

  test("is rejected when the server does not name it", async () => {
    const shop = await openHere();
    const { url } = await openSeller(shop, { sell: () => {} });
    const serverUrl = `${url}/mcp`;
    expect(await settle(shop, { serverUrl })).toEqual({ status: "processing" });
    await shop.catalog.checkDue();
    expect(await settle(shop, { serverUrl })).toMatchObject({
      status: "rejected",
      rejectedReason: expect.stringMatching(/does not name the tool/),
    });
    expect(await entriesOf(shop)).toEqual([]);
  });

  test("has no other payee than the one that the server names", async () => {
    const shop = await openHere();
    const { url, buy } = await openSeller(shop);
    const serverUrl = `${url}/mcp`;
    await settle(shop, { payTo: SQUATTER, serverUrl });
    await buy();
    await shop.catalog.checkDue();
    expect(await settle(shop, { payTo: SQUATTER, serverUrl })).toMatchObject({
      rejectedReason: expect.stringMatching(/names other offers/),
    });
    expect(await payeesOf(shop)).toEqual([[RESOURCE, true, PAYEE]]);
  });

  test.each([
    ["http://api.example.com/mcp", "serverUrl is not https"],
    ["https://127.0.0.1/mcp", "serverUrl has a private host"],
    ["https://user@api.example.com/mcp", "serverUrl holds a user name or a password"],
    ["/mcp", "serverUrl is not an absolute URL"],
    [7, "serverUrl is not an absolute URL"],
  ])("is rejected for the server %s", async (serverUrl, rejectedReason) => {
    const shop = await openHere({ allowLocal: false });
    expect(await settle(shop, { serverUrl: serverUrl as string })).toEqual({ status: "rejected", rejectedReason });
  });

  test("names no server of others: one that the document puts elsewhere is left out", async () => {
    const shop = await openHere();
    const accepts = [{ scheme: "exact", network: NETWORK, amount: "1", asset: ASSET, payTo: PAYEE }];
    const app = express();
    const { url } = await serve(app);
    const item = { accepts, resource: RESOURCE, type: "mcp", toolName: NAME, serverUrl: "http://127.0.0.1:1/mcp" };
    app.get("/.well-known/x402", (_req, res) => void res.json({ items: [item] }));
    await settle(shop, { serverUrl: `${url}/mcp` });
    await shop.catalog.checkDue();
    const [entry] = await entriesOf(shop);
    expect(entry).toMatchObject({ resource: RESOURCE, toolName: NAME, verified: true });
    expect(entry).not.toHaveProperty("serverUrl");
  });
});

describe("a tool whose seller does not say where its server is", () => {
  const plan = { serverUrl: undefined } as const;

  test("is not listed where unconfirmed services are hidden, and the finding and the catalog say so", async () => {
    const shop = await openHere();
    const { buy, payments, unknown } = await openSeller(shop, plan);
    await buy();
    expect(await entriesOf(shop)).toEqual([]);
    expect(payments.listing(`tool ${NAME}`)).toMatchObject({
      status: "rejected",
      rejectedReason: expect.stringMatching(/names no server .* set serverUrl, or resource\.url/),
    });
    expect(unknown()).toMatchObject([
      { message: expect.stringContaining("do not list the tool, or list it as unverified") },
    ]);
  });

  test.each(["last", "show"] as const)("is listed as unverified where they are shown: %s", async (unverified) => {
    const shop = await openHere({ owners: { unverified } });
    const { buy, payments } = await openSeller(shop, plan);
    await buy();
    expect(payments.listing(`tool ${NAME}`)?.status).toBe("success");
    const { entries } = await createDiscoveryClient({ url: shop.url }).list({ type: "mcp", verified: false });
    expect(entries).toMatchObject([
      { resource: RESOURCE, toolName: NAME, discoveryInfo: { input: { toolName: NAME } }, accepts: [{ payTo: PAYEE }] },
    ]);
    expect(entries[0]).not.toHaveProperty("verified");
    expect((await createDiscoveryClient({ url: shop.url }).list({ verified: true })).entries).toEqual([]);
  });

  test("is confirmed by the server where another offer of its payee was confirmed", async () => {
    const shop = await openHere();
    const { url, buy, payments } = await openSeller(shop, {
      ...plan,
      app(app, payments) {
        const price = { price: "$0.001", extensions: { bazaar: { discoverable: true } } } as const;
        app.get("/weather", payments.charge(price), (_req, res) => void res.json({ weather: "sunny" }));
      },
    });
    const challenge = (await (await fetch(`${url}/weather`)).json()) as { extensions: { bazaar: object } };
    await shop.post("/settle", paymentFor({ url: `${url}/weather`, bazaar: challenge.extensions.bazaar }));
    await shop.catalog.checkDue();
    await buy();
    expect(payments.listing(`tool ${NAME}`)?.status).toBe("processing");
    await shop.catalog.checkDue();
    expect(await payeesOf(shop)).toEqual([
      [`${url}/weather`, true, PAYEE],
      [RESOURCE, true, PAYEE],
    ]);
    await buy();
    expect(payments.listing(`tool ${NAME}`)?.status).toBe("success");
  });
});

describe("of two sellers with one name", () => {
  test.each(["last", "show"] as const)("without servers, the first keeps it: %s", async (unverified) => {
    const shop = await openHere({ owners: { unverified } });
    await settle(shop);
    const before = await entriesOf(shop);
    expect(await settle(shop, { payTo: SQUATTER })).toEqual({
      status: "rejected",
      rejectedReason: "the resource is listed with another payTo",
    });
    expect(await entriesOf(shop)).toEqual(before);
  });

  test.each(["hide", "last", "show"] as const)(
    "the one without a server does not touch a confirmed entry: %s",
    async (unverified) => {
      const shop = await openHere({ owners: { unverified } });
      const { buy } = await openSeller(shop);
      await buy();
      await shop.catalog.checkDue();
      const before = await entriesOf(shop);
      expect(before).toMatchObject([{ verified: true }]);
      const other = { payTo: SQUATTER, network: "eip155:8453" };
      for (const changes of [{ payTo: SQUATTER }, other]) {
        expect(await settle(shop, changes)).toMatchObject({
          status: "rejected",
          rejectedReason: expect.stringMatching(/another server has confirmed|names no server/),
        });
      }
      await shop.catalog.checkDue();
      expect(await entriesOf(shop)).toEqual(before);
    },
  );

  test.each(["hide", "show"] as const)(
    "and two servers, the first that was confirmed keeps it: %s",
    async (unverified) => {
      const shop = await openHere({ owners: { unverified } });
      const first = await openSeller(shop);
      await first.buy();
      await shop.catalog.checkDue();
      const before = await entriesOf(shop);
      const second = await openSeller(shop, { payTo: NEW_PAYEE });
      await second.buy();
      await shop.catalog.checkDue();
      expect(await entriesOf(shop)).toEqual(before);
      await second.buy();
      expect(second.payments.listing(`tool ${NAME}`)).toMatchObject({
        status: "rejected",
        rejectedReason: expect.stringContaining("another server has confirmed a tool of this name"),
      });
    },
  );

  test("a server that confirms it takes an unverified name over", async () => {
    const shop = await openHere({ owners: { unverified: "show" } });
    await settle(shop, { payTo: SQUATTER });
    const { url, buy } = await openSeller(shop);
    await buy();
    expect(await payeesOf(shop)).toEqual([[RESOURCE, false, SQUATTER]]);
    await shop.catalog.checkDue();
    expect(await payeesOf(shop)).toEqual([[RESOURCE, true, PAYEE]]);
    expect(await entriesOf(shop)).toMatchObject([{ serverUrl: `${url}/mcp` }]);
  });
});

describe("a payment to the payee that names another server", () => {
  /** A server whose document names the tool with a payee. */
  async function openNaming(payTo: string, app = express(), resource = RESOURCE): Promise<string> {
    const accepts = [{ scheme: "exact", network: NETWORK, amount: "1", asset: ASSET, payTo }];
    const item = { accepts, resource, type: "mcp", toolName: NAME };
    app.get("/.well-known/x402", (_req, res) => void res.json({ items: [item] }));
    return `${(await serve(app)).url}/mcp`;
  }

  test.each(["hide", "show"] as const)("changes nothing about a confirmed entry: %s", async (unverified) => {
    const shop = await openHere({ owners: { unverified } });
    const { buy } = await openSeller(shop);
    await buy();
    await shop.catalog.checkDue();
    const before = await entriesOf(shop);
    await settle(shop, { serverUrl: await openNaming(SQUATTER) });
    await shop.catalog.checkDue();
    expect(await entriesOf(shop)).toEqual(before);
  });

  test("changes nothing about an unverified one, whose server nobody shows", async () => {
    const shop = await openHere({ owners: { unverified: "show" } });
    await settle(shop);
    const serverUrl = await openNaming(SQUATTER);
    await settle(shop, { serverUrl });
    await shop.catalog.checkDue();
    expect(await payeesOf(shop)).toEqual([[RESOURCE, false, PAYEE]]);
    expect(JSON.stringify(await entriesOf(shop))).not.toContain(serverUrl);
  });

  test("does not replace the question for the server of the payee, which is asked again", async () => {
    let nowMs = Date.parse("2026-01-31T12:00:00Z");
    let isDown = true;
    const shop = await openHere({ now: () => nowMs });
    const app = express().use((_req, res, next) => (isDown ? void res.status(503).end() : next()));
    await settle(shop, { serverUrl: await openNaming(PAYEE, app) });
    await shop.catalog.checkDue();
    for (let at = 0; at < 3; at++) await settle(shop, { serverUrl: await openNaming(SQUATTER) });
    await shop.catalog.checkDue();
    expect(await entriesOf(shop)).toEqual([]);
    isDown = false;
    nowMs += 11 * 60_000;
    await shop.catalog.checkDue();
    expect(await payeesOf(shop)).toEqual([[RESOURCE, true, PAYEE]]);
  });

  test("is listed by no document that names a tool of another resource", async () => {
    const shop = await openHere();
    const serverUrl = await openNaming(PAYEE, express(), `mcp://other/${NAME}`);
    await settle(shop, { serverUrl });
    await shop.catalog.checkDue();
    expect(await entriesOf(shop)).toEqual([]);
  });
});
