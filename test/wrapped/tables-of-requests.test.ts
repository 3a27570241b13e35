/**
 * Tables that requests make, one for each tenant: each prices the requests that pass it, however many there are, and nothing of it stays.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { VERSIONS } from "../express/shop.js";
import { type OwnShop, openOwnShop, reached } from "./own-payments.js";

/** More than the 64 tables that could once be kept. */
const TENANTS = Array.from({ length: 200 }, (_, at) => `t${at}`);

const LAST = TENANTS.slice(-30);

/** What a tenant is asked for first, in turn: each has a key, but none is spelled like it. */
const SPELLINGS = [
  "GET /Report/",
  "POST /all",
  "GET /l",
  "GET /v2/users/7",
  "GET /V1/Users/7/",
  "DELETE /ALL/",
  "GET /sub/Item/",
];

/** Every tenant has its own price: `$0.01`, `$0.02`, … */
const amountOf = (tenant: string) => String(10_000 * (1 + (Number(tenant.slice(1)) % 50)));

type Express = (typeof VERSIONS)[number][1];

/** A shop whose tables are made by `tableOf`, at the mount of the tenant or at the top of the app. */
function openMarket(express: Express, place: "mount" | "top", isCached: boolean): Promise<OwnShop> {
  return openOwnShop(express, (app, payments) => {
    const cache = new Map<string, RequestHandler>();
    const tableOf = (tenant: string) => {
      const price = { price: `$${Number(amountOf(tenant)) / 1e6}` };
      const keys = ["GET /report", "GET /all", "GET /list", "GET /v1/users/:id", "GET /sub/item"];
      const at = place === "mount" ? "" : `/t/${tenant}`;
      return payments.routes(Object.fromEntries(keys.map((key) => [key.replace(" ", ` ${at}`), price])));
    };
    const gate: RequestHandler = (req, res, next) => {
      const tenant = /^\/t\/(\w+)/.exec(req.originalUrl)?.[1];
      if (tenant === undefined) return next();
      const table = cache.get(tenant) ?? tableOf(tenant);
      if (isCached) cache.set(tenant, table);
      table(req, res, next);
    };
    if (place === "mount") app.use("/t/:tenant", gate);
    else app.use(gate);
    const shop = express.Router();
    shop.get("/report", reached).post("/report", reached).get("/free", reached);
    shop.all("/all", (_req, _res, next) => next(), reached);
    shop.get(["/list", "/l"], reached);
    const users = express.Router().get("/users/:id", reached);
    shop.use("/v1", users).use("/v2", users);
    shop.use("/sub", express().get("/item", reached));
    app.use("/t/:tenant", shop);
    app.get("/free", reached);
  });
}

/** The requests without a payment that were not asked for their tenant's price. */
async function cheapOnes(shop: OwnShop, tenants: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [at, tenant] of tenants.entries()) {
    const [method = "", path = ""] = (SPELLINGS[at % SPELLINGS.length] ?? "").split(" ");
    const { status, challenge } = await shop.ask({ method, path: `/t/${tenant}${path}` });
    const amount = challenge?.accepts[0]?.amount;
    if (amount !== amountOf(tenant)) found.push(`${method} /t/${tenant}${path}: ${status} ${amount}`);
  }
  return found;
}

describe.each(VERSIONS)("on %s, a table that a request makes", (_name, express) => {
  describe.each([
    ["at the tenant's mount", "mount"],
    ["at the top of the app", "top"],
  ] as const)("%s", (_where, place) => {
    test.each([
      ["and others use again", true],
      ["for itself", false],
    ])("%s prices each tenant's first request", async (_what, isCached) => {
      const shop = await openMarket(express, place, isCached);
      expect(await cheapOnes(shop, isCached ? TENANTS.slice(place === "mount" ? 0 : -80) : LAST)).toEqual([]);
      // A table that is made anew has only one request.
      expect(await cheapOnes(shop, isCached ? TENANTS.slice(-70) : [])).toEqual([]);
      for (const tenant of ["t120", "t185", "t199"]) {
        expect(await shop.paidOutcome(`GET /t/${tenant}/report`), tenant).toBe("paid");
        expect(await shop.paidOutcome(`GET /t/${tenant}/V2/users/7/`), tenant).toBe("paid");
        expect(await shop.outcome(`GET /t/${tenant}/free`), tenant).toBe("free");
        // At the top a key names the tenant, and so the route is wider than it.
        const isWider = place === "top";
        expect(await shop.outcome(`POST /t/${tenant}/report`), tenant).toBe(isWider ? "402" : "free");
      }
      expect(await shop.outcome("GET /free")).toBe("free");
      expect(shop.facilitator.settled).toHaveLength(6);
      expect(shop.payments.report().routes).toEqual([]);
      expect(shop.payments.report(shop.app).routes).toEqual([]);
      expect(shop.warnings).toEqual([]);
    });
  });
});

test("2,000 tables of one request, two or three are collected when nobody has them any more", async () => {
  const script = fileURLToPath(new URL("collected.mjs", import.meta.url));
  const child = spawn(process.execPath, ["--expose-gc", script], { stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  let printed = "";
  for await (const chunk of child.stdout) printed += String(chunk);
  await closed;
  const { made, asked, priced, alive, grown } = JSON.parse(printed);
  expect({ made, priced }).toEqual({ made: 2_000, priced: asked });
  // The last request's.
  expect(alive).toBeLessThan(10);
  // From the first thousand to the second: less than 2 KiB for each. One that is kept takes 24.
  expect(grown).toBeLessThan(2_000_000);
});
