/**
 * Payments of strangers to a seller whose entry is confirmed: anyone can pay, with words, a question and a moment of his own.
 */
import type { RequestListener } from "node:http";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ASSET, declare, NETWORK, PAYEE, paymentFor } from "./library.js";
import { type Challenge, challengeOf, entriesOf, openHere, SQUATTER, serve, settle } from "./sellers.js";

// No limit of time ends a check or a payment, however busy the machine is.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How a server answers that is up: with a document of the routes, or with the 402 of the route alone. */
const SERVERS = {
  document:
    (challenge: Challenge): RequestListener =>
    ({ url }, res) => {
      const { resource, accepts, extensions } = challenge;
      const item = { ...resource, resource: resource.url, method: "GET", accepts, extensions };
      const document = { items: [item] };
      res.writeHead(url === "/.well-known/x402" ? 200 : 404).end(JSON.stringify(document));
    },
  challenge:
    (challenge: Challenge): RequestListener =>
    ({ url }, res) =>
      void res.writeHead(url === "/.well-known/x402" ? 404 : 402).end(JSON.stringify(challenge)),
};
const DOWN = {
  "503": (_req, res) => void res.writeHead(503).end(),
  "404": (_req, res) => void res.writeHead(404).end(),
  refused: (req) => void req.socket.destroy(),
  "another payee": (req, res) => {
    const isDocument = req.url === "/.well-known/x402";
    const challenge = challengeOf(`http://${req.headers.host}/sold`);
    const accepts = challenge.accepts.map((offer) => ({ ...offer, payTo: SQUATTER }));
    const item = { resource: challenge.resource.url, method: "GET", accepts, extensions: challenge.extensions };
    const body = isDocument ? { items: [item] } : { ...challenge, accepts };
    res.writeHead(isDocument ? 200 : 402).end(JSON.stringify(body));
  },
} satisfies Record<string, RequestListener>;

/** A confirmed service, and its server. `at` sets the time and checks what is due. */
async function openListed(kind: keyof typeof SERVERS = "document", bazaar: object = declare()) {
  let now = Date.parse("2026-01-31T12:00:00.000Z");
  const start = now;
  const shop = await openHere({ now: () => now });
  let respond: RequestListener = () => {};
  let requests = 0;
  const { url } = await serve((req, res) => {
    requests += 1;
    respond(req, res);
  });
  const { accepts } = challengeOf("");
  const challenge = {
    resource: { url: `${url}/sold`, description: "Weather for a city", mimeType: "application/json" },
    accepts: accepts.map((offer) => ({ ...offer, extra: { name: "USDC", version: "2" } })),
    extensions: { bazaar },
  };
  const up = SERVERS[kind](challenge);
  respond = up;
  await settle(shop, {}, challenge);
  await shop.catalog.checkDue();
  const at = async (ms: number) => {
    now = start + ms;
    await shop.catalog.checkDue();
  };
  const payOtherwise = (words: string) =>
    settle(shop, {}, { ...challenge, resource: { url: `${url}/sold`, description: words } });
  return {
    ...{ shop, url, challenge, at, payOtherwise },
    turn: (next: RequestListener = up) => {
      respond = next;
    },
    requests: () => requests,
    isShown: async () => (await entriesOf(shop)).length === 1,
  };
}

const CASES = Object.keys(SERVERS).flatMap((kind) =>
  Object.keys(DOWN).map((how) => [kind as keyof typeof SERVERS, how as keyof typeof DOWN] as const),
);

describe("while the server of a confirmed entry fails", () => {
  test.each(CASES)("payments in other words hide nothing (%s, %s)", async (kind, how) => {
    const { at, payOtherwise, turn, isShown, requests } = await openListed(kind);
    turn(DOWN[how]);
    const before = requests();
    for (let turns = 1; turns <= 12; turns++) {
      await at(turns * 11 * MINUTE);
      expect(await payOtherwise(`other words ${turns}`)).toEqual({ status: "success" });
      await at(turns * 11 * MINUTE);
    }
    expect(requests()).toBeGreaterThan(before + 10);
    expect(await isShown()).toBe(true);
  });

  test.each(CASES)("and afterwards, the entry fares no worse than without strangers (%s, %s)", async (kind, how) => {
    const run = async (hasStranger: boolean) => {
      const { at, payOtherwise, turn, isShown } = await openListed(kind);
      const shown: boolean[] = [];
      turn(DOWN[how]);
      for (let hours = 23; hours < 30; hours += 0.25) {
        await at(hours * HOUR);
        if (hasStranger) await payOtherwise(`other words ${hours}`);
        await at(hours * HOUR);
        shown.push(await isShown());
      }
      turn();
      for (let hours = 30; hours < 34; hours += 0.25) {
        await at(hours * HOUR);
        shown.push(await isShown());
      }
      return shown;
    };
    const [alone, visited] = [await run(false), await run(true)];
    expect(alone).toContain(false);
    expect(visited.filter((isShown, at) => alone[at] && !isShown)).toEqual([]);
  });
});

