import { createDiscoveryClient } from "@farebox/bazaar";
import type { CatalogEntry } from "@farebox/bazaar/facilitator";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ASSET, declare, type Library, NETWORK, openLibrary, PAYEE, paymentFor, SOLANA } from "./library.js";

const SEED = Number(process.env["FAREBOX_SEED"]);

let shop: Library;
const OTHER = "0x1111111111111111111111111111111111111111";
const tool = {
  info: { input: { type: "mcp", toolName: "add", description: "Adds two numbers", inputSchema: {} } },
  schema: {},
};

beforeAll(async () => {
  shop = await openLibrary();
  await shop.list(
    ...Array.from({ length: 25 }, (_, at) => ({ url: `https://a.example/${at}`, description: `Service ${at}` })),
  );
  await shop.list(
    { url: "mcp://tool/add", bazaar: tool, terms: { payTo: OTHER } },
    { url: "https://b.example/upto", description: "Generates long texts", terms: { scheme: "upto", payTo: OTHER } },
    { url: "https://b.example/main", terms: { network: "eip155:8453" } },
  );
});
afterAll(() => shop.close());

const items = (json: Record<string, unknown>) => (json["items"] ?? json["resources"]) as CatalogEntry[];

describe("the list", () => {
  test("the list has pages of twenty, a total and a cursor", async () => {
    const { status, json, header } = await shop.get("/discovery/resources");
    expect(status).toBe(200);
    expect(header("access-control-allow-origin")).toBe("*");
    expect(items(json)).toHaveLength(20);
    expect(json).toMatchObject({
      x402Version: 2,
      pagination: { limit: 20, offset: 0, total: 28, cursor: expect.any(String) },
    });
    const last = await shop.get("/discovery/resources?limit=100");
    expect(last.json["pagination"]).toEqual({ limit: 100, offset: 0, total: 28, cursor: null });
  });

  const FILTERS: readonly (readonly [query: string, total: number])[] = [
    ["type=http", 27],
    ["type=mcp", 1],
    [`network=${NETWORK}`, 27],
    ["network=eip155:8453", 1],
    ["scheme=upto", 1],
    [`payTo=${PAYEE}`, 26],
    [`payTo=${PAYEE.toLowerCase()}`, 26],
    [`payTo=${OTHER}&type=http`, 1],
    [`payTo=${OTHER}&type=http&scheme=upto&network=${NETWORK}`, 1],
    [`payTo=${OTHER}&network=eip155:8453`, 0],
    ["extensions=bazaar", 28],
    ["extensions=bazaar&type=mcp", 1],
    ["extensions=other", 0],
    ["unheard=of", 28],
    ["maxPrice=0.001", 27],
    [`maxPrice=0.001&network=${NETWORK}`, 27],
    ["maxPrice=0.001&network=eip155:8453", 0],
    ["maxPrice=10&network=eip155:8453&type=http", 0],
    ["verified=true", 0],
    ["verified=false&type=mcp", 1],
  ];
  test.each(FILTERS)("the list with ?%s has %i entries", async (query, total) => {
    const { json } = await shop.get(`/discovery/resources?limit=100&${query}`);
    expect(items(json)).toHaveLength(total);
    expect(json["pagination"]).toMatchObject({ total });
  });

  test("the list sorts by the lowest price in dollars, and filters by price exactly", async () => {
    const own = await openLibrary();
    const coins = [
      ["usdc", "1000", {}],
      ["usdc-more", "1001", {}],
      ["large", "5000000000000000000000000000000", {}],
      ["unknown", "1", { asset: "0x1111111111111111111111111111111111111111" }],
      ["nothing", "0", {}],
      ["lower-case", "999", { asset: ASSET.toLowerCase() }],
      ["solana", "900", { network: SOLANA, asset: "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU" }],
      ["ten", "10000000", { scheme: "upto" }],
      ["two-prices", "20000", {}],
    ] as const;
    await own.list(
      ...coins.map(([name, amount, terms]) => ({ url: `https://a.example/${name}`, terms: { amount, ...terms } })),
      { url: "https://a.example/two-prices", terms: { amount: "950", scheme: "upto" } },
    );
    const names = async (query: string) => {
      const seen: (string | undefined)[] = [];
      for (let cursor: unknown = ""; typeof cursor === "string"; ) {
        const next = cursor === "" ? "" : `&cursor=${cursor}`;
        const { json } = await own.get(`/discovery/resources?limit=2&${query}${next}`);
        seen.push(...items(json).map(({ resource }) => resource.split("/").at(-1)));
        cursor = (json["pagination"] as { cursor: unknown }).cursor;
      }
      return seen;
    };
    const within = ["solana", "two-prices", "lower-case", "usdc"];
    expect(await names("sort=price")).toEqual([...within, "usdc-more", "ten", "large", "unknown"]);
    expect(await names("sort=price&maxPrice=0.001")).toEqual(within);
    expect(await names(`sort=price&maxPrice=0.001&network=${SOLANA}`)).toEqual(["solana"]);
    const byOffset = await own.get("/discovery/resources?sort=price&limit=2&offset=1");
    expect(items(byOffset.json).map(({ resource }) => resource.split("/").at(-1))).toEqual(within.slice(1, 3));
    expect((await names("maxPrice=10")).length).toBe(6);
    const found = await own.get("/discovery/search?query=weather&maxPrice=0.001");
    expect(items(found.json)).toHaveLength(within.length);
    const networks = [NETWORK, SOLANA, "eip155:1"].map((network) => ({ network }));
    expect(await own.catalog.countEach([...networks, { maxPrice: "10" }])).toEqual([7, 1, 0, 6]);
    const mine = createDiscoveryClient({ url: own.url });
    expect((await mine.list({ maxPrice: "0.01", sort: "price" })).entries).toHaveLength(5);
    await own.close();
  });

  test("the list returns every entry once, by offset and by cursor, during registrations", async () => {
    const own = await openLibrary();
    const urls = Array.from({ length: 11 }, (_, at) => `https://a.example/${at}`);
    await own.list(...urls.map((url) => ({ url })));
    const walk = async (next: (pages: number, cursor: unknown) => string) => {
      const seen: string[] = [];
      for (let pages = 0, cursor: unknown; pages === 0 || typeof cursor === "string"; pages++) {
        const { json } = await own.get(`/discovery/resources?limit=4&${next(pages, cursor)}`);
        seen.push(...items(json).map(({ resource }) => resource));
        cursor = (json["pagination"] as { cursor: unknown }).cursor;
        if (pages < 2) await own.list({ url: `https://new.example/${seen.length}` }, { url: urls[0]! });
      }
      return seen;
    };
    for (const next of [
      (pages: number) => `offset=${pages * 4}`,
      (pages: number, cursor: unknown) => (pages === 0 ? "" : `cursor=${String(cursor)}`),
    ]) {
      const seen = await walk(next);
      expect(seen.slice(0, 11)).toEqual(urls);
      expect(new Set(seen).size).toBe(seen.length);
    }
    await own.close();
  });
});

