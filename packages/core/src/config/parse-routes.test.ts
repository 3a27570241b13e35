import { describe, expect, test } from "vitest";
import { createPaymentsGate } from "../engine.js";
import { ConfigError, type ConfigIssue } from "../errors.js";
import { SILENT } from "../events/logger.js";
import type { PaymentsOptions } from "../options.js";
import {
  createFakeFacilitator,
  createShop,
  createTestScheme,
  NETWORK,
  PAY_TO,
  REQUEST,
  responseOf,
} from "../sale/shop.fixture.js";

const OTHER = "0x857b06519E91e3A54538791bDbb0E22373e36b66";
const OFFER = { network: NETWORK, price: "$0.01", payTo: PAY_TO };

function issuesOf(routes: unknown, options: Partial<PaymentsOptions> = {}): readonly ConfigIssue[] {
  try {
    createPaymentsGate(
      routes as never,
      { facilitator: createFakeFacilitator(), logger: SILENT, ...options },
      { schemes: [createTestScheme()] },
    );
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.issues;
    throw error;
  }
}

/** The offers of the one route of a table, as a client sees them. */
async function offersOf(route: object, options: Partial<PaymentsOptions> = {}) {
  const { gate } = createPaymentsGate(
    { "GET /weather": route } as never,
    { facilitator: createFakeFacilitator(), logger: SILENT, ...options },
    {
      schemes: [createTestScheme()],
    },
  );
  const { accepts } = responseOf(await gate.decide(REQUEST)).json;
  return (accepts as Record<string, unknown>[]).map(({ network, amount, payTo }) => [network, amount, payTo]);
}

describe("the offers of a route", () => {
  test.each<[route: object, options: Partial<PaymentsOptions>, offers: unknown[][], why: string]>([
    [{ accepts: OFFER }, {}, [[NETWORK, "10000", PAY_TO]], "one offer"],
    [
      { accepts: [{ ...OFFER, network: "eip155:8453" }, OFFER] },
      {},
      [
        ["eip155:8453", "10000", PAY_TO],
        [NETWORK, "10000", PAY_TO],
      ],
      "two offers, in the order written",
    ],
    [
      { price: "$0.02", accepts: [{ network: NETWORK, payTo: PAY_TO }, OFFER] },
      {},
      [
        [NETWORK, "20000", PAY_TO],
        [NETWORK, "10000", PAY_TO],
      ],
      "the route's price, where an offer has none of its own",
    ],
    [
      { price: "$0.02" },
      { networks: ["eip155:8453", NETWORK], payTo: { "eip155:*": PAY_TO } },
      [
        ["eip155:8453", "20000", PAY_TO],
        [NETWORK, "20000", PAY_TO],
      ],
      "a price with networks and payTo from the options",
    ],
    [
      { price: "$0.02" },
      { networks: ["eip155:8453", NETWORK], payTo: { "eip155:*": PAY_TO, [NETWORK]: OTHER } },
      [
        ["eip155:8453", "20000", PAY_TO],
        [NETWORK, "20000", OTHER],
      ],
      "the exact network wins over the pattern before it",
    ],
    [{ accepts: OFFER }, { payTo: { [NETWORK]: OTHER } }, [[NETWORK, "10000", PAY_TO]], "the offer's own payTo wins"],
    [{ accepts: OFFER }, { networks: ["eip155:8453"] }, [[NETWORK, "10000", PAY_TO]], "the offer's own network wins"],
    [{ accepts: { ...OFFER, price: { asset: "0xA", amount: "7" } } }, {}, [[NETWORK, "7", PAY_TO]], "atomic units"],
    [{ accepts: { ...OFFER, maxTimeoutSeconds: 10 } }, {}, [[NETWORK, "10000", PAY_TO]], "the shortest time"],
    [{ accepts: { ...OFFER, maxTimeoutSeconds: 86_400 } }, {}, [[NETWORK, "10000", PAY_TO]], "the longest time"],
  ])("the offers of %j with %j are %j: %s", async (route, options, offers) => {
    expect(await offersOf(route, options)).toEqual(offers);
  });

  test("the offers match the first of two offers that a payment cannot distinguish", async () => {
    const accepts = [
      { ...OFFER, maxTimeoutSeconds: 60 },
      { ...OFFER, maxTimeoutSeconds: 120 },
    ] as never;
    const { pay, facilitator } = createShop({ routes: { "GET /weather": { accepts } } });
    await pay();
    expect(facilitator.calls[0]?.request.paymentRequirements.maxTimeoutSeconds).toBe(60);
  });

  test("the offers have the seller's extra, which wins over the scheme's", async () => {
    const accepts = { ...OFFER, extra: { name: "Other", more: 1 } } as never;
    const { json } = responseOf(await createShop({ routes: { "GET /weather": { accepts } } }).ask());
    expect(json).toMatchObject({ accepts: [{ extra: { name: "Other", version: "2", more: 1 } }] });
  });
});