describe("an entry that failed checks have hidden", () => {
  const hide = async (down: RequestListener, forMs: number) => {
    const listed = await openListed();
    listed.turn(down);
    for (let ms = DAY; ms <= DAY + forMs; ms += 5 * MINUTE) await listed.at(ms);
    expect(await listed.isShown()).toBe(false);
    listed.turn();
    return { ...listed, later: (ms: number) => listed.at(DAY + forMs + ms) };
  };

  test("comes back ten minutes after a server that was away for an hour", async () => {
    const { later, isShown } = await hide(DOWN["503"], HOUR);
    await later(10 * MINUTE);
    expect(await isShown()).toBe(true);
  });

  test.each(["503", "404"] as const)(
    "comes back an hour after a server that was away for three days: %s",
    async (how) => {
      const { later, isShown } = await hide(DOWN[how], 3 * DAY);
      await later(HOUR);
      expect(await isShown()).toBe(true);
    },
  );

  test.each([
    ["of an honest buyer", undefined],
    ["in other words", "other words"],
  ])("comes back at once with a payment %s", async (_whose, description) => {
    const { later, isShown, shop, challenge, payOtherwise } = await hide(DOWN["503"], 2 * DAY);
    await later(2 * MINUTE);
    expect(await isShown()).toBe(false);
    if (description === undefined) await settle(shop, {}, challenge);
    else await payOtherwise(description);
    await later(2 * MINUTE);
    expect(await isShown()).toBe(true);
  });
});

describe("a stranger's payment for a confirmed entry", () => {
  const PARAMS = { type: "object", properties: { city: { type: "string", description: "a city" } } };
  const schemaWith = (pathParams: object) => ({
    type: "object",
    properties: { input: { type: "object", properties: { pathParams } } },
  });

  test.each<[what: string, bazaar: object]>([
    [
      "the schema of path parameters",
      { info: { input: { type: "http", method: "GET" } }, schema: schemaWith({ description: "Buy mine", ...PARAMS }) },
    ],
    [
      "the values of path parameters",
      {
        info: { input: { type: "http", method: "GET", pathParams: { city: "Buy mine" } } },
        schema: schemaWith(PARAMS),
      },
    ],
  ])("shows nothing of %s", async (_what, bazaar) => {
    const own = { info: { input: { type: "http", method: "GET" } }, schema: schemaWith(PARAMS) };
    const { shop, at, challenge } = await openListed("document", own);
    const before = await entriesOf(shop);
    await at(MINUTE);
    await settle(shop, {}, { ...challenge, extensions: { bazaar } });
    await at(MINUTE);
    const [entry] = await entriesOf(shop);
    expect(JSON.stringify(entry)).not.toContain("Buy mine");
    expect(entry?.extensions).toEqual(before[0]?.extensions);
  });

  test("says when it came, if it declares what the entry says", async () => {
    const { shop, at, challenge } = await openListed();
    await at(MINUTE);
    await settle(shop, {}, challenge);
    expect((await entriesOf(shop))[0]?.lastUpdated).toBe("2026-01-31T12:01:00.000Z");
  });

  test("does not choose the request by which the server is asked, while the seller's own is answered", async () => {
    let now = Date.parse("2026-01-31T12:00:00.000Z");
    const shop = await openHere({ now: () => now });
    // The price depends on the city.
    const { url } = await serve((req, res) => {
      const city = req.url?.split("/").at(2);
      if (city === undefined) return void res.writeHead(404).end();
      const challenge = challengeAt(city);
      const amount = city === "cheap" ? "1" : "1000";
      const accepts = challenge.accepts.map((offer) => ({ ...offer, amount }));
      res.writeHead(402).end(JSON.stringify({ ...challenge, accepts }));
    });
    const challengeAt = (city: string) => {
      const info = { input: { type: "http", method: "GET", pathParams: { city } } };
      return challengeOf(`${url}/weather/${city}`, declare({ routeTemplate: "/weather/:city", info }));
    };
    await settle(shop, {}, challengeAt("lisbon"));
    await shop.catalog.checkDue();
    now += HOUR;
    await settle(shop, { amount: "7" }, challengeAt("cheap"));
    await shop.catalog.checkDue();
    expect((await entriesOf(shop))[0]).toMatchObject({
      accepts: [{ amount: "1000" }],
      verifiedAt: "2026-01-31T13:00:00.000Z",
    });
  });

  test("shows the server's new example where the former one is gone", async () => {
    let now = Date.parse("2026-01-31T12:00:00.000Z");
    const shop = await openHere({ now: () => now });
    let sold = "lisbon";
    const challengeAt = (city: string) => {
      const info = { input: { type: "http", method: "GET", pathParams: { city } } };
      return challengeOf(`${url}/weather/${city}`, declare({ routeTemplate: "/weather/:city", info }));
    };
    const { url } = await serve((req, res) => {
      const isSold = req.url?.split("?")[0] === `/weather/${sold}`;
      res.writeHead(isSold ? 402 : 404).end(JSON.stringify(challengeAt(sold)));
    });
    await settle(shop, {}, challengeAt("lisbon"));
    await shop.catalog.checkDue();
    sold = "porto";
    now += HOUR;
    await settle(shop, { amount: "7" }, challengeAt("porto"));
    await shop.catalog.checkDue();
    expect((await entriesOf(shop))[0]).toMatchObject({ verifiedAt: "2026-01-31T13:00:00.000Z" });
  });

  test("takes no check away from a confirmed offer by a request that the server does not answer", async () => {
    let now = Date.parse("2026-01-31T12:00:00.000Z");
    const shop = await openHere({ now: () => now });
    const challengeAt = (city: string) => {
      const info = { input: { type: "http", method: "GET", pathParams: { city } } };
      return challengeOf(`${url}/weather/${city}`, declare({ routeTemplate: "/weather/:city", info }));
    };
    const { url } = await serve((req, res) => {
      if (req.url?.startsWith("/weather/slow") === true) return void req.socket.destroy();
      if (req.url?.startsWith("/weather/") !== true) return void res.writeHead(404).end();
      res.writeHead(402).end(JSON.stringify(challengeAt("lisbon")));
    });
    await settle(shop, {}, challengeAt("lisbon"));
    await shop.catalog.checkDue();
    for (let day = 1; day < 4; day++) {
      now += DAY;
      const squatters = [SQUATTER, PAYEE].map((payTo) => settle(shop, { payTo, amount: "1" }, challengeAt("slow")));
      await Promise.all(squatters);
      await shop.catalog.checkDue();
    }
    expect((await entriesOf(shop))[0]).toMatchObject({ verifiedAt: "2026-02-03T12:00:00.000Z" });
  });
});

