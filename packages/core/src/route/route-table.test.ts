import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compilePath } from "./path.js";
import { parseRouteKey } from "./route-key.js";
import { createRouteTable, type RouteEntry, type RouteQuery, sharesMethod } from "./route-table.js";

function entryOf(key: string): RouteEntry<string> {
  const parsed = parseRouteKey(key);
  if (!parsed.ok) throw new TypeError(parsed.expected);
  const compiled = compilePath(parsed.path);
  if (!compiled.ok) throw new TypeError(compiled.expected);
  return { key, method: parsed.method, value: key, ...compiled };
}

function firstOf(keys: readonly string[], query: RouteQuery): string | undefined {
  return createRouteTable(keys.map(entryOf)).find(query)[0]?.entry.key;
}

/** The key that prices a request. Fails if the order of the keys decides. */
function keyFor(keys: readonly string[], request: string, mountPath = ""): string | undefined {
  return pricedBy(keys)(request, mountPath);
}

/** The same for many requests: the tables are made once. */
function pricedBy(keys: readonly string[]): (request: string, mountPath?: string) => string | undefined {
  const entries = keys.map(entryOf);
  const tables = [entries, [...entries].reverse()].map((ordered) => createRouteTable(ordered));
  return (request, mountPath = "") => {
    const [method = "", path = ""] = request.split(" ");
    const [forwards, backwards] = tables.map((table) => table.find({ method, path, mountPath })[0]?.entry.key);
    expect(backwards).toBe(forwards);
    return forwards;
  };
}

describe("a route table, by method", () => {
  test.each<[key: string, request: string, priced: boolean, why: string]>([
    ["GET /a", "GET /a", true, "the method named"],
    ["GET /a", "HEAD /a", true, "Express serves HEAD through GET"],
    ["HEAD /a", "GET /a", false, "HEAD does not cover GET"],
    ["GET /a", "POST /a", false, "another method"],
    ["GET /a", "OPTIONS /a", false, "browsers send OPTIONS before a payment"],
    ["/a", "OPTIONS /a", false, "no named method"],
    ["OPTIONS /a", "OPTIONS /a", true, "a key that names OPTIONS"],
    ["/a", "GET /a", true, "any method"],
    ["/a", "DELETE /a", true, "any method"],
    ["/a", "QUERY /a", true, "a method that no key can name"],
    ["/a", "PROPFIND /a", true, "a method that no key can name"],
    ["GET /a", "get /a", false, "methods are case-sensitive in HTTP, and Node refuses this one"],
  ])("the key %s prices %s: %s (%s)", (key, request, priced) => {
    expect(keyFor([key], request)).toBe(priced ? key : undefined);
  });
});

describe("a route table that is mounted", () => {
  test.each<[key: string, mountPath: string, path: string, priced: boolean, why: string]>([
    ["/weather", "/api", "/weather", true, "relative to the mount point"],
    ["/api/weather", "/api", "/weather", true, "by the full path"],
    ["/api", "/api", "/", true, "the mount point itself"],
    ["/", "/api", "/", true, "the mount point itself, by a relative key"],
    ["/weather", "/api/v1", "/weather", true, "a mount point of two segments"],
    ["/api/weather", "", "/weather", false, "not mounted there"],
    ["/other/weather", "/api", "/weather", false, "mounted elsewhere"],
  ])("the key %s mounted at %j prices %s: %s (%s)", (key, mountPath, path, priced) => {
    expect(keyFor([key], `GET ${path}`, mountPath)).toBe(priced ? key : undefined);
  });
});

describe("the most specific key wins, in any order of writing", () => {
  test.each<[winner: string, loser: string, request: string, why: string]>([
    ["GET /a/b", "GET /a/:x", "GET /a/b", "text before parameter"],
    ["GET /a/:x", "GET /a/*rest", "GET /a/b", "parameter before wildcard"],
    ["GET /:a/:b", "GET /*rest", "GET /a/b", "two parameters before one wildcard"],
    ["GET /users/:id/posts/:post", "GET /*rest", "GET /users/1/posts/2", "a catch-all comes last"],
    ["GET /a/*rest", "GET /*rest", "GET /a/b", "the longer text before a wildcard"],
    ["GET /a/:x/*rest", "GET /*rest", "GET /a/b/c", "one parameter more is more specific"],
    ["GET /a/*rest/end", "GET /a/*rest", "GET /a/b/end", "text after a wildcard"],
    ["GET /v1/x", "GET /v:major/x", "GET /v1/x", "text before text with a parameter in it"],
    ["GET /v:major/x", "GET /:any/x", "GET /v1/x", "text and parameter in one segment"],
    ["GET /a", "GET /a{/:x}", "GET /a", "no optional part"],
    ["GET /a/:x", "GET /a{/:x}", "GET /a/b", "no optional part"],
    ["GET /a{/:x}", "GET /*rest", "GET /a/b", "an optional part before a wildcard"],
    ["GET /a/:x", "/a/:x", "GET /a/b", "a named method before any"],
    ["HEAD /a/:x", "GET /a/:x", "HEAD /a/b", "HEAD before GET for HEAD"],
    ["/a/b", "GET /a/:x", "GET /a/b", "the path counts before the method"],
    ["GET /f/:a-x", "GET /f/:a-:b", "GET /f/1-x", "one parameter in a segment before two"],
    ["GET /f/x*rest", "GET /f/*rest", "GET /f/xy", "text in a segment before a wildcard alone"],
    ["GET /a/b", "GET /a/*", "GET /a/b", "text before a bare wildcard"],
    ["GET /a", "GET /a/*", "GET /a", "an empty bare wildcard"],
  ])("%s wins over %s for %s: %s", (winner, loser, request) => {
    expect(keyFor([winner, loser], request)).toBe(winner);
  });

  test("a key wins all its requests over a key that covers all of them", () => {
    // Other paths, e.g. with text after a wildcard, cannot always be ordered segment by segment.
    const plain = fc.constantFrom("/a", "/a-b", "/:p", "/a-:p");
    const optional = fc.constantFrom("/a", "/:p", "{/a}", "{/:p}");
    const paths = fc.oneof(
      fc.array(plain, { maxLength: 3 }).map((segments) => nameApart(segments)),
      fc.array(plain, { maxLength: 3 }).map((segments) => nameApart([...segments, "/*w"])),
      fc.array(optional, { maxLength: 3 }).map((segments) => nameApart(segments)),
    );
    const pathnames = pathnamesBelow("/r", 4);
    fc.assert(
      fc.property(paths, paths, (left, right) => {
        const [a, b] = [entryOf(left), entryOf(right)];
        const [ofA, ofB] = [a, b]
          .map(
            ({ forms }) =>
              (pathname: string) =>
                forms.some((form) => form.matches(pathname)),
          )
          .map((matches) => pathnames.filter((pathname) => matches(pathname)));
        const isPart = ofA!.every((pathname) => ofB!.includes(pathname)) && ofA!.length < ofB!.length;
        fc.pre(isPart);
        const keyOf = pricedBy([left, right]);
        for (const path of ofA!) expect(keyOf(`GET ${path}`), path).toBe(left);
      }),
      { numRuns: 100 },
    );
  });
});

