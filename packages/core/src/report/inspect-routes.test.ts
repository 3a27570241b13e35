import { describe, expect, test } from "vitest";
import { createPaymentsEngine } from "../engine.js";
import type { FindingCode } from "../events/findings.js";
import { SILENT } from "../events/logger.js";
import { createFakeFacilitator, createTestScheme, NETWORK, PAY_TO } from "../gate/shop.fixture.js";
import type { RouteConfig, RoutesConfig } from "../options.js";
import { opaque, type Registered, route, viewOf } from "../route/router-view.fixture.js";
import type { RegisteredRoute } from "../route/router-view.js";
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
function foundIn(table: RoutesConfig, register: (gate: object) => readonly Registered[], hasOtherApps?: boolean) {
  const engine = createEngine();
  const gate = engine.routes(table);
  const { findings } = engine.report(viewOf(register(gate), hasOtherApps));
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
    [["GET /a"], "middleware after the route", after("", route("GET /a"), route("GET /a", { isFinal: false }))],
    [
      ["GET /a"],
      "middleware before the table",
      (gate) => [route("GET /a", { isFinal: false }), { gate, mount: "" }, route("GET /a")],
    ],
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
  const message = "Its table is not among the handlers of the app, so its routes cannot be checked";

  test("an unmounted table is reported once, with its first key", () => {
    const found = foundIn(tableOf(["GET /a", "GET /b"]), () => [route("GET /a")]);
    expect(found).toEqual([["FAREBOX_TABLE_NOT_FOUND", "GET /a", message]]);
  });

  test("an unmounted table is not reported when it may be in another app", () => {
    expect(foundIn(tableOf(["GET /a"]), () => [route("GET /a")], true)).toEqual([]);
  });
});

describe("a table that comes too late", () => {
  const message = "A route that it matches is registered before the table, which does not see its requests";

  test.each<[key: string, path: string]>([
    ["GET /a", "GET /a"],
    ["GET /a", "/a"],
    ["/a", "POST /a"],
    ["GET /a{/:x}", "GET /a"],
  ])("a table that comes too late is reported for the key %s when %s is registered before it", (key, words) => {
    const found = foundIn(tableOf([key]), (gate) => [route(words), { gate, mount: "" }, route("GET /a")]);
    expect(found).toContainEqual(["FAREBOX_TABLE_TOO_LATE", key, message]);
    expect(found.map(([code]) => code)).not.toContain("FAREBOX_KEY_UNREACHABLE");
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

  test("a key is in order when only its handler comes before the table, where the key prices it as well", () => {
    expect(foundIn(tableOf(["GET /:x"]), (gate) => [route("GET /list"), { gate, mount: "" }])).toEqual([]);
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

  test("a route for every method is reported as priced twice when its own handler prices it", () => {
    const codes = foundIn(tableOf(["GET /a"]), after("", route("/a", { gates: [{}] }))).map(([code]) => code);
    expect(codes).toEqual(["FAREBOX_PRICED_TWICE"]);
  });
});

describe("a request that is priced in two places", () => {
  const message = "Another table or handler also prices its requests; they are charged once";

  test("a request priced twice is reported for a key and a handler of its route", () => {
    const found = foundIn(tableOf(["GET /a"]), after("", route("GET /a", { gates: [{}] })));
    expect(found).toEqual([["FAREBOX_PRICED_TWICE", "GET /a", message]]);
  });

  test.each<[second: string, isReported: boolean]>([
    ["GET /a", true],
    ["/a", true],
    ["POST /a", false],
    ["GET /b", false],
  ])("a request priced twice is reported for GET /a and %s in another table: %j", (second, isReported) => {
    const engine = createEngine();
    const [one, other] = [engine.routes(tableOf(["GET /a"])), engine.routes(tableOf([second]))];
    const served = [route("GET|POST /a"), route("GET /b")];
    const view = viewOf([{ gate: one, mount: "" }, { gate: other, mount: "" }, ...served]);
    const twice = (key: string) => expect.objectContaining({ code: "FAREBOX_PRICED_TWICE", route: key, message });
    const expected = second === "GET /a" ? [twice("GET /a")] : [twice("GET /a"), twice(second)];
    expect(engine.report(view).findings).toEqual(isReported ? expected : []);
  });

  test("a request priced twice is not reported for two tables when no route serves it", () => {
    const engine = createEngine();
    const gates = [engine.routes(tableOf(["GET /a"])), engine.routes(tableOf(["GET /a"]))];
    const { findings } = engine.report(viewOf(gates.map((gate) => ({ gate, mount: "" }))));
    expect(new Set(findings.map(({ code }) => code))).toEqual(new Set(["FAREBOX_KEY_UNREACHABLE"]));
  });

  test("a request priced twice is reported with the route for two handlers of one route", () => {
    const found = foundIn(tableOf(["GET /b"]), after("", route("GET /b"), route("GET|POST /a", { gates: [{}, {}] })));
    const both = "Two of its handlers charge; a request pays the first";
    expect(found).toEqual([["FAREBOX_PRICED_TWICE", "GET|POST /a", both]]);
  });

  test("a request priced twice is reported for two handlers of a route with an unknown path", () => {
    const engine = createEngine();
    const routes = [{ route: {}, path: undefined, methods: undefined, gates: [{}, {}] }];
    const { findings } = engine.report({ ...viewOf([]), routes });
    expect(findings).toMatchObject([{ code: "FAREBOX_PRICED_TWICE", route: "any method a route" }]);
  });
});

test("a file server without a path of its own serves no key", () => {
  const codes = foundIn(tableOf(["GET /f/*w", "GET /f/x/*w"]), after("", opaque(""))).map(([code]) => code);
  expect(codes).toEqual(["FAREBOX_KEY_UNREACHABLE", "FAREBOX_KEY_UNREACHABLE"]);
});

function routeAt(path: string | undefined): RegisteredRoute {
  return { route: {}, path, methods: ["GET"], gates: [] };
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
