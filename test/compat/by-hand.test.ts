/**
 * Sellers that build, verify and settle by themselves, as the reference's `custom` example does.
 *
 * @module
 */
import { generateKeyPairSync, sign } from "node:crypto";
import {
  ExactEvmScheme,
  type FacilitatorClient,
  FacilitatorResponseError,
  HTTPFacilitatorClient,
  type PaymentPayload,
  type PaymentRequirements,
  RouteConfigurationError,
  UptoEvmScheme,
  x402ResourceServer,
} from "@farebox/compat";
import {
  createJWSOfferReceiptIssuer,
  createOfferReceiptExtension,
  declareOfferReceiptExtension,
} from "@farebox/compat/extensions";
import { createPayer } from "@farebox/testing";
import * as core from "@x402/core/server";
import { SettleError } from "@x402/core/types";
import * as evm from "@x402/evm/exact/server";
import { decodeSignedOffers, extractOffersFromPaymentRequired, verifyOfferSignatureJWS } from "@x402/extensions";
import type { RequestHandler } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { decode, NETWORK, openStage, PAY_TO, QUIET, quietApp, type Stage } from "./stage.js";

const TERMS = { scheme: "exact", price: "$0.001", network: NETWORK, payTo: PAY_TO } as const;

async function openServer(): Promise<Stage & { readonly server: x402ResourceServer }> {
  const stage = await openStage();
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: stage.facilitatorServer.url }), QUIET)
    .register(NETWORK, new ExactEvmScheme())
    .register(NETWORK, new UptoEvmScheme());
  await server.initialize();
  return { ...stage, server };
}

/** The example's middleware, without its words for the console. */
function customMiddleware(server: x402ResourceServer): RequestHandler {
  let built: PaymentRequirements | undefined;
  return async (req, res, next) => {
    built ??= (await server.buildPaymentRequirements(TERMS))[0];
    const requirements = built!;
    const header = req.get("payment-signature");
    if (header === undefined) {
      const url = `${req.protocol}://${req.get("host")}${req.originalUrl}`;
      const required = await server.createPaymentRequiredResponse([requirements], { url, description: "Weather data" });
      res.status(402).set("PAYMENT-REQUIRED", Buffer.from(JSON.stringify(required)).toString("base64"));
      return void res.json({ error: "Payment Required" });
    }
    const payload: PaymentPayload = JSON.parse(Buffer.from(header, "base64").toString("utf-8"));
    const verified = await server.verifyPayment(payload, requirements);
    if (!verified.isValid)
      return void res.status(402).json({ error: "Invalid Payment", reason: verified.invalidReason });
    const json = res.json.bind(res);
    res.json = (body) => {
      void server.settlePayment(payload, requirements).then((settled) => {
        res.set("PAYMENT-RESPONSE", Buffer.from(JSON.stringify(settled)).toString("base64"));
        json(body);
      });
      return res;
    };
    next();
  };
}

async function openShop() {
  const { server, ...stage } = await openServer();
  const app = quietApp().use(customMiddleware(server));
  app.get("/weather", (_req, res) => void res.json({ weather: "sunny" }));
  return { ...stage, server, url: `${await stage.serve(app)}/weather` };
}

/** A payment that the reference's client has signed. */
async function signFor(requirements: PaymentRequirements, { pay, serve }: Stage): Promise<PaymentPayload> {
  let signed: string | undefined;
  const app = quietApp().use((req, res) => {
    signed = req.get("payment-signature");
    const challenge = { x402Version: 2, resource: { url: "https://api.example.com/weather" }, accepts: [requirements] };
    res
      .status(402)
      .set("PAYMENT-REQUIRED", Buffer.from(JSON.stringify(challenge)).toString("base64"))
      .end();
  });
  await pay(await serve(app)).catch(() => {});
  return decode(signed ?? null) as unknown as PaymentPayload;
}

test("the example is paid by the reference's client", async () => {
  const { pay, payer, url, income } = await openShop();
  const response = await pay(url);
  expect([response.status, await response.json()]).toEqual([200, { weather: "sunny" }]);
  expect(decode(response.headers.get("PAYMENT-RESPONSE"))).toMatchObject({ success: true, payer, network: NETWORK });
  expect(income()).toBe(1000n);
});

test("a payment in another spelling is settled once it is verified", async () => {
  const { server, ...stage } = await openServer();
  const [requirements] = await server.buildPaymentRequirements(TERMS);
  const signed = await signFor(requirements!, stage as Stage);
  const { authorization, signature } = signed.payload as { authorization: { from: string }; signature: string };
  const from = `0x${authorization.from.slice(2).toUpperCase()}`;
  const payment = { ...signed, payload: { authorization: { ...authorization, from }, signature, more: {} } };
  expect(await server.verifyPayment(payment, requirements!)).toMatchObject({ isValid: true });
  expect(await server.settlePayment(payment, requirements!)).toMatchObject({ success: true });
  expect(stage.income()).toBe(1000n);
});

