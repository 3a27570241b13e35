import { describe, expect, test } from "vitest";
import { type Coverage, cover } from "./coverage.js";
import { entryOf } from "./route.fixture.js";
import { createRouteTable } from "./route-table.js";
import { type Receiver, type Receivers, type ReceiversOf, UNKNOWN_RECEIVERS } from "./router-view.js";

const NO_RECEIVER: Receivers = { isFound: true, before: [], after: [], beyond: [], opaque: [] };
const MIDDLEWARE: Receivers = { ...NO_RECEIVER, opaque: [{ handler: {}, isMeant: false }] };

function routeAt(...samples: readonly string[]): Receiver {
  return { route: {}, samples, isFinal: true, takesAnyMethod: false, charges: 0 };
}

/** A route whose path has no relation to any key. */
function routeElsewhere(isFinal = true): Receiver {
  return { ...routeAt("/elsewhere"), isFinal };
}

const REGEXP: Receiver = { ...routeAt(), samples: undefined };

function served(...after: readonly Receiver[]): Receivers {
  return { ...NO_RECEIVER, after };
}

function middlewareBefore(...after: readonly Receiver[]): Receivers {
  return { ...MIDDLEWARE, after };
}

/** The router's result for each path. All other paths have no receiver. */
type Router = Readonly<Record<string, Receivers>>;

interface Case {
  readonly keys: readonly string[];
  readonly path: string;
  readonly mountPath?: string;
  readonly fullPath?: string;
  readonly method?: string;
  readonly router?: Router;
  readonly hasOldRouter?: boolean;
  readonly isUnclear?: boolean;
}

interface Outcome {
  readonly coverage: Coverage<string>;
  /** The key that prices the request, or `free` or `ambiguous`. */
  readonly is: string;
  readonly asked: readonly string[];
}

function look({ keys, path, mountPath = "", fullPath = mountPath + path, ...more }: Case): Outcome {
  const { method = "GET", router = {}, hasOldRouter = false, isUnclear = false } = more;
  const asked: string[] = [];
  const receiversOf: ReceiversOf = (asking = fullPath, anyMethod = false) => {
    asked.push(anyMethod ? `${asking} of any method` : asking);
    return router[asking] ?? NO_RECEIVER;
  };
  const query = { method, path, mountPath, fullPath, receiversOf, hasOldRouter, isUnclear };
  const coverage = cover(createRouteTable(keys.map(entryOf)), query);
  return { coverage, is: coverage.kind === "priced" ? coverage.candidate.entry.key : coverage.kind, asked };
}

describe("a plain path, without asking the router", () => {
  test.each<[keys: string[], path: string, is: string, why: string]>([
    [["GET /a"], "/a", "GET /a", "spelled as the key"],
    [["GET /a/:x"], "/a/b", "GET /a/:x", "with a parameter"],
    [["GET /f/*w"], "/f/a/b", "GET /f/*w", "with a wildcard"],
    [["GET /a/:x", "GET /a/b"], "/a/b", "GET /a/b", "the most specific of two"],
    [["GET /a"], "/b", "free", "no key matches"],
    [["GET /a"], "/a/b", "free", "one segment more"],
    [["POST /a"], "/A", "free", "another method"],
    [["GET /a"], "/zz%20", "free", "in any reading"],
    [["GET /a/:x"], "/a/%C3%A9", "GET /a/:x", "UTF-8 in a parameter"],
    [["GET /a/:x"], "/a/%62", "GET /a/:x", "an encoded letter, under the same key"],
    [["GET /a/:x"], "/a/\xe9", "GET /a/:x", "a byte outside ASCII"],
    [["GET /f/*w"], "/f/.well-known", "GET /f/*w", "a name that begins with a dot"],
  ])("with the keys %j, the path %s is %s: %s", (keys, path, is) => {
    expect(look({ keys, path, router: { [path]: MIDDLEWARE } })).toMatchObject({ is, asked: [] });
  });

  test("the candidate has the form, the match, the path and the mount", () => {
    const { coverage } = look({ keys: ["GET /a{/:x}"], path: "/b", mountPath: "/a" });
    expect(coverage).toMatchObject({
      kind: "priced",
      candidate: { form: { template: "/a/:x" }, match: "exact", path: "/a/b", mountPath: "" },
    });
  });
});

