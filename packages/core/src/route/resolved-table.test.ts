import { describe, expect, test } from "vitest";
import type { Priceable } from "./bind-keys.js";
import { isPlain, otherReadings } from "./readings.js";
import { type Coverage, ResolvedTable } from "./resolved-table.js";
import { entryOf } from "./route.fixture.js";
import { createRouteTable, type RouteEntry } from "./route-table.js";
import { opaque, type Registered, route, viewOf } from "./router-view.fixture.js";
import type { RouterView } from "./router-view.js";

interface Value extends Priceable {
  readonly key: string;
}

/** Keys with a price behind them, `GET /a $2`; a cent is the default, and `free` is no price. */
function tableOf(...written: readonly string[]): ResolvedTable<Value> {
  const entries = written.map((one): RouteEntry<Value> => {
    const [, key = "", priceId = "$0.01"] = /^(.*?)(?: (\$\S+|free))?$/.exec(one) ?? [];
    return { ...entryOf(key), value: { key, priceId, isFree: priceId === "free" } };
  });
  return new ResolvedTable(createRouteTable(entries));
}

const GATE = {};

function bind(table: ResolvedTable<Value>, registered: readonly Registered[], mount = "") {
  return table.bind(GATE, viewOf([{ gate: GATE, mount }, ...registered]));
}

function keyOf(coverage: Coverage<Value>): string {
  if (coverage.kind === "priced") return coverage.candidate.entry.key;
  return coverage.kind === "bound" ? `bound ${coverage.entry.key}` : coverage.kind;
}

function inFront(table: ResolvedTable<Value>, line: string): string {
  const [method = "", path = ""] = line.split(" ");
  return keyOf(table.inFront({ method, path, mountPath: "" }));
}

function atHandler(table: ResolvedTable<Value>, handler: object, line: string, mounts = [""]): string {
  const [method = "", fullPath = ""] = line.split(" ");
  return keyOf(table.atHandler(handler, { method, fullPath, mounts }));
}

const handlerOf = (registered: Registered) =>
  "route" in registered ? registered.route : "opaque" in registered ? registered.opaque : {};

describe("a key is bound", () => {
  test.each<[key: string, bound: Registered, why: string]>([
    ["GET /a", route("GET /a"), "its own route"],
    ["GET /a", route("/a"), "a route for every method"],
    ["/a", route("POST /a"), "a key for every method"],
    ["GET /u/:id", route("GET /u/:name"), "another name of a parameter"],
    ["GET /u/7", route("GET /u/:id"), "a parameter that matches"],
    ["GET /f/*", route("GET /f/x"), "a route below a wildcard"],
    ["GET /u/{id}", route("GET /u/:id"), "a parameter in braces"],
    ["GET /u/<id>", route("GET /u/:id"), "a parameter in angle brackets"],
    ["GET /./a", route("GET /a"), "a dot"],
    ["GET //a", route("GET /a"), "two slashes"],
    ["GET /%61", route("GET /a"), "an encoded letter"],
    ["GET /café", route("GET /caf%C3%A9"), "letters that a URL encodes"],
    ["GET /caf%C3%A9", route("GET /café"), "encoded letters"],
    ["GET /f/a", opaque("/f"), "a file server"],
  ])("to the handler of %s: %#, %o", (key, bound) => {
    expect(bind(tableOf(key), [route("GET /other"), bound])).toEqual([handlerOf(bound)]);
  });

  test.each<[key: string, other: Registered, why: string]>([
    ["GET /a", route("POST /a"), "another method"],
    ["GET /a", route("GET /b"), "another path"],
    ["GET /a free", route("GET /a"), "a free key"],
  ])("to nothing: %s, %o, %s", (key, other) => {
    expect(bind(tableOf(key), [other])).toEqual([]);
  });

  test("only to the route that is written like it, beside others that match", () => {
    const [own, other] = [route("GET /u/me"), route("/u/:id")];
    const table = tableOf("GET /u/me");
    bind(table, [other, own]);
    expect(atHandler(table, own.route, "POST /u/8")).toBe("bound GET /u/me");
    expect(["GET /u/8", "POST /u/me"].map((line) => atHandler(table, other.route, line))).toEqual(["free", "free"]);
    // Express gives it the key's requests, too, if it comes first.
    expect(atHandler(table, other.route, "GET /u/ME")).toBe("GET /u/me");
  });

  test("below the mount of its table, by its own path or by the full one", () => {
    const own = route("GET /api/a");
    for (const key of ["GET /a", "GET /api/a"]) expect(bind(tableOf(key), [own], "/api")).toEqual([handlerOf(own)]);
  });

  test("to a route that is written like it in a router, if there is no other", () => {
    const [own, other] = [{}, {}];
    const inRouter = (handler: object, path: string) => ({
      ...{ route: handler, path, ownPath: "/a", methods: ["GET"], gates: [] },
    });
    const view: RouterView = {
      ...viewOf([{ gate: GATE, mount: "" }]),
      routes: [inRouter(own, "/api/a"), { ...inRouter(other, "/api/b"), ownPath: "/b" }],
    };
    expect(tableOf("GET /a").bind(GATE, view)).toEqual([own]);
  });

  test("anew when routes are added", () => {
    const table = tableOf("GET /a");
    expect(bind(table, [])).toEqual([]);
    expect(inFront(table, "GET /%61")).toBe("ambiguous");
    const late = route("/a");
    expect(bind(table, [late])).toEqual([late.route]);
    expect(inFront(table, "GET /%61")).toBe("free");
    expect(atHandler(table, late.route, "POST /a")).toBe("bound GET /a");
  });
});