test("requirements are those of an offer of the engine's", async () => {
  const { server } = await openServer();
  expect(await server.buildPaymentRequirements(TERMS)).toEqual([
    {
      scheme: "exact",
      network: NETWORK,
      asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
      amount: "1000",
      payTo: PAY_TO,
      maxTimeoutSeconds: 300,
      extra: { name: "USDC", version: "2" },
    },
  ]);
  const options = [{ ...TERMS, price: ({ tier }: { tier: string }) => (tier === "gold" ? "$1" : "$2") }];
  const [gold] = await server.buildPaymentRequirementsFromOptions(options, { tier: "gold" });
  expect(gold?.amount).toBe("1000000");
});

test("a payment is valid once: of ten requests that verify it, one may go on", async () => {
  const { server, ...stage } = await openServer();
  const [requirements] = await server.buildPaymentRequirements(TERMS);
  const payload = await signFor(requirements!, stage);
  const verifying = Array.from({ length: 10 }, () => server.verifyPayment(payload, requirements!));
  // The others wait for what becomes of the payment.
  await Promise.race(verifying);
  expect(await server.settlePayment(payload, requirements!)).toMatchObject({ success: true, payer: stage.payer });
  const verified = await Promise.all(verifying);
  expect(verified.filter(({ isValid }) => isValid)).toHaveLength(1);
  expect(await server.verifyPayment(payload, requirements!)).toMatchObject({ isValid: false });
  expect(stage.income()).toBe(1000n);
});

test("a payment that is canceled is valid again", async () => {
  const { server, ...stage } = await openServer();
  const [requirements] = await server.buildPaymentRequirements(TERMS);
  const payload = await signFor(requirements!, stage);
  expect(await server.verifyPayment(payload, requirements!)).toMatchObject({ isValid: true });
  await server.createPaymentCancellationDispatcher(payload, requirements!).cancel({ reason: "handler_failed" });
  expect(await server.verifyPayment(payload, requirements!)).toMatchObject({ isValid: true });
});

test("a settlement without a verification verifies first", async () => {
  const { server, ...stage } = await openServer();
  const [requirements] = await server.buildPaymentRequirements(TERMS);
  const payload = await signFor(requirements!, stage);
  expect(await server.settlePayment(payload, requirements!)).toMatchObject({ success: true });
  expect(stage.facilitator.calls.verify).toHaveLength(1);
});

describe("hooks by hand", () => {
  async function openHooked() {
    const { server, facilitator } = await openServer();
    const seen: unknown[] = [];
    const note = (context: object) => {
      const { transportContext, declaredExtensions } = context as Record<string, unknown>;
      seen.push([transportContext, declaredExtensions]);
    };
    server.onBeforeVerify(async (context) => note(context)).onAfterSettle(async (context) => note(context));
    const [requirements] = await server.buildPaymentRequirements(TERMS);
    const payer = createPayer();
    facilitator.ledger.fund(payer.address, 1_000_000n);
    const payment = (await payer.signExact(requirements as never)) as unknown as PaymentPayload;
    return { server, seen, requirements: requirements!, payment };
  }

  test("hear of no request if the seller says nothing of one", async () => {
    const { server, seen, requirements, payment } = await openHooked();
    await server.verifyPayment(payment, requirements);
    expect(await server.settlePayment(payment, requirements)).toMatchObject({ success: true });
    expect(seen).toEqual([
      [undefined, {}],
      [undefined, {}],
    ]);
  });

  test("get the transport context and the declarations that the seller passes", async () => {
    const { server, seen, requirements, payment } = await openHooked();
    const adapter = { getHeader: () => undefined, getUrl: () => "https://shop.example/jobs" };
    const transport = { request: { adapter, path: "/jobs", method: "POST" }, job: 7 };
    const declared = { registry: { owner: "us" } };
    await server.verifyPayment(payment, requirements, declared, transport);
    expect(await server.settlePayment(payment, requirements, declared, transport)).toMatchObject({ success: true });
    expect(seen).toEqual([
      [transport, declared],
      [transport, declared],
    ]);
  });
});

test("a part of what was authorized is settled by upto", async () => {
  const { server, facilitator, income } = await openServer();
  const [requirements] = await server.buildPaymentRequirements({ ...TERMS, scheme: "upto" });
  const payer = createPayer();
  facilitator.ledger.fund(payer.address, 1000n);
  const payload = (await payer.signUpto(requirements!)) as unknown as PaymentPayload;
  expect(await server.verifyPayment(payload, requirements!)).toEqual({ isValid: true, payer: payer.address });
  const settled = await server.settlePayment(payload, requirements!, undefined, undefined, { amount: "400" });
  expect(settled).toMatchObject({ success: true, amount: "400" });
  expect(income()).toBe(400n);
});

