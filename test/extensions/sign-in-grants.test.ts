/**
 * What a sign-in grants at our own extension: the requests that were paid for, and no others.
 *
 * @module
 */
import { createPayments, type PaymentsOptions, type RoutesConfig } from "@farebox/express";
import {
  type CreateSIWxOptions,
  createSIWxResourceServerExtension,
  declareSIWxExtension,
  InMemorySIWxStorage,
} from "@farebox/extensions";
import { createPayer, createTestFacilitator, type PayOptions, pay } from "@farebox/testing";
import { createSIWxPayload, encodeSIWxHeader } from "@x402/extensions/sign-in-with-x";
import express from "express";
import { privateKeyToAccount } from "viem/accounts";
import { expect, onTestFinished, test } from "vitest";
import { createLeasingStore } from "../express/shared-store.js";
import { serve } from "../serving.js";

const NETWORK = "eip155:84532";
const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const extensions = declareSIWxExtension();
const priced = (price: string) => ({ accepts: { price, network: NETWORK, payTo: PAY_TO }, extensions }) as const;

/** One wallet, which pays and signs in. */
async function openShop(
  routes: RoutesConfig,
  { storage = new InMemorySIWxStorage(), ...more }: Partial<CreateSIWxOptions> = {},
  options: Partial<PaymentsOptions> = {},
) {
  const facilitator = createTestFacilitator();
  const extension = createSIWxResourceServerExtension({ storage, ...more });
  const logger = { info() {}, warn() {}, error() {} };
  const payments = createPayments({ facilitator, extensions: [extension], logger, ...options });
  const app = express();
  app.use(express.json(), payments.routes(routes));
  app.all(/.*/, (req, res) => {
    if (req.query["used"] !== undefined) req.payment?.settle(String(req.query["used"]));
    res.json({ paid: req.payment !== undefined });
  });
  const origin = await serve(app);
  const key = `0x${"42".repeat(32)}` as const;
  const account = privateKeyToAccount(key);
  const payer = createPayer({ privateKey: key });
  facilitator.ledger.fund(payer.address, 100_000_000n);
  const proof = async (change: object = {}) => {
    const info = { domain: new URL(origin).host, uri: `${origin}/a`, version: "1", nonce: "0123456789abcdef" };
    const signed = {
      ...info,
      issuedAt: new Date().toISOString(),
      chainId: NETWORK,
      type: "eip191" as const,
      ...change,
    };
    return encodeSIWxHeader(await createSIWxPayload(signed, account, origin));
  };
  const signIn = async (path: string, { change, ...sent }: PayOptions & { readonly change?: object } = {}) => {
    const headers = { ...sent.headers, "sign-in-with-x": await proof(change) };
    return (await pay(origin, { ...sent, path, headers })).status;
  };
  return {
    ...{ facilitator, payments, payer, signIn },
    buy: async (path: string, sent: PayOptions = {}) => (await pay(origin, { ...sent, path, payer })).status,
    moved: () => facilitator.ledger.transfers.map(({ amount }) => amount),
  };
}

test("a purchase grants no other query, no HEAD request and no body", async () => {
  const { buy, signIn, moved } = await openShop({ "GET /a": priced("$0.001"), "/b": priced("$0.001") });
  expect(await buy("/a?size=small")).toBe(200);
  expect([await signIn("/a?size=small"), await signIn("/a?size=large"), await signIn("/a")]).toEqual([200, 402, 402]);
  expect(await signIn("/a?size=small", { method: "HEAD" })).toBe(402);
  expect(await signIn("/a?size=small", { method: "GET", body: { n: 1 } })).toBe(402);
  expect(await buy("/b")).toBe(200);
  for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
    expect(await buy("/b", { method })).toBe(200);
    expect(await signIn("/b", { method })).toBe(402);
  }
  expect(await signIn("/b")).toBe(200);
  expect(moved()).toHaveLength(6);
});

test("a purchase for less than the offer, or for nothing, grants nothing", async () => {
  const { buy, signIn, moved } = await openShop({
    "GET /u": { accepts: { scheme: "upto", price: "$0.10", network: NETWORK, payTo: PAY_TO }, extensions },
  });
  for (const used of ["0", "1", "100000"]) {
    expect(await buy(`/u?used=${used}`)).toBe(200);
    expect(await signIn(`/u?used=${used}`)).toBe(used === "100000" ? 200 : 402);
  }
  expect(moved()).toEqual([1n, 100_000n]);
});

