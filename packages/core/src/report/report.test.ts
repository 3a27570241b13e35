import { describe, expect, test } from "vitest";
import { createPaymentsEngine } from "../engine.js";
import { SILENT } from "../events/logger.js";
import type { RoutesConfig } from "../options.js";
import { type Registered, route, viewOf } from "../route/router-view.fixture.js";
import { ASSET, createFakeFacilitator, createTestScheme, NETWORK, PAY_TO } from "../sale/shop.fixture.js";
import { describeLine, type ReportedOffer, type ReportedRoute } from "./report.js";

const PRICED = { accepts: { network: NETWORK, price: "$0.01", payTo: PAY_TO } } as const;
const OFFER: ReportedOffer = {
  scheme: "exact",
  network: NETWORK,
  price: "0.01 USDC",
  amount: "10000",
  asset: ASSET,
  payTo: PAY_TO,
  settle: "after",
};

function createEngine(scheme = createTestScheme()) {
  return createPaymentsEngine({ facilitator: createFakeFacilitator(), logger: SILENT }, { schemes: [scheme] });
}

type Row = readonly [method: string, path: string | undefined];

const rowOf = ({ method, path }: ReportedRoute): Row => [method, path];

/** The methods and paths at which one key is priced. */
function rowsOf(key: string, register: (gate: object) => readonly Registered[]): readonly Row[] {
  const engine = createEngine();
  const gate = engine.routes({ [key]: PRICED } as RoutesConfig);
  return engine.report(viewOf(register(gate))).routes.map(rowOf);
}

describe("the report of a key", () => {
  test("the report has every field of a key, and no path without a router view", () => {
    const engine = createEngine();
    engine.routes({ "GET /weather": { ...PRICED, description: "Weather" } });
    expect(engine.report()).toEqual({
      routes: [
        {
          method: "GET",
          path: undefined,
          key: "GET /weather",
          settle: "after",
          offers: [OFFER],
          description: "Weather",
          isPublic: false,
          leftOut: [],
          listing: undefined,
        },
      ],
      findings: [],
    });
  });

  test("the report has each route's settle time, also in its line", () => {
    const engine = createEngine();
    engine.routes({ "GET /weather": { ...PRICED, settle: "before" }, "GET /news": { ...PRICED, settle: "after" } });
    const { routes } = engine.report();
    expect(routes.map(({ settle }) => settle)).toEqual(["before", "after"]);
    expect(routes.map(describeLine)).toEqual([
      expect.stringMatching(/, settled before the response$/),
      expect.stringMatching(/, settled after the response$/),
    ]);
    expect(describeLine({ ...routes[0]!, settle: "metered" })).toMatch(/, metered, and settled after the response$/);
  });

  test.each<[key: string, mounts: string[], rows: Row[], why: string]>([
    ["GET /a/:b", [""], [["GET", "/a/:b"]], "at the top, as the seller wrote it"],
    ["/a", [""], [["ANY", "/a"]], "every method"],
    ["GET /a", ["/api"], [["GET", "/api/a"]], "with its mount"],
    ["GET /", ["/api"], [["GET", "/api"]], "the mount point itself"],
    ["GET /", [""], [["GET", "/"]], "the root"],
    ["GET /api/a", ["/api"], [["GET", "/api/a"]], "a key with its mount"],
    ["GET /api", ["/api"], [["GET", "/api"]], "a key that is the mount itself"],
    ["GET /apis", ["/api"], [["GET", "/api/apis"]], "a name that only begins like the mount"],
    ["GET {/:lang}/a", ["/api"], [["GET", "/api{/:lang}/a"]], "an optional first segment"],
    [
      "GET /a",
      ["/x", "/:y"],
      [
        ["GET", "/x/a"],
        ["GET", "/:y/a"],
      ],
      "one row for each mount",
    ],
    ["GET /a", [], [["GET", undefined]], "not mounted"],
  ])("the report lists %s mounted at %j as %j: %s", (key, mounts, rows) => {
    expect(rowsOf(key, (gate) => mounts.map((mount) => ({ gate, mount })))).toEqual(rows);
  });
});

