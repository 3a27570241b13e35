import { describe, expect, test } from "vitest";
import { createPaymentsEngine, type RouteGate, type TableGate } from "../engine.js";
import type { FindingCode } from "../events/findings.js";
import { SILENT } from "../events/logger.js";
import type { RouteConfig, RoutesConfig } from "../options.js";
import { opaque, type Registered, route, routeBy, viewOf } from "../route/router-view.fixture.js";
import type { RegisteredRoute, RouterView } from "../route/router-view.js";
import { createFakeFacilitator, createTestScheme, NETWORK, PAY_TO } from "../sale/shop.fixture.js";
import { nearest } from "./inspect-routes.js";

const CENT: RouteConfig = { accepts: { network: NETWORK, price: "$0.01", payTo: PAY_TO } };

function createEngine() {
  return createPaymentsEngine(
    { facilitator: createFakeFacilitator(), logger: SILENT },
    { schemes: [createTestScheme()] },
  );
}

function tableOf(keys: readonly string[]): RoutesConfig {
  return Object.fromEntries(keys.map((key) => [key, CENT]));
}

type FoundRow = readonly [code: FindingCode, route: string | undefined, message: string];

/** The findings about one table that `register` mounts. */
function foundIn(
  table: RoutesConfig,
  register: (gate: object) => readonly Registered[],
  more: Partial<RouterView> = {},
) {
  const engine = createEngine();
  const gate = engine.routes(table);
  const { findings } = engine.report({ ...viewOf(register(gate)), ...more });
  return findings.map(({ code, route, message }): FoundRow => [code, route, message]);
}

/** A table at a mount, and the routes after it. */
function after(mount: string, ...registered: readonly Registered[]) {
  return (gate: object) => [{ gate, mount }, ...registered];
}

describe("a valid table", () => {
  test.each<[keys: string[], why: string, register: (gate: object) => readonly Registered[]]>([
    [["GET /a"], "a key and its route", after("", route("GET /a"))],
    [["GET /a/:x"], "another parameter name", after("", route("GET /a/:id"))],
    [["GET /a/b"], "one of the requests of a route", after("", route("GET /a/:id"))],
    [["GET /a/*w"], "more than the requests of a route", after("", route("GET /a/:id"))],
    [["GET /a/:x"], "a route for one value of a parameter", after("", route("GET /a/b"))],
    [["GET /*w"], "a wildcard for every route", after("", route("GET /a/b"), route("GET /c"))],
    [["GET /:x"], "a route for one value, below a mount", after("/api", route("GET /api/list"))],
    [["GET /api/:x"], "a key with the full path for it", after("/api", route("GET /api/list"))],
    [["GET /:x"], "a mount with a parameter", after("/:tenant", route("GET /:tenant/list"))],
    [["GET /a{/:x}"], "one of two forms", after("", route("GET /a"))],
    [["HEAD /a"], "HEAD at a GET route", after("", route("GET /a"))],
    [["/a"], "every method", after("", route("/a"))],
    [["/a"], "more methods than the route has", after("", route("GET /a"))],
    [["GET /a"], "a key below a mount", after("/api", route("GET /api/a"))],
    [["GET /api/a"], "a key with the full path", after("/api", route("GET /api/a"))],
    [["GET /"], "the mount point itself", after("/api", route("GET /api"))],
    [["GET /f/*w"], "a server of files", after("", opaque("/f"))],
    [["GET /api/f/*w"], "a server of files, by the full path", after("/api", opaque("/api/f"))],
    [["GET /f/*w", "GET /f/x/*w"], "two keys of one price for it", after("", opaque("/f"))],
    [["GET /a"], "two routes of its own", after("", route("GET /a"), route("GET /a"))],
    [
      ["GET /a"],
      "one of its routes before the table",
      (gate) => [route("GET /a"), { gate, mount: "" }, route("GET /a")],
    ],
    [["GET /a"], "a page route before it", (gate) => [route("/:page"), { gate, mount: "" }, route("GET /a")]],
    [["GET /a"], "a wildcard on the way", after("", route("/*all"), route("GET /a"))],
    [["GET /a"], "a page route only", after("", route("/:page"))],
    [["GET /f/a"], "a wildcard only", after("", route("/f/*rest"))],
    [["GET /a"], "a regular expression", after("", routeBy(/^\/(a|b)$/))],
    [["GET /a"], "a function at its path", after("", opaque("/a"))],
    [["GET /a"], "functions on the way", after("", opaque(""), route("GET /a"), opaque(""))],
    [["GET /a"], "another method before it", (gate) => [route("POST /a"), { gate, mount: "" }, route("GET /a")]],
    [["GET /a"], "a free route of another name", after("", route("GET /a"), route("GET /other"))],
    [
      ["GET /a", "POST /a", "GET /a/:x"],
      "several keys and routes",
      after("", route("GET|POST /a"), route("GET /a/:y")),
    ],
  ])("a valid table has no findings: %j, %s", (keys, _why, register) => {
    expect(foundIn(tableOf(keys), register)).toEqual([]);
  });
});

