import { describe, expect, test } from "vitest";
import { createPaymentsGate } from "../engine.js";
import { ConfigError } from "../errors.js";
import type { PriceFunction, RouteConfig } from "../options.js";
import {
  admissionOf,
  createFakeFacilitator,
  createShop,
  createTestScheme,
  decodeHeader,
  HANDLED,
  NETWORK,
  PAY_TO,
  REQUEST,
  responseOf,
} from "./shop.fixture.js";

const WAY = { network: NETWORK, payTo: PAY_TO } as const;
const LIVE: PriceFunction = () => "$0.01";
const GIVEN = { networks: [NETWORK], payTo: { [NETWORK]: PAY_TO } };

/** The issues of a route as `path: expected`. */
function issuesOf(route: object, options: object = {}): readonly string[] {
  try {
    createPaymentsGate(
      { "GET /a": route },
      { facilitator: createFakeFacilitator(), ...options },
      { schemes: [createTestScheme()] },
    );
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.issues.map(({ path, expected }) => `${path}: ${expected}`);
    throw error;
  }
}

describe("a price of zero", () => {
  const at = 'routes["GET /a"]';
  const REFUSED = "price: a price above zero, or free: true for a free route";

  test.each<[route: object, why: string]>([
    [{ accepts: { ...WAY, price: "$0" } }, "dollars"],
    [{ accepts: { ...WAY, price: "$0.00" } }, "with decimals"],
    [{ accepts: { ...WAY, price: "0 USDC" } }, "by a ticker"],
    [{ accepts: { ...WAY, price: { asset: "0xA", amount: "0" } } }, "in atomic units"],
    [{ accepts: { ...WAY, price: "$0" }, free: false }, "and no other word"],
    [{ accepts: { network: NETWORK, price: "$0", payTo: () => PAY_TO } }, "to somebody by request"],
  ])("is refused at start: %j (%s)", (route) => {
    expect(issuesOf(route)).toEqual([`${at}.accepts.${REFUSED}`]);
  });

  test("of a scheme of one's own is refused, whatever it is called there", () => {
    const scheme = createTestScheme({
      compileTerms: ({ payTo }) => ({
        ok: true,
        asset: { id: "points", symbol: "points", decimals: 0, extra: {} },
        amount: 0n,
        payTo,
      }),
    });
    const table = { "GET /a": { accepts: { ...WAY, price: "nothing" } } } as never;
    expect(() => createPaymentsGate(table, { facilitator: createFakeFacilitator() }, { schemes: [scheme] })).toThrow(
      "a price above zero",
    );
  });

  test.each<[route: object, options?: object]>([
    [{ accepts: { ...WAY, price: "$0" }, free: true }],
    [
      {
        accepts: [
          { ...WAY, price: "$0" },
          { ...WAY, price: { asset: "0xA", amount: "0" } },
        ],
        free: true,
      },
    ],
    [{ accepts: { network: NETWORK, price: "$0", payTo: () => PAY_TO }, free: true }],
    [{ price: "$0", free: true }],
    [{ price: "0.00 USD", free: true }, GIVEN],
    [{ price: LIVE, free: true }, GIVEN],
    [{ price: LIVE, free: false }, GIVEN],
  ])("is no mistake where the route says that it is free, or may be: %j", (route, options = {}) => {
    expect(issuesOf(route, options)).toEqual([]);
  });

  test.each<[route: object, issue: string, why: string]>([
    [{ accepts: { ...WAY, price: "$0.01" }, free: true }, ".free: a price that is zero or", "a price that is not zero"],
    [
      {
        accepts: [
          { ...WAY, price: "$0" },
          { ...WAY, price: "$1" },
        ],
        free: true,
      },
      ".accepts: a price of zero for every payment option",
      "clients would take the free one",
    ],
    [
      {
        accepts: [
          { ...WAY, price: "$0" },
          { ...WAY, price: LIVE },
        ],
        free: true,
      },
      ".accepts: a price of zero for every payment option",
      "and here too",
    ],
    [{ accepts: { ...WAY, price: "$0" }, free: "yes" }, ".free: true or false", "a text"],
    [{ accepts: { ...WAY, price: "0" }, free: true }, ".accepts.price: a dollar price", "zero of what?"],
    [{ price: "0", free: true }, "options.networks: the networks on which", "zero of what?"],
    [{ free: true }, ": accepts, or a price", "no price"],
    [{ accepts: { ...WAY, price: "$-0" }, free: true }, ".accepts.price: a dollar price", "a sign"],
    [{ accepts: { network: NETWORK, price: "$0" }, free: true }, ".accepts.payTo: the address", "the rest is checked"],
  ])("is said in a way that is refused: %j: %s (%s)", (route, issue) => {
    expect(issuesOf(route).join("\n")).toContain(issue);
  });
});