test("a price function and another method than GET need resourceOf, which the seller is told at start", async () => {
  const start = (routes: object) => openShop(routes as RoutesConfig);
  await expect(start({ "POST /a": priced("$1"), "DELETE /b": priced("$1") })).rejects.toThrow(
    /"POST \/a"\].*resourceOf.*received the method POST\n.*"DELETE \/b"\]/,
  );
  const terms = { network: NETWORK, payTo: PAY_TO };
  await expect(start({ "GET /a": { accepts: { ...terms, price: () => "$1" }, extensions } })).rejects.toThrow(
    /resourceOf.*a price that is a function/,
  );
  await expect(
    start({ "POST /a": { accepts: [], extensions: declareSIWxExtension({ network: NETWORK }) } }),
  ).resolves.toBeDefined();
});

test("resourceOf names what a purchase grants", async () => {
  const routes: RoutesConfig = {
    "POST /g": {
      accepts: {
        network: NETWORK,
        payTo: PAY_TO,
        price: ({ body }) => ((body as { n: number }).n > 5 ? "$5" : "$0.001"),
      },
      extensions,
    },
  };
  const { buy, signIn, moved } = await openShop(routes, {
    resourceOf: ({ path, body }) =>
      (body as { n: number }).n > 9 ? undefined : `${path} ${(body as { n: number }).n}`,
  });
  expect(await buy("/g", { body: { n: 1 } })).toBe(200);
  expect([await signIn("/g", { body: { n: 1 } }), await signIn("/g", { body: { n: 6 } })]).toEqual([200, 402]);
  expect(await buy("/g", { body: { n: 10 } })).toBe(200);
  expect(await signIn("/g", { body: { n: 10 } })).toBe(402);
  expect(moved()).toEqual([1_000n, 5_000_000n]);
});

test("a payment that settles in the background is recorded for the request that it came with", async () => {
  const { store } = createLeasingStore().options;
  const storage = new InMemorySIWxStorage();
  const routes = { "GET /a": priced("$0.001") };
  const { buy, facilitator, payments, payer } = await openShop(routes, { storage }, { store });
  facilitator.faults.next("settle", { kind: "drop" });
  expect(await buy("/a?size=small")).toBe(503);
  await payments.close();
  expect(storage.hasPaid("/a?size=small", payer.address)).toBe(false);
  const other = createPayments({
    ...{ facilitator, store, extensions: [createSIWxResourceServerExtension({ storage })] },
    logger: { info() {}, warn() {}, error() {} },
  });
  onTestFinished(() => other.close());
  other.routes(routes);
  expect(await other.recover()).toMatchObject({ settled: 1 });
  expect(storage.hasPaid("/a?size=small", payer.address)).toBe(true);
  expect(storage.hasPaid("/a", payer.address)).toBe(false);
});

test("one of three requests with one signature passes when they arrive at once", async () => {
  const used = new Set<string>();
  const later = <T>(value: () => T) => new Promise<T>((resolve) => setImmediate(() => resolve(value())));
  const storage = {
    hasPaid: () => later(() => true),
    recordPayment() {},
    hasUsedNonce: (nonce: string) => later(() => used.has(nonce)),
    recordNonce: (nonce: string) => later(() => void used.add(nonce)),
  };
  const { signIn } = await openShop({ "GET /a": priced("$0.001") }, { storage });
  const statuses = await Promise.all([signIn("/a"), signIn("/a"), signIn("/a")]);
  expect(statuses.sort()).toEqual([200, 402, 402]);
  expect(await signIn("/a")).toBe(402);
});

test("a nonce that another process has recorded meanwhile does not count", async () => {
  const storage = { hasPaid: () => true, recordPayment() {}, hasUsedNonce: () => false, recordNonce: () => false };
  const { signIn } = await openShop({ "GET /a": priced("$0.001") }, { storage });
  expect(await signIn("/a")).toBe(402);
});

test("a nonce that is too long, and a network that the route does not name, are refused", async () => {
  const storage = { hasPaid: () => true, recordPayment() {} };
  const named = { ...priced("$0.001"), extensions: declareSIWxExtension({ network: NETWORK }) };
  const { signIn } = await openShop({ "GET /a": named }, { storage });
  expect(await signIn("/a")).toBe(200);
  expect(await signIn("/a", { change: { nonce: "a".repeat(129) } })).toBe(402);
  expect(await signIn("/a", { change: { chainId: "eip155:1" } })).toBe(402);
});

test("a request from elsewhere is not on this machine, although its Host says so", async () => {
  const storage = { hasPaid: () => true, recordPayment() {} };
  const { signIn } = await openShop({ "GET /a": priced("$0.001") }, { storage });
  expect(await signIn("/a")).toBe(200);
  expect(await signIn("/a", { headers: { "x-forwarded-for": "203.0.113.7" } })).toBe(402);
});

test("options that are not known or not usable are listed at start", () => {
  const options = { storage: new InMemorySIWxStorage(), origin: "nope", resourceOf: "path", bogus: 1 };
  expect(() => createSIWxResourceServerExtension(options as never)).toThrow(/bogus: .*\n.*origin: .*\n.*resourceOf: /);
});
