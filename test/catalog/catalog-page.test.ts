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

/** Markup as it is read. */
function textOf(markup: string): string {
  return markup
    .replace(/<[^>]*>/g, "")
    .replace(/\s+/g, " ")
    .replace(
      /&(#39|quot|lt|gt|amp);/g,
      (_, name) => ({ "#39": "'", quot: '"', lt: "<", gt: ">", amp: "&" })[String(name)]!,
    );
}

async function open(catalog: Catalog, make: typeof express = express): Promise<string> {
  const server = createServer(make().get("/", catalogPage(catalog))).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const catalog = createCatalog({ store: createSqliteCatalogStore(), checkOwners: false, embedder: false });
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
  test("the page shows every service with its price", async () => {
    const response = await fetch(await open(catalog, make));
    const page = await response.text();
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(response.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(page).toContain("3 services.");
    expect(page).toContain("The weather of a city, now");
    expect(textOf(page)).toContain("$0.001 0.001 USDC on Base Sepolia");
  });

  test("the page searches, and filters by kind and network", async () => {
    const url = await open(catalog, make);
    const pageOf = async (query: string) => (await fetch(url + query)).text();
    expect(await pageOf("?query=is+it+raining+in+a+town")).toContain("https://api.example.com/weather");
    expect(await pageOf("?type=mcp")).toContain("One service.");
    expect(await pageOf("?network=eip155:1")).toContain("No service matches.");
  });
});

describe("an entry on the page", () => {
  const priced = createCatalog({ store: createSqliteCatalogStore(), checkOwners: false, embedder: false });
  const terms = service("").offer;
  const note = (method: string, amount: string, more: object = {}): Registration => {
    const info = { input: { type: "http" as const, method, pathParams: { id: "it's 7" } } };
    const description = `${method}s a note`;
    return service("notes/:id", {
      info,
      routeTemplate: "/notes/:id",
      description,
      offer: { ...terms, amount, ...more },
    });
  };
  const tool = (resource: string, toolName: string): Registration => {
    const input = { type: "mcp" as const, toolName, inputSchema: {}, transport: "sse" as const, example: { a: 1 } };
    const coin = { network: "eip155:8453", asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", amount: "2500000" };
    return service("", { type: "mcp", resource, toolName, info: { input }, offer: { ...terms, ...coin } });
  };
  beforeAll(async () => {
    await priced.register(note("GET", "1000"));
    await priced.register(note("POST", "50000", { scheme: "upto" }));
    const foreign = { network: "eip155:31337", asset: "0x1111111111111111111111111111111111111111", amount: "7" };
    await priced.register(service("foreign", { offer: { ...terms, ...foreign, extra: { name: "USDC" } } }));
    await priced.register(tool("https://tools.example.com/sse", "get_weather"));
    await priced.register(tool("mcp://tool/add", "add"));
  });
  afterAll(() => priced.close());
  const articles = async (query = ""): Promise<readonly string[]> => {
    const page = await (await fetch((await open(priced)) + query)).text();
    return page.split("<article>").slice(1);
  };

  const detail = async (resource: string, tool?: string): Promise<string> => {
    const query = new URLSearchParams({ service: resource, ...(tool === undefined ? {} : { tool }) });
    const response = await fetch(`${await open(priced)}?${query}`);
    expect(response.status).toBe(200);
    return response.text();
  };

  test("a card has the cheapest price, how many others there are, and a link to all of it", async () => {
    const [notes = ""] = await articles();
    expect(textOf(notes)).toMatch(/\$0\.001 0\.001 USDC on Base Sepolia ?and 1 other price/);
    expect(notes).toContain('href="?service=https%3A%2F%2Fapi.example.com%2Fnotes%2F%3Aid"');
    expect(notes).toContain("Not confirmed by the owner");
  });

  test("each method has its price, its payee, its description and a line for curl with the example values", async () => {
    const page = await detail("https://api.example.com/notes/:id");
    const [, get = "", post = ""] = page.split('<section class="card">');
    expect(textOf(get)).toMatch(
      /GET .*\$0\.001 0\.001 USDC on Base Sepolia .*Paid to ?0x209693Bc6afc0C5328bA36FaF03C514EF312287C/,
    );
    expect(textOf(post)).toMatch(/POST .*up to \$0\.05 0\.05 USDC on Base Sepolia/);
    expect(page).toContain("POSTs a note");
    expect(page).toContain("curl -gi &#39;https://api.example.com/notes/it&#39;\\&#39;&#39;s%207&#39;");
    const links = page.match(
      /<a class="button" href="https:\/\/api\.example\.com\/notes\/it&#39;s%207" target="_blank" rel="nofollow noopener noreferrer"/g,
    );
    expect(links).toHaveLength(1);
    expect(textOf(post)).toContain("A link cannot send POST.");
  });

  test("a service whose URL needs values asks for them, and makes the link", async () => {
    await priced.register(service("cities/:city", { routeTemplate: "/cities/:city" }));
    const page = await detail("https://api.example.com/cities/:city");
    expect(page).toContain('<input name="p.city" value="" required maxlength="200">');
    const filled = await fetch(
      `${await open(priced)}?service=https://api.example.com/cities/:city&p.city=S%C3%A3o+Paulo`,
    );
    expect(await filled.text()).toContain('href="https://api.example.com/cities/S%C3%A3o%20Paulo"');
    const away = await fetch(`${await open(priced)}?service=https://api.example.com/cities/:city&p.city=..`);
    expect(await away.text()).not.toContain('class="button" href');
    await priced.remove({ resource: "https://api.example.com/cities/:city" });
  });

  test("the values of a query are filled in, can be changed, and are left out when they are empty", async () => {
    const queryParams = { city: "São Paulo", days: 3, tags: ["a", "b"] };
    const input = { type: "http" as const, method: "GET" as const, queryParams };
    await priced.register(service("forecast", { info: { input } }));
    const url = `${await open(priced)}?service=https://api.example.com/forecast`;
    const linkOf = async (query: string) => {
      const page = await (await fetch(url + query)).text();
      return /class="button" href="([^"]*)"/.exec(page)?.[1]?.replaceAll("&amp;", "&");
    };
    const page = await (await fetch(url)).text();
    expect(page).toContain('<input name="q.city" value="São Paulo" maxlength="200">');
    expect(page).toContain('<input name="q.days" value="3" maxlength="200">');
    expect(page).not.toContain("q.tags");
    const forecast = "https://api.example.com/forecast";
    expect(await linkOf("")).toBe(`${forecast}?city=S%C3%A3o+Paulo&days=3&tags=a&tags=b`);
    expect(await linkOf("&q.city=Z%C3%BCrich&q.days=")).toBe(`${forecast}?city=Z%C3%BCrich&tags=a&tags=b`);
    const hostile = "&q.city=%22%3E%3Cscript%3E&q.__proto__=1&q.other=1&p.x=1&q.=1";
    expect(await linkOf(hostile)).toBe(`${forecast}?city=%22%3E%3Cscript%3E&days=3&tags=a&tags=b`);
    expect(await (await fetch(url + hostile)).text()).toContain('value="&quot;&gt;&lt;script&gt;"');
    await priced.remove({ resource: forecast });
  });

  test("an unknown token is shown in atomic units by its address, and not by the name that the seller gives it", async () => {
    const page = textOf(await detail("https://api.example.com/foreign"));
    expect(page).toMatch(/7 atomic units of 0x1111111111111111111111111111111111111111 on eip155:31337/);
    expect(page.split("Input and output")[0]).not.toContain("USDC");
  });

  test("a tool says how to connect, or that the seller does not say where it is", async () => {
    const weather = await detail("https://tools.example.com/sse", "get_weather");
    expect(weather).toContain("over sse");
    expect(weather).toContain("&quot;url&quot;: &quot;https://tools.example.com/sse&quot;");
    expect(textOf(weather)).toContain("$2.5 2.5 USDC on Base");
    expect(await detail("mcp://tool/add", "add")).toContain(
      "The seller does not say where the server of this tool is.",
    );
  });

  test.each(["?service=https://api.example.com/nothing", "?service=", `?service=${"a".repeat(5_000)}`])(
    "a service that is not listed is not found: %s",
    async (query) => {
      const response = await fetch((await open(priced)) + query);
      expect([response.status, textOf(await response.text())]).toEqual([
        404,
        expect.stringContaining("There is no such service."),
      ]);
    },
  );

  test("the page sorts and filters by price, also what a search finds", async () => {
    const names = async (query: string) =>
      (await articles(query)).map((article) => /<h2><a[^>]*><bdi>(?:https:\/\/[^/]+\/)?([^<]*)/.exec(article)?.[1]);
    const byPrice = await names("?sort=price");
    expect([byPrice[0], byPrice.at(-1)]).toEqual(["notes/:id", "foreign"]);
    expect(byPrice.slice(1, 3).sort()).toEqual(["add", "get_weather"]);
    expect(await names("?maxPrice=0.001")).toEqual(["notes/:id"]);
    expect(await names("?maxPrice=10&network=eip155:8453")).toEqual(["get_weather", "add"]);
    expect(await names("?verified=true")).toEqual([]);
    const found = await names("?query=foreign+notes&sort=price");
    expect([found[0], found.at(-1)]).toEqual(["notes/:id", "foreign"]);
  });

  test("networks are chosen by name, with the number of their services", async () => {
    const page = await (await fetch(`${await open(priced)}?network=eip155:8453`)).text();
    expect(page).toContain('<option value="eip155:8453" selected>Base (2)</option>');
    expect(page).toContain('<option value="eip155:84532">Base Sepolia (1)</option>');
    expect(page).not.toContain("Celo");
    for (const option of [
      "HTTP endpoints (2)",
      "MCP tools (2)",
      "Up to $0.001 (1)",
      "Up to $10 (3)",
      "Confirmed (0)",
    ]) {
      expect(page).toContain(`>${option}</option>`);
    }
    const all = await (await fetch(await open(priced))).text();
    expect(all).toContain('<option value="eip155:31337">eip155:31337 (1)</option>');
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
  const many = createCatalog({ store: createSqliteCatalogStore(), checkOwners: false, embedder: false });
  onTestFinished(() => many.close());
  for (let at = 0; at < 45; at++) await many.register(service(`item-${at}`));
  const url = await open(many);
  const seen: string[] = [];
  for (let next: string | undefined = url; next !== undefined; ) {
    const page: string = await (await fetch(next)).text();
    seen.push(
      ...[...page.matchAll(/href="\?service=https%3A%2F%2Fapi\.example\.com%2F(item-\d+)"/g)].map(
        ([, item]) => item ?? "",
      ),
    );
    const [, query] = /href="([^"]+)" rel="next"/.exec(page) ?? [];
    next = query && new URL(query.replaceAll("&amp;", "&"), url).href;
  }
  expect(seen).toEqual(Array.from({ length: 45 }, (_, at) => `item-${at}`));
});

