/**
 * Signed offers and receipts from a real server, verified by `@x402/extensions` as its client example does.
 *
 * @module
 */
import { generateKeyPairSync, sign } from "node:crypto";
import { paymentMiddleware } from "@farebox/express";
import {
  createEIP712OfferReceiptIssuer,
  createJWSOfferReceiptIssuer,
  createOfferReceiptExtension,
  declareOfferReceiptExtension,
  type OfferReceiptIssuer,
} from "@farebox/extensions";
import { createTestFacilitator, pay, type TestFacilitator } from "@farebox/testing";
import { x402Client } from "@x402/core/client";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import { ExactEvmScheme } from "@x402/evm";
import * as theirs from "@x402/extensions/offer-receipt";
import { appendPaymentIdentifierToExtensions } from "@x402/extensions/payment-identifier";
import { wrapFetchWithPayment } from "@x402/fetch";
import express from "express";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { describe, expect, test } from "vitest";
import { serve } from "../serving.js";

const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const QUIET = { info() {}, warn() {}, error() {} };

const key = privateKeyToAccount(generatePrivateKey());
const pair = generateKeyPairSync("ed25519");
const jwk = pair.publicKey.export({ format: "jwk" });
const kid = `did:jwk:${Buffer.from(JSON.stringify(jwk)).toString("base64url")}#0`;
const jwsSigner = {
  kid,
  format: "jws",
  algorithm: "EdDSA",
  sign: async (bytes: Uint8Array) => sign(null, bytes, pair.privateKey).toString("base64url"),
} as const;
const signTypedData = (data: object) => key.signTypedData(data as never);
const PKH = `did:pkh:eip155:1:${key.address}#key-1`;

const ISSUERS: readonly (readonly [string, OfferReceiptIssuer])[] = [
  ["our JWS issuer", createJWSOfferReceiptIssuer(kid, jwsSigner)],
  ["our EIP-712 issuer", createEIP712OfferReceiptIssuer(PKH, signTypedData)],
  ["the reference's JWS issuer", theirs.createJWSOfferReceiptIssuer(kid, jwsSigner) as OfferReceiptIssuer],
  ["the reference's EIP-712 issuer", theirs.createEIP712OfferReceiptIssuer(PKH, signTypedData) as OfferReceiptIssuer],
];

/** Verifies an offer or a receipt, and returns who is known to have signed it. */
async function signerOf(signed: theirs.SignedOffer | theirs.SignedReceipt, kind: "offer" | "receipt"): Promise<string> {
  if (signed.format === "jws") {
    await (kind === "offer" ? theirs.verifyOfferSignatureJWS(signed) : theirs.verifyReceiptSignatureJWS(signed));
    return theirs.extractJWSHeader(signed.signature).kid ?? "";
  }
  const verified =
    "scheme" in signed.payload
      ? await theirs.verifyOfferSignatureEIP712(signed as theirs.EIP712SignedOffer)
      : await theirs.verifyReceiptSignatureEIP712(signed as theirs.EIP712SignedReceipt);
  return verified.signer;
}

async function openShop(issuer: OfferReceiptIssuer, declaration = declareOfferReceiptExtension()) {
  const facilitator: TestFacilitator = createTestFacilitator();
  const account = privateKeyToAccount(generatePrivateKey());
  facilitator.ledger.fund(account.address, 1_000_000n);
  const accepts = [
    { price: "$0.001", network: "eip155:84532", payTo: PAY_TO },
    { price: "$0.002", network: "eip155:84532", payTo: PAY_TO, maxTimeoutSeconds: 60 },
  ] as const;
  const app = express();
  app.use(
    paymentMiddleware(
      { "GET /weather": { accepts, description: "Weather data", extensions: { ...declaration } } },
      { facilitator, extensions: [createOfferReceiptExtension(issuer)], logger: QUIET },
    ),
  );
  app.get("/weather", (_req, res) => void res.json({ report: "sunny" }));
  const url = `${await serve(app)}/weather`;
  let sent = new Headers();
  const client = new x402Client().register("eip155:*", new ExactEvmScheme(account));
  // A client with an id of its own may fetch its response again.
  client.onBeforePaymentCreation(async ({ paymentRequired }) => {
    appendPaymentIdentifierToExtensions(paymentRequired.extensions ?? {});
  });
  const payingFetch = wrapFetchWithPayment((input, init) => {
    const request = new Request(input, init);
    sent = request.headers;
    return fetch(request);
  }, client);
  return { url, payingFetch, account, facilitator, resend: () => fetch(url, { headers: sent }) };
}

