import { createRequire } from "node:module";
import type { RoutesConfig } from "@farebox/express";
import type { RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { openShop, type Shop } from "./shop.js";

const require = createRequire(import.meta.url);
/** Has no types of its own. */
const cors: () => RequestHandler = require("cors");

const ORIGIN = { Origin: "https://shop.example" };
const PREFLIGHT = { ...ORIGIN, "Access-Control-Request-Method": "GET" };

const price = "$0.01";
const TABLES: readonly (readonly [key: string, routes: RoutesConfig])[] = [
  ["GET /goods", { "GET /goods": { price } }],
  ["/goods", { "/goods": { price } }],
];

describe.each(TABLES)("with the key %s", (_key, routes) => {
  const openWithCors = (place: "before" | "behind"): Promise<Shop> =>
    openShop({
      routes,
      build: (app, payments, goods) => {
        app.use(...(place === "before" ? [cors(), payments] : [payments, cors()]));
        app.get("/goods", ...goods);
      },
    });

  test("scripts of another origin can read challenge and receipt", async () => {
    const shop = await openWithCors("before");
    const exposed = {
      "access-control-expose-headers": "PAYMENT-REQUIRED, PAYMENT-RESPONSE, EXTENSION-RESPONSES, PAYMENT-RETRY-TOKEN",
    };
    const [unpaid, paid] = [await shop.ask({ headers: ORIGIN }), await shop.buy({ headers: ORIGIN })];
    expect(unpaid).toMatchObject({ status: 402, headers: exposed });
    expect(paid).toMatchObject({ status: 200, headers: exposed, receipt: { success: true } });
  });

  test.each(["before", "behind"] as const)("a preflight costs nothing, with cors mounted %s us", async (place) => {
    const shop = await openWithCors(place);
    const answer = await shop.ask({ method: "OPTIONS", headers: PREFLIGHT });
    expect(answer).toMatchObject({ status: 204, headers: { "access-control-allow-origin": "*" } });
    expect(shop.runs()).toBe(0);
  });
});