describe("findings in one table", () => {
  const inTable = (keys: readonly string[]) => {
    const engine = createEngine();
    engine.routes(tableOf(keys));
    return engine.report().findings.map(({ code, route, message }): FoundRow => [code, route, message]);
  };

  test("findings name a key that never wins and the key that wins", () => {
    expect(inTable(["GET /a{/:x}", "GET /a/:y", "GET /a"])).toEqual([
      ["FAREBOX_KEY_SHADOWED", "GET /a{/:x}", "Every request it matches is priced by GET /a/:y"],
    ]);
  });

  test.each<[keys: string[], why: string]>([
    [["GET /a{/:x}", "GET /a"], "one form still wins"],
    [["GET /a/*w", "GET /a/:x"], "the wildcard matches more"],
    [["GET /a/:x", "GET /a/~"], "text that looks like a placeholder"],
    [["GET /a", "HEAD /a"], "GET still wins"],
    [["/a", "GET /a"], "the other methods still win"],
    [["OPTIONS /a", "/a"], "only a key that names OPTIONS covers it"],
    [
      ["/a", "GET /a", "HEAD /a", "POST /a", "PUT /a", "PATCH /a", "DELETE /a", "OPTIONS /a"],
      "the first key still covers methods that no key can name",
    ],
  ])("findings are absent for %j: %s", (keys) => {
    expect(inTable(keys)).toEqual([]);
  });
});

describe("a table that is not mounted", () => {
  const notFound = "Its table is not among the handlers of the app";
  const unreadable = "This version of Express cannot be read: only paths are priced";
  const found = (more: Partial<RouterView> = {}) =>
    foundIn(tableOf(["GET /a", "GET /b"]), () => [route("GET /a")], more);

  test("an unmounted table is reported once, with its first key", () => {
    expect(found()).toEqual([["FAREBOX_TABLE_NOT_FOUND", "GET /a", notFound]]);
  });

  test.each<[where: string, more: Partial<RouterView>]>([
    ["in another app", { mayHideGates: true }],
    ["called by a function", { isCalled: () => true }],
  ])("an unmounted table is not reported when it may be %s", (_where, more) => {
    expect(found(more)).toEqual([]);
  });

  test("a table whose routers cannot be read is reported, also if they may hide it", () => {
    for (const more of [{}, { mayHideGates: true }]) {
      expect(found({ ...more, isReadable: false })).toEqual([["FAREBOX_ROUTER_UNREADABLE", "GET /a", unreadable]]);
    }
  });
});

