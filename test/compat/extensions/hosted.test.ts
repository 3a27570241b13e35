/**
 * Extensions of the reference's shape behind our middleware: those of `@x402/extensions`, and one that uses every part of the interface;
 * registered with the reference's server class, and with ours.
 *
 * @module
 */
import { generateKeyPairSync, sign } from "node:crypto";
import { HTTPFacilitatorClient, type HTTPRequestContext, paymentMiddleware, x402ResourceServer } from "@farebox/compat";
import * as ours from "@farebox/compat/extensions";
import type { Logger } from "@farebox/express";
import { createPayer, createTestFacilitator, type PayOptions, pay, startFacilitatorServer } from "@farebox/testing";
import { x402Client } from "@x402/core/client";
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from "@x402/core/http";
import { type RoutesConfig as TheirRoutes, x402ResourceServer as TheirServer } from "@x402/core/server";
import type { ResourceServerExtension as TheirExtension } from "@x402/core/types";
import { ExactEvmScheme } from "@x402/evm";
import { ExactEvmScheme as ServerScheme } from "@x402/evm/exact/server";
import * as theirs from "@x402/extensions";
import { wrapFetchWithPayment } from "@x402/fetch";
import express from "express";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, onTestFinished, test } from "vitest";
import { serve } from "../../serving.js";

const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const ACCEPTS = { scheme: "exact", price: "$0.001", network: "eip155:84532", payTo: PAY_TO } as const;
const QUIET = { logger: { info() {}, warn() {}, error() {} } };

/** The server class of either, with an extension. */
const SERVERS = [
  ["our server class", x402ResourceServer],
  ["the reference's server class", TheirServer],
] as const;

/** An origin is known before the server listens, so an app listens first and gets its middleware afterwards. */
async function openShop(
  Server: (typeof SERVERS)[number][1],
  build: (origin: string) => { readonly extension: object; readonly routes: object },
  logger: Logger = QUIET.logger,
) {
  const facilitator = createTestFacilitator();
  const facilitatorServer = await startFacilitatorServer({ facilitator });
  onTestFinished(() => facilitatorServer.close());
  const app = express();
  const origin = await serve(app);
  const { extension, routes } = build(origin);
  const server = new Server(new HTTPFacilitatorClient({ url: facilitatorServer.url }) as never);
  server.register("eip155:84532", new ServerScheme() as never).registerExtension(extension as never);
  app.use(paymentMiddleware(routes as never, server, undefined, undefined, true, { logger }));
  app.get(["/weather", "/weather/*rest", "/profile"], (_req, res) => void res.json({ sold: true }));
  const account = privateKeyToAccount(generatePrivateKey());
  facilitator.ledger.fund(account.address, 1_000_000n);
  const payer = createPayer();
  facilitator.ledger.fund(payer.address, 1_000_000n);
  const client = new x402Client().register("eip155:*", new ExactEvmScheme(account));
  const challenge = async (path: string) => {
    const { status, headers } = await fetch(origin + path);
    return { status, ...decodePaymentRequiredHeader(headers.get("PAYMENT-REQUIRED") ?? "") };
  };
  return { origin, account, payer, challenge, facilitator, server, payingFetch: wrapFetchWithPayment(fetch, client) };
}

test("routes and extensions that are typed by the reference compile without a cast", () => {
  const routes: TheirRoutes = {
    "GET /weather": { accepts: { ...ACCEPTS, payTo: (context) => context.paymentHeader ?? PAY_TO } },
  };
  const quota: TheirExtension = {
    key: "quota",
    transportHooks: { http: { onProtectedRequest: async (_declaration, { path }) => ({ abort: true, reason: path }) } },
  };
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: "https://facilitator.example" }));
  server.register("eip155:84532", new ServerScheme()).registerExtension(quota);
  server.registerExtension(theirs.bazaarResourceServerExtension);
  expect(paymentMiddleware(routes, server, undefined, undefined, true, QUIET)).toBeTypeOf("function");
});

