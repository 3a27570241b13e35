/**
 * Our catalog with the seller, the clients and the discovery client of the reference implementation. Also our discovery client.
 *
 * @module
 */
import { affordable, createDiscoveryClient } from "@farebox/bazaar";
import { paymentMiddleware } from "@farebox/express";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme as ServerScheme } from "@x402/evm/exact/server";
import { paymentMiddleware as referenceMiddleware, x402ResourceServer } from "@x402/express";
import { bazaarResourceServerExtension, declareDiscoveryExtension, withBazaar } from "@x402/extensions/bazaar";
import express from "express";
import { generatePrivateKey } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ASSET, declare, type Library, openLibrary, PAYEE } from "../catalog/library.js";
import { fetchClient, payingFetch } from "./peers.js";
import { listen, PATIENT_SELLER, type Running } from "./servers.js";

let library: Library;
let seller: Running;

/** The seller of the reference implementation, with a declaration of each kind. */
function referenceSeller(facilitatorUrl: string): express.Express {
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }));
  server.register("eip155:84532", new ServerScheme());
  server.registerExtension(bazaarResourceServerExtension);
  const accepts = { scheme: "exact", price: "$0.001", network: "eip155:84532", payTo: PAYEE } as const;
  const city = { properties: { city: { type: "string", description: "Name of the town" } }, required: ["city"] };
  const app = express();
  app.use(
    referenceMiddleware(
      {
        "GET /weather": {
          accepts,
          description: "Current conditions",
          mimeType: "application/json",
          extensions: {
            ...declareDiscoveryExtension({
              input: { city: "Paris" },
              inputSchema: city,
              output: { example: { sunny: true } },
            }),
          },
        },
        "GET /users/:id": { accepts, description: "A user", extensions: { ...declareDiscoveryExtension({}) } },
        "POST /translate": {
          accepts,
          description: "Translates documents",
          extensions: {
            ...declareDiscoveryExtension({
              bodyType: "json",
              input: { text: "hello" },
              inputSchema: { properties: { text: { type: "string" } }, required: ["text"] },
            }),
          },
        },
      },
      server,
    ),
  );
  app.all(/.*/, (_req, res) => void res.json({ ok: true }));
  return app;
}

beforeAll(async () => {
  library = await openLibrary({ allowLocal: true });
  seller = await listen(referenceSeller(library.url));
});
afterAll(async () => {
  await seller.close();
  await library.close();
});

describe("the reference's seller", () => {
  test("the reference's seller is listed when its clients pay", async () => {
    const key = generatePrivateKey();
    expect((await fetchClient(key, `${seller.url}/weather?city=Rome`)).status).toBe(200);
    expect((await fetchClient(key, `${seller.url}/users/7`)).status).toBe(200);
    expect((await fetchClient(key, `${seller.url}/translate`, { text: "hi" })).status).toBe(200);
    const { entries } = await createDiscoveryClient({ url: library.url }).list();
    expect(entries.map(({ resource, method }) => [resource, method])).toEqual([
      [`${seller.url}/weather`, "GET"],
      [`${seller.url}/users/:id`, "GET"],
      [`${seller.url}/translate`, "POST"],
    ]);
    expect(entries[1]).toMatchObject({
      routeTemplate: "/users/:id",
      discoveryInfo: { input: { pathParams: { id: "7" } } },
    });
    expect(entries[0]).toMatchObject({
      description: "Current conditions",
      discoveryInfo: { output: { example: { sunny: true } } },
    });
    expect(affordable(entries, { asset: ASSET, maxAmount: "1000" })).toHaveLength(3);
    expect(affordable(entries, { asset: ASSET, maxAmount: "999" })).toHaveLength(0);
  });
});