describe("a table that comes too late", () => {
  const message = "Its routes are registered before the table, which asks only at their handlers";

  test.each<[key: string, path: string]>([
    ["GET /a", "GET /a"],
    ["GET /a", "/a"],
    ["/a", "POST /a"],
    ["GET /a{/:x}", "GET /a"],
    ["GET /:x", "GET /list"],
    ["GET /a", "/:page"],
  ])("a table that comes too late is reported for the key %s when only %s is its own, before it", (key, words) => {
    const early = route(words);
    const found = (...late: readonly Registered[]) =>
      foundIn(tableOf([key]), (gate) => [early, { gate, mount: "" }, ...late]);
    expect(found()).toEqual([["FAREBOX_TABLE_TOO_LATE", key, message]]);
    expect(found(route("GET /b/c"))).toEqual([["FAREBOX_TABLE_TOO_LATE", key, message]]);
    expect(found(route(words))).toEqual([]);
  });
});

describe("a key without a matching route", () => {
  const findingsFor = (key: string, ...registered: readonly Registered[]) =>
    foundIn(tableOf([key]), after("", ...registered));
  const nothing = "No route that is registered can match it";

  test.each<[key: string, registered: Registered[], why: string]>([
    ["GET /weather", [], "no routes"],
    ["GET /weather", [route("GET /other")], "another route"],
    ["GET /weather", [opaque("/other")], "an opaque handler at another path"],
    ["GET /weather", [opaque("")], "an opaque handler without a path"],
    ["GET /:x", [route("POST /list")], "another method"],
    ["GET /:x", [route("GET /list/all")], "one segment more"],
  ])("a key without a matching route is reported: %s among %o, %s", (key, registered) => {
    expect(findingsFor(key, ...registered)).toEqual([["FAREBOX_KEY_UNREACHABLE", key, nothing]]);
  });

  test.each<[words: string, described: string]>([
    ["GET /wether", "GET /wether"],
    ["GET|POST /wether", "GET|POST /wether"],
    ["/wether", "any method /wether"],
    ["POST /weather", "POST /weather"],
  ])("a key without a matching route is reported with the nearest route %s", (words, described) => {
    const path = words.slice(words.indexOf("/"));
    expect(findingsFor("GET /weather", route("GET /other"), route(words))).toEqual([
      ["FAREBOX_KEY_UNREACHABLE", "GET /weather", `${nothing}; the nearest is ${path}`],
      ["FAREBOX_KEY_NEARLY_MATCHES", described, "The key GET /weather nearly matches it, and prices nothing else"],
    ]);
  });

  test.each<[why: string, table: RoutesConfig, registered: Registered]>([
    ["a key", tableOf(["GET /weather", "GET /wether"]), route("GET /wether")],
    ["a handler of its own", tableOf(["GET /weather"]), route("GET /wether", { gates: [{}] })],
  ])(
    "a key without a matching route is reported without a nearest route that is priced by %s",
    (_why, table, registered) => {
      expect(foundIn(table, after("", registered))).toEqual([["FAREBOX_KEY_UNREACHABLE", "GET /weather", nothing]]);
    },
  );

  test("a key without a matching route is reported when its path lies outside the mount", () => {
    const found = foundIn(tableOf(["GET /other/a"]), after("/api", route("GET /api/a"), route("GET /other/a")));
    expect(found.map(([code, at]) => [code, at])).toEqual([
      ["FAREBOX_KEY_UNREACHABLE", "GET /other/a"],
      ["FAREBOX_KEY_NEARLY_MATCHES", "GET /other/a"],
    ]);
  });

  test("a key without a matching route is reported when the route lies outside the mount", () => {
    const found = foundIn(tableOf(["GET /:x"]), after("/api", route("GET /other/list")));
    expect(found.map(([code]) => code)).toEqual(["FAREBOX_KEY_UNREACHABLE"]);
  });

  test("a key without a matching route is not reported when it matches at another mount", () => {
    const register = (gate: object) => [{ gate, mount: "/x" }, { gate, mount: "/y" }, route("GET /y/a")];
    expect(foundIn(tableOf(["GET /a"]), register)).toEqual([]);
  });
});

describe("a route for every method", () => {
  test.each([[["GET /a"]], [["GET /a", "/a"]], [["GET /a", "POST /a", "PUT /a", "PATCH /a", "DELETE /a"]]])(
    "a route for every method is in order with the keys %j, because the keys price all of it",
    (keys) => {
      expect(foundIn(tableOf(keys), after("", route("/a")))).toEqual([]);
    },
  );
});