describe("a search", () => {
  test("a search finds services by other words than the seller's, and filters", async () => {
    const found = await shop.get("/discovery/search?query=subtract+or+sum+some+figures&limit=3");
    expect(found.status).toBe(200);
    expect(items(found.json)[0]?.resource).toBe("mcp://tool/add");
    const filtered = await shop.get("/discovery/search?query=add&type=http&limit=100");
    expect(items(filtered.json).every(({ type }) => type === "http")).toBe(true);
    const upto = await shop.get(`/discovery/search?query=texts&scheme=upto&payTo=${OTHER}`);
    expect(items(upto.json).map(({ resource }) => resource)).toEqual(["https://b.example/upto"]);
    const unfit = await shop.get(`/discovery/search?query=weather&scheme=upto&payTo=${OTHER}`);
    expect(unfit.json).toMatchObject({ resources: [], partialResults: false });
  });

  test("a search finds services by words that only the seller uses", async () => {
    const own = await openLibrary();
    await own.list({ url: "https://a.example/1", description: "Zorblax lookups" }, { url: "https://a.example/2" });
    for (const query of ["zorblax", "zorblacks", "ZORBLAX!"]) {
      expect(items((await own.get(`/discovery/search?query=${query}`)).json)[0]?.resource).toBe("https://a.example/1");
    }
    await own.close();
  });

  test("a search returns every entry once, during registrations", async () => {
    const own = await openLibrary();
    await own.list(
      ...Array.from({ length: 9 }, (_, at) => ({ url: `https://a.example/${at}`, description: `Weather ${at}` })),
    );
    const whole = items((await own.get("/discovery/search?query=weather")).json).map(({ resource }) => resource);
    const seen: string[] = [];
    for (let cursor: unknown = ""; typeof cursor === "string"; ) {
      const { json } = await own.get(
        `/discovery/search?query=weather&limit=4${cursor === "" ? "" : `&cursor=${cursor}`}`,
      );
      seen.push(...items(json).map(({ resource }) => resource));
      cursor = (json["pagination"] as { cursor: unknown }).cursor;
      await own.list({ url: `https://new.example/${seen.length}`, description: "Weather weather weather" });
    }
    expect(seen).toEqual(whole);
    await own.close();
  });
});

