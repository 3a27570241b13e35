import { describe, expect, test } from "vitest";
import { type Coverage, cover } from "./coverage.js";
import { entryOf } from "./route.fixture.js";
import { createRouteTable } from "./route-table.js";
import { type Receiver, type Receivers, type ReceiversOf, UNKNOWN_RECEIVERS } from "./router-view.js";

const NOBODY: Receivers = { isFound: true, before: [], after: [], beyond: [], opaque: [] };
const OPAQUE: Receivers = { ...NOBODY, opaque: [{ handler: {}, isMeant: false }] };

function routeAt(...samples: readonly string[]): Receiver {
  return { route: {}, samples, isFinal: true, takesAnyMethod: false, charges: 0 };
}

/** A route of which nothing but itself is known to be its path. */
function routeElsewhere(isFinal = true): Receiver {
  return { ...routeAt("/elsewhere"), isFinal };
}

const REGEXP: Receiver = { ...routeAt(), samples: undefined };

function served(...after: readonly Receiver[]): Receivers {
  return { ...NOBODY, after };
}

function unseenBefore(...after: readonly Receiver[]): Receivers {
  return { ...OPAQUE, after };
}

/** What a router would say of each path; of all others, that nobody gets it. */
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
  /** The key that prices the request, or what else becomes of it. */
  readonly is: string;
  readonly asked: readonly string[];
}

function look({ keys, path, mountPath = "", fullPath = mountPath + path, ...more }: Case): Outcome {
  const { method = "GET", router = {}, hasOldRouter = false, isUnclear = false } = more;
  const asked: string[] = [];
  const receiversOf: ReceiversOf = (asking = fullPath, anyMethod = false) => {
    asked.push(anyMethod ? `${asking} of any method` : asking);
    return router[asking] ?? NOBODY;
  };
  const query = { method, path, mountPath, fullPath, receiversOf, hasOldRouter, isUnclear };
  const coverage = cover(createRouteTable(keys.map(entryOf)), query);
  return { coverage, is: coverage.kind === "priced" ? coverage.candidate.entry.key : coverage.kind, asked };
}

describe("without asking the router", () => {
  test.each<[keys: string[], path: string, is: string, why: string]>([
    [["GET /a"], "/a", "GET /a", "written as the key is"],
    [["GET /a/:x"], "/a/b", "GET /a/:x", "with a parameter"],
    [["GET /f/*w"], "/f/a/b", "GET /f/*w", "with a wildcard"],
    [["GET /a/:x", "GET /a/b"], "/a/b", "GET /a/b", "the most specific of two"],
    [["GET /a"], "/b", "free", "no key could be meant"],
    [["GET /a"], "/a/b", "free", "a segment more"],
    [["POST /a"], "/A", "free", "another method"],
    [["GET /a"], "/zz%20", "free", "whatever it may be read as"],
    [["GET /a/:x"], "/a/%C3%A9", "GET /a/:x", "UTF-8 in a parameter leads nowhere else"],
    [["GET /a/:x"], "/a/%62", "GET /a/:x", "nor does a letter that is hidden, under the same key"],
    [["GET /a/:x"], "/a/\xe9", "GET /a/:x", "nor a byte that is no ASCII"],
    [["GET /f/*w"], "/f/.well-known", "GET /f/*w", "nor a name that begins with a dot"],
  ])("of %j the path %s is %s: %s", (keys, path, is) => {
    expect(look({ keys, path, router: { [path]: OPAQUE } })).toMatchObject({ is, asked: [] });
  });

  test("the candidate says by which form, and where", () => {
    const { coverage } = look({ keys: ["GET /a{/:x}"], path: "/b", mountPath: "/a" });
    expect(coverage).toMatchObject({
      kind: "priced",
      candidate: { form: { template: "/a/:x" }, match: "exact", path: "/a/b", mountPath: "" },
    });
  });
});