describe("a handler with two prices", () => {
  const DOLLAR: RouteConfig = { accepts: { network: NETWORK, price: "$1", payTo: PAY_TO } };

  /** A view with the prices that gates say, as an adapter makes it. */
  function priced(registered: readonly Registered[], tables: readonly TableGate[], charges: readonly RouteGate[] = []) {
    const view = viewOf([...tables.map((gate) => ({ gate, mount: "" })), ...registered]);
    for (const table of tables) table.bind(view);
    const prices: RouterView["prices"] = () =>
      view.routes.map(({ route: handler, path, methods, gates }) => ({
        where: `${methods?.join("|") ?? "any method"} ${path}`,
        prices: [...tables, ...charges.filter((gate) => gates.includes(gate))].flatMap((gate) =>
          gate.pricesAt(handler, methods).map((price) => ({ ...price, gate })),
        ),
      }));
    return { ...view, prices };
  }

  const rowsOf = (engine: ReturnType<typeof createEngine>, view: RouterView) =>
    engine.report(view).findings.map(({ code, route: where, message }): FoundRow => [code, where, message]);
  const say = (...prices: readonly string[]) =>
    `Its prices are ${prices.join(" and ")}; the one that is nearest to the handler counts`;

  test.each<[words: string, where: string]>([
    ["GET /a", "GET /a"],
    ["GET|POST /a", "GET|POST /a"],
    ["/a", "any method /a"],
  ])("two prices are reported for a key and a charge in its route %s, with the route", (words, where) => {
    const engine = createEngine();
    const [table, charge] = [engine.routes(tableOf(["GET /a"])), engine.charge(DOLLAR)];
    const view = priced([route(words, { gates: [charge] })], [table], [charge]);
    expect(rowsOf(engine, view)).toEqual([
      ["FAREBOX_PRICED_TWICE", where, say("0.01 USDC (GET /a)", "1 USDC (payments.charge)")],
    ]);
  });

  test.each<[second: string, text: string | undefined]>([
    ["GET /a", "1 USDC (GET /a)"],
    ["/a", "1 USDC (/a)"],
    ["GET /:page", "1 USDC (GET /:page)"],
    ["GET /*", "1 USDC (GET /*)"],
    ["POST /a", undefined],
    ["GET /b", undefined],
  ])("two prices are reported for GET /a and %s in another table: %s", (second, text) => {
    const engine = createEngine();
    const tables = [engine.routes(tableOf(["GET /a"])), engine.routes({ [second]: DOLLAR })];
    const view = priced([route("GET /a"), route("POST /a"), route("GET /b")], tables);
    const found = rowsOf(engine, view).filter(([, where]) => where === "GET /a");
    expect(found).toEqual(
      text === undefined ? [] : [["FAREBOX_PRICED_TWICE", "GET /a", say("0.01 USDC (GET /a)", text)]],
    );
  });

  test("two prices are not reported for two keys of one table, of which the most specific counts", () => {
    const engine = createEngine();
    const table = engine.routes({ "GET /u/:id": CENT, "GET /u/me": DOLLAR });
    expect(rowsOf(engine, priced([route("GET /u/:id"), route("GET /u/me")], [table]))).toEqual([]);
  });

  test("two prices are not reported for two tables when no route serves them", () => {
    const engine = createEngine();
    const gates = [engine.routes(tableOf(["GET /a"])), engine.routes({ "GET /a": DOLLAR })];
    const codes = rowsOf(engine, priced([], gates)).map(([code]) => code);
    expect(codes).toEqual(["FAREBOX_KEY_UNREACHABLE"]);
  });

  test("two prices are reported for two charges of one route, if one of them is this seller's", () => {
    const charges = (engine: ReturnType<typeof createEngine>) => [engine.charge(CENT), engine.charge(DOLLAR)];
    const [engine, other] = [createEngine(), createEngine()];
    const both = charges(engine);
    const view = priced([route("GET /a", { gates: both })], [], both);
    const expected = say("0.01 USDC (payments.charge)", "1 USDC (payments.charge)");
    expect(rowsOf(engine, view)).toEqual([["FAREBOX_PRICED_TWICE", "GET /a", expected]]);
    expect(rowsOf(other, view)).toEqual([]);
  });
});