describe("the reference's discovery client", () => {
  test("the reference's discovery client lists and searches our catalog", async () => {
    await library.list({ url: "https://a.example/x", terms: { payTo: "0x2222222222222222222222222222222222222222" } });
    const { bazaar } = withBazaar(new HTTPFacilitatorClient({ url: library.url })).extensions;
    const listed = await bazaar.listResources({ type: "http", limit: 2, offset: 1 });
    expect(listed.pagination).toMatchObject({ limit: 2, offset: 1, total: 4 });
    expect(listed.items.map(({ resource }) => resource)).toEqual([
      `${seller.url}/users/:id`,
      `${seller.url}/translate`,
    ]);
    expect(
      (await bazaar.listResources({ payTo: PAYEE, network: "eip155:84532", scheme: "exact", extensions: "bazaar" }))
        .items,
    ).toHaveLength(3);

    const found = await bazaar.search({ query: "say it in another language", limit: 1 });
    expect(found.resources[0]?.resource).toBe(`${seller.url}/translate`);
    const cursor = found.pagination?.cursor;
    expect(cursor).toEqual(expect.any(String));
    const next = await bazaar.search({ query: "say it in another language", limit: 1, cursor: cursor ?? "" });
    expect(next.resources[0]?.resource).not.toBe(`${seller.url}/translate`);
    await expect(bazaar.listResources({ limit: 1_000 })).rejects.toThrow(/400/);
  });
});

describe("our seller of one path with six methods", () => {
  test("the reference's clients buy every method, and its discovery client reads them in list and search", async () => {
    const payTo = "0x4444444444444444444444444444444444444444";
    const outputSchema = { type: "object", properties: { text: { type: "string" } } };
    const prices = { HEAD: "$0.006", DELETE: "$0.005", POST: "$0.002", GET: "$0.001", PATCH: "$0.004", PUT: "$0.003" };
    const routes = Object.entries(prices).map(([method, price]) => {
      const accepts = { price: price as `$${number}`, network: "eip155:84532", payTo } as const;
      const bazaar = { outputSchema, output: { example: { text: "hi" } } };
      return [
        `${method} /notes/:id`,
        { accepts, description: `${method} a note of the archive`, extensions: { bazaar } },
      ];
    });
    const app = express().use(
      paymentMiddleware(Object.fromEntries(routes), { facilitator: library.url, ...PATIENT_SELLER }),
    );
    const notes = await listen(app.all("/notes/:id", express.json(), (_req, res) => void res.json({ text: "hi" })));
    const pay = payingFetch(generatePrivateKey());
    for (const method of Object.keys(prices)) {
      expect((await pay(`${notes.url}/notes/7`, { method })).status).toBe(200);
    }
    await notes.close();

    const { bazaar } = withBazaar(new HTTPFacilitatorClient({ url: library.url })).extensions;
    const { items } = await bazaar.listResources({ payTo });
    const { resources } = await bazaar.search({ query: "a note of the archive", limit: 1 });
    expect(items).toHaveLength(1);
    expect(resources).toEqual(items.map((item) => ({ ...item, score: expect.any(Number) })));
    const [entry] = items;
    expect(entry).toMatchObject({ resource: `${notes.url}/notes/:id`, type: "http", method: "GET" });
    expect(entry?.accepts.map(({ amount }) => amount)).toEqual(["1000", "2000", "3000", "4000", "5000", "6000"]);
    const input = expect.objectContaining({ method: "POST", pathParams: { id: "7" } });
    const output = { ...outputSchema, example: { text: "hi" } };
    expect(entry?.accepts[1]).toMatchObject({ maxAmountRequired: "2000", outputSchema: { input, output } });
    const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"].map((method) => ({
      method,
      description: `${method} a note of the archive`,
    }));
    expect(entry).toMatchObject({ methods });
  });
});

describe("our discovery client", () => {
  test("our discovery client reads all pages of our catalog, and finds the entries of a payee", async () => {
    const payTo = "0x3333333333333333333333333333333333333333";
    const bazaar = declare();
    for (let at = 0; at < 7; at++) await library.list({ url: `https://mine.example/${at}`, bazaar, terms: { payTo } });
    const client = createDiscoveryClient({ url: library.url });
    expect((await client.findMine(payTo)).map(({ resource }) => resource)).toEqual(
      Array.from({ length: 7 }, (_, at) => `https://mine.example/${at}`),
    );
    let pages = 0;
    const seen = new Set<string>();
    for await (const page of client.searchPages({ query: "weather for a city", payTo, limit: 3 })) {
      pages += 1;
      for (const { resource } of page.entries) seen.add(resource);
    }
    expect([pages, seen.size]).toEqual([3, 7]);
  });
});
