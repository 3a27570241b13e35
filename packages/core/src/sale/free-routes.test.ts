import { describe, expect, test } from "vitest";
import { createPaymentsGate } from "../engine.js";
import { ConfigError } from "../errors.js";
import { SILENT } from "../events/logger.js";
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

const TERMS = { network: NETWORK, payTo: PAY_TO } as const;
const DYNAMIC: PriceFunction = () => "$0.01";
const DEFAULTS = { networks: [NETWORK], payTo: { [NETWORK]: PAY_TO } };

/** The issues of a route as `path: expected`. */
function issuesOf(route: object, options: object = {}): readonly string[] {
  try {
    createPaymentsGate(
      { "GET /a": route },
      { facilitator: createFakeFacilitator(), logger: SILENT, ...options },
      { schemes: [createTestScheme()] },
    );
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.issues.map(({ path, expected }) => `${path}: ${expected}`);
    throw error;
  }
}

describe("a fixed price of zero", () => {
  const at = 'routes["GET /a"]';
  const REFUSED = "price: a price above zero, or free: true for a free route";

  test.each<[route: object, why: string]>([
    [{ accepts: { ...TERMS, price: "$0" } }, "dollars"],
    [{ accepts: { ...TERMS, price: "$0.00" } }, "with decimals"],
    [{ accepts: { ...TERMS, price: "0 USDC" } }, "by a ticker"],
    [{ accepts: { ...TERMS, price: { asset: "0xA", amount: "0" } } }, "in atomic units"],
    [{ accepts: { ...TERMS, price: "$0" }, free: false }, "with free: false"],
    [{ accepts: { network: NETWORK, price: "$0", payTo: () => PAY_TO } }, "with a dynamic payTo"],
  ])("a zero price is an issue at startup without free: true: %j (%s)", (route) => {
    expect(issuesOf(route)).toEqual([`${at}.accepts.${REFUSED}`]);
  });

  test("a zero price is an issue at startup when the seller's own scheme compiles it", () => {
    const scheme = createTestScheme({
      compileTerms: ({ payTo }) => ({
        ok: true,
        asset: { id: "points", symbol: "points", decimals: 0, extra: {} },
        amount: 0n,
        payTo,
      }),
    });
    const table = { "GET /a": { accepts: { ...TERMS, price: "nothing" } } } as never;
    expect(() => createPaymentsGate(table, { facilitator: createFakeFacilitator() }, { schemes: [scheme] })).toThrow(
      "a price above zero",
    );
  });

  test.each<[route: object, options?: object]>([
    [{ accepts: { ...TERMS, price: "$0" }, free: true }],
    [
      {
        accepts: [
          { ...TERMS, price: "$0" },
          { ...TERMS, price: { asset: "0xA", amount: "0" } },
        ],
        free: true,
      },
    ],
    [{ accepts: { network: NETWORK, price: "$0", payTo: () => PAY_TO }, free: true }],
    [{ price: "$0", free: true }],
    [{ price: "0.00 USD", free: true }, DEFAULTS],
    [{ price: DYNAMIC, free: true }, DEFAULTS],
    [{ price: DYNAMIC, free: false }, DEFAULTS],
  ])("a zero price is accepted in a route that is free, or may be: %j", (route, options = {}) => {
    expect(issuesOf(route, options)).toEqual([]);
  });

  test.each<[route: object, issue: string, why: string]>([
    [
      { accepts: { ...TERMS, price: "$0.01" }, free: true },
      ".free: a price that is zero or",
      "a price that is not zero",
    ],
    [
      {
        accepts: [
          { ...TERMS, price: "$0" },
          { ...TERMS, price: "$1" },
        ],
        free: true,
      },
      ".accepts: a price of zero for every payment option",
      "clients would take the free option",
    ],
    [
      {
        accepts: [
          { ...TERMS, price: "$0" },
          { ...TERMS, price: DYNAMIC },
        ],
        free: true,
      },
      ".accepts: a price of zero for every payment option",
      "also beside a dynamic price",
    ],
    [{ accepts: { ...TERMS, price: "$0" }, free: "yes" }, ".free: true or false", "a text"],
    [{ accepts: { ...TERMS, price: "0" }, free: true }, ".accepts.price: a dollar price", "no currency"],
    [{ price: "0", free: true }, "options.networks: the networks on which", "no currency"],
    [{ free: true }, ": accepts, or a price", "no price"],
    [{ accepts: { ...TERMS, price: "$-0" }, free: true }, ".accepts.price: a dollar price", "a negative price"],
    [
      { accepts: { network: NETWORK, price: "$0" }, free: true },
      ".accepts.payTo: the address",
      "the other terms are checked too",
    ],
  ])("a zero price is an issue at startup in %j: %s (%s)", (route, issue) => {
    expect(issuesOf(route).join("\n")).toContain(issue);
  });
});

