import { createDiscoveryClient } from "@farebox/bazaar";
import type { CatalogEntry, Registration } from "@farebox/bazaar/facilitator";
import type { CatalogStore } from "@farebox/catalog";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { declare, type Library, type LibraryOptions, openLibrary, PAYEE, paymentFor } from "./library.js";

const SEED = Number(process.env["FAREBOX_SEED"]);

// Only the test of a slow catalog lets a registration take too long.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
const open: Library[] = [];
async function library(options: LibraryOptions = {}): Promise<Library> {
  const opened = await openLibrary(options);
  open.push(opened);
  return opened;
}
afterEach(async () => {
  vi.useRealTimers();
  for (const opened of open.splice(0)) await opened.close();
});

async function entriesOf({ get }: Library): Promise<readonly CatalogEntry[]> {
  return (await get("/discovery/resources?limit=100")).json["items"] as CatalogEntry[];
}

/** A store with one replaced call. */
function storeWith(changes: Partial<CatalogStore>): CatalogStore {
  return { ...createSqliteCatalogStore(), ...changes };
}

describe.each([{ isExpress4: false }, { isExpress4: true }])(
  "a payment with a declaration (Express 4: $isExpress4)",
  (app) => {
    test("a payment gets processing when it is verified and success when it is settled, and is listed then", async () => {
      const shop = await library({ ...app, now: () => Date.parse("2026-01-31T12:00:00.007Z") });
      const verified = await shop.post("/verify", paymentFor());
      expect(verified.json).toEqual({ isValid: true, payer: "0xbb" });
      expect(verified.outcome).toEqual({ bazaar: { status: "processing" } });
      expect(await entriesOf(shop)).toEqual([]);

      const settled = await shop.post("/settle", paymentFor());
      expect(settled.json).toEqual({ success: true, payer: "0xbb", transaction: "0xcc", network: "eip155:84532" });
      expect(settled.outcome).toEqual({ bazaar: { status: "success" } });
      const resource = "https://api.example.com/weather";
      const { info, schema } = declare() as { info: { input: object }; schema: object };
      expect(await entriesOf(shop)).toEqual([
        {
          resource,
          type: "http",
          x402Version: 2,
          accepts: [
            {
              scheme: "exact",
              network: "eip155:84532",
              asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
              payTo: PAYEE,
              amount: "1000",
              maxAmountRequired: "1000",
              maxTimeoutSeconds: 60,
              resource,
              description: "Weather for a city",
              mimeType: "application/json",
              outputSchema: { input: { ...info.input, resource }, output: null },
              extra: { name: "USDC", version: "2" },
            },
          ],
          lastUpdated: "2026-01-31T12:00:00.007Z",
          metadata: {},
          description: "Weather for a city",
          mimeType: "application/json",
          extensions: { bazaar: { info, schema } },
          discoveryInfo: info,
          method: "GET",
        },
      ]);
    });
  },
);

describe("the facilitator", () => {
  test("the facilitator returns the same outcomes in this process, and supports the extension", async () => {
    const { facilitator } = await library();
    expect(await facilitator.settle(paymentFor())).toMatchObject({
      success: true,
      extensionResponses: { bazaar: { status: "success" } },
    });
    expect((await facilitator.supported()).extensions).toEqual(["bazaar"]);
  });

  test("a rejected declaration gets a reason, and its payment succeeds", async () => {
    const shop = await library();
    const body = paymentFor({ bazaar: declare({ routeTemplate: "/../x" }) });
    for (const path of ["/verify", "/settle"]) {
      const { status, json, outcome } = await shop.post(path, body);
      expect({ status, ok: json["isValid"] ?? json["success"] }).toEqual({ status: 200, ok: true });
      const rejectedReason = "routeTemplate leads out of its own path";
      expect(outcome).toEqual({ bazaar: { status: "rejected", rejectedReason } });
    }
    expect(await entriesOf(shop)).toEqual([]);
  });

  test("a payment without a declaration, or a refused one, gets no outcome", async () => {
    const shop = await library();
    expect((await shop.post("/settle", paymentFor({ bazaar: null }))).outcome).toBeUndefined();
    expect((await shop.post("/settle", paymentFor({ terms: { network: "eip155:1" } }))).outcome).toBeUndefined();
    expect(await entriesOf(shop)).toEqual([]);
  });
});

