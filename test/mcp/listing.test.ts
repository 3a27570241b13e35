import { createDiscoveryClient } from "@farebox/bazaar";
import { createCatalog } from "@farebox/catalog";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import { createTestFacilitator, startFacilitatorServer } from "@farebox/testing";
import { extractDiscoveryInfo, validateDiscoveryExtension } from "@x402/extensions/bazaar";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { Bank } from "../faults/bank.js";
import { challengeOf, openShop, type Shop, type ShopPlan } from "./shop.js";

/** Opens a seller whose facilitator has the catalog, and a client of that catalog. Sellers with one bank have one catalog. */
async function open(
  plan: ShopPlan = {},
  bank = openBank(),
): Promise<Shop & { readonly discovery: ReturnType<typeof createDiscoveryClient> }> {
  const { server } = await bank;
  return {
    ...(await openShop({ bank: await bank, ...plan })),
    discovery: createDiscoveryClient({ url: server.url }),
  };
}

async function openBank(): Promise<Bank> {
  const catalog = createCatalog({
    store: createSqliteCatalogStore(),
    allowLocal: true,
    checkOwners: false,
    embedder: false,
  });
  onTestFinished(() => catalog.close());
  const facilitator = { ...createTestFacilitator({ catalog }), catalog };
  const server = await startFacilitatorServer({ facilitator });
  onTestFinished(() => server.close());
  return {
    server,
    fund: async (address, amount) => facilitator.ledger.fund(address, amount),
    balanceOf: async (address) => facilitator.ledger.balanceOf(address),
    close: () => server.close(),
  };
}

const sellWeather: NonNullable<ShopPlan["sell"]> = (tools) => {
  tools.tool(
    "get_weather",
    {
      price: "$0.001",
      description: "The weather in a city, now",
      inputSchema: { city: z.string().describe("Name of the city") },
      extensions: { bazaar: { example: { city: "Lisbon" } } },
    },
    ({ city }) => ({ content: [{ type: "text", text: `sunny in ${city}` }] }),
  );
};

test("a paid tool is declared in the form that the reference's validators accept", async () => {
  const { ask } = await open({ sell: sellWeather });
  const challenge = challengeOf(await ask({ name: "get_weather", args: { city: "Porto" } }));
  const bazaar = challenge.extensions?.["bazaar"];
  expect(bazaar).toMatchObject({
    info: {
      input: {
        type: "mcp",
        toolName: "get_weather",
        description: "The weather in a city, now",
        transport: "streamable-http",
        inputSchema: { type: "object", properties: { city: { type: "string", description: "Name of the city" } } },
        example: { city: "Lisbon" },
      },
    },
  });
  expect(validateDiscoveryExtension(bazaar as never)).toEqual({ valid: true });
  const payload = { ...challenge, payload: {}, accepted: challenge.accepts[0] };
  expect(extractDiscoveryInfo(payload as never, challenge.accepts[0] as never)).toMatchObject({
    toolName: "get_weather",
  });
});

test("a paid tool is listed under its resource and name, and found by its description", async () => {
  const { buy, discovery, payments, payTo } = await open({ sell: sellWeather });
  await buy({ name: "get_weather", args: { city: "Porto" } });
  expect(payments.listing("tool get_weather")).toMatchObject({ status: "success" });
  const { entries } = await discovery.search({ query: "is it raining in my town?", type: "mcp" });
  expect(entries).toMatchObject([
    {
      type: "mcp",
      resource: "mcp://tool/get_weather",
      toolName: "get_weather",
      accepts: [{ amount: "1000", maxAmountRequired: "1000", payTo }],
    },
  ]);
});

test("tools of one server URL have separate entries by their names", async () => {
  const { buy, discovery } = await open({
    toolsOptions: { serverUrl: "https://api.example.com/mcp" },
    sell: (tools) => {
      for (const name of ["add", "subtract"]) tools.tool(name, { price: "$0.001" }, () => ({ content: [] }));
    },
  });
  await buy({ name: "add" });
  await buy({ name: "subtract" });
  const { entries } = await discovery.list({ type: "mcp" });
  expect(entries.map(({ resource, toolName }) => [resource, toolName])).toEqual([
    ["https://api.example.com/mcp", "add"],
    ["https://api.example.com/mcp", "subtract"],
  ]);
});