describe("in front of the routes", () => {
  test.each<[line: string, expected: string]>([
    ["GET /a", "GET /a"],
    ["HEAD /a", "GET /a"],
    ["POST /a", "free"],
    ["OPTIONS /a", "free"],
    ["GET /A", "GET /a"],
    ["GET /a/", "GET /a"],
    ["GET /%61", "free"],
    ["GET /b", "free"],
  ])("a key with a handler prices the spellings that get there: %s is %s", (line, expected) => {
    const table = tableOf("GET /a");
    bind(table, [route("GET /a")]);
    expect(inFront(table, line)).toBe(expected);
  });

  test.each<[line: string, expected: string]>([
    ["GET /a", "GET /a"],
    ["GET /A//", "GET /a"],
    ["GET //a", "GET /a"],
    ["GET /x/../a", "ambiguous"],
    ["GET /%61", "ambiguous"],
    ["GET /b%2f..%2fa", "ambiguous"],
    ["GET /%62", "free"],
    ["POST /a", "free"],
  ])("a key without a handler prices every spelling, or refuses it: %s is %s", (line, expected) => {
    expect(inFront(tableOf("GET /a"), line)).toBe(expected);
  });

  test("the most specific key decides, and a free one only for its own spelling", () => {
    const table = tableOf("GET /f/*", "GET /f/free free");
    expect(inFront(table, "GET /f/free")).toBe("free");
    for (const path of ["/f/FREE", "/f/free/", "/f/%66ree"]) expect(inFront(table, `GET ${path}`)).toBe("GET /f/*");
  });
});