describe("a free key", () => {
  const ROUTES: Readonly<Record<string, RouteConfig>> = {
    "GET /api/*": { accepts: { ...TERMS, price: "$0.01" } },
    "GET /api/health": { price: "$0", free: true },
    "GET /alone": { price: "$0", free: true },
  };
  const { ask, engine, facilitator } = createShop({ routes: ROUTES as never });
  const kindOf = async (path: string, request = {}) => {
    const decision = await ask({ path, ...request });
    return decision.kind === "respond" ? decision.response.status : decision.kind;
  };

  test.each<[path: string, kind: string | number, why: string]>([
    ["/api/health", "pass", "the path equals the key"],
    ["/api/weather", 402, "another key prices it"],
    ["/api/Health", 402, "another case may be another file"],
    ["/api/health/", 402, "so may a trailing slash"],
    ["/api/he%61lth", 402, "so may an encoded letter"],
    ["/alone", "pass", "no other key prices it"],
    ["/Alone", "pass", "no other key prices any spelling"],
  ])("the free key decides %s as %s: %s", async (path, kind) => {
    expect(await kindOf(path)).toBe(kind);
  });

  test("a free key covers HEAD and GET, and no other method", async () => {
    expect(await kindOf("/api/health", { method: "HEAD" })).toBe("pass");
    expect(await kindOf("/api/health", { method: "POST" })).toBe("pass");
    const both = createShop({ routes: { ...ROUTES, "/api/*": { accepts: { ...TERMS, price: "$0.02" } } } as never });
    expect((await both.ask({ path: "/api/health", method: "POST" })).kind).toBe("respond");
  });

  test("a free key is reported without offers and calls no facilitator", () => {
    const free = engine.report().routes.find(({ key }) => key === "GET /api/health");
    expect(free?.offers).toEqual([]);
    expect(facilitator.calls).toEqual([]);
  });

  test("charge with a free route lets every request through", async () => {
    const gate = engine.charge({ price: "$0", free: true });
    const locate = () => ({ routeTemplate: "/x", pathParams: {} });
    expect(await gate.decide(REQUEST, locate)).toEqual({ kind: "pass", isGranted: false });
  });
});

describe("a dynamic price of zero", () => {
  function createMarket(free: boolean | undefined) {
    const market: { price: unknown } = { price: "$0" };
    const accepts = { ...TERMS, price: (() => market.price) as PriceFunction };
    const shop = createShop({ routes: { "GET /weather": { accepts, ...(free === undefined ? {} : { free }) } } });
    return { ...shop, market };
  }

  test.each<[price: unknown]>([["$0"], ["0.00 USDC"], [{ asset: "0xA", amount: "0" }]])(
    "lets the request through without payment when the route sets free: true: %j",
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

  test.each([undefined, false])("answers 503 for a dynamic price of zero when free is %s", async (free) => {
    const { ask, log } = createMarket(free);
    expect(responseOf(await ask()).status).toBe(503);
    expect(log.map(({ event }) => event)).toContain("price_failed");
  });

  test("answers 503 when a dynamic price makes only one of two offers free", async () => {
    const accepts = [
      { ...TERMS, price: () => "$0" as const },
      { ...TERMS, price: DYNAMIC },
    ];
    const { ask } = createShop({ routes: { "GET /weather": { accepts, free: true } } });
    expect(responseOf(await ask()).status).toBe(503);
  });

  test("a dynamic price of zero leaves the payment unused, and a price quoted before still holds", async () => {
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
