import { describe, expect, test } from "vitest";
import { matchesMount } from "../route/path.js";
import type { GateRequest } from "../route/request.js";
import { formOf } from "../route/route.fixture.js";
import { REQUEST } from "../sale/shop.fixture.js";
import { isForeignHost, type Place, type PublicUrlSettings, placeOf, placeOfRoute, resourceUrl } from "./resource.js";

const CONFIG: PublicUrlSettings = { publicUrl: undefined, allowedHosts: [], includeQuery: false };

function urlOf(request: Partial<GateRequest>, config: Partial<PublicUrlSettings> = {}): string {
  return resourceUrl({ ...REQUEST, ...request }, { ...CONFIG, ...config });
}

describe("the URL of a resource", () => {
  test.each<[request: Partial<GateRequest>, config: Partial<PublicUrlSettings>, url: string, why: string]>([
    [{}, {}, "http://shop.example/weather", "the client's host"],
    [{ origin: undefined }, {}, "http://localhost/weather", "no usable host"],
    [{ mountPath: "/api" }, {}, "http://shop.example/api/weather", "the mount is included"],
    [{ search: "?a=1" }, {}, "http://shop.example/weather", "the query is left out"],
    [{ search: "?a=1&b=%20" }, { includeQuery: true }, "http://shop.example/weather?a=1&b=%20", "includeQuery adds it"],
    [{}, { publicUrl: "https://api.example.com/v1" }, "https://api.example.com/v1/weather", "the public URL"],
    [
      { mountPath: "/api", search: "?a" },
      { publicUrl: "https://a.example", allowedHosts: ["b.example"], includeQuery: true },
      "https://a.example/api/weather?a",
      "the public URL wins over allowed hosts",
    ],
  ])("the URL of the request %j with %j is %s: %s", (request, config, url) => {
    expect(urlOf(request, config)).toBe(url);
  });

  test.each<[sent: string, written: string, why: string]>([
    ["/a-b_c.d~e/F1", "/a-b_c.d~e/F1", "characters that need no encoding"],
    ["/!$&'()*+,;=:@", "/!$&'()*+,;=:@", "other characters that a path may contain"],
    ["/a%20%zz%", "/a%20%zz%", "percent signs are left as they are"],
    ["/<script>", "/%3Cscript%3E", "characters that would end a page's text"],
    ['/"><img src=x>', "/%22%3E%3Cimg%20src=x%3E", "characters that would end an attribute"],
    ["/\xe9\xff\x80", "/%E9%FF%80", "bytes, one character each"],
    ["/\0\t\n\x7f", "/%00%09%0A%7F", "control characters, with two digits"],
    ["/#[]{}|\\^`", "/%23%5B%5D%7B%7D%7C%5C%5E%60", "characters with another meaning in a URL, or none"],
  ])("the URL encodes %j as %s: %s", (sent, written) => {
    expect(urlOf({ path: sent })).toBe(`http://shop.example${written}`);
    expect(urlOf({ path: "", mountPath: sent })).toBe(`http://shop.example${written}`);
    expect(urlOf({ path: "/", search: `?${sent}` }, { includeQuery: true })).toBe(`http://shop.example/?${written}`);
  });
});

