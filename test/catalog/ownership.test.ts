import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { RequestListener } from "node:http";
import { createPayments } from "@farebox/express";
import { createPaidTools } from "@farebox/mcp";
import express from "express";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { declare, NETWORK, openLibrary, PAYEE } from "./library.js";
import {
  type Challenge,
  challengeAt,
  challengeOf,
  entriesOf,
  LATER,
  NEW_PAYEE,
  openHere,
  openSeller,
  pay,
  payeesOf,
  SQUATTER,
  serve,
  settle,
} from "./sellers.js";

/** What a stranger may pay a seller for, while the seller declares something else there. */
const OTHERS = [
  ["/weather/lisbon", "GET"],
  ["/weather/porto", "HEAD"],
  ["/WEATHER/oslo/", "GET"],
  ["/NOTES", "GET"],
  ["//notes", "GET"],
  ["/notes/", "HEAD"],
  ["/private", "GET"],
  ["/undeclared", "GET"],
] as const;

// No limit of time ends a check or a payment, however busy the machine is.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

describe("an entry belongs to the server of its URL", () => {
  test("a squatter who pays first is not listed, and the real seller is", async () => {
    const shop = await openHere({ now: () => Date.parse("2026-01-31T12:00:00.007Z") });
    const seller = await openSeller(shop, PAYEE);
    const url = `${seller.url}/weather/lisbon`;
    expect(await pay(shop, url, { payTo: SQUATTER })).toEqual({ status: "processing" });
    expect(await pay(shop, url)).toEqual({ status: "processing" });
    await shop.catalog.checkDue();
    const entries = await entriesOf(shop);
    expect(payeesOf(entries)).toEqual([["/weather/:city", PAYEE]]);
    expect(entries[0]).toMatchObject({ verified: true, verifiedAt: "2026-01-31T12:00:00.007Z" });
    expect(await pay(shop, url)).toEqual({ status: "success" });
    expect(await pay(shop, url, { payTo: SQUATTER })).toEqual({
      status: "rejected",
      rejectedReason: `the server of the URL names other offers for this resource${LATER}`,
    });
    expect(payeesOf(await entriesOf(shop))).toEqual([["/weather/:city", PAYEE]]);
  });

  test("a squatter who is listed while the server cannot be reached is displaced at once", async () => {
    const shop = await openHere({ owners: { unverified: "show" } });
    const closed = await openSeller(shop, PAYEE);
    const challenge = challengeOf(`${closed.url}/notes`);
    closed.close();
    expect(await settle(shop, { payTo: SQUATTER }, challenge)).toEqual({ status: "success" });
    await shop.catalog.checkDue();
    const [squatted] = await entriesOf(shop);
    expect([payeesOf([squatted!]), squatted?.verified]).toEqual([[["/notes", SQUATTER]], undefined]);
    await openSeller(shop, PAYEE, { port: Number(new URL(closed.url).port) });
    expect(await settle(shop, {}, challenge)).toEqual({ status: "processing" });
    await shop.catalog.checkDue();
    const [entry, ...more] = await entriesOf(shop);
    expect([payeesOf([entry!]), entry?.verified, more]).toEqual([[["/notes", PAYEE]], true, []]);
  });

  test("a seller who moves to another address replaces the former one", async () => {
    const shop = await openHere();
    const before = await openSeller(shop, PAYEE);
    const port = Number(new URL(before.url).port);
    for (const method of ["GET", "POST"]) await pay(shop, `${before.url}/notes`, { method });
    await shop.catalog.checkDue();
    before.close();
    await openSeller(shop, NEW_PAYEE, { port });
    expect(await pay(shop, `${before.url}/notes`)).toEqual({ status: "processing" });
    await shop.catalog.checkDue();
    expect(payeesOf(await entriesOf(shop))).toEqual([["/notes", NEW_PAYEE]]);
  });

  test("each method is checked by its own request, without a body", async () => {
    const shop = await openHere();
    const { url } = await openSeller(shop, PAYEE);
    for (const method of ["GET", "POST", "DELETE"]) await pay(shop, `${url}/notes`, { method });
    const bazaar = declare({ info: { input: { type: "http", method: "PUT" } } });
    await settle(shop, {}, challengeOf(`${url}/notes`, bazaar));
    await shop.catalog.checkDue();
    const [entry] = await entriesOf(shop);
    expect(entry?.methods?.map(({ method }) => method)).toEqual(["GET", "POST", "DELETE"]);
    expect(await settle(shop, {}, challengeOf(`${url}/notes`, bazaar))).toEqual({
      status: "rejected",
      rejectedReason: `the server of the URL responds with 404 to an unpaid request${LATER}`,
    });
  });

  test.each([false, true])(
    "an entry says what the server declares, not what a payer does (document: %s)",
    async (hasDocument) => {
      let now = Date.parse("2026-01-31T12:00:00.000Z");
      const shop = await openHere({ now: () => now });
      const { url } = await openSeller(shop, PAYEE, { hasDocument });
      const challenge = await challengeAt(`${url}/weather/lisbon`);
      const steered = {
        ...challenge,
        resource: { ...challenge.resource, description: "The best of all" },
        extensions: { bazaar: declare({ routeTemplate: "/weather/:city", more: "nonsense" }) },
      };
      const first = {
        description: "Costs $0.001",
        lastUpdated: "2026-01-31T12:00:00.000Z",
        accepts: [{ amount: "1000" }],
      };
      // A stranger pays the seller before anyone else does, and again later.
      expect(await settle(shop, { amount: "1" }, steered)).toEqual({ status: "processing" });
      await shop.catalog.checkDue();
      expect(await entriesOf(shop)).toMatchObject([first]);
      now += 3_600_000;
      expect(await settle(shop, { amount: "1" }, steered)).toEqual({ status: "success" });
      await shop.catalog.checkDue();
      const [entry] = await entriesOf(shop);
      expect(entry).toMatchObject({ ...first, verifiedAt: "2026-01-31T13:00:00.000Z" });
      expect(entry?.accepts[0]).toMatchObject({ maxTimeoutSeconds: 300, extra: { name: "USDC" } });
      expect(JSON.stringify(entry)).not.toContain("nonsense");
    },
  );

  test.each([false, true])(
    "a stranger who pays the seller for other paths, methods and routes adds nothing (document: %s)",
    async (hasDocument) => {
      let now = Date.parse("2026-01-31T12:00:00.000Z");
      const shop = await openHere({ now: () => now });
      const { url } = await openSeller(shop, PAYEE, { hasDocument });
      for (const [path, method] of OTHERS) {
        const bazaar = declare({ info: { input: { type: "http", method } } });
        const payment = { ...challengeOf(url + path, bazaar), resource: { url: url + path, description: "Buy mine" } };
        await settle(shop, { amount: "1", extra: { name: "Buy mine" } }, payment);
        await shop.catalog.checkDue();
        now += 12_000;
      }
      expect(await entriesOf(shop)).toEqual([]);
      await pay(shop, `${url}/NOTES/`);
      await settle(shop, { extra: { name: "Buy mine" } }, await challengeAt(`${url}/Notes`));
      now += 12_000;
      await shop.catalog.checkDue();
      const entries = await entriesOf(shop);
      expect(entries.map(({ resource }) => resource)).toEqual([`${url}/notes`]);
      expect(JSON.stringify(entries)).not.toContain("Buy mine");
      expect(entries[0]?.accepts).toMatchObject([{ amount: "1000", maxTimeoutSeconds: 300, extra: { name: "USDC" } }]);
    },
  );

  test.each([false, true])("a route with a wildcard is confirmed (document: %s)", async (hasDocument) => {
    const shop = await openHere();
    const { url } = await openSeller(shop, PAYEE, { hasDocument });
    await pay(shop, `${url}/files/a%20b/c`, { amount: "1" });
    await shop.catalog.checkDue();
    expect(await entriesOf(shop)).toMatchObject([
      { routeTemplate: "/files/:path", verified: true, accepts: [{ amount: "1000" }] },
    ]);
  });

  test("an entry follows the server's price, without a payment", async () => {
    let now = Date.parse("2026-01-31T12:00:00.000Z");
    const shop = await openHere({ now: () => now });
    let amount = "1000";
    const { url } = await serve((_req, res) => {
      const challenge = challengeOf(`${url}/sold`);
      const accepts = challenge.accepts.map((offer) => ({ ...offer, amount }));
      res.writeHead(402).end(JSON.stringify({ ...challenge, accepts }));
    });
    await settle(shop, {}, challengeOf(`${url}/sold`));
    await shop.catalog.checkDue();
    amount = "5000";
    now += 24 * 3_600_000;
    await shop.catalog.checkDue();
    expect((await entriesOf(shop))[0]?.accepts).toMatchObject([{ amount: "5000" }]);
  });

  test("/.well-known/x402 confirms every route with one request", async () => {
    const shop = await openHere({ now: () => 1_000 });
    const { url } = await openSeller(shop, PAYEE, { hasDocument: true });
    // Node reports each request that this process receives, from the client in the catalog too.
    const requests: string[] = [];
    const onStart = (message: unknown) => {
      const { request } = message as { request: { url: string; headers: Record<string, string> } };
      if (request.headers["user-agent"] === "farebox-catalog") requests.push(request.url);
    };
    subscribe("http.server.request.start", onStart);
    onTestFinished(() => void unsubscribe("http.server.request.start", onStart));
    await pay(shop, `${url}/weather/lisbon`);
    await pay(shop, `${url}/weather/lisbon`, { payTo: SQUATTER, amount: "1" });
    for (const method of ["GET", "POST", "DELETE"]) await pay(shop, `${url}/notes`, { method });
    await shop.catalog.checkDue();
    expect((await entriesOf(shop)).map(({ accepts }) => accepts.length)).toEqual([1, 3]);
    expect(requests.filter((path) => path === "/.well-known/x402")).toHaveLength(1);
    expect(requests.filter((path) => path === "/notes")).toEqual([]);
  });
});