test("two sellers list tools of the same name, each at its own server", async () => {
  const urls = ["https://a.example.com/mcp", "https://b.example.com/mcp"];
  const bank = openBank();
  const options = { publicUrl: "https://b.example.com" };
  const [first, second] = [
    await open({ sell: sellWeather, toolsOptions: { serverUrl: urls[0]! } }, bank),
    await open({ sell: sellWeather, toolsOptions: { serverUrl: "/mcp" }, options }, bank),
  ];
  for (const { buy } of [first, second]) await buy({ name: "get_weather", args: { city: "Porto" } });
  const { entries } = await first.discovery.list({ type: "mcp" });
  const found = entries.map(({ resource, toolName, accepts: [offer] }) => [resource, toolName, offer!.payTo]);
  expect(found.sort()).toEqual([
    [urls[0], "get_weather", first.payTo],
    [urls[1], "get_weather", second.payTo],
  ]);
});

describe("the finding that nobody learns where a tool's server is", () => {
  const CODE = "FAREBOX_TOOL_URL_UNKNOWN";
  const config = { price: "$0.001" } as const;

  const NAME = { resource: { url: "mcp://tool/add" } };

  test.each<[what: string, plan: ShopPlan, own?: object]>([
    ["the server has no URL", {}],
    ["the server has a path, and the payments have no publicUrl", { toolsOptions: { serverUrl: "/mcp" } }],
    ["the seller wrote the name", {}, NAME],
    ["the seller wrote the name beside the URL", { toolsOptions: { serverUrl: "https://a.example/mcp" } }, NAME],
  ])("is reported with its remedy when %s", async (_what, plan, own) => {
    const warned: string[] = [];
    const logger = { info() {}, warn: (code: string) => void warned.push(code), error() {} };
    const sell: ShopPlan["sell"] = (tools) => tools.tool("add", { ...config, ...own }, () => ({ content: [] }));
    const { payments, ask } = await open({ ...plan, sell, options: { logger } });
    expect(warned).toEqual([CODE]);
    expect(payments.report().findings).toContainEqual({
      code: CODE,
      route: "tool add",
      message: expect.stringContaining("cannot say where its server is"),
      remedy: expect.stringContaining("serverUrl"),
    });
    expect(challengeOf(await ask({ name: "add" })).resource.url).toBe("mcp://tool/add");
  });

  test.each<[what: string, plan: ShopPlan, own: object, url: string]>([
    ["the server's URL is set", { toolsOptions: { serverUrl: "https://a.example/mcp" } }, {}, "https://a.example/mcp"],
    [
      "the server's path is below publicUrl",
      { toolsOptions: { serverUrl: "/mcp" }, options: { publicUrl: "https://a.example/v1" } },
      {},
      "https://a.example/v1/mcp",
    ],
    [
      "the seller wrote a URL of the tool's own",
      {},
      { resource: { url: "https://a.example/x" } },
      "https://a.example/x",
    ],
    ["the tool is not listed", {}, { extensions: { bazaar: { discoverable: false } } }, "mcp://tool/add"],
  ])("is absent when %s", async (_what, plan, own, url) => {
    const sell: ShopPlan["sell"] = (tools) => tools.tool("add", { ...config, ...own }, () => ({ content: [] }));
    const { payments, ask } = await open({ ...plan, sell });
    expect(payments.report().findings.map(({ code }) => code)).not.toContain(CODE);
    expect(challengeOf(await ask({ name: "add" })).resource.url).toBe(url);
  });
});

test("a tool that is not discoverable is sold but not listed", async () => {
  const { buy, ask, discovery } = await open({
    sell: (tools) => {
      const config = { price: "$0.001", extensions: { bazaar: { discoverable: false } } } as const;
      tools.tool("secret", config, () => ({ content: [] }));
    },
  });
  expect(challengeOf(await ask({ name: "secret" })).extensions).not.toHaveProperty("bazaar");
  await buy({ name: "secret" });
  expect((await discovery.list()).entries).toEqual([]);
});