describe("an invalid route", () => {
  const at = 'routes["GET /a"]';

  test.each<[route: unknown, issues: Partial<ConfigIssue>[], why: string]>([
    [undefined, [{ path: at, received: "nothing" }], "undefined"],
    ["$0.01", [{ path: at, received: '"$0.01"' }], "a price without an object"],
    [[OFFER], [{ path: at }], "a list"],
    [{}, [{ path: at, received: "neither" }], "neither accepts nor a price"],
    [{ accepts: OFFER, prize: 1 }, [{ path: `${at}.prize`, received: "an unknown key" }], "a typo"],
    [{ accepts: [] }, [{ path: `${at}.accepts`, received: "none" }], "no offers"],
    [{ accepts: null }, [{ path: `${at}.accepts`, received: "null" }], "null"],
    [{ accepts: [OFFER, "x"] }, [{ path: `${at}.accepts[1]`, received: '"x"' }], "a text in place of an offer"],
    [{ accepts: { ...OFFER, pay_to: OTHER } }, [{ path: `${at}.accepts.pay_to` }], "a typo"],
    [{ accepts: { ...OFFER, network: "base" } }, [{ path: `${at}.accepts.network`, received: '"base"' }], "a name"],
    [{ accepts: { ...OFFER, network: undefined } }, [{ path: `${at}.accepts.network` }], "no network"],
    [{ accepts: { ...OFFER, network: "eip155:*" } }, [{ path: `${at}.accepts.network` }], "a pattern"],
    [{ accepts: { ...OFFER, network: "solana:x" } }, [{ path: `${at}.accepts.scheme` }], "no scheme for it"],
    [
      { accepts: { ...OFFER, scheme: "upto" } },
      [{ path: `${at}.accepts.scheme`, received: '"upto"' }],
      "no such scheme",
    ],
    [{ accepts: { ...OFFER, scheme: 5 } }, [{ path: `${at}.accepts.scheme`, received: "5" }], "not a text"],
    [{ accepts: { ...OFFER, price: 0.01 } }, [{ path: `${at}.accepts.price`, received: "0.01" }], "a number"],
    [{ accepts: { ...OFFER, price: "0.01" } }, [{ path: `${at}.accepts.price`, received: '"0.01"' }], "no currency"],
    [{ accepts: { ...OFFER, price: { amount: "1" } } }, [{ path: `${at}.accepts.price` }], "no asset"],
    [{ accepts: { ...OFFER, price: { asset: "0x", amount: 1 } } }, [{ path: `${at}.accepts.price` }], "a number"],
    [
      { accepts: { ...OFFER, payTo: undefined } },
      [{ path: `${at}.accepts.payTo`, received: "nothing" }],
      "no recipient",
    ],
    [{ accepts: { ...OFFER, payTo: 5 } }, [{ path: `${at}.accepts.payTo`, received: "5" }], "a number"],
    [{ accepts: { ...OFFER, maxTimeoutSeconds: 9 } }, [{ path: `${at}.accepts.maxTimeoutSeconds` }], "too short"],
    [{ accepts: { ...OFFER, maxTimeoutSeconds: 86_401 } }, [{ path: `${at}.accepts.maxTimeoutSeconds` }], "too long"],
    [{ accepts: { ...OFFER, maxTimeoutSeconds: 10.5 } }, [{ path: `${at}.accepts.maxTimeoutSeconds` }], "a fraction"],
    [{ accepts: { ...OFFER, maxTimeoutSeconds: "60" } }, [{ path: `${at}.accepts.maxTimeoutSeconds` }], "a text"],
    [{ accepts: { ...OFFER, extra: [] } }, [{ path: `${at}.accepts.extra` }], "a list"],
    [
      { accepts: { ...OFFER, extra: { a: 1n } } },
      [{ path: `${at}.accepts.extra` }],
      "a value that JSON cannot express",
    ],
    [{ accepts: OFFER, description: 5 }, [{ path: `${at}.description`, received: "5" }], "a number"],
    [
      { accepts: OFFER, description: "x".repeat(501) },
      [{ path: `${at}.description`, received: "501 characters" }],
      "longer than facilitators accept",
    ],
    [{ accepts: OFFER, mimeType: "x".repeat(256) }, [{ path: `${at}.mimeType` }], "too long"],
    [{ accepts: OFFER, chargeable: true }, [{ path: `${at}.chargeable`, received: "true" }], "not a function"],
    [{ accepts: OFFER, settle: "now" }, [{ path: `${at}.settle`, received: '"now"' }], "an unknown time"],
    [{ accepts: OFFER, settle: null }, [{ path: `${at}.settle`, received: "null" }], "null"],
    [
      { accepts: { ...OFFER, settle: null } },
      [{ path: `${at}.accepts.settle`, received: "null" }],
      "null for an option",
    ],
    [
      { accepts: OFFER, settle: "before", chargeable: () => true },
      [{ path: `${at}.chargeable`, received: "a function" }],
      "chargeable has no use before the handler",
    ],
    [
      { accepts: { ...OFFER, settle: "after", extra: { paymentFlow: "upfront" } } },
      [
        {
          path: `${at}.accepts.extra.paymentFlow`,
          expected: 'no value beside settle: "after"',
          received: '"upfront"',
        },
      ],
      "settle and paymentFlow disagree",
    ],
    [
      { accepts: { ...OFFER, extra: { paymentFlow: "escrow" } } },
      [
        {
          path: `${at}.accepts.extra.paymentFlow`,
          expected: '"upfront" or "authorization"',
          received: '"escrow"',
        },
      ],
      "an unknown paymentFlow",
    ],
    [
      { accepts: OFFER, settle: "metered" },
      [{ path: `${at}.accepts.scheme`, expected: '"upto", beside settle: "metered"', received: '"exact"' }],
      "a scheme that takes the whole amount is not metered",
    ],
    [
      { accepts: { ...OFFER, settle: "now" } },
      [{ path: `${at}.accepts.settle`, received: '"now"' }],
      "an unknown time",
    ],
    [
      { accepts: [OFFER, { ...OFFER, settle: "before" }], chargeable: () => true },
      [{ path: `${at}.chargeable`, received: "a function" }],
      "chargeable has no use for one of the options",
    ],
    [{ accepts: OFFER, chargeable: null }, [{ path: `${at}.chargeable`, received: "null" }], "null"],
    [{ accepts: OFFER, extensions: [] }, [{ path: `${at}.extensions` }], "a list"],
    [{ accepts: OFFER, extensions: { bazaar: { info: {} } } }, [{ path: `${at}.extensions.bazaar` }], "no schema"],
    [
      { accepts: OFFER, extensions: { farebox: { info: {}, schema: {} } } },
      [{ path: `${at}.extensions.farebox`, received: "a declaration" }],
      "the name under which a header says what it leaves out",
    ],
    [{ accepts: OFFER, extensions: { "x-y": null } }, [{ path: `${at}.extensions["x-y"]` }], "null"],
    [
      { accepts: OFFER, extensions: { x: { info: { a: 1n }, schema: {} } } },
      [{ path: `${at}.extensions` }],
      "a value that JSON cannot express",
    ],
    [
      {
        accepts: [
          { ...OFFER, price: "1" },
          { network: NETWORK, price: "$0" },
          { ...OFFER, network: "x" },
        ],
      },
      [
        { path: `${at}.accepts[0].price` },
        { path: `${at}.accepts[1].payTo` },
        { path: `${at}.accepts[1].price`, expected: "a price above zero, or free: true for a free route" },
        { path: `${at}.accepts[2].network` },
      ],
      "all issues at once",
    ],
  ])("an invalid route causes issues: %o, %s", (route, issues) => {
    expect(issuesOf({ "GET /a": route })).toEqual(issues.map((issue) => expect.objectContaining(issue)));
  });

  test("an invalid route causes an issue when networks or payTo is missing in the options", () => {
    const paths = (options: Partial<PaymentsOptions>) =>
      issuesOf({ "GET /a": { price: "$1" } }, options).map((i) => i.path);
    expect(paths({})).toEqual(["options.networks"]);
    expect(paths({ networks: [NETWORK] })).toEqual([`${at}.payTo`]);
    expect(paths({ networks: [NETWORK], payTo: { "eip155:1": PAY_TO } })).toEqual([`${at}.payTo`]);
  });
});