test("a file server without a path of its own serves no key", () => {
  const codes = foundIn(tableOf(["GET /f/*w", "GET /f/x/*w"]), after("", opaque(""))).map(([code]) => code);
  expect(codes).toEqual(["FAREBOX_KEY_UNREACHABLE", "FAREBOX_KEY_UNREACHABLE"]);
});

function routeAt(path: string | undefined): RegisteredRoute {
  return { route: {}, path, methods: ["GET"], gates: [], isCharged: false };
}

function nearestPath(key: string, ...paths: readonly (string | undefined)[]): string | undefined {
  return nearest({ key, method: undefined }, paths.map(routeAt))?.path;
}

describe("the nearest route", () => {
  test.each<[key: string, path: string, why: string]>([
    ["GET /weather", "/weather", "the same path by another method"],
    ["/weather", "/weather", "a key without a method"],
    ["GET /weather", "/Weather/", "case and a slash at the end"],
    ["GET /", "/", "the root"],
    ["GET /users/:id", "/users/:userId", "the name of a parameter"],
    ["GET /users/[id]", "/users/:id", "brackets"],
    ['GET /users/:"a b"', '/users/:"a b"', "a quoted name, letter for letter"],
    ["GET /f/*rest", "/f/:id", "a wildcard in place of a parameter"],
    ["GET /weather", "/wether", "one letter less"],
    ["GET /wether", "/weather", "one letter more"],
    ["GET /weather", "/wheather", "one extra letter"],
    ["GET /weather", "/waether", "two letters swapped"],
    ["GET /abcdefg", "/xycdefg", "two other letters"],
    ["GET /news", "/nows", "one letter of five"],
    ["GET /weather", "/api/weather", "a mount that the key leaves out"],
    ["GET /api/weather", "/weather", "a mount that the route leaves out"],
  ])("the nearest route to the key %s is %s: %s", (key, path) => {
    expect(nearestPath(key, "/something/else", path)).toBe(path);
  });

  test.each<[key: string, path: string | undefined, why: string]>([
    ["GET /weather", "/feathered", "three letters differ"],
    ["GET /weather", "/weather123", "three letters more"],
    ["GET /weather123", "/weather", "three letters less"],
    ["GET /ab", "/ac", "one letter of a short path"],
    ["GET /abcde", "/abcxy", "two letters of a short path"],
    ["GET /weather", "/", "the root is not the rest of a mounted path"],
    ["GET /", "/weather", "nor the other way round"],
    ["GET /weather", "/bad-weather", "the same ending in another segment"],
    ["GET /weather", undefined, "an unknown path"],
    [`GET /${"a".repeat(200)}`, `/${"a".repeat(199)}b`, "a path too long to compare"],
  ])("the nearest route to the key %s is not %s: %s", (key, path) => {
    expect(nearestPath(key, path)).toBeUndefined();
  });

  test("the nearest route may be 200 characters long", () => {
    expect(nearestPath(`GET /${"a".repeat(199)}`, `/${"a".repeat(198)}b`)).toBe(`/${"a".repeat(198)}b`);
  });

  test("the nearest route is the nearest of several, or the first of equals", () => {
    expect(nearestPath("GET /weather", "/waether", "/api/weather", "/WEATHER")).toBe("/WEATHER");
    expect(nearestPath("GET /weather", "/waether", "/wether")).toBe("/wether");
    expect(nearestPath("GET /weather", "/weathe", "/wether")).toBe("/weathe");
  });

  test("the nearest route is undefined without routes", () => {
    expect(nearestPath("GET /weather")).toBeUndefined();
  });
});
