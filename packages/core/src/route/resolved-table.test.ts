import { describe, expect, test } from "vitest";
import type { Priceable } from "./bind-keys.js";
import { fileNames, isPlain, otherReadings } from "./readings.js";
import { type Coverage, ResolvedTable } from "./resolved-table.js";
import { entryOf } from "./route.fixture.js";
import { createRouteTable, type RouteEntry } from "./route-table.js";
import { opaque, type Registered, route, routeBy, viewOf } from "./router-view.fixture.js";

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
    ["HEAD /a", route("GET /a"), "HEAD at a route for GET"],
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
    ["GET /a", routeBy(/^\/(a|b)$/), "a regular expression"],
    ["GET /f/a", opaque("/f"), "a function above its path"],
    ["GET /a", opaque("/a"), "a function at its path"],
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

  test.each<[key: string, wider: Registered, line: string, expected: string, why: string]>([
    ["GET /u/me", route("/u/:id"), "POST /u/8", "bound GET /u/me", "a parameter"],
    ["GET /a", route("/:page"), "POST /b", "bound GET /a", "a page route"],
    ["GET /a", routeBy(/^\/(a|b)$/), "POST /b", "bound GET /a", "a regular expression"],
    ["GET /f/a", route("/f/*rest"), "POST /f/b", "free", "a wildcard"],
    ["GET /a", routeBy(/.*/), "POST /b", "free", "an expression for every path"],
  ])("without a route of its own, %s: %o is its as a whole or by path: %s is %s", (key, wider, line, expected) => {
    const table = tableOf(key);
    bind(table, [wider]);
    expect(atHandler(table, handlerOf(wider), line)).toBe(expected);
    expect(atHandler(table, handlerOf(wider), key)).toBe(key);
  });

  test("below the mount of its table, by its own path or by the full one", () => {
    const own = route("GET /api/a");
    for (const key of ["GET /a", "GET /api/a"]) expect(bind(tableOf(key), [own], "/api")).toEqual([handlerOf(own)]);
  });

  test("to a route that is written like it in a router, if there is no other", () => {
    const [own, other] = [route("GET /api/a", { ownPath: "/a" }), route("GET /api/b", { ownPath: "/b" })];
    expect(bind(tableOf("GET /a"), [own, other])).toEqual([own.route]);
    const nearer = route("GET /a");
    expect(bind(tableOf("GET /a"), [own, nearer])).toEqual([nearer.route]);
  });

  test("anew when routes are added", () => {
    const table = tableOf("GET /a");
    expect(bind(table, [])).toEqual([]);
    expect(inFront(table, "GET /%61")).toBe("GET /a");
    const late = route("/a");
    expect(bind(table, [late])).toEqual([late.route]);
    expect(inFront(table, "GET /%61")).toBe("free");
    expect(atHandler(table, late.route, "POST /a")).toBe("bound GET /a");
  });
});