describe("a path in other case or with other slashes", () => {
  test.each<[router: Receivers, is: string, why: string]>([
    [NO_RECEIVER, "free", "no handler receives it"],
    [UNKNOWN_RECEIVERS, "GET /a", "the receivers are unknown"],
    [MIDDLEWARE, "GET /a", "middleware may receive it"],
    [middlewareBefore(routeElsewhere()), "GET /a", "middleware before another route"],
    [served(routeAt("/a")), "GET /a", "a route spelled as the key"],
    [served(routeAt("/b", "/a")), "GET /a", "a route with one form spelled as the key"],
    [served(routeElsewhere(), routeAt("/a")), "GET /a", "one of several routes"],
    [served(REGEXP), "GET /a", "a route with an unknown path"],
    [served(routeElsewhere()), "free", "another route"],
    [served(routeAt("/A")), "free", "a route spelled as the request"],
    [served(routeAt()), "free", "a route without a path"],
    [{ ...NO_RECEIVER, before: [routeAt("/a")] }, "free", "a route before the gate, which the gate never sees"],
  ])("a path in another spelling, with the receivers %o, is %s: %s", (router, is) => {
    expect(look({ keys: ["GET /a"], path: "/A", router: { "/A": router } }).is).toBe(is);
    expect(look({ keys: ["GET /a"], path: "/a/", router: { "/a/": router } }).is).toBe(is);
  });

  test("the router is asked for the path as sent, then for the key's sample path if needed", () => {
    const other = served(routeElsewhere());
    const ask = (router: Receivers) => look({ keys: ["GET /a/:x"], path: "/A/b", router: { "/A/b": router } }).asked;
    expect(ask(NO_RECEIVER)).toEqual(["/A/b"]);
    expect(ask(MIDDLEWARE)).toEqual(["/A/b"]);
    expect(ask(served(routeAt("/a/~")))).toEqual(["/A/b"]);
    expect(ask(other)).toEqual(["/A/b", "/a/~ of any method", "/a/~"]);
  });

  test.each<[path: string, sample: string]>([
    ["/X/1~2", "/x/:a~*b"],
    ["/X/1-2", "/x/:a-*b"],
  ])("the path %s is priced by %s if its own route receives it", (path, keyPath) => {
    const [form] = entryOf(`GET ${keyPath}`).forms;
    const router = { [path]: served(routeAt(form?.sample ?? "")) };
    expect(look({ keys: [`GET ${keyPath}`], path, router }).is).toBe(`GET ${keyPath}`);
  });

  test("the next key prices a request that the first does not match", () => {
    const keys = ["GET /a/b", "GET /:x/:y"];
    expect(look({ keys, path: "/A/B", router: {} })).toMatchObject({ is: "GET /:x/:y", asked: ["/A/B"] });
    const router = { "/A/b": served(routeAt("/~/b")) };
    expect(look({ keys: ["GET /a/:x", "GET /:x/b"], path: "/A/b", router }).is).toBe("GET /:x/b");
  });
});

describe("a route whose path has no relation to the key", () => {
  const keys = ["GET /a"];
  const [first, second, third] = [routeElsewhere(false), routeElsewhere(), routeElsewhere()];

  test.each<[gets: Receiver[], meant: Receiver[], is: string, why: string]>([
    [[second], [second], "GET /a", "it also receives the key's sample path"],
    [[second], [third], "free", "another route receives the key's sample path"],
    [[second], [], "free", "no handler receives the key's sample path"],
    [[third], [second, third], "free", "it is second, and the first always responds"],
    [[third, second], [second, third], "GET /a", "one of the receivers is first for the key"],
    [[first], [first, second], "free", "a route that passes on, before one that responds"],
    [[second], [first, second], "GET /a", "a route that responds, after one that passes on"],
    [[first], [first], "GET /a", "no route is known to respond"],
    [[routeElsewhere()], [first], "free", "no route is known to respond, and this is another one"],
  ])("receivers %o, and %o for the key, make the request %s: %s", (gets, meant, is) => {
    const router = { "/A": served(...gets), "/a": served(...meant) };
    expect(look({ keys, path: "/A", router }).is).toBe(is);
  });
});