describe("wrong parameters", () => {
  const WRONG: readonly (readonly [path: string, error: RegExp])[] = [
    ["resources?limit=0", /^limit: expected a whole number from 1 to 100$/],
    ["resources?limit=101", /^limit/],
    ["resources?limit=1.5", /^limit/],
    ["resources?limit=", /^limit/],
    ["resources?limit=1e1", /^limit/],
    ["resources?limit=5&limit=6", /^limit: expected one value$/],
    ["resources?offset=-1", /^offset/],
    ["resources?offset=99999999999", /^offset/],
    ["resources?type=grpc", /^type: expected http or mcp$/],
    ["resources?network=base", /^network/],
    ["resources?scheme=a%20b", /^scheme/],
    ["resources?payTo=%00", /^payTo/],
    ["resources?cursor=x", /^cursor/],
    ["resources?cursor=s.1", /^cursor/],
    ["resources?cursor=l.1&offset=1", /^cursor/],
    ["resources?extensions=a,,b", /^extensions/],
    ["resources?maxPrice=0.002", /^maxPrice: expected one of 0.001, 0.01, 0.1, 1, 10$/],
    ["resources?maxPrice=", /^maxPrice/],
    ["search?query=a&maxPrice=1e1", /^maxPrice/],
    ["resources?verified=1", /^verified: expected one of true, false$/],
    ["resources?sort=name", /^sort: expected one of price$/],
    ["resources?cursor=l.1.x", /^cursor/],
    ["search", /^query/],
    ["search?query=", /^query/],
    ["search?query=%20%20", /^query/],
    [`search?query=${"x".repeat(501)}`, /^query/],
    ["search?query=a&cursor=l.1", /^cursor/],
    ["search?query=a&limit=x", /^limit/],
  ];
  test.each(WRONG)("%s answers 400 with the name of the parameter", async (path, error) => {
    const { status, json } = await shop.get(`/discovery/${path}`);
    expect([status, json["error"]]).toEqual([400, expect.stringMatching(error)]);
  });
});

test(`any bytes as a query get a response (FAREBOX_SEED=${SEED} repeats this)`, async () => {
  const bytes = fc
    .uint8Array({ minLength: 1, maxLength: 60 })
    .map((some) => [...some].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""));
  const text = fc.oneof(
    bytes,
    fc
      .string({ unit: "binary", minLength: 1 })
      .map((some) => encodeURIComponent(some.replaceAll(/\p{Surrogate}/gu, ""))),
    fc.constantFrom('"', "*", "NEAR(a b)", "name:x", "a AND", "(", "'; DROP TABLE entries;--", "^", "-"),
  );
  await fc.assert(
    fc.asyncProperty(text, async (query) => {
      const { status } = await shop.get(`/discovery/search?query=${query}`);
      expect([200, 400]).toContain(status);
    }),
    { seed: SEED, numRuns: 40 },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("limit", "offset", "cursor", "payTo", "network", "type", "extensions", "maxPrice", "sort"),
      bytes,
      async (name, value) => {
        expect([200, 400]).toContain((await shop.get(`/discovery/resources?${name}=${value}`)).status);
      },
    ),
    { seed: SEED, numRuns: 40 },
  );
});

test("an entry with hostile names does not change the response", async () => {
  const own = await openLibrary();
  const description = `<script>alert(1)</script>"'\u2028`;
  await own.list({ description, bazaar: declare({ more: { toJSON: "x" } }) });
  const response = await fetch(`${own.url}/discovery/resources`);
  expect(response.headers.get("content-type")).toMatch(/^application\/json/);
  expect(items((await response.json()) as Record<string, unknown>)[0]?.description).toBe(description);
  await own.close();
  expect(paymentFor()).toBeDefined();
});