describe("allowedHosts", () => {
  test.each<[origin: string | undefined, allowedHosts: string[], origin: string, why: string]>([
    ["https://a.example", ["a.example", "b.example"], "https://a.example", "the first host"],
    ["https://b.example", ["a.example", "b.example"], "https://b.example", "another host"],
    ["https://B.Example", ["a.example", "b.example"], "https://B.Example", "another case"],
    ["http://a.example:8080", ["a.example"], "http://a.example:8080", "any port, when the list names none"],
    ["http://a.example:8080", ["a.example:8080"], "http://a.example:8080", "the port in the list"],
    ["http://[::1]:3000", ["[::1]"], "http://[::1]:3000", "an address in brackets"],
    ["http://[::1]", ["[::1]"], "http://[::1]", "its last digits are not a port"],
  ])("allowedHosts keep the origin %s with %j as %s: %s", (origin, allowedHosts, expected) => {
    expect(urlOf({ origin }, { allowedHosts })).toBe(`${expected}/weather`);
    expect(isForeignHost({ ...REQUEST, origin }, { ...CONFIG, allowedHosts })).toBe(false);
  });

  test.each<[origin: string | undefined, allowedHosts: string[], origin: string, why: string]>([
    ["https://evil.example", ["a.example", "b.example"], "https://a.example", "the first host stands in for it"],
    ["http://evil.example", ["a.example"], "http://a.example", "the scheme is kept"],
    ["http://evil.example:81", ["a.example"], "http://a.example", "the port is not kept"],
    ["https://a.example", ["a.example:8080"], "https://a.example:8080", "another port"],
    ["https://a.example:80", ["a.example:8080"], "https://a.example:8080", "another port in the URL"],
    ["https://xa.example", ["a.example"], "https://a.example", "a name that ends like it"],
    ["https://a.example.evil", ["a.example"], "https://a.example", "a name that begins like it"],
    ["https://a.example:80x", ["a.example"], "https://a.example", "a malformed port"],
    [undefined, ["a.example"], "https://a.example", "no usable host"],
  ])("allowedHosts replace the origin %s with %j by %s: %s", (origin, allowedHosts, expected) => {
    expect(urlOf({ origin }, { allowedHosts })).toBe(`${expected}/weather`);
    expect(isForeignHost({ ...REQUEST, origin }, { ...CONFIG, allowedHosts })).toBe(true);
  });

  test.each<[config: Partial<PublicUrlSettings>, why: string]>([
    [{}, "the list is empty"],
    [{ publicUrl: "https://p.example", allowedHosts: ["a.example"] }, "the public URL is used instead"],
  ])("allowedHosts make no host foreign with %j: %s", (config) => {
    expect(isForeignHost({ ...REQUEST, origin: "https://evil.example" }, { ...CONFIG, ...config })).toBe(false);
    expect(isForeignHost({ ...REQUEST, origin: undefined }, { ...CONFIG, ...config })).toBe(false);
  });
});

type Mounted = Partial<Pick<GateRequest, "mountPath" | "mountTemplate">>;

const at = (mountPath: string, template?: string): Mounted =>
  template === undefined ? { mountPath } : { mountPath, mountTemplate: () => template };

describe("placeOf", () => {
  test.each<[keyPath: string, path: string, mounted: Mounted, place: Place, why: string]>([
    ["/", "/", {}, { routeTemplate: "/", pathParams: {} }, "the root"],
    ["/u/:id", "/U/a%20b/", {}, { routeTemplate: "/u/:id", pathParams: { id: "a b" } }, "in the key's case"],
    ["/u/:id", "/u/7", at("/api"), { routeTemplate: "/api/u/:id", pathParams: { id: "7" } }, "below a mount"],
    ["/", "/", at("/api"), { routeTemplate: "/api", pathParams: {} }, "the mount point itself"],
    ["/", "/", at("/api", "/"), { routeTemplate: "/api", pathParams: {} }, "a template that does not match the mount"],
    [
      "/u/:id",
      "/u/7",
      at("/acme", "/:tenant"),
      { routeTemplate: "/:tenant/u/:id", pathParams: { tenant: "acme", id: "7" } },
      "a mount with a parameter",
    ],
    [
      "/u/:id",
      "/u/7",
      at("/a%20b/V1", "/:tenant/v1"),
      { routeTemplate: "/:tenant/v1/u/:id", pathParams: { tenant: "a b", id: "7" } },
      "decoded, in another case",
    ],
    [
      "/:id",
      "/7",
      at("/acme", "/:id"),
      { routeTemplate: "/:id/:id", pathParams: { id: "7" } },
      "a name twice: the key's own parameter wins",
    ],
    [
      "/",
      "/",
      at("/acme", "/:t/"),
      { routeTemplate: "/:t/", pathParams: { t: "acme" } },
      "a mount that ends in a slash",
    ],
    [
      "/a",
      "/a",
      at("/acme", "/:t/"),
      { routeTemplate: "/:t/a", pathParams: { t: "acme" } },
      "the slash is not doubled",
    ],
    ["/a", "/a", at("/x/y", "/*rest"), { routeTemplate: "/:rest/a", pathParams: { rest: "x/y" } }, "a splat"],
    [
      "/a",
      "/a",
      at("/acme", "/(acme|b)"),
      { routeTemplate: "/acme/a", pathParams: {} },
      "a mount that is a regular expression",
    ],
    ["/a", "/a", at("/acme", "/b/:c"), { routeTemplate: "/acme/a", pathParams: {} }, "a template of another mount"],
  ])("placeOf gives for the key %s at %s below %o: %j (%s)", (keyPath, path, mounted, place) => {
    const request = { ...REQUEST, ...mounted, path };
    expect(placeOf({ form: formOf(keyPath), path, mountPath: request.mountPath }, request)).toEqual(place);
  });

  test("placeOf ignores the mount for a key with the full path", () => {
    const request = { ...REQUEST, ...at("/acme", "/:tenant"), path: "/u/7" };
    const place = placeOf({ form: formOf("/acme/u/:id"), path: "/acme/u/7", mountPath: "" }, request);
    expect(place).toEqual({ routeTemplate: "/acme/u/:id", pathParams: { id: "7" } });
  });

  test("placeOf freezes the path parameters", () => {
    const request = { ...REQUEST, ...at("/acme", "/:tenant"), path: "/u" };
    const { pathParams } = placeOf({ form: formOf("/u"), path: "/u", mountPath: "/acme" }, request);
    expect(Object.isFrozen(pathParams)).toBe(true);
  });
});

