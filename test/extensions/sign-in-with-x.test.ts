/**
 * Sign-in with the reference's client at our own extension, without compat.
 *
 * @module
 */
import { createPayments } from "@farebox/express";
import {
  type CreateSIWxOptions,
  createSIWxResourceServerExtension,
  declareSIWxExtension,
  InMemorySIWxStorage,
} from "@farebox/extensions";
import { createPayer, createTestFacilitator, pay } from "@farebox/testing";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import { ExactEvmScheme } from "@x402/evm";
import {
  createSIWxPayload,
  encodeSIWxHeader,
  type SIWxExtension,
  wrapFetchWithSIWx,
} from "@x402/extensions/sign-in-with-x";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import express from "express";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { serve } from "../serving.js";

const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const ACCEPTS = { price: "$0.001", network: "eip155:84532", payTo: PAY_TO } as const;
const QUIET = { info() {}, warn() {}, error() {} };

async function openShop(options: Partial<CreateSIWxOptions> = {}) {
  const facilitator = createTestFacilitator();
  const account = privateKeyToAccount(generatePrivateKey());
  facilitator.ledger.fund(account.address, 1_000_000n);
  const events: unknown[] = [];
  const extension = createSIWxResourceServerExtension({
    storage: new InMemorySIWxStorage(),
    onEvent: ({ type }) => void events.push(type),
    ...options,
  });
  const payments = createPayments({ facilitator, extensions: [extension], logger: QUIET });
  const app = express();
  app.use(
    payments.routes({
      "GET /article/:id": {
        accepts: ACCEPTS,
        extensions: declareSIWxExtension({ statement: "Sign in to read it again", expirationSeconds: 60 }),
      },
      "GET /profile": { accepts: [], extensions: declareSIWxExtension({ network: "eip155:84532" }) },
      "GET /plain": { accepts: ACCEPTS },
    }),
  );
  app.get(["/article/:id", "/profile", "/plain"], (req, res) => void res.json({ paid: req.payment !== undefined }));
  const origin = await serve(app);
  const client = { network: "eip155:*", client: new ExactEvmScheme(account) } as const;
  const challenge = async (path: string) => {
    const { headers } = await fetch(origin + path);
    return decodePaymentRequiredHeader(headers.get("PAYMENT-REQUIRED") ?? "");
  };
  const declared = async (path: string) =>
    (await challenge(path)).extensions?.["sign-in-with-x"] as never as SIWxExtension | undefined;
  const header = async (path: string) => {
    const { info, supportedChains } = (await declared(path))!;
    return encodeSIWxHeader(await createSIWxPayload({ ...info, ...supportedChains[0]! }, account, origin + path));
  };
  return {
    ...{ origin, account, facilitator, events, declared, header },
    payingFetch: wrapFetchWithPaymentFromConfig(fetch, { schemes: [client] }),
    signIn: (path: string) => wrapFetchWithSIWx(fetch, account)(origin + path),
    send: async (path: string, signed: string) =>
      (await fetch(origin + path, { headers: { "SIGN-IN-WITH-X": signed } })).status,
  };
}

test("a wallet that has paid for a path reads it again, and pays for another", async () => {
  const { origin, payingFetch, signIn, facilitator, events } = await openShop();
  expect((await signIn("/article/1")).status).toBe(402);
  const bought = await payingFetch(`${origin}/article/1`);
  expect(await bought.json()).toEqual({ paid: true });
  const again = await signIn("/article/1");
  expect([again.status, await again.json()]).toEqual([200, { paid: false }]);
  expect((await signIn("/article/2")).status).toBe(402);
  expect(facilitator.ledger.balanceOf(PAY_TO)).toBe(1_000n);
  expect(events).toEqual(["payment_recorded", "access_granted"]);
  expect(JSON.stringify(facilitator.calls)).not.toContain("sign-in-with-x");
});

test("a payment for /article/.. gives no access to /", async () => {
  const storage = new InMemorySIWxStorage();
  const { origin, facilitator, account } = await openShop({ storage });
  const payer = createPayer();
  facilitator.ledger.fund(payer.address, 1_000_000n);
  expect((await pay(origin, { path: "/article/..", payer })).status).toBe(200);
  expect(storage.hasPaid("/", payer.address)).toBe(false);
  expect(storage.hasPaid("/article/..", payer.address)).toBe(true);
  expect(storage.hasPaid("/article/..", account.address)).toBe(false);
});