test.each([
  ["?type=ftp", "The kind must be http or mcp."],
  ["?cursor=nonsense", "There is no such page."],
  ["?query=x&cursor=l.1", "There is no such page."],
  ["?maxPrice=3", "The price must be one of 0.001, 0.01, 0.1, 1, 10."],
  ["?verified=yes", "The owner must be true or false."],
  ["?sort=name", "The order must be price."],
  [`?network=${"a".repeat(101)}`, "The network must not be longer than 100 characters."],
  [`?query=${"a".repeat(1_001)}`, "The search text must not be longer than 1000 characters."],
])("the page refuses %s with 400", async (query, problem) => {
  const response = await fetch((await open(catalog)) + query);
  expect(response.status).toBe(400);
  expect(await response.text()).toContain(problem);
});

test("the page says that the catalog cannot be read, without the reason", async () => {
  const closed = createCatalog({ store: createSqliteCatalogStore(), checkOwners: false, embedder: false });
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

const SEED = Number(process.env["FAREBOX_SEED"]);

test(`any query gets a page without markup of the visitor (FAREBOX_SEED=${SEED} repeats this)`, async () => {
  const url = await open(catalog);
  const text = fc.oneof(fc.string({ maxLength: 40 }), fc.constantFrom(HOSTILE, "\u0000", "\ud800", "%", "l.1", "s.1"));
  const queries = fc.record(
    { query: text, type: text, network: text, cursor: text, maxPrice: text, sort: text, service: text, "p.a": text },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(queries, async (query) => {
      const response = await fetch(`${url}?${new URLSearchParams(query)}`);
      expect([200, 400, 404]).toContain(response.status);
      expect(await response.text()).not.toMatch(/<script|<img/);
    }),
    { numRuns: 50, seed: SEED },
  );
});

test("catalogPage refuses a value that is not a catalog", () => {
  expect(() => catalogPage({} as never, { loger: 1 } as never)).toThrow(/catalog[\s\S]*loger/);
});