test("a paid tool of an MCP server is confirmed by the document at the server's origin", async () => {
  const shop = await openHere();
  const app = express();
  const { url } = await serve(app);
  const { facilitator } = shop;
  const payments = createPayments({ facilitator, networks: [NETWORK], payTo: { "eip155:*": PAYEE }, publicUrl: url });
  onTestFinished(() => payments.close());
  const tools = createPaidTools(payments, { serverUrl: "/mcp" });
  tools.tool("add", { price: "$0.001", description: "Adds numbers", example: {} }, () => ({ content: [] }));
  app.get("/.well-known/x402", payments.wellKnown());
  const { items } = (await (await fetch(`${url}/.well-known/x402`)).json()) as { items: [Challenge] };
  const challenge = { ...items[0], resource: { url: `${url}/mcp`, description: "Subtracts numbers" } };
  expect(await settle(shop, { payTo: SQUATTER }, challenge)).toEqual({ status: "processing" });
  expect(await settle(shop, {}, challenge)).toEqual({ status: "processing" });
  await shop.catalog.checkDue();
  const entries = await entriesOf(shop);
  expect(payeesOf(entries)).toEqual([["/mcp", PAYEE]]);
  expect(entries).toMatchObject([{ type: "mcp", toolName: "add", description: "Adds numbers", verified: true }]);
});