describe.each(SERVERS)("%s", (_name, Server) => {
  test.each([
    ["the reference's", theirs],
    ["ours", ours],
  ] as const)("sign-in-with-x, %s: who has paid signs in with the reference's client", async (_whose, from) => {
    const shop = await openShop(Server, (origin) => ({
      extension: from.createSIWxResourceServerExtension({ storage: new from.InMemorySIWxStorage(), origin } as never),
      routes: {
        "GET /weather": { accepts: ACCEPTS, extensions: from.declareSIWxExtension({ statement: "Sign in" }) },
        "GET /profile": { accepts: [], extensions: from.declareSIWxExtension({ network: "eip155:84532" }) },
      },
    }));
    const { origin, account, challenge, facilitator, payingFetch } = shop;
    const signIn = (path: string) => theirs.wrapFetchWithSIWx(fetch, account)(origin + path);
    const { extensions } = await challenge("/weather");
    expect(extensions?.["sign-in-with-x"]).toMatchObject({ info: { statement: "Sign in", uri: `${origin}/weather` } });
    expect(JSON.stringify(extensions)).not.toContain("_options");
    expect((await signIn("/weather")).status).toBe(402);
    expect((await payingFetch(`${origin}/weather`)).status).toBe(200);
    const again = await signIn("/weather");
    expect([again.status, await again.json()]).toEqual([200, { sold: true }]);
    expect(facilitator.ledger.balanceOf(PAY_TO)).toBe(1_000n);

    const { status, accepts, extensions: declared } = await challenge("/profile");
    expect([status, accepts]).toEqual([402, []]);
    const { info, supportedChains } = declared!["sign-in-with-x"] as never as theirs.SIWxExtension;
    const payload = await theirs.createSIWxPayload({ ...info, ...supportedChains[0]! }, account, origin);
    const signedIn = await fetch(`${origin}/profile`, {
      headers: { "SIGN-IN-WITH-X": theirs.encodeSIWxHeader(payload) },
    });
    expect(signedIn.status).toBe(200);
  });

  test("a payment whose client names another resource is not recorded for that one", async () => {
    const paid: string[] = [];
    const storage = { hasPaid: () => false, recordPayment: (resource: string) => void paid.push(resource) };
    const { origin, account, server } = await openShop(Server, (own) => ({
      extension: theirs.createSIWxResourceServerExtension({ storage, origin: own }),
      routes: { "GET /weather": { accepts: ACCEPTS, extensions: theirs.declareSIWxExtension() } },
    }));
    // Some sellers register the hook besides the extension.
    server.onAfterSettle(theirs.createSIWxSettleHook({ storage }) as never);
    const client = new x402Client().register("eip155:*", new ExactEvmScheme(account));
    const challenge = decodePaymentRequiredHeader(
      (await fetch(`${origin}/weather`)).headers.get("PAYMENT-REQUIRED") ?? "",
    );
    const payment = await client.createPaymentPayload(challenge);
    const forged = { ...payment, resource: { ...payment.resource, url: `${origin}/expensive` } };
    const header = Buffer.from(JSON.stringify(forged)).toString("base64");
    expect((await fetch(`${origin}/weather`, { headers: { "PAYMENT-SIGNATURE": header } })).status).toBe(200);
    expect(paid).toEqual(["/weather", "/weather"]);
  });

  test("a payment for /weather/../expensive gives no access to /expensive", async () => {
    const paid: string[] = [];
    const storage = { hasPaid: () => false, recordPayment: (resource: string) => void paid.push(resource) };
    const { origin, payer } = await openShop(Server, (own) => ({
      extension: theirs.createSIWxResourceServerExtension({ storage, origin: own }),
      routes: { "GET /weather/*": { accepts: ACCEPTS, extensions: theirs.declareSIWxExtension() } },
    }));
    const sent: PayOptions[] = [{ path: "/weather/../expensive" }, { path: "/weather/today" }];
    for (const options of sent) expect((await pay(origin, { ...options, payer })).status).toBe(200);
    expect(paid).toEqual(["/weather/today"]);
  });

  test("sign-in-with-x of the reference grants no other method or query, and nothing below the full price", async () => {
    const paid: string[] = [];
    const storage = {
      hasPaid: (path: string) => paid.includes(path),
      recordPayment: (path: string) => void paid.push(path),
    };
    const extensions = theirs.declareSIWxExtension();
    const { origin, account, payer, challenge, facilitator } = await openShop(Server, (own) => ({
      extension: theirs.createSIWxResourceServerExtension({ storage, origin: own }),
      routes: {
        "GET /weather": { accepts: ACCEPTS, extensions },
        "POST /weather": { accepts: { ...ACCEPTS, price: "$10" }, extensions },
        "GET /weather/large": {
          accepts: {
            ...ACCEPTS,
            price: (context: HTTPRequestContext) => (context.adapter.getHeader("x-l") ? "$5" : "$1"),
          },
          extensions,
        },
      },
    }));
    const { info, supportedChains } = (await challenge("/weather")).extensions![
      "sign-in-with-x"
    ] as never as theirs.SIWxExtension;
    const payload = await theirs.createSIWxPayload({ ...info, ...supportedChains[0]! }, account, origin);
    const headers = { "SIGN-IN-WITH-X": theirs.encodeSIWxHeader(payload) };
    const send = async (path: string, method = "GET") => (await fetch(origin + path, { method, headers })).status;
    expect((await pay(origin, { path: "/weather?size=small", payer })).status).toBe(200);
    expect(paid).toEqual(["/weather%3Fsize%3Dsmall"]);
    expect([await send("/weather?size=small"), await send("/weather?size=large"), await send("/weather")]).toEqual([
      200, 402, 402,
    ]);
    expect((await pay(origin, { path: "/weather", payer })).status).toBe(200);
    expect([await send("/weather"), await send("/weather", "POST"), await send("/weather", "HEAD")]).toEqual([
      200, 402, 402,
    ]);
    // Another resource than /weather?size=small.
    expect(await send("/weather%3Fsize%3Dsmall")).toBe(404);
    expect((await challenge("/weather/large")).extensions?.["sign-in-with-x"]).toBeUndefined();
    paid.push("/weather/large");
    expect(await send("/weather/large")).toBe(402);
    expect(facilitator.ledger.balanceOf(PAY_TO)).toBe(2_000n);
  });

  test("what an extension declares reaches the challenge in any form, and what cannot be sent is logged", async () => {
    const logged: unknown[] = [];
    const extension = {
      key: "quota",
      dynamicInfoFields: ["left"],
      enrichPaymentRequiredResponse: async (declaration: { perDay?: number }) =>
        declaration.perDay === undefined ? (5 as never) : { left: 3 },
    };
    const { challenge, payer, origin } = await openShop(
      Server,
      () => ({
        extension,
        routes: {
          "GET /weather": {
            accepts: ACCEPTS,
            extensions: { quota: { perDay: 3 }, anything: { c: 3 }, "builder-code": { a: "shop" } },
          },
          "GET /profile": { accepts: ACCEPTS, extensions: { quota: {} } },
        },
      }),
      { ...QUIET.logger, error: (event: string) => void logged.push(event) },
    );
    expect((await challenge("/weather")).extensions).toMatchObject({ quota: { left: 3 }, anything: { c: 3 } });
    const echo = { quota: { info: { left: 9 } }, "builder-code": { info: { s: ["wallet"] } } };
    const paid = await pay(origin, {
      path: "/weather",
      payer,
      mutate: (payment) => ({ ...payment, extensions: echo as never }),
    });
    expect([paid.status, logged]).toEqual([200, []]);
    await challenge("/profile");
    expect(logged).toEqual(["extension_failed"]);
  });

  test("offer-receipt of the reference signs offers and receipts", async () => {
    const pair = generateKeyPairSync("ed25519");
    const jwk = pair.publicKey.export({ format: "jwk" });
    const kid = `did:jwk:${Buffer.from(JSON.stringify(jwk)).toString("base64url")}#0`;
    const issuer = theirs.createJWSOfferReceiptIssuer(kid, {
      kid,
      format: "jws",
      algorithm: "EdDSA",
      sign: async (bytes) => sign(null, bytes, pair.privateKey).toString("base64url"),
    });
    const { origin, challenge, payingFetch, account } = await openShop(Server, () => ({
      extension: theirs.createOfferReceiptExtension(issuer),
      routes: { "GET /weather": { accepts: ACCEPTS, extensions: theirs.declareOfferReceiptExtension() } },
    }));
    const offers = theirs.extractOffersFromPaymentRequired((await challenge("/weather")) as never);
    const receipt = theirs.extractReceiptFromResponse(await payingFetch(`${origin}/weather`));
    const [offer] = theirs.decodeSignedOffers(offers);
    await theirs.verifyOfferSignatureJWS(offers[0] as theirs.JWSSignedOffer);
    await theirs.verifyReceiptSignatureJWS(receipt as theirs.JWSSignedReceipt);
    expect(theirs.verifyReceiptMatchesOffer(receipt!, offer!, [account.address])).toBe(true);
  });

  test("an extension is heard in every part of its interface, with its declaration, on routes that declare it", async () => {
    const heard: [string, unknown][] = [];
    let enriched = 0;
    const hear = (name: string, said?: unknown) => async (declaration: unknown, context: unknown) => {
      JSON.stringify(context);
      heard.push([name, declaration]);
      return said as never;
    };
    const extension = {
      key: "loyalty",
      dynamicInfoFields: ["nonce"],
      enrichDeclaration: (declaration: unknown) => {
        enriched += 1;
        return { ...(declaration as object), level: "gold" };
      },
      enrichPaymentRequiredResponse: async (declaration: unknown) => {
        const { level, points } = declaration as { level: string; points: number };
        return { info: { level, points, nonce: "n" }, schema: { type: "object" } };
      },
      enrichSettlementResponse: hear("receipt", { points: 7 }),
      hooks: {
        onBeforeVerify: hear("onBeforeVerify"),
        onAfterVerify: hear("onAfterVerify"),
        onBeforeSettle: hear("onBeforeSettle"),
        onAfterSettle: hear("onAfterSettle"),
        onVerifyFailure: hear("onVerifyFailure"),
        onSettleFailure: hear("onSettleFailure"),
        onVerifiedPaymentCanceled: hear("onVerifiedPaymentCanceled"),
      },
      transportHooks: { http: { onProtectedRequest: hear("onProtectedRequest") } },
    };
    const declaration = { points: 7 };
    const { origin, challenge, payingFetch } = await openShop(Server, () => ({
      extension,
      routes: {
        "GET /weather": { accepts: ACCEPTS, extensions: { loyalty: declaration } },
        "GET /profile": { accepts: ACCEPTS },
      },
    }));
    expect((await challenge("/weather")).extensions?.["loyalty"]).toEqual({
      info: { level: "gold", points: 7, nonce: "n" },
      schema: { type: "object" },
    });
    expect((await payingFetch(`${origin}/profile`)).status).toBe(200);
    expect(heard.map(([name]) => name)).toEqual(["onProtectedRequest"]);
    heard.length = 0;
    enriched = 0;
    const response = await payingFetch(`${origin}/weather`);
    const { extensions } = decodePaymentResponseHeader(response.headers.get("PAYMENT-RESPONSE") ?? "");
    expect(extensions?.["loyalty"]).toEqual({ points: 7 });
    // Once for the request that got the challenge, and once for the one that paid.
    expect(enriched).toBe(2);
    expect(heard).toEqual(
      [
        "onProtectedRequest",
        "onProtectedRequest",
        "onBeforeVerify",
        "onAfterVerify",
        "onBeforeSettle",
        "receipt",
        "onAfterSettle",
      ].map((name) => [name, name === "onProtectedRequest" ? declaration : { ...declaration, level: "gold" }]),
    );
  });
});