test("a payment for other terms is invalid, and one that nobody can verify rejects", async () => {
  const { server, ...stage } = await openServer();
  const [requirements] = await server.buildPaymentRequirements(TERMS);
  const payload = await signFor(requirements!, stage);
  const dearer = await server.verifyPayment(payload, { ...requirements!, amount: "2000" });
  expect(dearer).toMatchObject({ isValid: false, invalidReason: expect.any(String) });
  const drop = stage.facilitatorServer.faults.next("verify", { kind: "drop" });
  onTestFinished(() => void drop);
  await expect(server.verifyPayment(payload, requirements!)).rejects.toThrow(FacilitatorResponseError);
});

describe.each<[string, typeof HTTPFacilitatorClient]>([
  ["ours", HTTPFacilitatorClient],
  ["the reference's", core.HTTPFacilitatorClient as unknown as typeof HTTPFacilitatorClient],
])("a facilitator client of %s", (_whose, Client) => {
  async function openVerified() {
    const stage = await openStage();
    const server = new x402ResourceServer(new Client({ url: stage.facilitatorServer.url }), QUIET).register(
      NETWORK,
      new ExactEvmScheme(),
    );
    const [requirements] = await server.buildPaymentRequirements(TERMS);
    const payload = await signFor(requirements!, stage);
    const { faults } = stage.facilitatorServer;
    return { ...stage, server, payload, requirements: requirements!, faults };
  }

  test("makes a settlement without an outcome reject, and the same payment can be settled again", async () => {
    const { server, payload, requirements, faults, income } = await openVerified();
    expect(await server.verifyPayment(payload, requirements)).toMatchObject({ isValid: true });
    faults.next("settle", { kind: "drop", when: "after" });
    const settling = server.settlePayment(payload, requirements);
    await expect(settling).rejects.toThrow(FacilitatorResponseError);
    await expect(settling).rejects.toThrow(/^settlement_pending: the money may have moved; settle the same payment/);
    expect(income()).toBe(1000n);
    expect(await server.verifyPayment(payload, requirements)).toMatchObject({ isValid: true });
    expect(await server.settlePayment(payload, requirements)).toMatchObject({ success: true });
    expect(income()).toBe(1000n);
  });

  test("makes a verification reject with what it says", async () => {
    const { server, payload, requirements, faults } = await openVerified();
    faults.next("verify", { kind: "status", status: 500 });
    await expect(server.verifyPayment(payload, requirements)).rejects.toThrow(/verify.*500/);
  });
});

test("a payment that another request works on rejects, so that its client is not asked for a second one", async () => {
  const { facilitatorServer, ...stage } = await openStage();
  const clients = new HTTPFacilitatorClient({ url: facilitatorServer.url });
  const server = new x402ResourceServer(clients, { ...QUIET, copyWaitMs: 0 }).register(NETWORK, new ExactEvmScheme());
  const [requirements] = await server.buildPaymentRequirements(TERMS);
  const payload = await signFor(requirements!, { facilitatorServer, ...stage });
  expect(await server.verifyPayment(payload, requirements!)).toMatchObject({ isValid: true });
  await expect(server.verifyPayment(payload, requirements!)).rejects.toThrow(/^payment_in_progress: /);
  expect(await server.settlePayment(payload, requirements!)).toMatchObject({ success: true });
  expect(stage.income()).toBe(1000n);
});

test("what is no payment is neither valid nor settled", async () => {
  const { server } = await openServer();
  const [requirements] = await server.buildPaymentRequirements(TERMS);
  for (const sent of [
    null,
    5,
    "x",
    [],
    {},
    { payload: null },
    { x402Version: 2, accepted: requirements, payload: {} },
  ]) {
    const payload = sent as unknown as PaymentPayload;
    expect(await server.verifyPayment(payload, requirements!)).toMatchObject({ isValid: false });
    expect(await server.settlePayment(payload, requirements!)).toMatchObject({ success: false, transaction: "" });
  }
});