test("each challenge has a nonce of its own, and the route's words", async () => {
  const { origin, declared } = await openShop();
  const [one, other] = [await declared("/article/1"), await declared("/article/1")];
  expect(one?.info.nonce).not.toBe(other?.info.nonce);
  expect(one).toMatchObject({
    info: {
      domain: new URL(origin).host,
      uri: `${origin}/article/1`,
      statement: "Sign in to read it again",
      resources: [`${origin}/article/1`],
    },
    supportedChains: [{ chainId: "eip155:84532", type: "eip191" }],
  });
  expect(Date.parse(one!.info.expirationTime!) - Date.parse(one!.info.issuedAt)).toBe(60_000);
  expect(one).not.toHaveProperty("_options");
  expect(await declared("/plain")).toBeUndefined();
});

test("a signature is enough where nothing is sold, and only there", async () => {
  const { header, send } = await openShop();
  const signed = await header("/profile");
  expect(await send("/profile", signed)).toBe(200);
  expect(await send("/article/1", signed)).toBe(402);
  expect(await send("/plain", signed)).toBe(402);
  expect(await send("/profile", `${signed.slice(0, -8)}AAAAAAA=`)).toBe(402);
  expect(await send("/profile", "text")).toBe(402);
});

test("a message for another server is refused, also when its host is in the request", async () => {
  const { account, origin, send, events } = await openShop({ origin: "https://api.example.com" });
  const info = {
    ...{ domain: "evil.example", uri: "https://evil.example/profile", version: "1", nonce: "0123456789abcdef" },
    ...{ issuedAt: new Date().toISOString(), chainId: "eip155:84532", type: "eip191" as const },
  };
  const signed = encodeSIWxHeader(await createSIWxPayload(info, account, "https://evil.example/"));
  expect(await send("/profile", signed)).toBe(402);
  const own = { ...info, domain: "api.example.com", uri: "https://api.example.com/profile" };
  const forUs = encodeSIWxHeader(await createSIWxPayload(own, account, "https://api.example.com/"));
  expect(await send("/profile", forUs)).toBe(200);
  const here = { ...info, domain: new URL(origin).host, uri: origin };
  expect(await send("/profile", encodeSIWxHeader(await createSIWxPayload(here, account, origin)))).toBe(402);
  expect(events).toEqual(["validation_failed", "access_granted", "validation_failed"]);
});

test("a storage that fails denies, and does not undo a sale", async () => {
  const storage = {
    hasPaid: () => Promise.reject(new RangeError("the database is down")),
    recordPayment: () => Promise.reject(new RangeError("the database is down")),
  };
  const { origin, payingFetch, header, send } = await openShop({ storage });
  expect((await payingFetch(`${origin}/article/1`)).status).toBe(200);
  expect(await send("/article/1", await header("/article/1"))).toBe(403);
});

test("what cannot be declared is refused at start, all at once", () => {
  const extension = createSIWxResourceServerExtension({ storage: new InMemorySIWxStorage() });
  const payments = createPayments({ facilitator: createTestFacilitator(), extensions: [extension], logger: QUIET });
  const start = (accepts: typeof ACCEPTS | [], declaration: object) => () =>
    payments.routes({ "GET /a": { accepts, extensions: { "sign-in-with-x": declaration } } });
  expect(start([], {})).toThrow(/network: .*no offer names one/);
  expect(start(ACCEPTS, { network: "base", statement: "a\nb", expirationSeconds: 0 })).toThrow(
    /statement: .*\n.*network: .*\n.*expirationSeconds: /,
  );
  expect(start(ACCEPTS, { text: "a" })).toThrow(/text/);
  expect(start(ACCEPTS, { statement: "A short form works, too" })).not.toThrow();
});

test("of several requests at once with one signature, one passes where the storage remembers nonces", async () => {
  const used = new Set<string>();
  const { header, send } = await openShop({
    storage: {
      hasPaid: () => true,
      recordPayment() {},
      hasUsedNonce: (nonce) => new Promise((resolve) => setImmediate(() => resolve(used.has(nonce)))),
      recordNonce: async (nonce) => void used.add(nonce),
    },
  });
  const signed = await header("/article/1");
  const sent = await Promise.all([1, 2, 3].map(() => send("/article/1", signed)));
  expect(sent.sort()).toEqual([200, 402, 402]);

  const elsewhere = await openShop({
    storage: { hasPaid: () => true, recordPayment() {}, hasUsedNonce: () => false, recordNonce: () => false },
  });
  expect(await elsewhere.send("/article/1", await elsewhere.header("/article/1"))).toBe(402);
});