describe("a path in other case or with other slashes", () => {
  test.each<[router: Receivers, is: string, why: string]>([
    [NOBODY, "free", "nobody gets it"],
    [UNKNOWN_RECEIVERS, "GET /a", "nobody can tell"],
    [OPAQUE, "GET /a", "something that cannot be seen through may get it"],
    [unseenBefore(routeElsewhere()), "GET /a", "also before another route"],
    [served(routeAt("/a")), "GET /a", "a route that is written as the key is"],
    [served(routeAt("/b", "/a")), "GET /a", "by one of its forms"],
    [served(routeElsewhere(), routeAt("/a")), "GET /a", "one of several routes"],
    [served(REGEXP), "GET /a", "a route whose path cannot be told"],
    [served(routeElsewhere()), "free", "another route"],
    [served(routeAt("/A")), "free", "a route that is written as the request is"],
    [served(routeAt()), "free", "a route without a path"],
    [{ ...NOBODY, before: [routeAt("/a")] }, "free", "a route before the table, which the table never sees"],
  ])("is priced by who would get it: %o is %s (%s)", (router, is) => {
    expect(look({ keys: ["GET /a"], path: "/A", router: { "/A": router } }).is).toBe(is);
    expect(look({ keys: ["GET /a"], path: "/a/", router: { "/a/": router } }).is).toBe(is);
  });

  test("is asked about as it was sent, then as the key is written, where that says more", () => {
    const other = served(routeElsewhere());
    const ask = (router: Receivers) => look({ keys: ["GET /a/:x"], path: "/A/b", router: { "/A/b": router } }).asked;
    expect(ask(NOBODY)).toEqual(["/A/b"]);
    expect(ask(OPAQUE)).toEqual(["/A/b"]);
    expect(ask(served(routeAt("/a/~")))).toEqual(["/A/b"]);
    expect(ask(other)).toEqual(["/A/b", "/a/~ of any method", "/a/~"]);
  });

  test.each<[path: string, sample: string]>([
    ["/X/1~2", "/x/:a~*b"],
    ["/X/1-2", "/x/:a-*b"],
  ])("is priced at %s by %s, whose own route gets it", (path, keyPath) => {
    const [form] = entryOf(`GET ${keyPath}`).forms;
    const router = { [path]: served(routeAt(form?.sample ?? "")) };
    expect(look({ keys: [`GET ${keyPath}`], path, router }).is).toBe(`GET ${keyPath}`);
  });

  test("is priced by the next key, if the first is not meant", () => {
    const keys = ["GET /a/b", "GET /:x/:y"];
    expect(look({ keys, path: "/A/B", router: {} })).toMatchObject({ is: "GET /:x/:y", asked: ["/A/B"] });
    const router = { "/A/b": served(routeAt("/~/b")) };
    expect(look({ keys: ["GET /a/:x", "GET /:x/b"], path: "/A/b", router }).is).toBe("GET /:x/b");
  });
});

describe("a route whose path says nothing to the key", () => {
  const keys = ["GET /a"];
  const [first, second, third] = [routeElsewhere(false), routeElsewhere(), routeElsewhere()];

  test.each<[gets: Receiver[], meant: Receiver[], is: string, why: string]>([
    [[second], [second], "GET /a", "it also gets what is written as the key is"],
    [[second], [third], "free", "another gets that"],
    [[second], [], "free", "nobody gets that"],
    [[third], [second, third], "free", "it would come second, and the first of them answers"],
    [[third, second], [second, third], "GET /a", "one of those that get the request is the first there"],
    [[first], [first, second], "free", "what passes on is not what answers"],
    [[second], [first, second], "GET /a", "what answers, after one that passes on"],
    [[first], [first], "GET /a", "none is known to answer"],
    [[routeElsewhere()], [first], "free", "none is known to answer, and this is another"],
  ])("gets %o: %s, %s", (gets, meant, is) => {
    const router = { "/A": served(...gets), "/a": served(...meant) };
    expect(look({ keys, path: "/A", router }).is).toBe(is);
  });
});

