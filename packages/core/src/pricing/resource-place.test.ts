import { describe, expect, test } from "vitest";
import { REQUEST } from "../gate/shop.fixture.js";
import type { GateRequest } from "../route/request.js";
import { formOf } from "../route/route.fixture.js";
import { matchesMount, type Place, placeOf, placeOfRoute } from "./resource.js";

type Mounted = Partial<Pick<GateRequest, "mountPath" | "mountTemplate">>;

const at = (mountPath: string, template?: string): Mounted =>
  template === undefined ? { mountPath } : { mountPath, mountTemplate: () => template };

describe("placeOf", () => {
  test.each<[keyPath: string, path: string, mounted: Mounted, place: Place, why: string]>([
    ["/", "/", {}, { routeTemplate: "/", pathParams: {} }, "the root"],
    ["/u/:id", "/U/a%20b/", {}, { routeTemplate: "/u/:id", pathParams: { id: "a b" } }, "as the key has it"],
    ["/u/:id", "/u/7", at("/api"), { routeTemplate: "/api/u/:id", pathParams: { id: "7" } }, "below a mount"],
    ["/", "/", at("/api"), { routeTemplate: "/api", pathParams: {} }, "the mount point itself"],
    ["/", "/", at("/api", "/"), { routeTemplate: "/api", pathParams: {} }, "whose text is not its path's"],
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
      "decoded, and in other case",
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
    ["/a", "/a", at("/acme", "/:t/"), { routeTemplate: "/:t/a", pathParams: { t: "acme" } }, "which is not doubled"],
    ["/a", "/a", at("/x/y", "/*rest"), { routeTemplate: "/:rest/a", pathParams: { rest: "x/y" } }, "a splat"],
    ["/a", "/a", at("/acme", "/(acme|b)"), { routeTemplate: "/acme/a", pathParams: {} }, "a mount that cannot be read"],
    ["/a", "/a", at("/acme", "/b/:c"), { routeTemplate: "/acme/a", pathParams: {} }, "one that it is not"],
  ])("of %s at %s below %o: %j (%s)", (keyPath, path, mounted, place) => {
    const request = { ...REQUEST, ...mounted, path };
    expect(placeOf({ form: formOf(keyPath), path, mountPath: request.mountPath }, request)).toEqual(place);
  });

  test("of a key with the full path says nothing of the mount", () => {
    const request = { ...REQUEST, ...at("/acme", "/:tenant"), path: "/u/7" };
    const place = placeOf({ form: formOf("/acme/u/:id"), path: "/acme/u/7", mountPath: "" }, request);
    expect(place).toEqual({ routeTemplate: "/acme/u/:id", pathParams: { id: "7" } });
  });

  test("cannot be changed by whoever is handed it", () => {
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
    ["/u{/:id}", "/u/7", {}, { routeTemplate: "/u/:id", pathParams: { id: "7" } }, "the other one"],
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
    ["/(a|b)", "/a", {}, undefined, "a path that cannot be read"],
  ])("of %s at %s below %o: %j (%s)", (routePath, path, mounted, place) => {
    expect(placeOfRoute(routePath, { ...REQUEST, ...mounted, path })).toEqual(place);
  });
});

describe("matchesMount", () => {
  test.each<[template: string, mountPath: string, matches: boolean, why: string]>([
    ["", "", true, "at the top"],
    ["", "/api", false, "not at the top"],
    ["/api", "", false, "at the top, and not there"],
    ["/", "", false, "a root mount leaves no text"],
    ["/api", "/API/", true, "other case and slashes"],
    ["/api", "/other", false, "elsewhere"],
    ["/:tenant", "/acme", true, "a parameter"],
    ["/:tenant", "/acme/v1", false, "of one segment"],
    ["/api{/:v}", "/api", true, "an optional part left out"],
    ["/api{/:v}", "/api/2", true, "and given"],
    ["/*rest", "/a/b", true, "a splat"],
    ["/(a", "/(a", false, "what cannot be read"],
  ])("%j is the mount %j: %j, %s", (template, mountPath, matches) => {
    expect(matchesMount(template, mountPath)).toBe(matches);
  });
});