type Case = readonly [name: string, server: RequestListener, outcome: string, bazaar?: object];

/** A payment for `/sold` on servers of all kinds. */
describe("a claim for", () => {
  const json = (status: number, body: (url: string) => unknown, path = "/sold"): RequestListener => {
    return (req, res) => {
      if (req.url?.split("?")[0] !== path) return void res.writeHead(404).end();
      res.writeHead(status, { "content-type": "application/json" });
      res.end(JSON.stringify(body(`http://${req.headers.host}/sold`)));
    };
  };
  const wellKnown = (body: (url: string) => unknown) => json(200, body, "/.well-known/x402");
  const tool = { info: { input: { type: "mcp", toolName: "add", inputSchema: {} } }, schema: {} };
  const { accepts } = challengeOf("");
  const item = { accepts, method: "GET", extensions: { bazaar: declare() } };

  const CASES: readonly Case[] = [
    ["a server whose 402 is in the body", json(402, challengeOf), "success"],
    [
      "a template that the 402 names",
      json(402, (url) => challengeOf(url, declare({ routeTemplate: "/:what" }))),
      "success",
      declare({
        routeTemplate: "/:what",
        info: { input: { type: "http", method: "GET", pathParams: { what: "sold" } } },
      }),
    ],
    [
      "a template that the 402 does not name",
      json(402, challengeOf),
      "lists this under another resource, routeTemplate or method",
      declare({
        routeTemplate: "/:what",
        info: { input: { type: "http", method: "GET", pathParams: { what: "sold" } } },
      }),
    ],
    [
      "a proxy that passes on the 402 of another server",
      json(402, () => challengeOf("https://api.example.com/sold")),
      "responds with the 402 of another URL",
    ],
    [
      "a server whose 402 has no offers",
      json(402, (url) => ({ ...challengeOf(url), accepts: "all" })),
      "responds with 402 without offers",
    ],
    [
      "a server whose 402 is no JSON",
      (_req, res) => void res.writeHead(402).end("pay"),
      "responds with 402 without offers",
    ],
    [
      "a server whose 402 has another network",
      json(402, (url) => ({ ...challengeOf(url), accepts: [{ ...accepts[0], network: "eip155:1" }] })),
      "names other offers",
    ],
    ["a server that needs no payment", json(200, challengeOf), "responds with 200"],
    ["a server that fails", (_req, res) => void res.writeHead(500).end(), "responds with 500"],
    [
      "a server that redirects",
      (_req, res) => void res.writeHead(302, { location: "/.well-known/x402" }).end(),
      "responds with 302",
    ],
    [
      "a server whose 402 declares nothing",
      json(402, (url) => ({ ...challengeOf(url), extensions: {} })),
      "declares no bazaar extension",
    ],
    [
      "a server whose 402 declares nothing in the header, and the offer in the body",
      (req, res) => {
        const challenge = challengeOf(`http://${req.headers.host}/sold`);
        const header = Buffer.from(JSON.stringify({ ...challenge, extensions: {} })).toString("base64");
        res.writeHead(402, { "payment-required": header }).end(JSON.stringify(challenge));
      },
      "success",
    ],
    [
      "a server whose 402 declares nonsense",
      json(402, (url) => challengeOf(url, { info: 7 })),
      "the bazaar extension of the server itself is not valid",
    ],
    [
      "a server whose 402 declares another method",
      json(402, (url) => challengeOf(url, declare({ info: { input: { type: "http", method: "POST" } } }))),
      "lists this under another resource, routeTemplate or method",
    ],
    [
      "a document that names the offer without a declaration",
      wellKnown((resource) => ({ items: [{ ...item, resource, extensions: {} }] })),
      "declares no bazaar extension",
    ],
    [
      "a resource that the document names in another spelling",
      (req, res) => {
        const url = `http://${req.headers.host}`;
        const isDocument = req.url === "/.well-known/x402";
        const document = { items: [{ ...item, resource: `${url}//Sold/` }] };
        res.writeHead(isDocument ? 200 : 402).end(JSON.stringify(isDocument ? document : challengeOf(`${url}/sold`)));
      },
      "lists this under another resource, routeTemplate or method",
    ],
    ["a document that names the offer", wellKnown((resource) => ({ items: [{ ...item, resource }] })), "success"],
    [
      "a document whose list of resources has the offer",
      wellKnown((resource) => ({ resources: [{ ...item, resource }] })),
      "success",
    ],
    [
      "a document that lists only the URL",
      wellKnown((resource) => ({ version: 1, resources: [resource] })),
      "responds with 404",
    ],
    [
      "a document that names the offer for another method",
      wellKnown((resource) => ({ items: [{ ...item, resource, method: "POST" }] })),
      "responds with 404",
    ],
    [
      "a document that names the offer for another host",
      wellKnown(() => ({ items: [{ ...item, resource: "https://api.example.com/sold" }] })),
      "responds with 404",
    ],
    [
      "a document that names another payee",
      wellKnown((resource) => ({ items: [{ ...item, resource, accepts: [{ ...accepts[0], payTo: NEW_PAYEE }] }] })),
      "/.well-known/x402 of the server names other offers",
    ],
    ...["0", "00", "07", "-1", "0x10", "1.5", ""].map(
      (amount): Case => [
        `a document whose amount is ${JSON.stringify(amount)}`,
        wellKnown((resource) => ({ items: [{ ...item, resource, accepts: [{ ...accepts[0], amount }] }] })),
        "has no amount that is a whole number above zero",
      ],
    ),
    [
      "a server whose 402 has an amount of zero",
      json(402, (url) => ({ ...challengeOf(url), accepts: [{ ...accepts[0], amount: "0" }] })),
      "has no amount that is a whole number above zero",
    ],
    ["a document that is no object", wellKnown(() => [null, 7]), "responds with 404"],
    [
      "a tool that the document names",
      wellKnown((resource) => ({ items: [{ accepts, resource, type: "mcp", toolName: "add" }] })),
      "success",
      tool,
    ],
    [
      "a tool that the document does not name",
      wellKnown((resource) => ({ items: [{ accepts, resource, type: "mcp", toolName: "subtract" }] })),
      "does not name the tool",
      tool,
    ],
  ];
  test.for(CASES)("%s", async ([, server, outcome, bazaar = declare()]) => {
    const shop = await openLibrary({ allowLocal: true, owners: { unverified: "hide" } });
    const { url } = await serve(server);
    const payment = challengeOf(`${url}/sold`, bazaar);
    expect(await settle(shop, {}, payment)).toEqual({ status: "processing" });
    await shop.catalog.checkDue();
    const { status, rejectedReason = "" } = await settle(shop, {}, payment);
    const expected = outcome === "success" ? ["success", 1] : ["rejected", 0];
    expect([status, (await entriesOf(shop)).length]).toEqual(expected);
    if (outcome !== "success") expect(rejectedReason).toContain(outcome);
    await shop.close();
  });
});