describe("below a mount", () => {
  const at = { path: "/USERS/7", mountPath: "/api" };

  test.each<[key: string, sample: string, is: string, why: string]>([
    ["GET /users/:id", "/api/users/~", "GET /users/:id", "a key relative to the mount"],
    ["GET /api/users/:id", "/api/users/~", "GET /api/users/:id", "a key with the full path"],
    ["GET /users/:id", "/~/users/~", "GET /users/:id", "a mount with a parameter"],
    ["GET /users/:id", "/v1/api/users/~", "free", "a mount of two segments"],
    ["GET /users/:id", "/api/others/~", "free", "another route below it"],
  ])("below a mount, the key %s with a route at %s yields %s: %s", (key, sample, is) => {
    expect(look({ ...at, keys: [key], router: { "/api/USERS/7": served(routeAt(sample)) } }).is).toBe(is);
  });

  test.each<[key: string, asked: string]>([
    ["GET /users/:id", "/api/users/~"],
    ["GET /api/users/:id", "/api/users/~"],
  ])("below a mount, the key %s asks the router for %s", (key, asked) => {
    const router = { "/api/USERS/7": served(routeElsewhere()) };
    expect(look({ ...at, keys: [key], router }).asked).toEqual(["/api/USERS/7", `${asked} of any method`, asked]);
  });

  test("the router is asked for the full path as sent", () => {
    const { asked } = look({ keys: ["GET /a"], path: "/A", mountPath: "/api", fullPath: "/API/A/" });
    expect(asked).toEqual(["/API/A/"]);
  });

  test("a mount with two slashes makes the path ambiguous", () => {
    const query = { keys: ["GET /a"], path: "/a", mountPath: "/api", fullPath: "/api//a" };
    expect(look({ ...query, router: { "/api//a": MIDDLEWARE } }).is).toBe("ambiguous");
  });

  test.each<[keys: string[], mountPath: string, path: string, why: string]>([
    [["GET /api/b"], "/%61pi", "/b", "the mount has another reading"],
    [["GET /b"], "/api", "/%62", "the path below it has another reading"],
    [["GET /b"], "/api", "/x/../b", "the path leads back"],
    [["GET /b"], "/api", "/../b", "the path leads out of the mount"],
  ])("with the keys %j, the path %s%s is ambiguous before middleware: %s", (keys, mountPath, path) => {
    const router = { [mountPath + path]: MIDDLEWARE };
    expect(look({ keys, mountPath, path, router }).is).toBe("ambiguous");
    expect(look({ keys, mountPath, path, router: {} }).is).toBe("free");
  });
});

describe("a path with several readings", () => {
  const [own, other] = ["/a/~", "/z"].map((sample) => served(routeAt(sample)));

  test.each<[keys: string[], path: string, router: Receivers | undefined, is: string, why: string]>([
    [["GET /a"], "/%61", MIDDLEWARE, "ambiguous", "middleware may decode it"],
    [["GET /a"], "/%61", UNKNOWN_RECEIVERS, "ambiguous", "the receivers are unknown"],
    [["GET /a"], "/%61", other, "free", "a route does not decode before it matches"],
    [["GET /a"], "/%61", NO_RECEIVER, "free", "no handler receives it"],
    [["GET /a"], "/%61", served(routeAt("/a")), "free", "the key does not match this spelling"],
    [["GET /a"], "/b/../a", MIDDLEWARE, "ambiguous", "dots"],
    [["GET /a"], "/b/%2e%2e/a", MIDDLEWARE, "ambiguous", "hidden dots"],
    [["GET /a"], "/b/..%5Ca", MIDDLEWARE, "ambiguous", "hidden backslashes"],
    [["GET /a"], "/a/.", other, "free", "dots before a route"],
    [["GET /a"], "/%2561", MIDDLEWARE, "ambiguous", "encoded twice"],
    [["GET /a"], "//a", MIDDLEWARE, "ambiguous", "a doubled slash"],
    [["GET /a"], "//a", NO_RECEIVER, "free", "a doubled slash without a receiver"],
    [["GET /a"], "//a", served(routeAt("/a")), "GET /a", "a doubled slash that the key's route receives"],
    [["GET /a"], "//A", served(REGEXP), "GET /a", "a route with an unknown path"],
    [["GET /a/:x"], "/a/b%2Fc", MIDDLEWARE, "ambiguous", "an encoded separator in a parameter"],
    [["GET /a/:x"], "/a/b%2Fc", own, "GET /a/:x", "an encoded separator before the key's own route"],
    [["GET /a/:x"], "/a/b%2Fc", NO_RECEIVER, "GET /a/:x", "spelled as the key, without another receiver"],
    [["GET /a/:x"], "/a/b%2Fc", other, "GET /a/:x", "spelled as the key, before another route"],
    [
      ["GET /a/:x"],
      "/a/b%2Fc",
      middlewareBefore(routeAt("/a/~")),
      "GET /a/:x",
      "the key's own route, after middleware",
    ],
    [["GET /a/:x"], "/A/b%2Fc", NO_RECEIVER, "free", "other case without a receiver"],
    [["GET /a/:x"], "/A/b%2Fc", MIDDLEWARE, "ambiguous", "other case before middleware"],
    [["GET /a/:x"], "/A/%C3%A9", MIDDLEWARE, "GET /a/:x", "other case without encoded separators"],
    [["GET /a/:x"], "/A/%C3%A9", other, "free", "other case before another route"],
    [["GET /a/:x", "GET /a/b"], "/a/%62", MIDDLEWARE, "ambiguous", "two prices"],
    [["GET /a/:x", "GET /a/b"], "/a/%62", own, "GET /a/:x", "the key of the route that receives it"],
    [["GET /a/:x", "GET /a/b"], "/a/%62", NO_RECEIVER, "GET /a/:x", "the key spelled as the path"],
    [["GET /A/:x", "GET /:y/%62"], "/a/%62", NO_RECEIVER, "GET /:y/%62", "the exact match, even if it is not first"],
    [["POST /a"], "/%61", MIDDLEWARE, "free", "another method"],
  ])("with the keys %j, the path %s before %o is %s: %s", (keys, path, router, is) => {
    expect(look({ keys, path, router: router === undefined ? {} : { [path]: router } }).is).toBe(is);
  });

  test("free and ambiguous results are frozen", () => {
    expect(Object.isFrozen(look({ keys: [], path: "/" }).coverage)).toBe(true);
    expect(Object.isFrozen(look({ keys: ["/a"], path: "//a", router: { "//a": MIDDLEWARE } }).coverage)).toBe(true);
  });
});