describe("an entry", () => {
  test("each payment updates the entry", async () => {
    let now = Date.parse("2026-01-01T00:00:00.000Z");
    const shop = await library({ now: () => now });
    await shop.list({});
    now += 1_500;
    await shop.list({ description: "Weather, now with wind", terms: { amount: "2000" } });
    const [entry, ...more] = await entriesOf(shop);
    expect(more).toEqual([]);
    expect(entry).toMatchObject({ lastUpdated: "2026-01-01T00:00:01.500Z", description: "Weather, now with wind" });
    expect(entry?.accepts.map(({ amount }) => amount)).toEqual(["2000"]);
  });

  test("a route with parameters has one entry for all its paths", async () => {
    const shop = await library();
    const bazaar = declare({ routeTemplate: "/users/:id" });
    await shop.list({ url: "https://a.example/users/7", bazaar }, { url: "https://a.example/users/8?x=1", bazaar });
    expect((await entriesOf(shop)).map(({ resource }) => resource)).toEqual(["https://a.example/users/:id"]);
  });

  test("an entry keeps every method with its own price and schema, in the same order whichever is bought last", async () => {
    const shop = await library();
    const url = "https://a.example/notes/7";
    const sell = (method: string, amount: string, more: object = {}) => {
      const info = { input: { type: "http", method, pathParams: { id: "7" } } };
      const schema = { properties: { input: { properties: { method: { enum: [method] } } } } };
      const bazaar = { info, schema, routeTemplate: "/notes/:id" };
      return { url, bazaar, description: `${method} a note`, terms: { amount, ...more } };
    };
    await shop.list(sell("DELETE", "4000"), sell("POST", "2000"), sell("GET", "1000"), sell("PUT", "3000"));
    await shop.list(sell("PATCH", "3500"), sell("POST", "2000", { scheme: "upto" }), sell("DELETE", "4000"));
    const [entry, ...more] = await entriesOf(shop);
    expect(more).toEqual([]);
    expect(entry).toMatchObject({
      resource: "https://a.example/notes/:id",
      routeTemplate: "/notes/:id",
      method: "GET",
    });
    expect(entry).toMatchObject({ description: "GET a note", discoveryInfo: { input: { method: "GET" } } });
    const listed = entry?.methods?.map(({ method, accepts }) => [method, ...accepts.map(({ amount }) => amount)]);
    expect(listed).toEqual([
      ["GET", "1000"],
      ["POST", "2000", "2000"],
      ["PUT", "3000"],
      ["PATCH", "3500"],
      ["DELETE", "4000"],
    ]);
    const methodOf = ({ outputSchema }: CatalogEntry["accepts"][number]) => outputSchema.input?.["method"];
    expect(entry?.accepts.map(methodOf)).toEqual(["GET", "POST", "POST", "PUT", "PATCH", "DELETE"]);
    const post = entry?.methods?.[1];
    expect(post).toMatchObject({ description: "POST a note", discoveryInfo: { input: { method: "POST" } } });
    expect(post?.extensions).toMatchObject({ bazaar: { info: post?.discoveryInfo, routeTemplate: "/notes/:id" } });
    expect(entry?.accepts).toEqual(entry?.methods?.flatMap(({ accepts }) => accepts));

    const before = await entriesOf(shop);
    await shop.list(sell("DELETE", "4000"));
    const withoutTimes = (entries: readonly CatalogEntry[]) =>
      JSON.parse(JSON.stringify(entries, (key, value) => (key === "lastUpdated" ? undefined : value)));
    expect(withoutTimes(await entriesOf(shop))).toEqual(withoutTimes(before));
    const found = (await shop.get("/discovery/search?query=delete+notes")).json["resources"];
    expect(found).toEqual((await entriesOf(shop)).map((entry) => ({ ...entry, score: expect.any(Number) })));
    expect((await createDiscoveryClient({ url: shop.url }).list()).entries).toEqual(await entriesOf(shop));
  });

  test("a new payee on another family of networks adds a method, and does not change another", async () => {
    const shop = await library();
    const post = { info: { input: { type: "http", method: "POST" } }, schema: {} };
    const solana = { network: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", payTo: "So1", asset: "Usdc1" };
    await shop.list({}, { bazaar: post, terms: solana, description: "Sends weather" });
    const { info: declared } = declare() as { info: object };
    const [entry] = await entriesOf(shop);
    expect(entry).toMatchObject({ description: "Weather for a city", method: "GET", discoveryInfo: declared });
    expect(entry?.methods?.map(({ method, accepts }) => [method, accepts[0]?.payTo])).toEqual([
      ["GET", PAYEE],
      ["POST", "So1"],
    ]);
  });

  test("offers show the declared schema of the output with its example, in list and search", async () => {
    const shop = await library();
    const celsius = {
      type: "object",
      properties: { at: { $ref: "#/properties/output/properties/example/$defs/degree" } },
    };
    const $defs = { degree: { type: "number" } };
    const output = { type: "object", properties: { type: { type: "string" }, example: { ...celsius, $defs } } };
    const { info } = declare() as { info: object };
    const schema = { properties: { input: {}, output } };
    const bazaar = { info: { ...info, output: { type: "json", example: { at: 7 } } }, schema };
    await shop.list({ bazaar });
    const expected = { type: "object", properties: { at: { $ref: "#/$defs/degree" } }, $defs, example: { at: 7 } };
    const searched = (await shop.get("/discovery/search?query=weather")).json["resources"] as CatalogEntry[];
    for (const [entry] of [await entriesOf(shop), searched]) {
      expect(entry?.accepts[0]?.outputSchema.output).toEqual(expected);
    }
    // A reference to another part of the declaration would lead nowhere.
    const elsewhere = { ...output, properties: { example: { $ref: "#/properties/input" } } };
    await shop.list({ bazaar: { info: bazaar.info, schema: { properties: { input: {}, output: elsewhere } } } });
    const [entry] = await entriesOf(shop);
    expect(entry?.accepts[0]?.outputSchema.output).toEqual({ type: "json", example: { at: 7 } });
    expect(entry?.extensions).toMatchObject({ bazaar: { schema: { properties: { output: elsewhere } } } });
  });

  test("an entry of the first version is listed, and the next payment adds its method", async () => {
    const store = createSqliteCatalogStore();
    const { info, schema } = declare() as { info: object; schema: object };
    const terms = { scheme: "exact", network: "eip155:84532", asset: "0x1", payTo: PAYEE, amount: "5" };
    const key = { resource: "https://api.example.com/weather", toolName: "" };
    const former = { type: "http", ...key, info, schema, description: "Former" };
    const offers = [{ ...terms, maxTimeoutSeconds: 60, extra: {} }];
    const shop = await library({ store });
    await shop.list({});
    await store.update(key, (found) => {
      const change = { texts: { name: "", description: "", parameters: "", other: "" }, terms: [], facets: [] };
      const service = JSON.stringify({ ...former, offers });
      return { ...change, service, updatedMs: found?.updatedMs ?? 0, vector: new Int8Array(100), price: "~" };
    });
    await shop.list({ bazaar: { info: { input: { type: "http", method: "POST" } }, schema: {} } });
    const [entry] = await entriesOf(shop);
    expect(entry).toMatchObject({
      description: "Former",
      method: "GET",
      accepts: [{ amount: "5" }, { amount: "1000" }],
    });
    expect(entry?.methods?.map(({ method }) => method)).toEqual(["GET", "POST"]);
  });

  test("an entry that its owner confirmed says so and when, also after further payments, and can be filtered", async () => {
    const store = createSqliteCatalogStore();
    const shop = await library({ store });
    await shop.list({}, { url: "https://a.example/other" });
    const key = { resource: "https://api.example.com/weather", toolName: "" };
    await store.update(key, (found) => {
      const stored = { ...JSON.parse(found?.service ?? ""), verifiedMs: Date.parse("2026-01-31T12:00:00.007Z") };
      const texts = { name: "", description: "", parameters: "", other: "" };
      const change = { texts, terms: [], facets: [], vector: new Int8Array(100), price: "~", updatedMs: 0 };
      return { ...change, service: JSON.stringify(stored) };
    });
    await shop.list({});
    const found = (await shop.get("/discovery/resources?verified=true")).json["items"];
    expect(found).toMatchObject([{ resource: key.resource, verified: true, verifiedAt: "2026-01-31T12:00:00.007Z" }]);
    const others = (await shop.get("/discovery/search?query=weather&verified=false")).json[
      "resources"
    ] as CatalogEntry[];
    expect(others.map(({ resource }) => resource)).toEqual(["https://a.example/other"]);
    const page = await (await fetch(`${shop.url}/?verified=true`)).text();
    expect(page).toContain("Confirmed by the owner of the URL on <time");
    expect(page).not.toContain("Not confirmed");
  });

  test("a long declaration is not repeated in each of many offers", async () => {
    const shop = await library();
    const long = "x".repeat(13_000);
    const bazaar = { info: { input: { type: "http", method: "GET", queryParams: { long } } }, schema: {} };
    await shop.list({ bazaar });
    const repeated = (await entriesOf(shop))[0]?.accepts[0]?.outputSchema.input;
    expect(repeated).toMatchObject({ queryParams: { long } });
    await shop.list(...["eip155:8453", "eip155:84532"].map((network) => ({ bazaar, terms: { network } })));
    const [entry] = await entriesOf(shop);
    const input = { type: "http", method: "GET", resource: "https://api.example.com/weather" };
    expect(entry?.accepts.map(({ outputSchema }) => outputSchema)).toEqual(Array(2).fill({ input, output: null }));
    expect(entry?.discoveryInfo).toMatchObject({ input: { queryParams: { long } } });
  });

  test("two tools at one URL have two entries", async () => {
    const shop = await library();
    const toolOf = (toolName: string) => ({ info: { input: { type: "mcp", toolName, inputSchema: {} } }, schema: {} });
    await shop.list(
      { url: "https://a.example/mcp", bazaar: toolOf("add") },
      { url: "https://a.example/mcp", bazaar: toolOf("subtract") },
      { url: "mcp://tool/add", bazaar: toolOf("add") },
    );
    expect((await entriesOf(shop)).map(({ resource, toolName }) => [resource, toolName])).toEqual([
      ["https://a.example/mcp", "add"],
      ["https://a.example/mcp", "subtract"],
      ["mcp://tool/add", "add"],
    ]);
  });

  test("an entry collects the offers of several families of networks", async () => {
    const shop = await library();
    const solana = { network: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", payTo: "So1", asset: "Usdc1" };
    await shop.list({}, { terms: solana, description: "Not theirs to say" });
    const [entry] = await entriesOf(shop);
    expect(entry?.accepts.map(({ payTo }) => payTo)).toEqual([PAYEE, "So1"]);
    expect(entry?.description).toBe("Weather for a city");
  });

  test("a payment to another payee does not change the entry", async () => {
    const shop = await library();
    await shop.list({});
    const { outcome } = await shop.post("/settle", paymentFor({ description: "Mine", terms: { payTo: "0xdead" } }));
    const rejectedReason = "the resource is listed with another payTo";
    expect(outcome).toEqual({ bazaar: { status: "rejected", rejectedReason } });
    expect((await entriesOf(shop))[0]?.description).toBe("Weather for a city");
    expect(await shop.catalog.remove({ resource: "https://api.example.com/weather" })).toBe(true);
    await shop.list({ description: "Mine", terms: { payTo: "0xdead" } });
    expect((await entriesOf(shop))[0]?.description).toBe("Mine");
  });
});

describe("a catalog that fails", () => {
  const log: unknown[] = [];
  const logger = { info: () => {}, warn: () => {}, error: (...line: unknown[]) => void log.push(line) };
  const down = (): never => {
    throw new RangeError("postgres://user:secret@db");
  };

  test("payments succeed when the catalog fails, and the log says so", async () => {
    const shop = await library({ store: storeWith({ update: async () => down(), list: async () => down() }), logger });
    const { json, outcome } = await shop.post("/settle", paymentFor());
    expect(json["success"]).toBe(true);
    expect(outcome).toEqual({
      bazaar: { status: "rejected", rejectedReason: expect.stringMatching(/cannot be reached/) },
    });
    const listed = await shop.get("/discovery/resources");
    expect([listed.status, listed.json]).toEqual([503, { error: "the catalog cannot be reached" }]);
    expect(JSON.stringify(log)).not.toContain("secret");
    expect(log).toContainEqual(["catalog_failed", { error: "RangeError" }]);
  });

  /** Resolves when as many payments wait for their registration. */
  const timersOf = async (count: number) => {
    while (vi.getTimerCount() < count) await new Promise(setImmediate);
  };

  test("a slow catalog does not delay payments", async () => {
    let finish = (): void => {};
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const store = createSqliteCatalogStore();
    const update: CatalogStore["update"] = async (key, decide) => {
      await timersOf(1);
      // The payment has waited long enough.
      vi.runAllTimers();
      await held;
      return store.update(key, decide);
    };
    const shop = await library({ store: { ...store, update } });
    const { outcome } = await shop.post("/settle", paymentFor());
    expect(outcome).toEqual({ bazaar: { status: "processing" } });
    finish();
    await held;
    expect(await entriesOf(shop)).toHaveLength(1);
  });

  test("registrations in flight are bounded", async () => {
    const shop = await library({ store: storeWith({ update: () => new Promise(() => {}) }) });
    const settling = Array.from({ length: 300 }, () => shop.facilitator.settle(paymentFor()));
    await timersOf(256);
    vi.runAllTimers();
    const responses = await Promise.all(settling);
    const statuses = responses.map(({ extensionResponses }) => extensionResponses?.bazaar?.status);
    expect(statuses.filter((status) => status === "rejected")).toHaveLength(300 - 256);
    expect(responses.every(({ success }) => success)).toBe(true);
  });
});

test(`a payment succeeds with any declaration (FAREBOX_SEED=${SEED} repeats this)`, async () => {
  const { facilitator, get } = await library();
  const strange = fc.anything({ withBigInt: true, withNullPrototype: true });
  const nearly = fc.record({
    info: fc.record({
      input: fc.record({
        type: fc.constantFrom("http", "mcp"),
        method: fc.constant("GET"),
        toolName: fc.string(),
        inputSchema: fc.object(),
        more: fc.jsonValue(),
      }),
    }),
    schema: fc.oneof(fc.constant({}), fc.object()),
    routeTemplate: fc.oneof(fc.constant(undefined), fc.string()),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(strange, nearly),
      fc.oneof(fc.webUrl({ validSchemes: ["https"] }), fc.string()),
      async (bazaar, url) => {
        const { success, extensionResponses } = await facilitator.settle(paymentFor({ bazaar, url }));
        expect(success).toBe(true);
        const status = extensionResponses?.bazaar?.status ?? "none";
        expect(["success", "rejected", "none"]).toContain(status);
      },
    ),
    { seed: SEED, numRuns: 25 },
  );
  expect((await get("/discovery/resources")).status).toBe(200);
});

test("two concurrent payments for one resource make one entry", async () => {
  const shop = await library();
  await Promise.all(Array.from({ length: 20 }, () => shop.post("/settle", paymentFor())));
  expect(await entriesOf(shop)).toHaveLength(1);
});

test("catalog.register lists a service without a payment", async () => {
  const shop = await library();
  const offer = {
    scheme: "exact",
    network: "eip155:1",
    asset: "0x1",
    payTo: "0x2",
    amount: "1",
    maxTimeoutSeconds: 1,
    extra: {},
  };
  const info = { input: { type: "http" as const, method: "GET" } };
  const registration: Registration = {
    type: "http",
    resource: "https://a.example/",
    toolName: "",
    info,
    schema: {},
    offer,
  };
  expect(await shop.catalog.register(registration)).toEqual({ kind: "listed" });
  expect(await entriesOf(shop)).toHaveLength(1);
});