test("an error that a seller's own client throws is what verifyPayment and settlePayment reject with", async () => {
  const { facilitatorServer, ...stage } = await openStage();
  const client = new HTTPFacilitatorClient({ url: facilitatorServer.url });
  const failure = new RangeError("no route to the bank");
  const refused = new SettleError(400, { success: false, errorReason: "no", transaction: "", network: NETWORK });
  const own: FacilitatorClient = {
    verify: (payload, terms) => (isDown ? Promise.reject(failure) : client.verify(payload, terms)),
    settle: () => Promise.reject(refused),
    getSupported: () => client.getSupported(),
  };
  let isDown = true;
  const server = new x402ResourceServer(own, QUIET).register(NETWORK, new ExactEvmScheme());
  const [requirements] = await server.buildPaymentRequirements(TERMS);
  const payload = await signFor(requirements!, { facilitatorServer, ...stage });
  await expect(server.verifyPayment(payload, requirements!)).rejects.toBe(failure);
  isDown = false;
  expect(await server.verifyPayment(payload, requirements!)).toMatchObject({ isValid: true });
  await expect(server.settlePayment(payload, requirements!)).rejects.toBe(refused);
  expect(stage.income()).toBe(0n);
});

test("a scheme that is not registered is named", async () => {
  const { server } = await openServer();
  await expect(server.buildPaymentRequirements({ ...TERMS, network: "solana:abc" })).rejects.toThrow(
    RouteConfigurationError,
  );
});

describe("extensions that are registered with a server that sells by hand", () => {
  const resource = { url: "https://api.example.com/paid", description: "Weather data" };
  const tally = { info: { at: 1 }, schema: { type: "object" } };
  /** Made anew for each call: the reference writes to it. */
  const declare = () => structuredClone({ tally, "nobody-knows": { note: "sent as it is" } });

  test.each([
    ["the reference", core.x402ResourceServer as never, evm.ExactEvmScheme as never],
    ["compat", x402ResourceServer, ExactEvmScheme],
  ] as [string, typeof x402ResourceServer, typeof ExactEvmScheme][])(
    "are asked and add to challenge and receipt, with %s",
    async (_name, Server, Scheme) => {
      const stage = await openStage();
      const client = new HTTPFacilitatorClient({ url: stage.facilitatorServer.url });
      const asked: unknown[] = [];
      const server = new Server(client, QUIET)
        .register(NETWORK, new Scheme())
        .onBeforeVerify(async ({ declaredExtensions }) => void asked.push(Object.keys(declaredExtensions)))
        .registerExtension({
          key: "tally",
          enrichPaymentRequiredResponse: async (declaration) => ({ ...(declaration as object), added: true }),
          enrichSettlementResponse: async (declaration) => ({ declaration, added: true }),
          hooks: {
            onBeforeVerify: async (declaration) => void asked.push(["onBeforeVerify", declaration]),
            onAfterSettle: async (declaration) => void asked.push(["onAfterSettle", declaration]),
          },
        });
      await server.initialize();
      const [requirements] = await server.buildPaymentRequirements(TERMS);
      const required = await server.createPaymentRequiredResponse([requirements!], resource, "Pay", declare());
      expect(required).toMatchObject({ error: "Pay", resource, accepts: [requirements] });
      expect(required.extensions).toEqual({ ...declare(), tally: { ...tally, added: true } });

      const payer = createPayer();
      stage.facilitator.ledger.fund(payer.address, 1_000n);
      const payment = { ...(await payer.signExact(requirements as never)), resource } as never;
      expect(await server.verifyPayment(payment, requirements!, declare())).toMatchObject({ isValid: true });
      const settled = await server.settlePayment(payment, requirements!, declare());
      expect(settled).toMatchObject({ success: true, extensions: { tally: { declaration: tally, added: true } } });
      const hooks = ["onBeforeVerify", "onAfterSettle"].map((name) => [name, tally]);
      expect(asked).toEqual([["tally", "nobody-knows"], ...hooks]);
    },
  );

  test("sign offers that the reference's verifier takes, and the receipt", async () => {
    const { server, facilitator } = await openServer();
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const issuer = createJWSOfferReceiptIssuer("did:web:api.example.com#key-1", {
      algorithm: "EdDSA",
      sign: async (bytes) => sign(null, bytes, privateKey).toString("base64url"),
    });
    server.registerExtension(createOfferReceiptExtension(issuer));
    const [requirements] = await server.buildPaymentRequirements(TERMS);
    const offering = declareOfferReceiptExtension();
    const required = await server.createPaymentRequiredResponse([requirements!], resource, undefined, offering);
    const [offer] = decodeSignedOffers(extractOffersFromPaymentRequired(required as never));
    const signed = await verifyOfferSignatureJWS(offer!.signedOffer as never, publicKey as never);
    expect(signed).toMatchObject({ resourceUrl: resource.url, amount: "1000", payTo: PAY_TO });

    const payer = createPayer();
    facilitator.ledger.fund(payer.address, 1_000n);
    const payment = { ...(await payer.signExact(requirements as never)), resource } as never;
    await server.verifyPayment(payment, requirements!, offering);
    const { extensions } = await server.settlePayment(payment, requirements!, offering);
    expect(extensions).toMatchObject({ "offer-receipt": { info: { receipt: { format: "jws" } } } });
  });
});