describe("a key that is free", () => {
  const ROUTES: Readonly<Record<string, RouteConfig>> = {
    "GET /api/*": { accepts: { ...WAY, price: "$0.01" } },
    "GET /api/health": { price: "$0", free: true },
    "GET /alone": { price: "$0", free: true },
  };
  const { ask, engine, facilitator } = createShop({ routes: ROUTES as never });
  const kindOf = async (path: string, request = {}) => {
    const decision = await ask({ path, ...request });
    return decision.kind === "respond" ? decision.response.status : decision.kind;
  };

  test.each<[path: string, kind: string | number, why: string]>([
    ["/api/health", "pass", "written just so"],
    ["/api/weather", 402, "the rest is priced"],
    ["/api/Health", 402, "another spelling may be another file"],
    ["/api/health/", 402, "a slash too"],
    ["/api/he%61lth", 400, "and an encoding, where no router says who would get it"],
    ["/alone", "pass", "where nothing else is priced"],
    ["/Alone", "pass", "in whatever spelling"],
  ])("%s is %s: %s", async (path, kind) => {
    expect(await kindOf(path)).toBe(kind);
  });

  test("is free for HEAD as for GET, and for no other method", async () => {
    expect(await kindOf("/api/health", { method: "HEAD" })).toBe("pass");
    expect(await kindOf("/api/health", { method: "POST" })).toBe("pass");
    const both = createShop({ routes: { ...ROUTES, "/api/*": { accepts: { ...WAY, price: "$0.02" } } } as never });
    expect((await both.ask({ path: "/api/health", method: "POST" })).kind).toBe("respond");
  });

  test("is not free where routers may read another path than this", async () => {
    expect(await kindOf("/api/health", { isUnclear: true })).not.toBe("pass");
  });

  test("is in the report as what it is, and asks nobody anything", () => {
    const free = engine.report().routes.find(({ key }) => key === "GET /api/health");
    expect(free?.offers).toEqual([]);
    expect(facilitator.calls).toEqual([]);
  });

  test("prices nothing as the price of one route either", async () => {
    const gate = engine.charge({ price: "$0", free: true });
    const place = () => ({ routeTemplate: "/x", pathParams: {} });
    expect(await gate.decide(REQUEST, place)).toEqual({ kind: "pass", isGranted: false });
  });
});

describe("a price by request that is zero", () => {
  function createMarket(free: boolean | undefined) {
    const market: { price: unknown } = { price: "$0" };
    const accepts = { ...WAY, price: (() => market.price) as PriceFunction };
    const shop = createShop({ routes: { "GET /weather": { accepts, ...(free === undefined ? {} : { free }) } } });
    return { ...shop, market };
  }

  test.each<[price: unknown]>([["$0"], ["0.00 USDC"], [{ asset: "0xA", amount: "0" }]])(
    "lets the request through without payment where the route says free: %j",
    async (price) => {
      const { ask, market, engine, facilitator } = createMarket(true);
      const granted: unknown[] = [];
      engine.on("granted", ({ route }) => granted.push(route));
      market.price = price;
      expect(await ask()).toEqual({ kind: "pass", isGranted: true });
      expect([granted, facilitator.calls]).toEqual([["GET /weather"], []]);
      market.price = "$0.01";
      expect(responseOf(await ask()).status).toBe(402);
    },
  );

  test.each([undefined, false])("is answered 503 where it does not: free: %s", async (free) => {
    const { ask, log } = createMarket(free);
    expect(responseOf(await ask()).status).toBe(503);
    expect(log.map(({ event }) => event)).toContain("decision_failed");
  });

  test("of one way to pay and not of another is answered 503: clients would take the free one", async () => {
    const accepts = [
      { ...WAY, price: () => "$0" as const },
      { ...WAY, price: LIVE },
    ];
    const { ask } = createShop({ routes: { "GET /weather": { accepts, free: true } } });
    expect(responseOf(await ask()).status).toBe(503);
  });

  test("uses no payment up, and a price that was told before holds", async () => {
    const { ask, pay, market, facilitator } = createMarket(true);
    expect(await pay()).toEqual({ kind: "pass", isGranted: true });
    market.price = "$0.01";
    const { headers } = responseOf(await ask());
    const [offer] = decodeHeader(headers["payment-required"])["accepts"] as Record<string, string>[];
    market.price = "$0";
    const admission = admissionOf(await pay({ accepted: offer as never }));
    await admission.complete(HANDLED);
    expect(facilitator.calls.map(({ request }) => request.paymentRequirements.amount)).toEqual(["10000", "10000"]);
  });
});