describe("below a mount", () => {
  const at = { path: "/USERS/7", mountPath: "/api" };

  test.each<[key: string, sample: string, is: string, why: string]>([
    ["GET /users/:id", "/api/users/~", "GET /users/:id", "a key that is relative to it"],
    ["GET /api/users/:id", "/api/users/~", "GET /api/users/:id", "a key with the full path"],
    ["GET /users/:id", "/~/users/~", "GET /users/:id", "a mount with a parameter has as many segments"],
    ["GET /users/:id", "/v1/api/users/~", "free", "a mount of two segments is another"],
    ["GET /users/:id", "/api/others/~", "free", "another route below it"],
  ])("%s and a route at %s: %s (%s)", (key, sample, is) => {
    expect(look({ ...at, keys: [key], router: { "/api/USERS/7": served(routeAt(sample)) } }).is).toBe(is);
  });

  test.each<[key: string, asked: string]>([
    ["GET /users/:id", "/api/users/~"],
    ["GET /api/users/:id", "/api/users/~"],
  ])("%s asks about %s", (key, asked) => {
    const router = { "/api/USERS/7": served(routeElsewhere()) };
    expect(look({ ...at, keys: [key], router }).asked).toEqual(["/api/USERS/7", `${asked} of any method`, asked]);
  });

  test("the router is asked by the full path as it was sent", () => {
    const { asked } = look({ keys: ["GET /a"], path: "/A", mountPath: "/api", fullPath: "/API/A/" });
    expect(asked).toEqual(["/API/A/"]);
  });

  test("the full path is what has to be plain", () => {
    const query = { keys: ["GET /a"], path: "/a", mountPath: "/api", fullPath: "/api//a" };
    expect(look({ ...query, router: { "/api//a": OPAQUE } }).is).toBe("ambiguous");
  });

  test.each<[keys: string[], mountPath: string, path: string, why: string]>([
    [["GET /api/b"], "/%61pi", "/b", "the mount may be read as another"],
    [["GET /b"], "/api", "/%62", "the path below it may"],
    [["GET /b"], "/api", "/x/../b", "or lead back"],
    [["GET /b"], "/api", "/../b", "or out of it"],
  ])("%j at %s%s is ambiguous before something opaque: %s", (keys, mountPath, path) => {
    const router = { [mountPath + path]: OPAQUE };
    expect(look({ keys, mountPath, path, router }).is).toBe("ambiguous");
    expect(look({ keys, mountPath, path, router: {} }).is).toBe("free");
  });
});

describe("a path that may be read as another", () => {
  const [own, other] = ["/a/~", "/z"].map((sample) => served(routeAt(sample)));

  test.each<[keys: string[], path: string, router: Receivers | undefined, is: string, why: string]>([
    [["GET /a"], "/%61", OPAQUE, "ambiguous", "who decodes serves what has a price"],
    [["GET /a"], "/%61", UNKNOWN_RECEIVERS, "ambiguous", "or nobody can tell who does"],
    [["GET /a"], "/%61", other, "free", "a route does not decode before it matches"],
    [["GET /a"], "/%61", NOBODY, "free", "nobody gets it"],
    [["GET /a"], "/%61", served(routeAt("/a")), "free", "it is no spelling that the key is met by"],
    [["GET /a"], "/b/../a", OPAQUE, "ambiguous", "dots"],
    [["GET /a"], "/b/%2e%2e/a", OPAQUE, "ambiguous", "hidden dots"],
    [["GET /a"], "/b/..%5Ca", OPAQUE, "ambiguous", "hidden backslashes"],
    [["GET /a"], "/a/.", other, "free", "dots before a route"],
    [["GET /a"], "/%2561", OPAQUE, "ambiguous", "encoded twice"],
    [["GET /a"], "//a", OPAQUE, "ambiguous", "a doubled slash"],
    [["GET /a"], "//a", NOBODY, "free", "a doubled slash that nobody gets"],
    [["GET /a"], "//a", served(routeAt("/a")), "GET /a", "a doubled slash that the key's route gets"],
    [["GET /a"], "//A", served(REGEXP), "GET /a", "a route whose path cannot be told"],
    [["GET /a/:x"], "/a/b%2Fc", OPAQUE, "ambiguous", "a separator that is hidden in a parameter"],
    [["GET /a/:x"], "/a/b%2Fc", own, "GET /a/:x", "whose own route does not mind"],
    [["GET /a/:x"], "/a/b%2Fc", NOBODY, "GET /a/:x", "written as the key is, and nobody else reads it"],
    [["GET /a/:x"], "/a/b%2Fc", other, "GET /a/:x", "another route gets it, which is no reason to let it through"],
    [["GET /a/:x"], "/a/b%2Fc", unseenBefore(routeAt("/a/~")), "GET /a/:x", "its own route, behind something opaque"],
    [["GET /a/:x"], "/A/b%2Fc", NOBODY, "free", "other case, and nobody gets it"],
    [["GET /a/:x"], "/A/b%2Fc", OPAQUE, "ambiguous", "other case before something opaque"],
    [["GET /a/:x"], "/A/%C3%A9", OPAQUE, "GET /a/:x", "other case, but nothing is hidden"],
    [["GET /a/:x"], "/A/%C3%A9", other, "free", "other case before another route"],
    [["GET /a/:x", "GET /a/b"], "/a/%62", OPAQUE, "ambiguous", "two prices"],
    [["GET /a/:x", "GET /a/b"], "/a/%62", own, "GET /a/:x", "the key by which a route gets it"],
    [["GET /a/:x", "GET /a/b"], "/a/%62", NOBODY, "GET /a/:x", "the key as it is written"],
    [["GET /A/:x", "GET /:y/%62"], "/a/%62", NOBODY, "GET /:y/%62", "the key that is met exactly, though not first"],
    [["POST /a"], "/%61", OPAQUE, "free", "another method"],
  ])("%j, %s before %o: %s (%s)", (keys, path, router, is) => {
    expect(look({ keys, path, router: router === undefined ? {} : { [path]: router } }).is).toBe(is);
  });

  test("a free answer and an ambiguous one are shared, and cannot be changed", () => {
    expect(Object.isFrozen(look({ keys: [], path: "/" }).coverage)).toBe(true);
    expect(Object.isFrozen(look({ keys: ["/a"], path: "//a", router: { "//a": OPAQUE } }).coverage)).toBe(true);
  });
});

