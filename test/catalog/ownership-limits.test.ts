import { EventEmitter, once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { CatalogEntry } from "@farebox/bazaar/facilitator";
import { type CatalogStore, createCatalog } from "@farebox/catalog";
import { createSqliteCatalogStore } from "@farebox/catalog/sqlite";
import { ConfigError } from "@farebox/core";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { openLibrary, PAYEE, paymentFor } from "./library.js";
import { challengeOf, entriesOf, LATER, openHere, payeesOf, SQUATTER, serve, settle } from "./sellers.js";

// No limit of time ends a check or a payment, however busy the machine is.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

describe("an entry whose server stops selling", () => {
  const HOUR = 3_600_000;

  /** A listed service, and its server. `later` lets time pass, with a check each hour. */
  async function openListed(unverified: "last" | "hide") {
    let now = Date.parse("2026-01-31T12:00:00.000Z");
    const shop = await openHere({ now: () => now, owners: { unverified } });
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
    await later(5 * 24 - 2);
    expect(await entriesOf(shop)).toHaveLength(1);
    await later(1);
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

  test("gets four requests at once, ten in a burst and one more each second, and every claim has its turn", async () => {
    let now = 1_000_000;
    const shop = await openHere({ now: () => now });
    const paths = new Set<string | undefined>();
    let open = 0;
    let most = 0;
    const { url } = await serve((req, res) => {
      paths.add(req.url);
      open += 1;
      most = Math.max(most, open);
      // Others come in the meantime, if they are sent.
      const wait = async () => {
        for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
        open -= 1;
        res.writeHead(404).end();
      };
      void wait();
    });
    await shop.list(...Array.from({ length: 24 }, (_, at) => claim(`${url}/${at}`)));
    const counts: number[] = [];
    for (let seconds = 0; seconds < 30; seconds++) {
      await shop.catalog.checkDue();
      counts.push(paths.size);
      now += 1_000;
    }
    expect(most).toBeLessThanOrEqual(4);
    expect(counts.filter((count, seconds) => count > 10 + seconds)).toEqual([]);
    // The document, and each resource.
    expect(counts.at(-1)).toBe(25);
  });

  test("gets no more requests by many names", async () => {
    let now = 1_000_000;
    const shop = await openHere({ now: () => now, owners: { unverified: "hide", lookup: async () => ["127.0.0.1"] } });
    let requests = 0;
    const { url } = await serve((_req, res) => {
      requests += 1;
      res.writeHead(404).end();
    });
    const { port } = new URL(url);
    await shop.list(...Array.from({ length: 60 }, (_, at) => claim(`http://h${at}.example.com:${port}/sold`)));
    await shop.catalog.checkDue();
    expect(requests).toBe(20);
    now += 1_000;
    await shop.catalog.checkDue();
    expect(requests).toBe(30);
  });

  test("gets one request for many claims of one resource, and another only after a while", async () => {
    let now = 1_000_000;
    const shop = await openHere({ now: () => now });
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
    const sent = paths.length;
    for (let again = 0; again < 3; again++) await shop.list(...squatters.slice(20));
    await shop.catalog.checkDue();
    expect(paths.length).toBe(sent);
    now += 11 * 60_000;
    await shop.catalog.checkDue();
    expect(paths.length).toBeGreaterThan(sent);
  });
});

test("squatters who pay while the owner is checked do not push the owner out", async () => {
  const shop = await openHere();
  const door = new EventEmitter();
  const requested = once(door, "request");
  const opened = once(door, "open");
  const { url } = await serve(async (_req, res) => {
    door.emit("request");
    await opened;
    res.writeHead(402).end(JSON.stringify(challengeOf(`${url}/sold`)));
  });
  const claim = (payTo: string) => ({ url: `${url}/sold`, terms: { payTo } });
  await shop.list(claim(PAYEE));
  await requested;
  await shop.list(...Array.from({ length: 40 }, (_, at) => claim(`0x${String(at).padStart(40, "0")}`)));
  door.emit("open");
  await shop.catalog.checkDue();
  expect(payeesOf(await entriesOf(shop))).toEqual([["/sold", PAYEE]]);
});

test("a seller who mends the cause of failed checks is listed after the next payment", async () => {
  let now = 1_000_000;
  const shop = await openHere({ now: () => now });
  let isDeployed = false;
  const { url } = await serve((_req, res) => {
    res.writeHead(isDeployed ? 402 : 404).end(JSON.stringify(challengeOf(`${url}/sold`)));
  });
  const challenge = challengeOf(`${url}/sold`);
  await settle(shop, {}, challenge);
  for (let hours = 0; hours < 9; hours++) {
    await shop.catalog.checkDue();
    now += 3_600_000;
  }
  isDeployed = true;
  await settle(shop, {}, challenge);
  await shop.catalog.checkDue();
  expect(payeesOf(await entriesOf(shop))).toEqual([["/sold", PAYEE]]);
});

test("a server that does not respond gets one request in a check", async () => {
  const shop = await openHere();
  const requests: (string | undefined)[] = [];
  const { url } = await serve((req) => {
    requests.push(req.url);
    req.socket.destroy();
  });
  await shop.list({ url: `${url}/sold` });
  await shop.catalog.checkDue();
  expect(requests).toEqual(["/.well-known/x402"]);
});

describe("what no server confirms", () => {
  const tool = { info: { input: { type: "mcp", toolName: "add", inputSchema: {} } }, schema: {} };
  const squatter = { terms: { payTo: SQUATTER } };

  test("a name without a server is rejected where unconfirmed services are hidden, and listed where they are shown", async () => {
    const hiding = await openHere();
    expect((await hiding.post("/settle", paymentFor({ url: "mcp://tool/add", bazaar: tool }))).outcome).toEqual({
      bazaar: { status: "rejected", rejectedReason: expect.stringMatching(/^the resource names no server/) },
    });
    const showing = await openHere({ owners: { unverified: "last" } });
    expect((await showing.post("/settle", paymentFor({ url: "mcp://tool/add", bazaar: tool }))).outcome).toEqual({
      bazaar: { status: "success" },
    });
    expect((await entriesOf(showing))[0]).toMatchObject({ resource: "mcp://tool/add" });
  });

  test("a private address gets no connection, whatever DNS says", async () => {
    let connections = 0;
    const server = createServer().on("connection", () => {
      connections += 1;
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const lookup = async () => ["93.184.215.14", "127.0.0.1"];
    const shop = await openHere({ allowLocal: false, owners: { lookup } });
    const url = `https://api.example.com:${port}/weather`;
    expect((await shop.post("/settle", paymentFor({ url }))).outcome).toEqual({ bazaar: { status: "processing" } });
    await shop.catalog.checkDue();
    expect((await shop.post("/settle", paymentFor({ url }))).outcome).toEqual({
      bazaar: { status: "rejected", rejectedReason: `the server of the URL has a private address${LATER}` },
    });
    expect([connections, await entriesOf(shop)]).toEqual([0, []]);
  });

  test("unconfirmed services come last in a search, however often they pay themselves", async () => {
    const shop = await openHere({ owners: { unverified: "last" } });
    const { url } = await serve((req, res) => {
      const own = `http://${req.headers.host}${req.url}`;
      res.writeHead(req.url?.startsWith("/sold") ? 402 : 500).end(JSON.stringify(challengeOf(own)));
    });
    await shop.list({ url: `${url}/sold/weather`, description: "Something else, and weather too" });
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
    expect(await search("")).toEqual(["/sold/weather", "/weather"]);
    expect(await search("&verified=true")).toEqual(["/sold/weather"]);
    expect(await search("&verified=false")).toEqual(["/weather"]);
  });

  test("an entry that an older version wrote without saying whether it is verified is found behind the others", async () => {
    const store = createSqliteCatalogStore();
    const former: CatalogStore = {
      ...store,
      update: (key, decide) =>
        store.update(key, (found) => {
          const change = decide(found);
          // The last two say whether it is verified, and its extension.
          return typeof change === "object" ? { ...change, facets: change.facets.slice(0, -2) } : change;
        }),
    };
    const offer = { url: "https://api.example.com/weather" };
    await (await openHere({ store: former, owners: { checkOwners: false } })).list(offer);
    const shop = await openHere({ store, owners: { unverified: "last" } });
    const { json } = await shop.get("/discovery/search?query=weather");
    expect(json["resources"]).toMatchObject([{ resource: offer.url }]);
  });

  test("payments to oneself do not raise a rank among unconfirmed services", async () => {
    const shop = await openHere({ allowLocal: false, owners: { unverified: "show", lookup: async () => [] } });
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
  const options = { store, allowLocal: true, unverified: "hide", embedder: false } as const;
  const others = Array.from({ length: 3 }, () => createCatalog(options));
  const shop = await openHere({ store, owners: { unverified: "hide" } });
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
  const requested = new Promise<void>((resolve) => void serve(() => resolve()).then(({ url }) => shop.list({ url })));
  await requested;
  await shop.close();
});

test("wrong options are refused, with every issue at once", () => {
  const store = createSqliteCatalogStore();
  const wrong = { store, unverified: "hide", checkOwners: false, lookup: "8.8.8.8", allowLocal: 1 } as never;
  expect(() => createCatalog(wrong)).toThrow(ConfigError);
  expect(() => createCatalog(wrong)).toThrow(/allowLocal[\s\S]*lookup[\s\S]*unverified: expected one of last, show/);
});