/**
 * Path names deeper than any path without a wildcard, with two names for every kind of segment that is not plain text. A subset of
 * these is therefore a subset of all paths.
 */
function pathnamesBelow(prefix: string, depth: number): readonly string[] {
  if (depth === 0) return [prefix];
  return [prefix, ...["/a", "/b", "/a-b", "/a-c"].flatMap((name) => pathnamesBelow(prefix + name, depth - 1))];
}

/** Gives each parameter a unique name. */
function nameApart(segments: readonly string[]): string {
  return `/r${segments.map((segment, at) => segment.replace(/[pw](?=\W*$)/, (name) => name + String(at))).join("")}`;
}

test("an empty table prices nothing", () => {
  expect(keyFor([], "GET /")).toBeUndefined();
});

test.each([
  ["GET /a-:x", "GET /:x-b", "/a-b"],
  ["GET /users/:id", "GET /:any/list", "/users/list"],
  ["GET /a/:x/c", "GET /a/b/:y", "/a/b/c"],
])("%s and %s cannot be ordered, so the first written wins", (one, other, path) => {
  const query = { method: "GET", path, mountPath: "" };
  expect(firstOf([one, other], query)).toBe(one);
  expect(firstOf([other, one], query)).toBe(other);
});

test.each<[key: string, path: string, match: string, why: string]>([
  ["GET /report", "/report", "exact", "spelled as the key"],
  ["GET /report", "/Report", "spelling", "other case"],
  ["GET /report", "/report/", "spelling", "a trailing slash"],
  ["GET /report", "//report", "spelling", "a doubled slash"],
  ["GET /report/:id", "/report/a%20b", "exact", "any parameter"],
  ["GET /{/d}*c~", "/s/t~/", "spelling", "one of several forms"],
])("%s matches %s: %s (%s)", (key, path, match) => {
  const found = createRouteTable([entryOf(key)]).find({ method: "GET", path, mountPath: "" });
  expect(found).toMatchObject([{ entry: { key }, match }]);
});

test.each([
  ["GET /f/*rest", "/f"],
  ["GET /f/:a-:b", "/f/x"],
])("%s does not match %s", (key, path) => {
  expect(createRouteTable([entryOf(key)]).find({ method: "GET", path, mountPath: "" })).toEqual([]);
});

describe("sharesMethod", () => {
  test.each([
    ["GET", "GET", true],
    ["GET", "HEAD", true],
    ["GET", "POST", false],
    ["HEAD", "POST", false],
    [undefined, undefined, true],
    [undefined, "DELETE", true],
    [undefined, "OPTIONS", false],
    ["OPTIONS", "OPTIONS", true],
  ] as const)("%s and %s share a method: %j", (a, b, shares) => {
    expect(sharesMethod({ method: a }, { method: b })).toBe(shares);
    expect(sharesMethod({ method: b }, { method: a })).toBe(shares);
  });
});

test("find returns all keys that match, the most specific first", () => {
  const keys = ["/*all", "GET /a/:x", "GET /a/b", "POST /a/b", "/a/*", "GET /b"];
  const found = createRouteTable(keys.map(entryOf)).find({ method: "GET", path: "/a/b", mountPath: "" });
  expect(found.map(({ entry }) => entry.key)).toEqual(["GET /a/b", "GET /a/:x", "/a/*", "/*all"]);
});

test("find works with ten thousand keys", () => {
  const keys = Array.from({ length: 10_000 }, (_, at) => `GET /item-${at}/:id/part`);
  const table = createRouteTable(keys.map(entryOf));
  const [found, ...others] = table.find({ method: "GET", path: "/item-9999/x/part", mountPath: "" });
  expect(found?.entry.key).toBe("GET /item-9999/:id/part");
  expect(others).toEqual([]);
  expect(table.find({ method: "GET", path: "/item-10000/x/part", mountPath: "" })).toEqual([]);
});