describe.each(ISSUERS)("with %s", (_name, issuer) => {
  const signer = issuer.format === "jws" ? kid : key.address;

  test("each offer of a challenge is signed, and the reference finds it in accepts", async () => {
    const { url } = await openShop(issuer);
    const asked = Math.floor(Date.now() / 1000);
    const challenge = decodePaymentRequiredHeader((await fetch(url)).headers.get("PAYMENT-REQUIRED") ?? "");
    const answered = Math.ceil(Date.now() / 1000);
    const offers = theirs.extractOffersFromPaymentRequired(challenge);
    expect(await Promise.all(offers.map((offer) => signerOf(offer, "offer")))).toEqual([signer, signer]);
    for (const [at, decoded] of theirs.decodeSignedOffers(offers).entries()) {
      expect(theirs.findAcceptsObjectFromSignedOffer(decoded, challenge.accepts)).toBe(challenge.accepts[at]);
      expect(decoded.resourceUrl).toBe(url);
      const lifetime = at === 0 ? 300 : 60;
      expect(decoded.validUntil).toBeGreaterThanOrEqual(asked + lifetime);
      expect(decoded.validUntil).toBeLessThanOrEqual(answered + lifetime);
    }
  });

  test("a paid response has a signed receipt for one of the offers, and a replay has the same", async () => {
    const { url, payingFetch, account, facilitator, resend } = await openShop(issuer);
    const challenge = decodePaymentRequiredHeader((await fetch(url)).headers.get("PAYMENT-REQUIRED") ?? "");
    const [offer] = theirs.decodeSignedOffers(theirs.extractOffersFromPaymentRequired(challenge));
    const response = await payingFetch(url);
    expect([response.status, await response.json()]).toEqual([200, { report: "sunny" }]);
    const receipt = theirs.extractReceiptFromResponse(response);
    expect(await signerOf(receipt!, "receipt")).toBe(signer);
    expect(theirs.verifyReceiptMatchesOffer(receipt!, offer!, [account.address])).toBe(true);
    expect(theirs.extractReceiptPayload(receipt!).transaction ?? "").toBe("");
    expect((await resend()).headers.get("PAYMENT-RESPONSE")).toBe(response.headers.get("PAYMENT-RESPONSE"));
    expect(JSON.stringify(facilitator.calls)).not.toContain("offer-receipt");
    expect(facilitator.ledger.balanceOf(PAY_TO)).toBe(1_000n);
  });
});

test("a receipt names the transaction, and an offer its validity, where the route says so", async () => {
  const [, issuer] = ISSUERS[0]!;
  const declaration = declareOfferReceiptExtension({ includeTxHash: true, offerValiditySeconds: 3600 });
  const { url, payingFetch } = await openShop(issuer, declaration);
  const asked = Math.floor(Date.now() / 1000);
  const challenge = decodePaymentRequiredHeader((await fetch(url)).headers.get("PAYMENT-REQUIRED") ?? "");
  const [offer] = theirs.decodeSignedOffers(theirs.extractOffersFromPaymentRequired(challenge));
  expect(offer?.validUntil).toBeGreaterThanOrEqual(asked + 3600);
  const receipt = theirs.extractReceiptFromResponse(await payingFetch(url));
  expect(theirs.extractReceiptPayload(receipt!).transaction).toMatch(/^0x[0-9a-f]{64}$/);
});

test.each([
  ["a host that only the client names", {}, {}, []],
  ["the seller's URL", { publicUrl: "https://api.example.com/v1" }, {}, ["https://api.example.com/v1/weather"]],
  ["an allowed host", { allowedHosts: ["shop.example"] }, {}, ["http://shop.example/weather"]],
  ["another host than the allowed one", { allowedHosts: ["api.example.com"] }, {}, ["http://api.example.com/weather"]],
  ["the route's own resource", {}, { resource: "https://api.example.com/sold" }, ["https://api.example.com/sold"]],
] as const)("of a request for shop.example, %s is signed accordingly", async (_what, options, route, signed) => {
  const [, issuer] = ISSUERS[0]!;
  const accepts = { price: "$0.001", network: "eip155:84532", payTo: PAY_TO } as const;
  const routes = { "GET /weather": { accepts, ...route, extensions: { ...declareOfferReceiptExtension() } } };
  const extensions = [createOfferReceiptExtension(issuer)];
  const app = express();
  app.use(paymentMiddleware(routes, { facilitator: createTestFacilitator(), extensions, logger: QUIET, ...options }));
  app.get("/weather", (_req, res) => void res.json({}));
  const { challenge } = await pay(app, { path: "/weather", headers: { host: "shop.example" } });
  const offers = theirs.decodeSignedOffers(theirs.extractOffersFromPaymentRequired(challenge as never));
  expect(offers.map(({ resourceUrl }) => resourceUrl)).toEqual(signed);
});

test("a seller whose signer is down sells without signatures", async () => {
  const down = () => Promise.reject(new RangeError("the key is out of reach"));
  const { url, payingFetch } = await openShop({ kid, format: "jws", issueOffer: down, issueReceipt: down });
  const challenge = decodePaymentRequiredHeader((await fetch(url)).headers.get("PAYMENT-REQUIRED") ?? "");
  expect(challenge.accepts).toHaveLength(2);
  expect(theirs.extractOffersFromPaymentRequired(challenge)).toEqual([]);
  const response = await payingFetch(url);
  expect(response.status).toBe(200);
  expect(theirs.extractReceiptFromResponse(response)).toBeUndefined();
});