test.each(["document", "challenge"] as const)(
  "of two prices for the same terms the higher one is listed (%s)",
  async (kind) => {
    const shop = await openHere();
    const { url } = await serve((req, res) => {
      const challenge = challengeOf(`${url}/sold`);
      const accepts = ["1", "5000000", "70"].flatMap((amount) =>
        challenge.accepts.map((offer) => ({ ...offer, amount })),
      );
      SERVERS[kind]({ ...challenge, accepts })(req, res);
    });
    await settle(shop, {}, challengeOf(`${url}/sold`));
    await shop.catalog.checkDue();
    expect((await entriesOf(shop))[0]?.accepts).toMatchObject([{ amount: "5000000" }]);
  },
);

test("a stranger who pays under other escapes of the path makes no second entry", async () => {
  const shop = await openHere();
  const { url } = await serve((req, res) => {
    const isSold = req.url?.includes("?") === true;
    res.writeHead(isSold ? 402 : 404).end(JSON.stringify(challengeOf(`${url}${req.url}`)));
  });
  for (const path of ["/sold", "/%73old", "/s%6fld", "/%53%4F%4C%44"]) await settle(shop, {}, challengeOf(url + path));
  await shop.catalog.checkDue();
  expect((await entriesOf(shop)).map(({ resource }) => resource)).toEqual([`${url}/sold`, `${url}/SOLD`]);
});

describe("a price that the server says to the catalog alone", () => {
  /** A server whose document says less than its 402. */
  async function openBait(status = 402) {
    let now = Date.parse("2026-01-31T12:00:00.000Z");
    const shop = await openHere({ now: () => now });
    const { url } = await serve((req, res) => {
      const challenge = challengeOf(`${url}/sold`);
      const [offer] = challenge.accepts;
      const accepts = [{ ...offer, amount: "1" }];
      const item = { resource: challenge.resource.url, method: "GET", accepts, extensions: challenge.extensions };
      const isDocument = req.url === "/.well-known/x402";
      res.writeHead(isDocument ? 200 : status).end(JSON.stringify(isDocument ? { items: [item] } : challenge));
    });
    const buy = async (hours: number) => {
      now += hours * HOUR;
      await settle(shop, {}, challengeOf(`${url}/sold`));
      await shop.catalog.checkDue();
      return (await entriesOf(shop))[0]?.accepts[0]?.amount;
    };
    const wait = async (hours: number) => {
      now += hours * HOUR;
      await shop.catalog.checkDue();
      return (await entriesOf(shop))[0]?.accepts[0]?.amount;
    };
    return { buy, wait };
  }

  test("is corrected after somebody has paid more, and stays so", async () => {
    const { buy, wait } = await openBait();
    expect([await buy(0), await buy(1), await wait(25), await wait(25)]).toEqual(["1", "1000", "1000", "1000"]);
  });

  test("stays where the resource says none, so a payment of too much does not harm a seller", async () => {
    const { buy, wait } = await openBait(400);
    expect([await buy(0), await buy(1), await wait(25)]).toEqual(["1", "1", "1"]);
  });
});