describe("where Express 4 reads more out of a path than Express 5", () => {
  const wide = { keys: ["GET /f/*rest"], path: "/f/", hasOldRouter: true };

  test.each<[router: Receivers, is: string, why: string]>([
    [served(routeAt("/f/~")), "GET /f/*rest", "its wildcard stands for nothing, and its route would answer"],
    [served(routeAt("/f")), "free", "another route"],
    [NOBODY, "free", "nobody"],
    [OPAQUE, "ambiguous", "nobody can tell"],
  ])("%o makes it %s: %s", (router, is) => {
    expect(look({ ...wide, router: { "/f/": router } }).is).toBe(is);
  });

  test("Express 5 is not asked", () => {
    expect(look({ ...wide, hasOldRouter: false, router: { "/f/": OPAQUE } })).toMatchObject({ is: "free", asked: [] });
  });
});

describe("where routers may read another path", () => {
  const unclear = { keys: ["GET /:t/paid"], path: "/%22/x/paid", isUnclear: true };

  test.each<[router: Receivers, is: string, why: string]>([
    [served(routeAt("/~/paid")), "ambiguous", "a route that is priced would get it, as some other path"],
    [served(REGEXP), "ambiguous", "a route whose path cannot be told"],
    [OPAQUE, "ambiguous", "something that cannot be seen through"],
    [UNKNOWN_RECEIVERS, "ambiguous", "nobody can tell"],
    [served(routeAt("/other")), "free", "a route that is free"],
    [NOBODY, "free", "nobody"],
  ])("%o makes it %s: %s", (router, is) => {
    expect(look({ ...unclear, router: { "/%22/x/paid": router } }).is).toBe(is);
  });

  test("a key that the path is written as is priced where its own route gets it", () => {
    const router = { "/a": served(routeAt("/a")) };
    expect(look({ keys: ["GET /a"], path: "/a", isUnclear: true, router }).is).toBe("GET /a");
  });
});

test("a router that throws is not asked again, and its error is the caller's", () => {
  const table = createRouteTable([entryOf("GET /a")]);
  const receiversOf = () => {
    throw new RangeError("broken");
  };
  const known = { mountPath: "", hasOldRouter: false, isUnclear: false };
  const query = { ...known, method: "GET", path: "/A", fullPath: "/A", receiversOf };
  expect(() => cover(table, query)).toThrow(RangeError);
});
