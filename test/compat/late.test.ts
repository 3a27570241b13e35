/**
 * What a seller registers after the middleware was made counts, as with the reference.
 *
 * @module
 */
import { paymentMiddleware, paymentMiddlewareFromHTTPServer, RouteConfigurationError } from "@farebox/compat";
import type { ErrorRequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { DEPTHS, NETWORK, openStage, PAY_TO, QUIET, quietApp } from "./stage.js";

const ROUTES = {
  "GET /paid": { accepts: { scheme: "exact", price: "$0.01", network: NETWORK, payTo: PAY_TO } },
} as const;

let keys = 0;

describe.each(DEPTHS)(
  "if %s",
  (_depth, { x402ResourceServer, x402HTTPResourceServer, HTTPFacilitatorClient, ExactEvmScheme }) => {
    test("a scheme may be registered after the middleware was made", async () => {
      const { facilitatorServer, serve, pay, income } = await openStage();
      const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorServer.url }));
      const app = quietApp().use(paymentMiddleware(ROUTES, server, undefined, undefined, false, QUIET));
      server.register(NETWORK, new ExactEvmScheme());
      app.get("/paid", (_req, res) => void res.json({ paid: true }));
      const url = `${await serve(app)}/paid`;
      expect((await fetch(url)).status).toBe(402);
      expect((await pay(url)).status).toBe(200);
      expect(income()).toBe(10_000n);
    });

    test("a request fails while a scheme is missing, and is sold once there is one", async () => {
      const { facilitatorServer, serve, pay, income } = await openStage();
      const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorServer.url }));
      // A process is told each thing once.
      const path = `/paid-${++keys}`;
      const routes = { [`GET ${path}`]: ROUTES["GET /paid"] };
      const told: unknown[] = [];
      const logger = { ...QUIET.logger, warn: (_event: string, fields: object) => void told.push(fields) };
      let runs = 0;
      const app = quietApp().use(paymentMiddleware(routes, server, undefined, undefined, false, { logger }));
      app.get(path, (_req, res) => void res.json({ runs: ++runs }));
      app.use(((error, _req, res, _next) => {
        res.status(error instanceof RouteConfigurationError ? 500 : 501).end();
      }) satisfies ErrorRequestHandler);
      const url = (await serve(app)) + path;
      expect((await fetch(url)).status).toBe(500);
      expect(runs).toBe(0);
      expect(told).toMatchObject([
        { route: `GET ${path}`, message: `its requests fail until a scheme is registered for exact on ${NETWORK}` },
      ]);
      server.register(NETWORK, new ExactEvmScheme());
      expect((await pay(url)).status).toBe(200);
      expect([runs, income()]).toEqual([1, 10_000n]);
    });

    test("a hook about requests may be registered after the middleware was made", async () => {
      const { facilitatorServer, serve } = await openStage();
      const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorServer.url }));
      server.register(NETWORK, new ExactEvmScheme());
      const httpServer = new x402HTTPResourceServer(server, ROUTES);
      const app = quietApp().use(paymentMiddlewareFromHTTPServer(httpServer, undefined, undefined, false, QUIET));
      app.get("/paid", (req, res) => void res.json({ member: req.get("x-member") }));
      const url = `${await serve(app)}/paid`;
      const statusFor = async (member: string) => (await fetch(url, { headers: { "x-member": member } })).status;
      expect(await statusFor("ann")).toBe(402);
      httpServer.onProtectedRequest(async ({ adapter }) => {
        const member = adapter.getHeader("x-member");
        if (member === "ann") return { grantAccess: true };
        return member === "bob" ? { abort: true, reason: "banned" } : undefined;
      });
      expect([await statusFor("ann"), await statusFor("bob"), await statusFor("eve")]).toEqual([200, 403, 402]);
    });
  },
);
