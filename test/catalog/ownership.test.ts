import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { CatalogEntry } from "@farebox/bazaar/facilitator";
import { createCatalog } from "@farebox/catalog";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import { ConfigError } from "@farebox/core";
import { createPayments } from "@farebox/express";
import express from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  ASSET,
  declare,
  type Library,
  type LibraryOptions,
  NETWORK,
  openLibrary,
  PAYEE,
  paymentFor,
} from "./library.js";

const SQUATTER = "0x1111111111111111111111111111111111111111";
const NEW_PAYEE = "0x2222222222222222222222222222222222222222";

/** A facilitator that asks servers on this machine, and shows only what they confirm. */
async function library(options: LibraryOptions = {}): Promise<Library> {
  const opened = await openLibrary({ allowLocal: true, owners: { unverified: "hide" }, ...options });
  onTestFinished(() => opened.close());
  return opened;
}

async function serve(listener: RequestListener, port = 0): Promise<{ url: string; close: () => void }> {
  const server = createServer(listener).listen(port, "127.0.0.1");
  await once(server, "listening");
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

/** A seller on Farebox. `hasDocument`: whether it serves `/.well-known/x402`. */
async function openSeller({ facilitator }: Library, payTo: string, { hasDocument = false, port = 0 } = {}) {
  const payments = createPayments({ facilitator, networks: [NETWORK], payTo: { "eip155:*": payTo } });
  onTestFinished(() => payments.close());
  const route = (price: string) => ({ price, extensions: { bazaar: { discoverable: true } } });
  const app = express();
  if (hasDocument) app.get("/.well-known/x402", payments.wellKnown());
  app.use(
    payments.routes({
      "GET /weather/:city": route("$0.001"),
      "GET /notes": route("$0.001"),
      "POST /notes": route("$0.002"),
      "DELETE /notes": route("$0.003"),
    }),
  );
  const sell: express.RequestHandler = (_req, res) => void res.json({ sold: true });
  app.get("/weather/:city", sell);
  app.route("/notes").get(sell).post(sell).delete(sell);
  return serve(app, port);
}

type Challenge = Parameters<typeof settle>[2];

/** Settles a payment for the offer of a 402, as a client sends it, or with other terms. */
async function pay(shop: Library, url: string, { method = "GET", ...terms }: Record<string, string> = {}) {
  const response = await fetch(url, { method, headers: { connection: "close" } });
  const challenge = JSON.parse(Buffer.from(response.headers.get("payment-required") ?? "", "base64").toString());
  return settle(shop, terms, challenge as Challenge);
}

async function settle(
  shop: Library,
  terms: Readonly<Record<string, unknown>>,
  { resource, extensions, accepts }: { resource: { url: string }; extensions: { bazaar: object }; accepts: object[] },
) {
  const { url } = resource;
  const { bazaar } = extensions;
  const { outcome } = await shop.post("/settle", paymentFor({ url, bazaar, terms: { ...accepts[0], ...terms } }));
  return (outcome as { bazaar: { status: string; rejectedReason?: string } }).bazaar;
}

/** The 402 of a server that is not Farebox. */
function challengeOf(url: string, bazaar: object = declare()): Challenge {
  const offer = {
    scheme: "exact",
    network: NETWORK,
    amount: "1000",
    asset: ASSET,
    payTo: PAYEE,
    maxTimeoutSeconds: 60,
  };
  return { resource: { url }, extensions: { bazaar }, accepts: [offer] };
}

const LATER = "; it is checked again later";

async function entriesOf({ get }: Library): Promise<readonly CatalogEntry[]> {
  return (await get("/discovery/resources?limit=100")).json["items"] as CatalogEntry[];
}

const payeesOf = (entries: readonly CatalogEntry[]) =>
  entries.map(({ resource, accepts }) => [new URL(resource).pathname, ...accepts.map(({ payTo }) => payTo)]);

describe("an entry belongs to the server of its URL", () => {
  test("a squatter who pays first is not listed, and the real seller is", async () => {
    const shop = await library({ now: () => Date.parse("2026-01-31T12:00:00.007Z") });
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
    const shop = await library({ owners: { unverified: "show" } });
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
    const shop = await library();
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
    const shop = await library();
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

  test("/.well-known/x402 confirms every route with one request", async () => {
    const shop = await library({ now: () => 1_000 });
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
  const item = { accepts, method: "GET" };

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
      "responds with the 402 of another URL",
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
  test.concurrent.for(CASES)("%s", async ([, server, outcome, bazaar = declare()], { expect }) => {
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

describe("an entry whose server stops selling", () => {
  const HOUR = 3_600_000;

  /** A listed service, and its server. `later` lets time pass, with a check each hour. */
  async function openListed(unverified: "last" | "hide") {
    let now = Date.parse("2026-01-31T12:00:00.000Z");
    const shop = await library({ now: () => now, owners: { unverified } });
    let respond: RequestListener = () => {};
    const { url } = await serve((req, res) => respond(req, res));
    const challenge = challengeOf(`${url}/sold`);
    const sell: RequestListener = (_req, res) => void res.writeHead(402).end(JSON.stringify(challenge));
    const stop: RequestListener = (_req, res) => void res.writeHead(404).end();
    respond = sell;
    await settle(shop, {}, challenge);
    await shop.catalog.checkDue();
    const later = async (hours: number) => {
      for (let hour = 0; hour < hours; hour++) {
        now += HOUR;
        await shop.catalog.checkDue();
      }
    };
    const turn = (listener: RequestListener) => () => {
      respond = listener;
    };
    return { shop, challenge, later, sell: turn(sell), stop: turn(stop) };
  }

  test("it is checked once a day, and says since when it is confirmed", async () => {
    const { shop, later } = await openListed("hide");
    await later(23);
    expect((await entriesOf(shop))[0]?.verifiedAt).toBe("2026-01-31T12:00:00.000Z");
    await later(2);
    const [entry] = await entriesOf(shop);
    expect(entry).toMatchObject({ verifiedAt: "2026-02-01T12:00:00.000Z", lastUpdated: "2026-01-31T12:00:00.000Z" });
  });

  test("after some failed checks it is no longer verified, and a week after the last good one it is gone", async () => {
    const { shop, challenge, later, stop } = await openListed("last");
    stop();
    await later(25);
    expect((await entriesOf(shop))[0]?.verified).toBe(true);
    await later(24);
    const [faded] = await entriesOf(shop);
    expect([faded?.resource, faded?.verified]).toEqual([challenge.resource.url, undefined]);
    await later(5 * 24);
    expect(await entriesOf(shop)).toHaveLength(1);
    await later(24);
    expect(await entriesOf(shop)).toEqual([]);
  });

  test("where the catalog hides what is not verified, it is hidden until the server sells again", async () => {
    const { shop, later, sell, stop } = await openListed("hide");
    stop();
    await later(49);
    expect(await entriesOf(shop)).toEqual([]);
    expect((await shop.get("/discovery/search?query=weather")).json["resources"]).toEqual([]);
    sell();
    await later(24);
    expect((await entriesOf(shop))[0]).toMatchObject({ verified: true });
  });
});

describe("a server that strangers name", () => {
  const claim = (url: string, payTo = PAYEE) => ({ url, terms: { payTo } });

  test("gets at most ten requests at once and one more each second, and every claim its turn", async () => {
    let now = 1_000_000;
    const shop = await library({ now: () => now });
    const paths = new Set<string | undefined>();
    let requests = 0;
    let open = 0;
    let most = 0;
    const { url } = await serve((req, res) => {
      paths.add(req.url);
      requests += 1;
      open += 1;
      most = Math.max(most, open);
      res.on("close", () => {
        open -= 1;
      });
      res.writeHead(404).end();
    });
    await shop.list(...Array.from({ length: 40 }, (_, at) => claim(`${url}/${at}`)));
    for (let round = 0; round < 20; round++) await shop.catalog.checkDue();
    const atOnce = requests;
    now += 3_000;
    for (let round = 0; round < 20; round++) await shop.catalog.checkDue();
    expect([atOnce <= 10, requests <= 13, requests > atOnce, most <= 4]).toEqual([true, true, true, true]);
    for (let seconds = 0; seconds < 60; seconds++) {
      now += 1_000;
      await shop.catalog.checkDue();
    }
    expect([paths.size, paths.has("/39?city=Paris"), requests]).toEqual([41, true, 41]);
  });

  test("is asked once for many claims of one resource, and again only after a while", async () => {
    let now = 1_000_000;
    const shop = await library({ now: () => now });
    const paths: (string | undefined)[] = [];
    const { url } = await serve((req, res) => {
      paths.push(req.url);
      res.writeHead(402).end(JSON.stringify(challengeOf(`${url}/sold`)));
    });
    const squatters = Array.from({ length: 30 }, (_, at) => claim(`${url}/sold`, `0x${String(at).padStart(40, "0")}`));
    await shop.list(...squatters.slice(0, 15));
    await shop.list(claim(`${url}/sold`), ...squatters.slice(15));
    await shop.catalog.checkDue();
    expect(payeesOf(await entriesOf(shop))).toEqual([["/sold", PAYEE]]);
    const asked = paths.length;
    for (let again = 0; again < 3; again++) await shop.list(...squatters.slice(20));
    await shop.catalog.checkDue();
    expect(paths.length).toBe(asked);
    now += 11 * 60_000;
    await shop.catalog.checkDue();
    expect(paths.length).toBeGreaterThan(asked);
  });
});

describe("what no server confirms", () => {
  const tool = { info: { input: { type: "mcp", toolName: "add", inputSchema: {} } }, schema: {} };
  const squatter = { terms: { payTo: SQUATTER } };

  test("a name without a server is rejected where unconfirmed services are hidden, and listed where they are shown", async () => {
    const hiding = await library();
    expect((await hiding.post("/settle", paymentFor({ url: "mcp://tool/add", bazaar: tool }))).outcome).toEqual({
      bazaar: { status: "rejected", rejectedReason: expect.stringMatching(/^the resource names no server/) },
    });
    const showing = await library({ owners: { unverified: "last" } });
    expect((await showing.post("/settle", paymentFor({ url: "mcp://tool/add", bazaar: tool }))).outcome).toEqual({
      bazaar: { status: "success" },
    });
    expect((await entriesOf(showing))[0]).toMatchObject({ resource: "mcp://tool/add" });
  });

  test("a private address is not asked, whatever DNS says", async () => {
    let connections = 0;
    const server = createServer().on("connection", () => {
      connections += 1;
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const lookup = async () => ["93.184.215.14", "127.0.0.1"];
    const shop = await library({ allowLocal: false, owners: { lookup } });
    const url = `https://api.example.com:${port}/weather`;
    expect((await shop.post("/settle", paymentFor({ url }))).outcome).toEqual({ bazaar: { status: "processing" } });
    await shop.catalog.checkDue();
    expect((await shop.post("/settle", paymentFor({ url }))).outcome).toEqual({
      bazaar: { status: "rejected", rejectedReason: `the server of the URL has a private address${LATER}` },
    });
    expect([connections, await entriesOf(shop)]).toEqual([0, []]);
  });

  test("unconfirmed services come last in a search, however often they pay themselves", async () => {
    const shop = await library({ owners: { unverified: "last" } });
    const { url } = await serve((req, res) => {
      const own = `http://${req.headers.host}${req.url}`;
      res.writeHead(req.url?.startsWith("/sold") ? 402 : 500).end(JSON.stringify(challengeOf(own)));
    });
    await shop.list({ url: `${url}/sold`, description: "Something else, and weather too" });
    const washed = {
      ...squatter,
      url: `${url}/weather`,
      description: "Weather, weather forecasts, weather for a city",
    };
    await shop.list(...Array.from({ length: 30 }, () => washed));
    await shop.catalog.checkDue();
    const search = async (owners: string) =>
      ((await shop.get(`/discovery/search?query=weather+for+a+city${owners}`)).json["resources"] as CatalogEntry[]).map(
        ({ resource }) => new URL(resource).pathname,
      );
    expect(await search("")).toEqual(["/sold", "/weather"]);
    expect(await search("&verified=true")).toEqual(["/sold"]);
    expect(await search("&verified=false")).toEqual(["/weather"]);
  });

  test("payments to oneself do not raise a rank among unconfirmed services", async () => {
    const shop = await library({ allowLocal: false, owners: { unverified: "show", lookup: async () => [] } });
    const describe = (at: number) => ({ url: `https://${at}.example.com/`, description: `Weather for a city ${at}` });
    await shop.list(...[0, 1, 2, 3].map(describe));
    const ranking = async () =>
      ((await shop.get("/discovery/search?query=weather")).json["resources"] as CatalogEntry[]).map(
        ({ resource }) => resource,
      );
    const before = await ranking();
    await shop.list(...Array.from({ length: 40 }, () => describe(3)));
    await shop.catalog.checkDue();
    expect(await ranking()).toEqual(before);
    expect(before).toHaveLength(4);
  });
});

test("processes with one store check a claim once", async () => {
  const store = createSqliteCatalogStore();
  const options = { store, allowLocal: true, unverified: "hide" } as const;
  const others = Array.from({ length: 3 }, () => createCatalog(options));
  const shop = await library({ store, owners: { unverified: "hide" } });
  let requests = 0;
  const { url } = await serve((req, res) => {
    if (req.url?.startsWith("/sold")) requests += 1;
    res.writeHead(402).end(JSON.stringify(challengeOf(`${url}/sold`)));
  });
  await settle(shop, {}, challengeOf(`${url}/sold`));
  await Promise.all([shop.catalog, ...others].map((catalog) => catalog.checkDue()));
  expect([requests, (await entriesOf(shop)).length]).toEqual([1, 1]);
});

test("close ends a check that waits for a server", async () => {
  const shop = await openLibrary({ allowLocal: true, owners: { unverified: "hide" } });
  const asked = new Promise<void>((resolve) => void serve(() => resolve()).then(({ url }) => shop.list({ url })));
  await asked;
  await shop.close();
});

test("wrong options are refused, with every issue at once", () => {
  const store = createSqliteCatalogStore();
  const wrong = { store, unverified: "hide", checkOwners: false, lookup: "8.8.8.8", allowLocal: 1 } as never;
  expect(() => createCatalog(wrong)).toThrow(ConfigError);
  expect(() => createCatalog(wrong)).toThrow(/allowLocal[\s\S]*lookup[\s\S]*unverified: expected one of last, show/);
});