describe("a wider route on the way to the key's own", () => {
  test.each<[wider: Registered, name: string]>([
    [route("/u/:id"), "a parameter"],
    [route("/u/*rest"), "a wildcard"],
    [route("/*all"), "every path"],
    [routeBy(/^\/u\//), "a regular expression"],
  ])("is priced in the spellings that the key's own route takes: %#", (wider) => {
    const own = route("GET /u/me");
    for (const registered of [
      [wider, own],
      [own, wider],
    ]) {
      const table = tableOf("GET /u/me");
      bind(table, registered);
      const lines = ["GET /u/me", "HEAD /u/me", "GET /u/ME/", "GET /u/%6de", "POST /u/me", "OPTIONS /u/me", "GET /u/8"];
      expect(lines.map((line) => atHandler(table, handlerOf(wider), line))).toEqual([
        ...["GET /u/me", "GET /u/me", "GET /u/me", "free", "free", "free", "free"],
      ]);
      expect(atHandler(table, own.route, "POST /u/8")).toBe("bound GET /u/me");
    }
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
    ["GET //x/a", "free"],
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
    ["GET /x/../a", "GET /a"],
    ["GET /%61", "GET /a"],
    ["GET /b%2f..%2fa", "GET /a"],
    ["GET /%62", "free"],
    ["POST /a", "bound GET /a"],
    ["POST /%61", "bound GET /a"],
    ["OPTIONS /a", "preflight"],
  ])("a key without a handler prices every reading, by every method: %s is %s", (line, expected) => {
    const table = tableOf("GET /a");
    bind(table, []);
    expect(inFront(table, line)).toBe(expected);
  });

  test("without an app, a key prices the methods that it names", () => {
    const lines = ["GET /A/", "GET /%61", "POST /a", "OPTIONS /a"];
    expect(lines.map((line) => inFront(tableOf("GET /a"), line))).toEqual(["GET /a", "GET /a", "free", "free"]);
  });

  test("a key without a handler prices other cases and slashes, before the app is known and after", () => {
    const table = tableOf("GET /a");
    const ask = () => ["GET /A", "GET /a/"].map((line) => inFront(table, line));
    expect(ask()).toEqual(["GET /a", "GET /a"]);
    bind(table, []);
    expect(ask()).toEqual(["GET /a", "GET /a"]);
  });

  test("spellings of a key of a function are left to the function", () => {
    const table = tableOf("GET /a");
    bind(table, [opaque("/a")]);
    const lines = ["GET /a", "GET /%61", "POST /a"];
    expect(lines.map((line) => inFront(table, line))).toEqual(["GET /a", "free", "free"]);
  });

  test("a path that a handler may read as one of another price is refused at once", () => {
    const table = tableOf("GET /u/:id", "GET /u/vip $5");
    bind(table, [route("GET /u/:id")]);
    const lines = ["GET /u/7", "GET /u/vip", "GET /u/%76ip", "GET /u/a%20b"];
    expect(lines.map((line) => inFront(table, line))).toEqual(["GET /u/:id", "GET /u/vip", "ambiguous", "GET /u/:id"]);
  });

  test("the most specific key decides, and a free one only for its own spelling", () => {
    const table = tableOf("GET /f/*", "GET /f/free free");
    bind(table, []);
    expect(inFront(table, "GET /f/free")).toBe("free");
    for (const path of ["/f/FREE", "/f/free/", "/f/%66ree"]) expect(inFront(table, `GET ${path}`)).toBe("GET /f/*");
    expect(inFront(table, "POST /f/free")).toBe("bound GET /f/*");
  });
});

describe("at a handler", () => {
  test.each<[line: string, expected: string]>([
    ["GET /a", "GET /a"],
    ["HEAD /a", "GET /a"],
    ["GET /A/", "GET /a"],
    ["GET /%61", "bound GET /a"],
    ["POST /a", "bound GET /a"],
    ["QUERY /a", "bound GET /a"],
    ["GET /rewritten", "bound GET /a"],
    ["OPTIONS /a", "preflight"],
    ["OPTIONS /rewritten", "preflight"],
  ])("its key prices whatever comes: %s by %s", (line, expected) => {
    const table = tableOf("GET /a");
    const handler = route("/a");
    bind(table, [handler, route("/*page")]);
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

  test("a key for HEAD prices all of a route for GET", () => {
    const table = tableOf("HEAD /a");
    const handler = route("GET /a");
    bind(table, [handler]);
    const lines = ["HEAD /a", "GET /a"];
    expect(lines.map((line) => atHandler(table, handler.route, line))).toEqual(["HEAD /a", "bound HEAD /a"]);
  });

  test.each<[key: string, expected: string]>([
    ["OPTIONS /a", "OPTIONS /a"],
    ["/a", "preflight"],
  ])("OPTIONS is priced by a key that names it: by %s it is %s", (key, expected) => {
    const table = tableOf(key);
    const handler = route("/a");
    bind(table, [handler]);
    expect(atHandler(table, handler.route, "OPTIONS /a")).toBe(expected);
  });

  test("a free key is free only for its own spelling", () => {
    const table = tableOf("GET /f/*", "GET /f/free free");
    const handler = opaque("/f");
    bind(table, [handler]);
    const lines = ["GET /f/free", "GET /f/Free", "GET /f/%66ree", "GET /f"];
    expect(lines.map((line) => atHandler(table, handlerOf(handler), line))).toEqual([
      ...["free", "GET /f/*", "GET /f/*", "GET /f/*"],
    ]);
  });

  test("a path that is free by a key and priced by another reading is refused", () => {
    const table = tableOf("GET /f/:x free", "GET /f/b");
    const handler = opaque("/f");
    bind(table, [handler]);
    const lines = ["GET /f/a", "GET /f/b", "GET /f/%62"];
    expect(lines.map((line) => atHandler(table, handlerOf(handler), line))).toEqual(["free", "GET /f/b", "ambiguous"]);
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

describe("beside a handler of a key", () => {
  const isFreed = (line: string, others: readonly Registered[], key = "GET /a") => {
    const handler = route("/a");
    const both = [
      [handler, ...others],
      [...others, handler],
    ].map((registered) => {
      const table = tableOf(key);
      bind(table, registered);
      return atHandler(table, handler.route, line);
    });
    expect(both[0]).toBe(both[1]);
    return both[0];
  };

  test.each<[line: string, other: Registered, expected: string, why: string]>([
    ["POST /a", route("POST /a"), "free", "a route of that name"],
    ["POST /A", route("POST /a"), "free", "another spelling that it takes"],
    ["PUT /a", route("POST|PUT /a"), "free", "one of several methods"],
    ["PUT /a", route("POST /a"), "bound GET /a", "another method"],
    ["POST /b", route("POST /a"), "bound GET /a", "a path that it does not take"],
    ["POST /a", route("POST /:page"), "bound GET /a", "a page route"],
    ["POST /a", route("POST /*all"), "bound GET /a", "a wildcard"],
    ["POST /a", routeBy(/^\/a$/, "POST"), "bound GET /a", "a regular expression"],
    ["POST /a", opaque("/a"), "bound GET /a", "a function"],
    ["OPTIONS /a", route("OPTIONS /a"), "preflight", "OPTIONS"],
  ])("a route frees a method by its name, wherever it stands: %s beside %o is %s, %s", (line, other, expected) => {
    expect(isFreed(line, [other])).toBe(expected);
  });

  test("a route for GET frees HEAD, if the key is for another method", () => {
    const others = [route("GET /a")];
    const lines = ["GET /a", "HEAD /a", "PUT /a"];
    expect(lines.map((line) => isFreed(line, others, "POST /a"))).toEqual(["free", "free", "bound POST /a"]);
  });
});

describe.each<[what: string, handler: Registered]>([
  ["a route for every path", route("/*all")],
  ["an expression for every path", routeBy(/.*/)],
  ["a function for every request", opaque("")],
])("at %s", (_what, handler) => {
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
    ["OPTIONS /%61", "preflight"],
    ["GET /%61", "GET /a"],
    ["HEAD /%61", "GET /a"],
    ["POST /x/../a", "bound GET /a"],
    ["GET /b", "free"],
    ["OPTIONS /b", "free"],
    ["GET /x/../b", "free"],
  ])("a key prices only its path, by every method: %s is %s", (line, expected) => {
    expect(at(line, "GET /a")).toBe(expected);
  });

  test("OPTIONS is priced only by a key that names it", () => {
    expect(["GET /a", "/a", "OPTIONS /a"].map((key) => at("OPTIONS /a", key))).toEqual([
      ...["preflight", "preflight", "OPTIONS /a"],
    ]);
  });

  test("keys of two prices price what one of them names, and the rest is refused", () => {
    const keys = ["GET /a", "PUT /a $1"];
    const lines = ["GET /A", "PUT /a", "PUT /%61", "POST /a"];
    expect(lines.map((line) => at(line, ...keys))).toEqual(["GET /a", "PUT /a", "PUT /a", "unnamed"]);
  });

  test("readings of two prices are refused, and those of one price are not", () => {
    expect(at("GET /u/%76ip", "GET /u/:id", "GET /u/vip $5")).toBe("ambiguous");
    expect(at("GET /u/%76ip", "GET /u/:id", "GET /u/vip")).toBe("GET /u/:id");
    expect(at("GET /u/a%20b", "GET /u/:id", "GET /u/vip $5")).toBe("GET /u/:id");
  });

  test("a request that a route takes by name is free, and not for what stands behind", () => {
    const pages = [handler, route("POST /taken"), route("/*last"), opaque("")];
    for (const registered of [pages, [...pages].reverse()]) {
      const table = tableOf("GET /taken");
      bind(table, registered);
      const lines = ["POST /taken", "PUT /taken", "GET /taken", "POST /%74aken"];
      expect(lines.map((line) => atHandler(table, handlerOf(handler), line))).toEqual([
        ...["free", "bound GET /taken", "GET /taken", "bound GET /taken"],
      ]);
    }
  });
});

describe("OPTIONS at a function", () => {
  test.each<[what: string, others: Registered[], expected: string]>([
    ["no route", [], "preflight"],
    ["a route of its own", [route("GET /a")], "free"],
    ["a route on the way only", [route("/*all")], "preflight"],
  ])("passes if the key has a route that is priced: with %s it is %s", (_what, others, expected) => {
    const table = tableOf("GET /a");
    const handler = opaque("");
    bind(table, [handler, ...others]);
    expect(atHandler(table, handlerOf(handler), "OPTIONS /a")).toBe(expected);
    expect(atHandler(table, handlerOf(handler), "OPTIONS /b")).toBe("free");
  });
});

describe("at a function above a key's path", () => {
  const mount = opaque("/a");
  const table = tableOf("GET /a/b", "GET /c");
  bind(table, [mount, route("POST /a/b")]);

  test.each<[line: string, expected: string]>([
    ["GET /a/b", "GET /a/b"],
    ["GET /a/B", "GET /a/b"],
    ["PUT /a/b", "bound GET /a/b"],
    ["POST /a/b", "free"],
    ["GET /a/x/../b", "GET /a/b"],
    ["GET /a/b;x=1", "GET /a/b"],
    ["GET /a//host/b", "GET /a/b"],
    ["GET /a/..%2fc", "GET /c"],
    ["PUT /a", "free"],
    ["GET /a/c", "free"],
    ["GET /a/b/c", "free"],
  ])("a key prices its path only: %s is %s", (line, expected) => {
    expect(atHandler(table, handlerOf(mount), line)).toBe(expected);
  });
});

describe("at a function at a key's path", () => {
  const mount = opaque("/a");
  const table = tableOf("GET /a", "GET /a/dear $5");
  bind(table, [mount, route("POST /a/free"), route("PUT /a/:page")]);

  test.each<[line: string, expected: string]>([
    ["GET /a", "GET /a"],
    ["GET /a/x", "bound GET /a"],
    ["PUT /a", "bound GET /a"],
    ["GET /a/dear", "GET /a/dear"],
    ["GET /a/%64ear", "ambiguous"],
    ["GET /a//host/dear", "ambiguous"],
    ["POST /a/free", "free"],
    ["GET /a/free", "bound GET /a"],
    ["OPTIONS /a/x", "preflight"],
  ])("the key prices everything below the mount: %s is %s", (line, expected) => {
    expect(atHandler(table, handlerOf(mount), line)).toBe(expected);
  });

  test("not where it stands before the table", () => {
    const early = opaque("/a");
    const others = tableOf("GET /a");
    const bound = others.bind(GATE, viewOf([early, { gate: GATE, mount: "" }, route("GET /a")]));
    expect(bound).not.toContain(handlerOf(early));
  });
});

describe("at a function at several mounts", () => {
  const handler = opaque("/m");
  const registered = [handler, opaque("/n", handlerOf(handler))];

  test.each<[line: string, expected: string]>([
    ["GET /m/a", "GET /m/a"],
    ["GET /n/a", "GET /m/a"],
    ["GET /n/%61", "GET /m/a"],
    ["GET /n/b", "free"],
    ["GET /m/b", "free"],
  ])("a path is read as below each of them: %s is %s", (line, expected) => {
    const table = tableOf("GET /m/a");
    bind(table, registered);
    expect(atHandler(table, handlerOf(handler), line)).toBe(expected);
  });

  test("two prices of one path below two mounts are refused", () => {
    const table = tableOf("GET /m/a", "GET /n/a $5");
    bind(table, registered);
    expect(atHandler(table, handlerOf(handler), "GET /n/a")).toBe("ambiguous");
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
      ...["GET /a", "GET /a", "bound GET /a", "preflight", "GET /a", "free"],
    ]);
  });

  test("prices handlers behind it if they are in sight, and its path in front as well", () => {
    const table = tableOf("GET /a");
    const handler = route("/a");
    expect(table.bind(GATE, viewOf([handler]), [""])).toEqual([handler.route]);
    expect(atHandler(table, handler.route, "POST /b")).toBe("bound GET /a");
    expect(["GET /%61", "POST /a", "GET /b"].map((line) => inFront(table, line))).toEqual([
      ...["GET /a", "bound GET /a", "free"],
    ]);
  });
});

describe("a function behind a route with a key", () => {
  const files = opaque("");
  const table = tableOf("GET /f/:name");
  bind(table, [route("GET /f/:name"), files]);

  test.each<[line: string, expected: string]>([
    ["GET /f/a", "GET /f/:name"],
    ["GET //f/a", "GET /f/:name"],
    ["GET /%66/a", "GET /f/:name"],
    ["POST //f/a", "bound GET /f/:name"],
    ["GET /style.css", "free"],
    ["GET /f/a/b", "free"],
  ])("is priced by path: %s is %s", (line, expected) => {
    expect(atHandler(table, handlerOf(files), line)).toBe(expected);
  });
});

describe("a file server at the top of the app", () => {
  const handler = {};
  const table = tableOf("GET /book.pdf", "GET /report", "GET /docs/index.html $1", "GET /shop/:page");
  bind(table, [opaque("", handler)]);

  test.each<[path: string, expected: string]>([
    ["/book.pdf", "GET /book.pdf"],
    ["/BOOK.pdf", "GET /book.pdf"],
    ["/x/../book.pdf", "GET /book.pdf"],
    ["/b%6fok.pdf", "GET /book.pdf"],
    ["/b%256fok.pdf", "GET /book.pdf"],
    ["\\book.pdf", "GET /book.pdf"],
    ["/book.pdf%00.css", "GET /book.pdf"],
    ["/book", "bound GET /book.pdf"],
    ["/report/index.html", "GET /report"],
    ["/report.html", "bound GET /report"],
    ["/%72eport.html", "bound GET /report"],
    ["/docs/", "bound GET /docs/index.html"],
    ["/docs", "bound GET /docs/index.html"],
    ["/shop/a", "GET /shop/:page"],
    ["/shop/a/index.html", "GET /shop/:page"],
    ["/shop/a/b", "free"],
    ["/", "free"],
    ["/style.css", "free"],
    ["/reports", "free"],
    ["/docs/other.html", "free"],
  ])("serves %s by %s", (path, expected) => {
    expect(atHandler(table, handler, `GET ${path}`)).toBe(expected);
  });
});

describe("other readings", () => {
  test.each<[path: string, reading: string]>([
    ["/%61", "/a"],
    ["/%2561", "/a"],
    ["/a\\b", "/a/b"],
    ["/a/./b", "/a/b"],
    ["/x/../a", "/a"],
    ["/a%2f..%2fb", "/b"],
    ["//a", "/a"],
    ["/a\0x", "/a"],
    ["/a%00x", "/a"],
    ["//host/a", "/a"],
    ["//user@host/a", "/a"],
    ["//host:1/a", "/a"],
    ["///host/a", "/a"],
    ["/\\host/a", "/a"],
    ["/%5chost/a", "/a"],
    ["//host", "/"],
    ["host/a", "/a"],
    ["/a;x=1", "/a"],
    ["/a;x=1/b;y", "/a/b"],
    ["/x/..;/a", "/a"],
    ["/a%3bx=1", "/a"],
    ["//host/x/..;/%61", "/a"],
    ["/caf%C3%A9", "/café"],
    ["/CAF%C3%89", "/caf%C3%A9"],
    ["/caf%C3%A9", "/CAF%C3%89"],
    ["/café", "/caf%C3%A9"],
    ["/a//../b", "/a/b"],
    ["/./x//../a", "/x/a"],
    ["/a/\\../b", "/a/b"],
    ["/x///../..//a", "/x/a"],
    ["/a/b%00c", "/a/b\0c"],
    ["/x%00/%61", "/x\0/a"],
    ["/x%00/a;b", "/x\0/a"],
  ])("of %s are among others %s", (path, reading) => {
    expect(otherReadings(path)).toContain(reading);
    expect(isPlain(path)).toBe(false);
  });

  test.each<[path: string, other: string]>([
    ["/x/a", "/a"],
    ["//host/a", "/host"],
    ["/%252561", "/a"],
    ["/a;x=1", "/x=1"],
  ])("of %s do not include %s", (path, other) => {
    expect(otherReadings(path)).not.toContain(other);
  });

  test("a plain path has none", () => {
    for (const path of ["/", "/a", "/A/b/", "/a.b-c~d"]) {
      expect([otherReadings(path), isPlain(path)]).toEqual([[], true]);
    }
  });
});

describe("names of a file", () => {
  const leadsTo = (asked: string, kept: string) =>
    fileNames(asked).asked.some((name) => fileNames(kept).kept.includes(name));

  test.each<[asked: string, kept: string, expected: boolean]>([
    ["/a/index.html", "/a", true],
    ["/a/INDEX.htm", "/a/", true],
    ["/a", "/a/index.html", true],
    ["/a.html", "/a", true],
    ["/a", "/a.html", true],
    ["/index.html", "/", true],
    ["/a/b", "/a", false],
    ["/a.html", "/a.pdf", false],
    ["/a/other.html", "/a/index.html", false],
  ])("%s leads to %s: %s", (asked, kept, expected) => {
    expect(leadsTo(asked, kept)).toBe(expected);
  });
});