describe("Express 4's router", () => {
  const wide = { keys: ["GET /f/*rest"], path: "/f/", hasOldRouter: true };

  test.each<[router: Receivers, is: string, why: string]>([
    [served(routeAt("/f/~")), "GET /f/*rest", "an empty wildcard, before the key's route"],
    [served(routeAt("/f")), "free", "another route"],
    [NO_RECEIVER, "free", "no receiver"],
    [MIDDLEWARE, "ambiguous", "the receivers are unknown"],
  ])("Express 4's receivers %o make the request %s: %s", (router, is) => {
    expect(look({ ...wide, router: { "/f/": router } }).is).toBe(is);
  });

  test("Express 5's router is not asked about a generous match", () => {
    expect(look({ ...wide, hasOldRouter: false, router: { "/f/": MIDDLEWARE } })).toMatchObject({
      is: "free",
      asked: [],
    });
  });
});

describe("an unclear path", () => {
  const unclear = { keys: ["GET /:t/paid"], path: "/%22/x/paid", isUnclear: true };

  test.each<[router: Receivers, is: string, why: string]>([
    [served(routeAt("/~/paid")), "ambiguous", "a priced route would receive it, as another path"],
    [served(REGEXP), "ambiguous", "a route with an unknown path"],
    [MIDDLEWARE, "ambiguous", "middleware"],
    [UNKNOWN_RECEIVERS, "ambiguous", "the receivers are unknown"],
    [served(routeAt("/other")), "free", "a free route"],
    [NO_RECEIVER, "free", "no receiver"],
  ])("receivers %o make an unclear path %s: %s", (router, is) => {
    expect(look({ ...unclear, router: { "/%22/x/paid": router } }).is).toBe(is);
  });

  test("an unclear path spelled as a key is priced if the key's route receives it", () => {
    const router = { "/a": served(routeAt("/a")) };
    expect(look({ keys: ["GET /a"], path: "/a", isUnclear: true, router }).is).toBe("GET /a");
  });
});

test("cover throws the error of the router", () => {
  const table = createRouteTable([entryOf("GET /a")]);
  const receiversOf = () => {
    throw new RangeError("broken");
  };
  const known = { mountPath: "", hasOldRouter: false, isUnclear: false };
  const query = { ...known, method: "GET", path: "/A", fullPath: "/A", receiversOf };
  expect(() => cover(table, query)).toThrow(RangeError);
});
