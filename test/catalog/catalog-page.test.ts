import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import type { Catalog, Registration } from "@farebox/bazaar/facilitator";
import { createCatalog } from "@farebox/catalog";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import { catalogPage } from "@farebox/facilitator";
import express from "express";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";

const require = createRequire(import.meta.url);

const HOSTILE = `"><script>document.title='taken'</script><img src=x onerror="document.title='taken'">'&`;

function service(path: string, more: Partial<Registration> = {}): Registration {
  return {
    type: "http",
    resource: `https://api.example.com/${path}`,
    toolName: "",
    info: { input: { type: "http", method: "GET" } },
    schema: {},
    offer: {
      scheme: "exact",
      network: "eip155:84532",
      asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
      payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
      amount: "1000",
      maxTimeoutSeconds: 60,
      extra: { name: "USDC", version: "2" },
    },
    ...more,
  };
}

async function open(catalog: Catalog, make: typeof express = express): Promise<string> {
  const server = createServer(make().get("/", catalogPage(catalog))).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const catalog = createCatalog({ store: createSqliteCatalogStore(), checkOwners: false });
beforeAll(async () => {
  await catalog.register(service("weather", { description: "The weather of a city, now", tags: ["weather"] }));
  await catalog.register(service("hostile", { description: HOSTILE, serviceName: HOSTILE, tags: [HOSTILE] }));
  const tool = { type: "mcp", toolName: "add", resource: "mcp://tool/add" } as const;
  await catalog.register(service("", { ...tool, info: { input: { type: "mcp", toolName: "add", inputSchema: {} } } }));
});
afterAll(() => catalog.close());

describe.each([
  ["Express 5", express],
  ["Express 4", require("express4") as typeof express],
])("on %s", (_name, make) => {
  test("the page shows every service with its price in atomic units", async () => {
    const response = await fetch(await open(catalog, make));
    const page = await response.text();
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(response.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(page).toContain("3 services.");
    expect(page).toContain("The weather of a city, now");
    expect(page).toContain("1000 atomic units of");
  });

  test("the page searches, and filters by kind and network", async () => {
    const url = await open(catalog, make);
    const pageOf = async (query: string) => (await fetch(url + query)).text();
    expect(await pageOf("?query=is+it+raining+in+a+town")).toContain("https://api.example.com/weather");
    expect(await pageOf("?type=mcp")).toContain("One service.");
    expect(await pageOf("?network=eip155:1")).toContain("No service matches.");
  });
});

test("text of sellers and visitors is escaped", async () => {
  const url = await open(catalog);
  const page = await (await fetch(`${url}?query=${encodeURIComponent(HOSTILE)}`)).text();
  expect(page).not.toContain("<script");
  expect(page).not.toContain("<img");
  expect(page).toContain("&quot;&gt;&lt;script&gt;");
});

test("links lead from page to page, and back to the first", async () => {
  const many = createCatalog({ store: createSqliteCatalogStore(), checkOwners: false });
  onTestFinished(() => many.close());
  for (let at = 0; at < 45; at++) await many.register(service(`item-${at}`));
  const url = await open(many);
  const seen: string[] = [];
  for (let next: string | undefined = url; next !== undefined; ) {
    const page: string = await (await fetch(next)).text();
    seen.push(...[...page.matchAll(/href="https:\/\/api\.example\.com\/(item-\d+)"/g)].map(([, item]) => item ?? ""));
    const [, query] = /href="([^"]+)" rel="next"/.exec(page) ?? [];
    next = query && new URL(query.replaceAll("&amp;", "&"), url).href;
  }
  expect(seen).toEqual(Array.from({ length: 45 }, (_, at) => `item-${at}`));
});

test.each([
  ["?type=ftp", "The kind must be http or mcp."],
  ["?cursor=nonsense", "There is no such page."],
  ["?query=x&cursor=l.1", "There is no such page."],
  [`?query=${"a".repeat(1_001)}`, "The search text must not be longer than 1000 characters."],
])("the page refuses %s with 400", async (query, problem) => {
  const response = await fetch((await open(catalog)) + query);
  expect(response.status).toBe(400);
  expect(await response.text()).toContain(problem);
});

test("the page says that the catalog cannot be read, without the reason", async () => {
  const closed = createCatalog({ store: createSqliteCatalogStore(), checkOwners: false });
  await closed.close();
  const heard: unknown[] = [];
  const logger = { info() {}, warn() {}, error: (event: string, fields: unknown) => void heard.push(event, fields) };
  const app = express().get("/", catalogPage(closed, { logger }));
  const server = createServer(app).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  expect(response.status).toBe(503);
  expect(await response.text()).toContain("cannot be read right now");
  expect(heard[0]).toBe("catalog_page_failed");
});

test("any query gets a page without markup of the visitor", async () => {
  const url = await open(catalog);
  const text = fc.oneof(fc.string({ maxLength: 40 }), fc.constantFrom(HOSTILE, "\u0000", "\ud800", "%", "l.1", "s.1"));
  const queries = fc.record({ query: text, type: text, network: text, cursor: text }, { requiredKeys: [] });
  const seed = Date.now() % 2 ** 31;
  console.log(`seed ${seed}`);
  await fc.assert(
    fc.asyncProperty(queries, async (query) => {
      const response = await fetch(`${url}?${new URLSearchParams(query)}`);
      expect([200, 400]).toContain(response.status);
      expect(await response.text()).not.toMatch(/<script|<img/);
    }),
    { numRuns: 100, seed },
  );
});

test("catalogPage refuses a value that is not a catalog", () => {
  expect(() => catalogPage({} as never, { loger: 1 } as never)).toThrow(/catalog[\s\S]*loger/);
});
