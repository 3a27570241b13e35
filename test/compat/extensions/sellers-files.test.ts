/**
 * Sellers' files after the reference's examples for extensions, with every import changed: they compile, and are paid.
 *
 * @module
 */
import { generateKeyPairSync, sign } from "node:crypto";
import {
  HTTPFacilitatorClient,
  paymentMiddleware,
  paymentMiddlewareFromHTTPServer,
  x402HTTPResourceServer,
  x402ResourceServer,
} from "@farebox/compat";
import type { PaymentPayload } from "@farebox/compat/core/types";
import { ExactEvmScheme } from "@farebox/compat/evm/exact/server";
import {
  bazaarResourceServerExtension,
  declareDiscoveryExtension,
  declareEip2612GasSponsoringExtension,
} from "@farebox/compat/extensions";
import {
  createJWSOfferReceiptIssuer,
  createOfferReceiptExtension,
  declareOfferReceiptExtension,
} from "@farebox/compat/extensions/offer-receipt";
import {
  declarePaymentIdentifierExtension,
  extractPaymentIdentifier,
  PAYMENT_IDENTIFIER,
} from "@farebox/compat/extensions/payment-identifier";
import {
  createSIWxRequestHook,
  createSIWxSettleHook,
  declareSIWxExtension,
  InMemorySIWxStorage,
  parseSIWxHeader,
  siwxResourceServerExtension,
} from "@farebox/compat/extensions/sign-in-with-x";
import { createPaywall, evmPaywall } from "@farebox/compat/paywall";
import { createTestFacilitator, startFacilitatorServer } from "@farebox/testing";
import { x402Client } from "@x402/core/client";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import { ExactEvmScheme as ClientScheme } from "@x402/evm";
import { wrapFetchWithSIWx } from "@x402/extensions";
import { extractReceiptFromResponse } from "@x402/extensions/offer-receipt";
import { appendPaymentIdentifierToExtensions } from "@x402/extensions/payment-identifier";
import { wrapFetchWithPayment } from "@x402/fetch";
import express, { type Express } from "express";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "../../serving.js";
import { browse } from "../stage.js";

const payTo = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

async function open(build: (facilitatorUrl: string) => Express) {
  const facilitator = createTestFacilitator();
  const server = await startFacilitatorServer({ facilitator });
  onTestFinished(() => server.close());
  const account = privateKeyToAccount(generatePrivateKey());
  facilitator.ledger.fund(account.address, 1_000_000n);
  const client = new x402Client().register("eip155:*", new ClientScheme(account));
  client.onBeforePaymentCreation(async ({ paymentRequired }) => {
    appendPaymentIdentifierToExtensions(paymentRequired.extensions ?? {});
  });
  const url = await serve(build(server.url));
  return { url, account, pay: wrapFetchWithPayment(fetch, client), paid: () => facilitator.ledger.balanceOf(payTo) };
}

test("sign-in-with-x, as the example of version 2.10 has it", async () => {
  const events: string[] = [];
  const { url, account, pay, paid } = await open((facilitatorUrl) => {
    const storage = new InMemorySIWxStorage();
    function onEvent(event: { type: string; resource: string; address?: string; error?: string }) {
      events.push(event.type);
    }
    const accepts = [{ scheme: "exact" as const, price: "$0.001", network: "eip155:84532" as const, payTo }];
    const routes = {
      "GET /weather": { accepts, mimeType: "application/json", extensions: declareSIWxExtension() },
      "GET /profile": {
        accepts: [] as [],
        extensions: declareSIWxExtension({ network: ["eip155:84532"], statement: "Sign in", expirationSeconds: 300 }),
      },
    };
    const resourceServer = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }))
      .register("eip155:84532", new ExactEvmScheme())
      .registerExtension(siwxResourceServerExtension)
      .onAfterSettle(createSIWxSettleHook({ storage }));
    const httpServer = new x402HTTPResourceServer(resourceServer, routes).onProtectedRequest(
      createSIWxRequestHook({ storage, onEvent }),
    );
    const app = express();
    app.use(paymentMiddlewareFromHTTPServer(httpServer));
    app.get("/weather", (_req, res) => void res.json({ weather: "sunny" }));
    app.get("/profile", (req, res) => {
      res.json({ address: parseSIWxHeader(req.headers["sign-in-with-x"] as string).address });
    });
    return app;
  });
  const signIn = wrapFetchWithSIWx(fetch, account);
  expect((await signIn(`${url}/weather`)).status).toBe(402);
  expect((await pay(`${url}/weather`)).status).toBe(200);
  const again = await signIn(`${url}/weather`);
  expect([again.status, await again.json()]).toEqual([200, { weather: "sunny" }]);
  expect(await paid()).toBe(1_000n);
  expect(events).toEqual(["access_granted"]);
});