describe("at a handler", () => {
  test.each<[line: string, expected: string]>([
    ["GET /a", "GET /a"],
    ["GET /A/", "GET /a"],
    ["POST /a", "bound GET /a"],
    ["QUERY /a", "bound GET /a"],
    ["GET /rewritten", "bound GET /a"],
    ["OPTIONS /a", "preflight"],
    ["OPTIONS /rewritten", "preflight"],
  ])("its key prices whatever comes: %s by %s", (line, expected) => {
    const table = tableOf("GET /a");
    const handler = route("/a");
    bind(table, [handler]);
    expect(atHandler(table, handler.route, line)).toBe(expected);
  });

  test.each<[line: string, expected: string]>([
    ["GET /a", "GET /a"],
    ["DELETE /a", "DELETE /a"],
    ["HEAD /a", "GET /a"],
    ["PUT /a", "unnamed"],
    ["DELETE /other", "bound DELETE /a"],
  ])("the key that names the request decides, or it is refused: %s by %s", (line, expected) => {
    const table = tableOf("GET /a", "DELETE /a $1");
    const handler = route("/a");
    bind(table, [handler]);
    expect(atHandler(table, handler.route, line)).toBe(expected);
  });

  test("keys of one price price together what none of them names", () => {
    const table = tableOf("GET /a", "DELETE /a");
    const handler = route("/a");
    bind(table, [handler]);
    expect(atHandler(table, handler.route, "PUT /a")).toBe("bound GET /a");
  });

  test("OPTIONS is priced by a key that names it", () => {
    const table = tableOf("OPTIONS /a");
    const handler = route("/a");
    bind(table, [handler]);
    expect(atHandler(table, handler.route, "OPTIONS /a")).toBe("OPTIONS /a");
  });

  test("a free key is free only for its own spelling", () => {
    const table = tableOf("GET /f/*", "GET /f/free free");
    const handler = opaque("/f");
    bind(table, [handler]);
    expect(atHandler(table, handlerOf(handler), "GET /f/free")).toBe("free");
    expect(atHandler(table, handlerOf(handler), "GET /f/Free")).toBe("GET /f/*");
    expect(atHandler(table, handlerOf(handler), "GET /f")).toBe("GET /f/*");
  });

  test("mounts with parameters are known by their number of segments", () => {
    const table = tableOf("GET /a", "GET /b $1");
    const handler = route("/:tenant/:page");
    bind(table, [handler], "/:tenant");
    for (const [line, key] of [
      ["GET /x/a", "GET /a"],
      ["GET //x/b", "GET /b"],
      ["GET /x", "unnamed"],
      ["GET /", "unnamed"],
    ] as const) {
      expect(atHandler(table, handler.route, line, ["/:tenant"])).toBe(key);
    }
  });

  test("a handler that no key prices is free", () => {
    expect(atHandler(tableOf("GET /a"), {}, "OPTIONS /b")).toBe("free");
  });
});

describe.each<[what: string, handler: Registered]>([
  ["a route for every path", route("/*all")],
  ["a function for every request", opaque("")],
])("at %s", (_what, handler) => {
  const pages: readonly Registered[] = [handler, route("POST /taken", { isFinal: false }), route("/*last")];
  const at = (line: string, ...keys: readonly string[]) => {
    const table = tableOf(...keys);
    expect(bind(table, [handler])).toEqual([handlerOf(handler)]);
    return atHandler(table, handlerOf(handler), line);
  };

  test.each<[line: string, expected: string]>([
    ["GET /a", "GET /a"],
    ["HEAD /a", "GET /a"],
    ["GET /A/", "GET /a"],
    ["GET //a", "GET /a"],
    ["POST /a", "bound GET /a"],
    ["QUERY /A", "bound GET /a"],
    ["OPTIONS /a", "preflight"],
    ["GET /%61", "ambiguous"],
    ["POST /x/../a", "ambiguous"],
    ["GET /b", "free"],
    ["OPTIONS /b", "free"],
    ["GET /x/../b", "free"],
  ])("a key prices only its path, by every method: %s is %s", (line, expected) => {
    expect(at(line, "GET /a")).toBe(expected);
  });

  test("keys of two prices price what one of them names", () => {
    const keys = ["GET /a", "PUT /a $1"];
    expect(["GET /A", "PUT /a", "POST /a"].map((line) => at(line, ...keys))).toEqual(["GET /a", "PUT /a", "unnamed"]);
  });

  test("a request that a route behind it takes is free, unless no request gets past", () => {
    const table = tableOf("GET /taken");
    bind(table, pages);
    const isFinal = "route" in handler;
    expect(atHandler(table, handlerOf(handler), "POST /taken")).toBe(isFinal ? "bound GET /taken" : "free");
    expect(atHandler(table, handlerOf(handler), "PUT /taken")).toBe("bound GET /taken");
  });
});