test("a stranger's payments do not have an unconfirmed claim forgotten while its server is down", async () => {
  let now = Date.parse("2026-01-31T12:00:00.000Z");
  const shop = await openHere({ now: () => now });
  let isDown = true;
  const { url } = await serve((_req, res) => {
    res.writeHead(isDown ? 503 : 402).end(JSON.stringify(challengeOf(`${url}/sold`)));
  });
  await settle(shop, {}, challengeOf(`${url}/sold`));
  await shop.catalog.checkDue();
  for (let turns = 0; turns < 5; turns++) {
    now += 11 * MINUTE;
    await settle(shop, { amount: "7" }, challengeOf(`${url}/sold`));
    await shop.catalog.checkDue();
  }
  isDown = false;
  for (let hours = 0; hours < 6; hours++) {
    now += HOUR;
    await shop.catalog.checkDue();
  }
  expect(await entriesOf(shop)).toMatchObject([{ verified: true, accepts: [{ amount: "1000" }] }]);
});

describe("a tool by name whose payee has confirmed services", () => {
  const TOOL = { info: { input: { type: "mcp", toolName: "solo", inputSchema: {} } }, schema: {} };
  const accepts = [{ scheme: "exact", network: NETWORK, amount: "1000", asset: ASSET, payTo: PAYEE }];

  /** A server that says that it sells services and the tool for the payee. */
  async function openNaming(shop: Awaited<ReturnType<typeof openHere>>, paths: readonly string[]) {
    const { url } = await serve((_req, res) => {
      const services = paths.map((path) => ({
        resource: url + path,
        method: "GET",
        accepts,
        extensions: { bazaar: declare() },
      }));
      const tool = { resource: "mcp://tool/solo", type: "mcp", toolName: "solo", serverUrl: `${url}/mcp`, accepts };
      res.end(JSON.stringify({ items: [...services, tool] }));
    });
    for (const path of paths) {
      await shop.list({ url: url + path });
      await shop.catalog.checkDue();
    }
    return url;
  }
  const sellTool = async (shop: Awaited<ReturnType<typeof openHere>>, serverUrl?: string) => {
    const bazaar = { ...TOOL, ...(serverUrl === undefined ? {} : { serverUrl }) };
    const { outcome } = await shop.post("/settle", paymentFor({ url: "mcp://tool/solo", bazaar }));
    await shop.catalog.checkDue();
    return (outcome as { bazaar: object }).bazaar;
  };
  const toolOf = async (shop: Awaited<ReturnType<typeof openHere>>) =>
    (await entriesOf(shop)).find(({ toolName }) => toolName === "solo");

  test.each([
    ["two servers", ["/a"], ["/b"]],
    ["two servers, one of them with many services", Array.from({ length: 30 }, (_, at) => `/${at}`), ["/b"]],
    ["more services than the catalog looks at", Array.from({ length: 101 }, (_, at) => `/${at}`), []],
  ])("is at none of %s, and the reason says the remedy", async (_what, first, second) => {
    let now = 1_000_000;
    const shop = await openHere({ now: () => now });
    for (const paths of [first, second]) {
      await openNaming(shop, paths);
      now += HOUR;
    }
    expect(await sellTool(shop)).toEqual({
      status: "rejected",
      rejectedReason: expect.stringMatching(/its payee sells at several servers; set serverUrl/),
    });
    expect(await toolOf(shop)).toBeUndefined();
  });

  test("is unverified at several servers, where such services are shown", async () => {
    const shop = await openHere({ owners: { unverified: "last" } });
    await openNaming(shop, ["/a"]);
    await openNaming(shop, ["/b"]);
    expect(await sellTool(shop)).toEqual({ status: "success" });
    expect(await toolOf(shop)).not.toHaveProperty("verified");
    expect(await toolOf(shop)).not.toHaveProperty("serverUrl");
  });

  test("stays at the server that has confirmed it, when another one names the payee later", async () => {
    const shop = await openHere();
    const url = await openNaming(shop, ["/a"]);
    expect(await sellTool(shop)).toEqual({ status: "processing" });
    await openNaming(shop, ["/b"]);
    expect(await sellTool(shop)).toEqual({ status: "success" });
    expect(await toolOf(shop)).toMatchObject({ verified: true, serverUrl: `${url}/mcp` });
  });
});
