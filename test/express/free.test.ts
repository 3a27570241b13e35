/**
 * Free routes are served as without Farebox, and no other route is.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PriceFunction } from "@farebox/core";
import express5, { type RequestHandler } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { openShop, PAY_TO, PRICED, type ShopPlan, VERSIONS } from "./shop.js";

const FREE = { price: "$0", free: true } as const;

const respond: RequestHandler = (req, res) => void res.json({ url: req.url, payer: req.payment?.payer ?? null });

describe.each(VERSIONS)("on %s", (_, express) => {
  describe("a free key among priced ones", () => {
    const PLAN: ShopPlan = {
      routes: { "GET /api/*": PRICED, "GET /api/health": FREE },
      build(app, payments) {
        app.use(payments);
        app.get("/api/health", respond);
        app.get("/api/weather", respond);
      },
    };

    test("a free key among priced ones is served to any client, and may be cached", async () => {
      const shop = await openShop(express, PLAN);
      const { status, headers, json } = await shop.ask({ path: "/api/health" });
      expect([status, json()]).toEqual([200, { url: "/api/health", payer: null }]);
      expect([headers["cache-control"], headers["payment-response"]]).toEqual([undefined, undefined]);
      expect((await shop.ask({ path: "/api/weather" })).status).toBe(402);
      expect((await shop.pay({ path: "/api/weather" })).status).toBe(200);
      expect(shop.facilitator.settled).toEqual([10_000n]);
    });

    test("a free key in any other spelling is priced as its neighbours are", async () => {
      const shop = await openShop(express, PLAN);
      for (const path of ["/api/HEALTH", "/api/health/", "/api/he%61lth"]) {
        expect((await shop.ask({ path })).status).toBe(402);
      }
    });

    test("a free key frees no file whose name only looks like it", async () => {
      const folder = await mkdtemp(join(tmpdir(), "farebox-free-"));
      onTestFinished(() => rm(folder, { recursive: true }));
      for (const name of ["open.txt", "OPEN.txt"]) await writeFile(join(folder, name), name);
      const shop = await openShop(express, {
        routes: { "GET /files/*": PRICED, "GET /files/open.txt": FREE },
        build(app, payments) {
          app.use(payments);
          app.use("/files", express5.static(folder));
        },
      });
      expect((await shop.ask({ path: "/files/open.txt" })).text).toBe("open.txt");
      for (const path of ["/files/OPEN.txt", "/files/open%2Etxt", "/files//open.txt", "/files/./open.txt"]) {
        const { status } = await shop.ask({ path });
        expect([path, [400, 402].includes(status)]).toEqual([path, true]);
      }
    });
  });

  test("a dynamic price of zero is served without payment, and is kept from shared caches", async () => {
    const price: PriceFunction = ({ header }) => (header("x-plan") === "partner" ? "$0" : "$0.01");
    const shop = await openShop(express, {
      routes: { "GET /paid": { accepts: { price, network: "eip155:84532", payTo: PAY_TO }, free: true } },
      handler: respond,
    });
    const partner = await shop.ask({ headers: { "x-plan": "partner" } });
    expect([partner.status, partner.json()]).toEqual([200, { url: "/paid", payer: null }]);
    expect(partner.headers["cache-control"]).toBe("private");
    expect(shop.facilitator.settled).toEqual([]);
    expect((await shop.ask()).status).toBe(402);
    expect((await shop.pay()).status).toBe(200);
    expect(shop.facilitator.settled).toEqual([10_000n]);
  });
});