describe("the report of a charged route", () => {
  const rowsOfCharge = (register: (gate: object) => readonly Registered[]) => {
    const engine = createEngine();
    const gate = engine.charge(PRICED);
    return engine.report(viewOf(register(gate))).routes.map(rowOf);
  };

  test.each<[why: string, rows: Row[], register: (gate: object) => readonly Registered[]]>([
    ["not in the app", [["ANY", undefined]], () => [route("GET /a")]],
    ["among a route's handlers", [["GET", "/a/:b"]], (gate) => [route("GET /a/:b", { gates: [{}, gate] })]],
    [
      "of two methods",
      [
        ["GET", "/a"],
        ["POST", "/a"],
      ],
      (gate) => [route("GET|POST /a", { gates: [gate] })],
    ],
    ["of every method", [["ANY", "/a"]], (gate) => [route("/a", { gates: [gate] })]],
    [
      "of two routes",
      [
        ["GET", "/a"],
        ["GET", "/c"],
      ],
      (gate) => [route("GET /a", { gates: [gate] }), route("GET /b"), route("GET /c", { gates: [gate] })],
    ],
    ["among the middleware", [["ANY", "/files/*"]], (gate) => [{ gate, mount: "/files" }]],
    ["at the top", [["ANY", "/*"]], (gate) => [{ gate, mount: "" }]],
  ])("the report lists a charge handler %s as %j", (_why, rows, register) => {
    expect(rowsOfCharge(register)).toEqual(rows);
  });

  test("the report lists a charge handler without a key, after the tables", () => {
    const engine = createEngine();
    engine.charge({ ...PRICED, description: "One" });
    engine.routes({ "GET /a": PRICED });
    expect(engine.report().routes).toMatchObject([
      { key: "GET /a" },
      { key: undefined, description: "One", settle: "after", offers: [OFFER] },
    ]);
  });
});

describe("a reported price", () => {
  test("a reported price is in units for an asset without decimals", () => {
    const scheme = createTestScheme({
      compileTerms: ({ payTo }) => ({
        ok: true,
        asset: { id: "0xOwn", symbol: "OWN", decimals: undefined, extra: {} },
        amount: 7n,
        payTo,
      }),
    });
    const engine = createEngine(scheme);
    engine.routes({ "GET /a": PRICED });
    expect(engine.report().routes[0]?.offers).toMatchObject([{ price: "7 units of OWN", amount: "7", asset: "0xOwn" }]);
  });

  test("a reported price is listed for each offer in the seller's order", () => {
    const engine = createEngine();
    const other = { ...PRICED.accepts, network: "eip155:8453", price: "$2" } as const;
    engine.routes({ "GET /a": { accepts: [other, PRICED.accepts] } });
    const prices = engine.report().routes[0]?.offers.map(({ network, price }) => `${price} ${network}`);
    expect(prices).toEqual(["2 USDC eip155:8453", `0.01 USDC ${NETWORK}`]);
  });
});

test("a report has each offer's settle time if the offers of a route differ, also in its line", () => {
  const engine = createEngine();
  const { accepts } = PRICED;
  const before = { ...accepts, network: "eip155:1", settle: "before" } as const;
  engine.routes({ "GET /weather": { accepts: [before, accepts] } });
  const [route] = engine.report().routes;
  expect([route?.settle, route?.offers.map(({ settle }) => settle)]).toEqual([undefined, ["before", "after"]]);
  const [first, second] = [`0.01 USDC on eip155:1 to ${PAY_TO}`, `0.01 USDC on ${NETWORK} to ${PAY_TO}`];
  expect(describeLine(route!)).toBe(
    `GET /weather: ${first}, settled before the response, or ${second}, settled after the response`,
  );
});

describe("describeLine", () => {
  const ROUTE: ReportedRoute = {
    method: "GET",
    path: "/a",
    key: "GET /k",
    settle: "after",
    offers: [OFFER],
    leftOut: [],
    description: "",
    isPublic: false,
    listing: undefined,
  };
  const LINE = `0.01 USDC on ${NETWORK} to ${PAY_TO}`;

  test.each<[route: Partial<ReportedRoute>, line: string, why: string]>([
    [{}, `GET /a: ${LINE}, settled after the response`, "method, path and price"],
    [
      { offers: [OFFER, { ...OFFER, network: "eip155:1" }] },
      `GET /a: ${LINE}, or 0.01 USDC on eip155:1 to ${PAY_TO}, settled after the response`,
      "two offers",
    ],
    [{ path: undefined, key: undefined }, `GET a route: ${LINE}, settled after the response`, "neither path nor key"],
    [
      { path: undefined },
      `GET /k: ${LINE}, settled after the response`,
      "the key in place of the path, with one method",
    ],
    [
      { path: undefined, method: "ANY", key: "{/:b}/k" },
      `ANY {/:b}/k: ${LINE}, settled after the response`,
      "a key without a method",
    ],
  ])("describeLine writes %j as %s: %s", (changes, line) => {
    expect(describeLine({ ...ROUTE, ...changes })).toBe(line);
  });
});