describe("an invalid route table", () => {
  test.each<[routes: unknown, paths: string[], why: string]>([
    [undefined, ["routes"], "undefined"],
    [[{ accepts: OFFER }], ["routes"], "a list"],
    [new Map([["GET /a", { accepts: OFFER }]]), ["routes"], "a map"],
    [{}, ["routes"], "empty"],
    [{ "GET weather": { accepts: OFFER } }, ['routes["GET weather"]'], "no path"],
    [{ "get /weather": { accepts: OFFER } }, ['routes["get /weather"]'], "no method"],
    [{ "GET /weather?": { accepts: OFFER } }, ['routes["GET /weather?"]'], "a path that cannot match"],
    [{ "GET /a*": { accepts: OFFER } }, ['routes["GET /a*"]'], "a wildcard without a name"],
    [{ weather: { accepts: [] } }, ["routes.weather", "routes.weather.accepts"], "all issues at once"],
  ])("a route table causes issues: %o, %s", (routes, paths) => {
    expect(issuesOf(routes).map(({ path }) => path)).toEqual(paths);
  });

  test.each<[first: string, second: string, why: string]>([
    ["GET /a", "GET /A", "case"],
    ["GET /a", "GET /a/", "a trailing slash"],
    ["GET /a/:b", "GET /a/:c", "the name of a parameter"],
    ["GET /a/:b", "GET /A/:b/", "case, name and trailing slash"],
    ["/a", "/a/", "without a method"],
    ["GET /a/:b", "GET /A/:c/", "case, name and a trailing slash"],
    ["GET /a/[b]", "GET /a/:b", "the notation of a parameter"],
    ["GET /a/[b]", 'GET /a/:"c-d"', "a quoted name"],
    ["GET /a/*b", "GET /A/*c", "the name of a wildcard"],
    ["GET /a{/:b}", "GET /a{/:c}/", "an optional part"],
  ])("a route table causes an issue because %s and %s are the same route: %s", (first, second) => {
    const issues = issuesOf({ [first]: { accepts: OFFER }, [second]: { accepts: OFFER } });
    expect(issues).toEqual([
      expect.objectContaining({ path: `routes[${JSON.stringify(second)}]`, expected: expect.stringContaining(first) }),
    ]);
  });

  test.each([
    ["GET /a", "POST /a"],
    ["GET /a", "/a"],
    ["GET /a", "HEAD /a"],
    ["GET /a/:b", "GET /a/b"],
    ["GET /a/:b", "GET /a/*b"],
    ["GET /a/*x", "GET /a/:x"],
    ["GET /a/*", "GET /a/*x"],
    ["GET /a{/:b}", "GET /a/:b"],
    ["GET /a-:b", "GET /a/:b"],
    ["GET /a", "GET /a/b"],
  ])("a route table causes no issue for the different routes %s and %s", (first, second) => {
    expect(issuesOf({ [first]: { accepts: OFFER }, [second]: { accepts: OFFER } })).toEqual([]);
  });

  test.each<[key: string, expected: RegExp, why: string]>([
    ["GET /weather?", /^a path without a query, .*, at position 13$/, "positions count from 1"],
    ["/weather?", /^a path without a query, .*, at position 9$/, "without a method"],
    ["DELETE /x#top", /^a path without a fragment, at position 10$/, "after a longer method"],
    ["GET /a*", /^a name after "\*", .*, at position 7$/, "a wildcard without a name"],
    ["GET /users/:id?", /in braces, as in \/users\{\/:id\}, at position 15$/, "a parameter as Express 4 has it"],
    ["GET /(a|b)", /"payments\.charge" takes every path that Express takes, at position 6$/, "a regular expression"],
    ["GET /x//", /^a path that ends in at most one slash, at position 8$/, "the second of two slashes"],
    ["GET /[a]/[b", /^a name in brackets, .*, at position 10$/, "after brackets that were rewritten"],
    ["GET /[...rest]", /^\*rest for the rest of a path, at position 6$/, "the notation of other frameworks"],
    ["get /a", /; in capitals, at position 1: GET$/, "the method"],
    ["FETCH /a", /^one of the methods .*, at position 1$/, "no method"],
    ["GET /:", /^a path as Express 5 writes it \(Missing parameter name/, "the message of Express's parser"],
    [`GET ${"/*a".repeat(9)}`, /^at most 8 wildcards$/, "the path as a whole"],
  ])("a route table causes an issue with the position for %s: %s (%s)", (key, expected) => {
    expect(issuesOf({ [key]: { accepts: OFFER } })).toEqual([
      {
        path: `routes[${JSON.stringify(key)}]`,
        expected: expect.stringMatching(expected),
        received: expect.any(String),
      },
    ]);
  });

  test("a route table causes an issue for each repetition of a key", () => {
    const keys = ["GET /a/:b", "GET /a/:c", "GET /a/:d"];
    const issues = issuesOf(Object.fromEntries(keys.map((key) => [key, { accepts: OFFER }])));
    const expected = 'one key per route: "GET /a/:b" is the same';
    expect(issues).toEqual(
      ["GET /a/:c", "GET /a/:d"].map((key) => ({
        path: `routes[${JSON.stringify(key)}]`,
        expected,
        received: JSON.stringify(key),
      })),
    );
  });
});
