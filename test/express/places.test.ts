import type { RequestHandler, Router } from "express";
import { describe, expect, test } from "vitest";
import { openShop, PRICED, VERSIONS } from "./shop.js";

const tell: RequestHandler = (req, res) => {
  const { routeTemplate, pathParams } = req.payment ?? {};
  res.json({ routeTemplate, pathParams });
};

describe.each(VERSIONS)("on %s, a handler is told where it is", (_, express) => {
  /** Serves all that is below the table. */
  const openAt = (mount: string, key: string) =>
    openShop(express, {
      routes: { [key]: PRICED },
      build: (app, payments) => {
        const router: Router = express.Router();
        app.use(mount, router.use(payments).use(tell));
      },
    });

  test.each<[mount: string, key: string, path: string, routeTemplate: string, pathParams: Record<string, string>]>([
    ["/", "GET /users/:id", "/users/a%20b", "/users/:id", { id: "a b" }],
    ["/", "GET /users/[id]", "/users/7", "/users/:id", { id: "7" }],
    ["/", "GET /users/:id", "/Users/7/", "/users/:id", { id: "7" }],
    ["/", "/a/*/b/*", "/a/x/y/b/z", "/a/:var1/b/:var2", { var1: "x/y", var2: "z" }],
    ["/", "GET /f/*path", "/f/a%20b/c%26d", "/f/:path", { path: "a b/c&d" }],
    ["/", "GET /o{/:id}", "/o", "/o", {}],
    ["/", "GET /o{/:id}", "/O/7", "/o/:id", { id: "7" }],
    ["/", "/", "/", "/", {}],
    ["/api", "GET /users/:id", "/API/users/7", "/api/users/:id", { id: "7" }],
    ["/api", "GET /api/users/:id", "/api/users/7/", "/api/users/:id", { id: "7" }],
    ["/api", "/", "/api", "/api", {}],
    ["/:tenant", "GET /users/:id", "/a%20b/users/7", "/:tenant/users/:id", { tenant: "a b", id: "7" }],
    ["/:tenant/v:major", "/list", "/acme/v2/list", "/:tenant/v:major/list", { tenant: "acme", major: "2" }],
  ])(
    "a handler is told its place below %s by the key %s for %s: %s",
    async (mount, key, path, routeTemplate, pathParams) => {
      const shop = await openAt(mount, key);
      const paid = await shop.pay({ path });
      expect(paid.status).toBe(200);
      expect(paid.json()).toEqual({ routeTemplate, pathParams });
    },
  );
});