test("offer-receipt, as the example has it, with a page for browsers", async () => {
  const { url, pay } = await open((facilitatorUrl) => {
    const { privateKey } = generateKeyPairSync("ed25519");
    const kid = "did:web:localhost%3A4021#key-1";
    const issuer = createJWSOfferReceiptIssuer(kid, {
      kid,
      format: "jws",
      algorithm: "EdDSA",
      sign: async (bytes: Uint8Array) => sign(null, bytes, privateKey).toString("base64url"),
    });
    const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }))
      .register("eip155:84532", new ExactEvmScheme())
      .registerExtension(createOfferReceiptExtension(issuer));
    const paywall = createPaywall().withNetwork(evmPaywall).withConfig({ appName: "Weather", testnet: true }).build();
    const app = express();
    app.use(
      paymentMiddleware(
        {
          "GET /weather": {
            accepts: [{ scheme: "exact", price: "$0.001", network: "eip155:84532", payTo }],
            description: "Weather data",
            extensions: { ...declareOfferReceiptExtension({ includeTxHash: false }) },
          },
        },
        server,
        undefined,
        paywall,
      ),
    );
    app.get("/weather", (_req, res) => void res.send({ report: { weather: "sunny", temperature: 70 } }));
    return app;
  });
  expect(extractReceiptFromResponse(await pay(`${url}/weather`))).toMatchObject({ format: "jws" });
  const page = await browse(`${url}/weather`);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(await page.text()).toContain("0.001 USDC");
});

test("payment-identifier, bazaar and gas sponsoring, as the examples have them", async () => {
  const cached = new Map<string, PaymentPayload["payload"]>();
  const { url, pay } = await open((facilitatorUrl) => {
    const routes = {
      "GET /weather": {
        accepts: [{ scheme: "exact", price: "$0.001", network: "eip155:84532" as const, payTo }],
        extensions: {
          [PAYMENT_IDENTIFIER]: declarePaymentIdentifierExtension(false),
          ...declareDiscoveryExtension({ input: { city: "Paris" }, output: { example: { weather: "sunny" } } }),
          ...declareEip2612GasSponsoringExtension(),
        },
      },
    };
    const resourceServer = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitatorUrl }))
      .register("eip155:84532", new ExactEvmScheme())
      .registerExtension(bazaarResourceServerExtension)
      .onAfterSettle(async ({ paymentPayload }) => {
        const paymentId = extractPaymentIdentifier(paymentPayload);
        if (paymentId) cached.set(paymentId, paymentPayload.payload as PaymentPayload["payload"]);
      });
    const httpServer = new x402HTTPResourceServer(resourceServer, routes).onProtectedRequest(async (context) => {
      if (!context.paymentHeader) return undefined;
      const paymentPayload = JSON.parse(Buffer.from(context.paymentHeader, "base64").toString("utf-8"));
      const paymentId = extractPaymentIdentifier(paymentPayload);
      return paymentId && cached.has(paymentId) ? { grantAccess: true } : undefined;
    });
    const app = express();
    app.use(paymentMiddlewareFromHTTPServer(httpServer));
    app.get("/weather", (_req, res) => void res.json({ weather: "sunny" }));
    return app;
  });
  const challenge = decodePaymentRequiredHeader((await fetch(`${url}/weather`)).headers.get("PAYMENT-REQUIRED") ?? "");
  // Gas sponsoring is declared where the facilitator has it, and this one has not.
  expect(Object.keys(challenge.extensions ?? {}).sort()).toEqual(["bazaar", "payment-identifier"]);
  expect((await pay(`${url}/weather`)).status).toBe(200);
  expect([...cached.keys()]).toEqual([expect.stringMatching(/^pay_[0-9a-f]{32}$/)]);
});
