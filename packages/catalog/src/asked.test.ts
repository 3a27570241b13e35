import type { Registration } from "@farebox/bazaar/facilitator";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createCatalog } from "./catalog.js";
import { createSqliteCatalogStore } from "./sqlite/sqlite-store.js";

const BASE = { network: "eip155:84532", asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e" };
const SOLANA = {
  network: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
  asset: "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
};

function service(
  name: string,
  description: string,
  cents: number,
  more: { on?: typeof BASE; method?: string } = {},
): Registration {
  const { on = BASE, method = "GET" } = more;
  const amount = String(cents * 10_000);
  const offer = { ...on, scheme: "exact", payTo: `payee of ${name}`, amount, maxTimeoutSeconds: 60, extra: {} };
  const info = { input: { type: "http" as const, method } };
  return { type: "http", resource: `https://a.example/${name}`, toolName: "", info, schema: {}, description, offer };
}

const catalog = createCatalog({ store: createSqliteCatalogStore(), checkOwners: false, embedder: false });
beforeAll(async () => {
  for (const registration of [
    service("dear-weather", "Weather forecast for a city", 10),
    service("cheap-weather", "Weather forecast for a town", 2),
    service("solana-weather", "Weather forecast by place", 5, { on: SOLANA }),
    service("translate", "Translate a text into another language", 3, { method: "POST" }),
    service("dictionary", "Look up the words of a language", 1),
    service("recipes", "Recipes with eggs, milk and other ingredients", 9),
    service("ranges", "Mountain ranges and their peaks", 1),
    service("wallets", "Token balances of a wallet on Solana and other chains", 4),
    service("solana-jokes", "A joke for each day", 1, { on: SOLANA }),
    service("museum", "Facts about animals, for museums", 3),
    service("zoo", "Facts about animals in a zoo", 1),
  ])
    await catalog.register(registration);
});
afterAll(() => catalog.close());

async function found(query: string, more: object = {}): Promise<readonly string[]> {
  const { entries } = await catalog.search({ query, limit: 9, ...more });
  return entries.map(({ resource }) => resource.replace("https://a.example/", ""));
}

const weathers = async (query: string, more?: object) =>
  (await found(query, more)).filter((name) => name.endsWith("weather"));

test("a price in a question leaves dearer services out, and the price itself where it says under", async () => {
  expect((await weathers("weather forecast at most 5 cents")).toSorted()).toEqual(["cheap-weather", "solana-weather"]);
  expect(await weathers("weather forecast under 5 cents")).toEqual(["cheap-weather"]);
  expect(await weathers("weather forecast under $0.03 per call")).toEqual(["cheap-weather"]);
});

test("a network in a question leaves others out, and the price must hold there", async () => {
  expect(await found("weather forecast on Solana")).toContain("solana-weather");
  expect(await weathers("weather forecast on Solana")).toEqual(["solana-weather"]);
  expect((await weathers("weather forecast on base")).toSorted()).toEqual(["cheap-weather", "dear-weather"]);
  // The filter of the request is the buyer's last word.
  expect(await weathers("weather forecast on Solana", { network: BASE.network })).not.toContain("solana-weather");
});

test("a method in a question leaves others out", async () => {
  expect(await found("POST endpoint that translates a text")).toEqual(["translate"]);
});

test("the cheapest of those that fit as well stands first", async () => {
  expect((await weathers("cheapest weather forecast")).at(0)).toBe("cheap-weather");
  expect(await found("cheapest weather forecast")).toContain("dear-weather");
});

test("free asks for the cheapest: no service costs nothing", async () => {
  expect((await found("free service with facts about animals"))[0]).toBe("zoo");
  expect((await weathers("weather forecast for free")).at(0)).toBe("cheap-weather");
});

test("the same words in another meaning lose no answer", async () => {
  expect((await found("free-range eggs recipe"))[0]).toBe("recipes");
  expect((await found("free range eggs recipes"))[0]).toBe("recipes");
  expect((await found("token balances of a wallet on Solana"))[0]).toBe("wallets");
  expect((await found("recipes with eggs under 5 cents"))[0]).toBe("recipes");
  expect((await found("POST recipes with eggs"))[0]).toBe("recipes");
  expect((await found("recipes with eggs on Ethereum"))[0]).toBe("recipes");
});

test("all prices of a question hold, and a least price too", async () => {
  expect(await weathers("weather forecast under $5 at most 3 cents")).toEqual(["cheap-weather"]);
  expect(await weathers("weather forecast over 2 cents and under 10 cents")).toEqual(["solana-weather"]);
  expect((await weathers("weather forecast not under 5 cents")).toSorted()).toEqual(["dear-weather", "solana-weather"]);
});

test("a dear service gains nothing by a price that it claims", async () => {
  const claims = [
    "Weather under 1 cent",
    "weather forecast under 1 cent per call, under 1 cent",
    "Free weather, cheapest",
  ];
  const services = [
    service("meteo", "Meteorological forecast of temperature and rain for a city", 0.1),
    service("hourly", "Hourly weather report: temperature, wind, rain", 0.2),
    ...claims.map((claim, at) => service(`dear-${at}`, claim, 500)),
  ];
  const baited = createCatalog({ store: createSqliteCatalogStore(), checkOwners: false, embedder: false });
  onTestFinished(() => baited.close());
  for (const one of services) await baited.register(one);
  for (const query of [
    "weather under 1 cent",
    "weather forecast under one cent",
    "rain forecast for less than $0.01 per call",
    "weather under $5 under 1 cent",
    "cheapest weather forecast",
    "weather for free",
  ]) {
    const { entries } = await baited.search({ query, limit: 9 });
    expect(entries[0]?.resource, query).not.toContain("dear");
  }
  for (const query of ["under 1 cent", "cheapest", "free", "free free free"])
    expect((await baited.search({ query, limit: 9 })).entries, query).toEqual([]);
  // Where no service has such a price, the claims still gain nothing.
  const dear = await baited.search({ query: "rain at most 0.01 cents", limit: 9 });
  expect(dear.entries[0]?.resource).not.toContain("dear");
});

test("pages go on in the same reading", async () => {
  const first = await catalog.search({ query: "weather forecast at most 5 cents", limit: 1 });
  const second = await catalog.search({
    query: "weather forecast at most 5 cents",
    limit: 1,
    cursor: first.cursor ?? "",
  });
  const names = [...first.entries, ...second.entries].map(({ resource }) => resource.replace("https://a.example/", ""));
  expect(names.toSorted()).toEqual(["cheap-weather", "solana-weather"]);
});
