/**
 * Objects of the reference's packages, given to compat as sellers give them who changed one import: they fit by their types, and work.
 *
 * @module
 */
import {
  x402ResourceServer as OurServer,
  paymentMiddleware,
  paymentMiddlewareFromConfig,
  paymentMiddlewareFromHTTPServer,
  registerExactEvmScheme,
} from "@farebox/compat";
import {
  HTTPFacilitatorClient,
  type RoutesConfig,
  x402HTTPResourceServer,
  x402ResourceServer,
} from "@x402/core/server";
import type { PaymentPayload } from "@x402/core/types";
import { ExactEvmScheme, registerExactEvmScheme as registerForeign } from "@x402/evm/exact/server";
import { UptoEvmScheme } from "@x402/evm/upto/server";
import { bazaarResourceServerExtension } from "@x402/extensions/bazaar";
import { ExactSvmScheme } from "@x402/svm/exact/server";
import { expect, test } from "vitest";
import { browse, NETWORK, openStage, PAY_TO, QUIET, quietApp, SOLANA, type Stage } from "./stage.js";

const ROUTES: RoutesConfig = {
  "GET /paid": {
    accepts: [
      {
        scheme: "exact",
        price: (context) => (context.path === "/paid" ? "$0.01" : 0.02),
        network: NETWORK,
        payTo: PAY_TO,
      },
    ],
    unpaidResponseBody: ({ method }) => ({ contentType: "application/json", body: { method } }),
  },
};

async function sell(stage: Stage, middleware: ReturnType<typeof paymentMiddleware>): Promise<string> {
  const app = quietApp().use(middleware);
  app.get("/paid", (_req, res) => void res.send("goods"));
  return `${await stage.serve(app)}/paid`;
}

test("a server, a client and schemes of the reference's", async () => {
  const stage = await openStage();
  const payers: unknown[] = [];
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: stage.facilitatorServer.url }));
  registerForeign(server, { networks: [NETWORK] })
    .register("eip155:*", new UptoEvmScheme())
    .register(SOLANA, new ExactSvmScheme())
    .onAfterSettle(async ({ paymentPayload, result }) => {
      payers.push((paymentPayload as PaymentPayload).x402Version, result.payer);
    });
  const url = await sell(stage, paymentMiddleware(ROUTES, server, { appName: "Shop" }, undefined, true, QUIET));
  expect(await (await fetch(url)).json()).toEqual({ method: "GET" });
  expect((await stage.pay(url)).status).toBe(200);
  expect([payers, stage.income()]).toEqual([[2, stage.payer], 10_000n]);
});

test("an HTTP server of the reference's, with its hooks and its page", async () => {
  const stage = await openStage();
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: stage.facilitatorServer.url }));
  server.register(NETWORK, new ExactEvmScheme());
  const httpServer = new x402HTTPResourceServer(server, ROUTES)
    .onProtectedRequest(async ({ adapter }) => (adapter.getHeader("x-key") === "k" ? { grantAccess: true } : undefined))
    .registerPaywallProvider({ generateHtml: ({ accepts }) => `<p>${accepts.length}</p>` });
  const url = await sell(stage, paymentMiddlewareFromHTTPServer(httpServer, undefined, undefined, true, QUIET));
  expect(await (await fetch(url, { headers: { "x-key": "k" } })).text()).toBe("goods");
  const page = await browse(url);
  expect(await page.text()).toBe("<p>1</p>");
  expect((await stage.pay(url)).status).toBe(200);
});

test("clients and schemes of the reference's, without a server", async () => {
  const stage = await openStage();
  const clients = [new HTTPFacilitatorClient({ url: stage.facilitatorServer.url })];
  const schemes = [{ network: NETWORK, server: new ExactEvmScheme() } as const];
  const middleware = paymentMiddlewareFromConfig(ROUTES, clients, schemes, undefined, undefined, true, QUIET);
  const url = await sell(stage, middleware);
  expect((await stage.pay(url)).status).toBe(200);
  expect(stage.income()).toBe(10_000n);
});

test("our server with a client, a scheme and an extension of the reference's", async () => {
  const stage = await openStage();
  const server = new OurServer(new HTTPFacilitatorClient({ url: stage.facilitatorServer.url }), QUIET);
  registerExactEvmScheme(server)
    .register(NETWORK, new ExactEvmScheme())
    .registerExtension(bazaarResourceServerExtension);
  const url = await sell(stage, paymentMiddleware(ROUTES, server));
  expect((await stage.pay(url)).status).toBe(200);
});