describe("at a mount", () => {
  const mount = opaque("/a");
  const table = tableOf("GET /a/b");
  bind(table, [mount, route("POST /a/free"), route("GET /:x/y")]);

  test.each<[line: string, expected: string]>([
    ["GET /a/b", "GET /a/b"],
    ["GET /a/B", "GET /a/b"],
    ["PUT /a", "bound GET /a/b"],
    ["GET /a/x/../b", "bound GET /a/b"],
    ["POST /a/free", "free"],
    ["GET /a/free", "bound GET /a/b"],
    ["GET /a/y", "bound GET /a/b"],
  ])("a key prices everything that no route below the mount takes: %s is %s", (line, expected) => {
    expect(atHandler(table, handlerOf(mount), line)).toBe(expected);
  });
});

describe("a table that the routers do not show, or that cannot read them", () => {
  test.each<[what: string, isReadable: boolean, mounts: string[] | undefined]>([
    ["hidden", true, [""]],
    ["unreadable", false, undefined],
  ])("prices by path in front: %s", (_what, isReadable, mounts) => {
    const table = tableOf("GET /a");
    expect(table.bind(GATE, { ...viewOf([route("GET /b")]), isReadable }, mounts)).toEqual([]);
    const lines = ["GET /a", "GET /A/", "POST /a", "OPTIONS /a", "GET /%61", "GET /b"];
    expect(lines.map((line) => inFront(table, line))).toEqual([
      ...["GET /a", "GET /a", "bound GET /a", "preflight", "ambiguous", "free"],
    ]);
  });
});

describe("a file server behind a route", () => {
  const files: Registered = { opaque: {}, kind: "files", mount: "" };
  const table = tableOf("GET /f/:name");
  bind(table, [route("GET /f/:name"), files]);

  test.each<[line: string, expected: string]>([
    ["GET /f/a", "GET /f/:name"],
    ["GET //f/a", "GET /f/:name"],
    ["GET /%66/a", "ambiguous"],
    ["POST //f/a", "free"],
    ["GET /style.css", "free"],
    ["GET /f/a/b", "free"],
  ])("does not serve what the key of the route is for: %s is %s", (line, expected) => {
    expect(atHandler(table, handlerOf(files), line)).toBe(expected);
  });
});

describe("a file server at the top of the app", () => {
  const handler = {};
  const files: Registered = { opaque: handler, kind: "files", mount: "" };
  const table = tableOf("GET /book.pdf", "GET /report", "GET /docs/index.html $1", "GET /shop/:page");
  bind(table, [files]);

  test.each<[path: string, expected: string]>([
    ["/book.pdf", "GET /book.pdf"],
    ["/BOOK.pdf", "GET /book.pdf"],
    ["/x/../book.pdf", "bound GET /book.pdf"],
    ["/b%6fok.pdf", "bound GET /book.pdf"],
    ["/b%256fok.pdf", "bound GET /book.pdf"],
    ["\\book.pdf", "bound GET /book.pdf"],
    ["/book.pdf%00.css", "bound GET /book.pdf"],
    ["/book", "bound GET /book.pdf"],
    ["/report/index.html", "bound GET /report"],
    ["/report.html", "bound GET /report"],
    ["/docs/", "bound GET /docs/index.html"],
    ["/docs", "bound GET /docs/index.html"],
    ["/shop/a", "GET /shop/:page"],
    ["/shop/a/index.html", "bound GET /shop/:page"],
    ["/shop/a/b", "free"],
    ["/", "free"],
    ["/style.css", "free"],
    ["/reports", "free"],
    ["/docs/other.html", "free"],
  ])("serves %s by %s", (path, expected) => {
    expect(atHandler(table, handler, `GET ${path}`)).toBe(expected);
  });
});

describe("other spellings", () => {
  test.each<[path: string, spelling: string]>([
    ["/%61", "/a"],
    ["/%2561", "/a"],
    ["/a\\b", "/a/b"],
    ["/a/./b", "/a/b"],
    ["/x/../a", "/a"],
    ["//a", "/a"],
    ["/a\0x", "/a"],
    ["/a%00x", "/a"],
  ])("of %s are among others %s", (path, spelling) => {
    expect(otherReadings(path)).toContain(spelling);
    expect(isPlain(path)).toBe(false);
  });

  test("a plain path has none", () => {
    for (const path of ["/", "/a", "/A/b/", "/a.b-c~d"])
      expect([otherReadings(path).length <= 1, isPlain(path)]).toEqual([true, true]);
  });
});