describe("placeOfRoute", () => {
  test.each<[routePath: string, path: string, mounted: Mounted, place: Place | undefined, why: string]>([
    ["/", "/", {}, { routeTemplate: "/", pathParams: {} }, "the root"],
    ["/", "/", at("/api"), { routeTemplate: "/api", pathParams: {} }, "the root of a router"],
    ["/u/:id", "/u/7", {}, { routeTemplate: "/u/:id", pathParams: { id: "7" } }, "a parameter"],
    ["/u/[id]", "/u/7", {}, { routeTemplate: "/u/:id", pathParams: { id: "7" } }, "in brackets"],
    ["/u{/:id}", "/u", {}, { routeTemplate: "/u", pathParams: {} }, "the form that matched"],
    ["/u{/:id}", "/u/7", {}, { routeTemplate: "/u/:id", pathParams: { id: "7" } }, "the other form"],
    ["/f/*", "/f/a/b", {}, { routeTemplate: "/f/:var1", pathParams: { var1: "a/b" } }, "a bare wildcard"],
    [
      "/*/x/*",
      "/a/x/b/c",
      {},
      { routeTemplate: "/:var1/x/:var2", pathParams: { var1: "a", var2: "b/c" } },
      "two bare wildcards",
    ],
    [
      "/u/:id",
      "/u/7",
      at("/acme", "/:tenant"),
      { routeTemplate: "/:tenant/u/:id", pathParams: { tenant: "acme", id: "7" } },
      "below a mount",
    ],
    ["/u/:id", "/x/7", {}, undefined, "a path that it does not match"],
    ["/(a|b)", "/a", {}, undefined, "a regular expression"],
  ])("placeOfRoute gives for the route %s at %s below %o: %j (%s)", (routePath, path, mounted, place) => {
    expect(placeOfRoute(routePath, { ...REQUEST, ...mounted, path })).toEqual(place);
  });
});

describe("matchesMount", () => {
  test.each<[template: string, mountPath: string, matches: boolean, why: string]>([
    ["", "", true, "at the top"],
    ["", "/api", false, "not at the top"],
    ["/api", "", false, "a mount at the root of the app"],
    ["/", "", false, "a root mount leaves no text"],
    ["/api", "/API/", true, "other case and slashes"],
    ["/api", "/other", false, "elsewhere"],
    ["/:tenant", "/acme", true, "a parameter"],
    ["/:tenant", "/acme/v1", false, "of one segment"],
    ["/api{/:v}", "/api", true, "an optional part left out"],
    ["/api{/:v}", "/api/2", true, "and given"],
    ["/*rest", "/a/b", true, "a splat"],
    ["/(a", "/(a", false, "an invalid template"],
  ])("matchesMount compares the template %j with the mount %j: %j, %s", (template, mountPath, matches) => {
    expect(matchesMount(template, mountPath)).toBe(matches);
  });
});
