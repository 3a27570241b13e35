/**
 * Sales by hand: a server of Node that responds with 402, verifies and settles in code of its own. One payment buys once.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { createMemoryStore, type PaymentPayload, type PaymentStore } from "@farebox/core";
import { decodePaymentRequired, encodePaymentSignature } from "@farebox/core/protocol";
import {
  createPayments,
  type OptionsByHand,
  type PaidResponseByHand,
  type PaymentByHand,
  type PaymentsOptions,
  type RouteByHand,
  type SaleByHand,
  type VerificationByHand,
} from "@farebox/express";
import { createPayer, createTestFacilitator, pay } from "@farebox/testing";
import { ExactEvmScheme } from "@x402/evm";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import express, { type RequestHandler } from "express";
import { privateKeyToAccount } from "viem/accounts";
import { describe, expect, onTestFinished, test } from "vitest";
import { serve } from "../faults/business.js";
import { listener } from "../listener.js";
import { PATIENT, PAY_TO } from "./shop.js";

const KEY = `0x${"12".repeat(32)}` as const;
const URL_OF = "https://api.example.com/weather";
const NETWORK = "eip155:84532";
const ROUTE: RouteByHand = {
  accepts: { price: "$0.01", network: NETWORK, payTo: PAY_TO },
  description: "The weather",
  resource: URL_OF,
};
const UPTO: RouteByHand = { ...ROUTE, accepts: { scheme: "upto", price: "$0.10", network: NETWORK, payTo: PAY_TO } };
const QUIET = { info() {}, warn() {}, error() {} };

/** A seller by hand, and a payer with money. */
function open(route: RouteByHand = ROUTE, options: Partial<PaymentsOptions> = {}) {
  const facilitator = createTestFacilitator();
  const payer = createPayer({ privateKey: KEY });
  facilitator.ledger.fund(payer.address, 1_000_000_000n);
  const events: string[] = [];
  const payments = createPayments({ facilitator, logger: QUIET, deadlines: PATIENT, copyWaitMs: 0, ...options });
  for (const type of ["settled", "cancelled", "unknown"] as const) {
    payments.on(type, (event) => void events.push(event.type === "cancelled" ? event.reason : event.type));
  }
  const sale = payments.byHand(route);
  const sign = async (of: SaleByHand = sale, about: OptionsByHand = {}): Promise<PaymentPayload> => {
    const { document } = await of.challenge(about);
    const [offer] = document?.accepts ?? [];
    if (document === undefined || offer === undefined) throw new Error("not for sale");
    const signing = offer.scheme === "upto" ? payer.signUpto : payer.signExact;
    return signing(offer, { challenge: document });
  };
  const settled = () => facilitator.ledger.transfers.map(({ amount }) => amount);
  return { facilitator, payments, payer, sale, sign, settled, events };
}

/** The verified payment; anything else is a failure of the test. */
function verifiedIn(verification: VerificationByHand): PaymentByHand {
  if (verification.kind !== "verified") throw new Error(`not verified: ${JSON.stringify(verification)}`);
  return verification.payment;
}

const errorsOf = (all: readonly VerificationByHand[]) =>
  all.map((one) => (one.kind === "refused" ? one.error : one.kind));

test("a server of Node that sells by hand is paid by @x402/fetch", async () => {
  const { facilitator, sale, settled } = open();
  const server = createServer(
    listener(async (req, res) => {
      const about = { request: req };
      const verification = await sale.verify(req.headers["payment-signature"], about);
      if (verification.kind === "refused" || verification.kind === "replay") {
        const { status, headers, body } = verification.response;
        res.writeHead(status, headers).end(body);
        return;
      }
      const response = { headers: { "Content-Type": "text/plain", "Cache-Control": "public" }, body: "sunny" };
      const settlement = await verifiedIn(verification).settle({ response });
      if (settlement.kind === "refused") {
        res.writeHead(settlement.response.status, settlement.response.headers).end(settlement.response.body);
      } else res.writeHead(200, { ...response.headers, ...settlement.headers }).end("sunny");
    }),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`;
  const unpaid = await fetch(url);
  expect([unpaid.status, decodePaymentRequired(unpaid.headers.get("PAYMENT-REQUIRED") ?? "")?.resource]).toEqual([
    402,
    { url: URL_OF, description: "The weather", mimeType: "" },
  ]);
  const client = new ExactEvmScheme(privateKeyToAccount(KEY));
  const paid = await wrapFetchWithPaymentFromConfig(fetch, { schemes: [{ network: "eip155:*", client }] })(url);
  expect([paid.status, await paid.text(), paid.headers.get("cache-control")]).toEqual([200, "sunny", "private"]);
  expect(paid.headers.get("PAYMENT-RESPONSE")).not.toBeNull();
  expect([settled(), facilitator.calls.verify.length]).toEqual([[10_000n], 1]);
});

test("a challenge by hand has the document, the header of the protocol, and the seller's words", async () => {
  const { sale } = open();
  const { status, headers, body, document } = await sale.challenge({
    error: "Pay for page 2",
    resource: `${URL_OF}?page=2`,
  });
  expect(status).toBe(402);
  expect(document).toMatchObject({ error: "Pay for page 2", resource: { url: `${URL_OF}?page=2` } });
  expect(JSON.parse(String(body))).toEqual(document);
  expect(decodePaymentRequired(headers["PAYMENT-REQUIRED"] ?? "")).toMatchObject({ accepts: [{ amount: "10000" }] });
});

test("a payment that is verified by hand is verified once: in flight, after settling, in another process, in any form", async () => {
  const store = sharedStore();
  const { sale, sign, settled, payments, facilitator } = open(ROUTE, { store });
  const elsewhere = createPayments({ facilitator, logger: QUIET, copyWaitMs: 0, store }).byHand(ROUTE);
  onTestFinished(() => payments.close());
  const payment = await sign();
  const header = encodePaymentSignature(payment);
  const first = verifiedIn(await sale.verify(header));
  const during = await Promise.all([sale.verify(header), sale.verify(payment), elsewhere.verify(payment)]);
  expect(errorsOf(during)).toEqual(Array.from({ length: 3 }, () => "payment_in_progress"));
  expect(await first.settle()).toMatchObject({ kind: "settled", receipt: { success: true } });
  const after = await Promise.all([sale.verify(header), sale.verify(payment), elsewhere.verify(payment)]);
  expect(after.map(({ kind }) => kind)).toEqual(["refused", "refused", "refused"]);
  expect(settled()).toEqual([10_000n]);
});

test("of ten servers that get one payment at once, one sells it, and it settles once", async () => {
  const { sale, sign, settled } = open(ROUTE, { copyWaitMs: 120_000 });
  const payment = await sign();
  const response = { body: { weather: "sunny" } };
  const got = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const verification = await sale.verify(payment);
      if (verification.kind === "verified") await verification.payment.settle({ response });
      return verification;
    }),
  );
  expect(got.filter(({ kind }) => kind === "verified")).toHaveLength(1);
  // They came before the settlement, so they are the payer's.
  const replays = got.flatMap((one) => (one.kind === "replay" ? [[one.response.body.toString(), one.receipt]] : []));
  expect(replays).toEqual(
    Array.from({ length: 9 }, () => ['{"weather":"sunny"}', expect.objectContaining({ success: true })]),
  );
  expect(settled()).toEqual([10_000n]);
});

test("a settlement by hand is one, however often it is asked for, and none follows a release", async () => {
  const { sale, sign, settled, events } = open();
  const payment = verifiedIn(await sale.verify(await sign()));
  const [one, other] = await Promise.all([payment.settle(), payment.settle()]);
  expect(other).toBe(one);
  await payment.release();
  expect(await payment.settle()).toBe(one);

  const released = verifiedIn(await sale.verify(await sign()));
  await Promise.all([released.release(), released.release()]);
  await expect(released.settle()).rejects.toMatchObject({ code: "ERR_FAREBOX_STATE" });
  expect([settled(), events]).toEqual([[10_000n], ["settled", "not_chargeable"]]);
});

test.each(["not_chargeable", "client_gone"] as const)(
  "a payment that is released by hand as %s is free for the same client again",
  async (reason) => {
    const { sale, sign, settled, events } = open();
    const signed = await sign();
    await verifiedIn(await sale.verify(signed)).release({ reason });
    await verifiedIn(await sale.verify(signed)).settle();
    expect([settled(), events]).toEqual([[10_000n], [reason, "settled"]]);
  },
);

test("a payer whose payments the seller releases is never refused for it", async () => {
  const { sale, sign, settled } = open(ROUTE, { maxRunsPerPayer: 1 });
  const signed = await sign();
  for (let times = 0; times < 6; times++) await verifiedIn(await sale.verify(signed)).release();
  expect(settled()).toEqual([]);
  expect((await sale.verify(signed)).kind).toBe("verified");
});

test("a payment that nobody settles or releases is free when its time is over, and cannot be settled any more", async () => {
  const clock = { ms: Date.now() };
  const timers = new Set<() => void>();
  const { sale, sign, settled, payments, events } = open(ROUTE, {
    now: () => clock.ms,
    timer(act) {
      timers.add(act);
      return () => void timers.delete(act);
    },
  });
  const signed = await sign();
  const forgotten = verifiedIn(await sale.verify(signed));
  expect(payments.engine.findByHand(signed, forgotten.requirements)).toBe(forgotten);
  clock.ms += 3_600_000;
  for (const act of [...timers]) act();
  expect(forgotten.details.signal.aborted).toBe(true);
  expect(await forgotten.settle()).toMatchObject({
    kind: "refused",
    response: { status: 504 },
    reason: "payment_expired",
  });
  await forgotten.release();
  expect(payments.engine.findByHand(signed, forgotten.requirements)).toBeUndefined();
  expect([settled(), events]).toEqual([[], ["expired"]]);
});

test("an upto payment is settled by hand for what was used, and a wrong amount changes nothing", async () => {
  const { sale, sign, settled } = open(UPTO);
  const payment = verifiedIn(await sale.verify(await sign()));
  await expect(payment.settle({ amount: "1.5" })).rejects.toMatchObject({ code: "ERR_FAREBOX_AMOUNT" });
  await expect(payment.settle({ amount: "100001" })).rejects.toMatchObject({ code: "ERR_FAREBOX_AMOUNT" });
  expect(await payment.settle({ amount: "12.5%" })).toMatchObject({ kind: "settled", receipt: { amount: "12500" } });

  const metered = verifiedIn(await sale.verify(await sign()));
  metered.details.charge("$0.002");
  metered.details.charge("$0.001");
  await metered.settle();
  expect(settled()).toEqual([12_500n, 3_000n]);
});

test("a response that is not charged charges nothing by hand, either", async () => {
  const { sale, sign, settled } = open();
  const payment = verifiedIn(await sale.verify(await sign()));
  expect(await payment.settle({ response: { status: 404, body: "none" } })).toMatchObject({
    kind: "released",
    headers: { "PAYMENT-RESPONSE": expect.any(String) },
  });
  expect(settled()).toEqual([]);
});

test("a settlement by hand whose outcome is unknown is refused with 503, and its response is kept for the payer", async () => {
  const { sale, sign, settled, facilitator, events } = open();
  facilitator.faults.next("settle", { kind: "drop", when: "after" });
  const signed = await sign();
  const unknown = await verifiedIn(await sale.verify(signed)).settle({ response: { body: "sunny" } });
  if (unknown.kind !== "refused") throw new Error("not refused");
  expect([unknown.response.status, unknown.reason, events]).toEqual([503, "settlement_pending", ["unknown"]]);
  const headers = { "PAYMENT-RETRY-TOKEN": unknown.response.headers["PAYMENT-RETRY-TOKEN"] };
  const again = await sale.verify(signed, { request: { headers: new Headers(headers as Record<string, string>) } });
  expect(again).toMatchObject({ kind: "replay", response: { status: 200 }, receipt: { success: true } });
  expect(again.kind === "replay" && again.response.body.toString()).toBe("sunny");
  expect(settled()).toEqual([10_000n]);
});

test("a response that was settled by hand and did not reach the client is kept for the same payment", async () => {
  const { sale, sign, settled } = open();
  const signed = await sign();
  const settlement = await verifiedIn(await sale.verify(signed)).settle({ response: { body: "sunny" } });
  if (settlement.kind !== "settled") throw new Error("not settled");
  await settlement.undelivered();
  const again = await sale.verify(signed);
  expect(again.kind === "replay" && again.response.body.toString()).toBe("sunny");
  expect(settled()).toEqual([10_000n]);
});

test('by hand with settle: "before", the money has moved when the payment is verified, and a failure is owed one more run', async () => {
  const { sale, sign, settled, facilitator } = open({ ...ROUTE, settle: "before" });
  const signed = await sign();
  const paid = verifiedIn(await sale.verify(signed));
  expect([paid.receipt?.success, settled(), facilitator.calls.verify.length]).toEqual([true, [10_000n], 0]);
  const failed = await paid.settle({ response: { status: 500 } });
  const token = failed.kind === "settled" ? (failed.headers["PAYMENT-RETRY-TOKEN"] ?? "") : "";
  const again = verifiedIn(await sale.verify(signed, { request: { headers: { "payment-retry-token": token } } }));
  expect(await again.settle()).toMatchObject({ kind: "settled", receipt: { success: true } });
  expect(settled()).toEqual([10_000n]);
});

test('by hand with settle: "before", a response that did not reach the client is made once more', async () => {
  const { sale, sign, settled } = open({ ...ROUTE, settle: "before" });
  const signed = await sign();
  const settlement = await verifiedIn(await sale.verify(signed)).settle({ response: { body: "sunny" } });
  if (settlement.kind !== "settled") throw new Error("not settled");
  await settlement.undelivered();
  const again = await verifiedIn(await sale.verify(signed)).settle({ response: { body: "sunny" } });
  expect([again.kind, settled()]).toEqual(["settled", [10_000n]]);
  expect(errorsOf([await sale.verify(signed)])[0]).toBe("payment_already_used");
});

test('by hand with settle: "before", a failure that did not reach the client buys no more than one that did', async () => {
  for (const [status, runs] of [
    [404, 1],
    [500, 2],
  ] as const) {
    const { sale, sign, settled } = open({ ...ROUTE, settle: "before" });
    const signed = await sign();
    for (let run = 0; run < runs; run++) {
      const settlement = await verifiedIn(await sale.verify(signed)).settle({ response: { status } });
      if (settlement.kind !== "settled") throw new Error("not settled");
      await settlement.undelivered();
    }
    expect(errorsOf([await sale.verify(signed)])[0]).toBe("payment_already_used");
    expect(settled()).toEqual([10_000n]);
  }
});

test('by hand with settle: "before", onHandlerFailed hears of the response, and a refund ends the payment', async () => {
  const heard: unknown[] = [];
  const { sale, sign, settled } = open(
    { ...ROUTE, settle: "before" },
    {
      hooks: {
        onHandlerFailed: ({ amount }, { status, owesRun }) => {
          heard.push([amount, status, owesRun]);
          return { refunded: true };
        },
      },
    },
  );
  const signed = await sign();
  const paid = verifiedIn(await sale.verify(signed));
  await paid.settle({ response: { status: 503 } });
  expect(heard).toEqual([["10000", 503, true]]);
  expect(errorsOf([await sale.verify(signed)])).toEqual(["payment_already_used"]);
  expect(settled()).toEqual([10_000n]);
});

test("hooks and price functions see the request that is sold to by hand", async () => {
  const [seen, asked]: [unknown[], unknown[]] = [[], []];
  const { sale, sign } = open(
    {
      accepts: {
        network: NETWORK,
        payTo: PAY_TO,
        price: ({ method, path, search, pathParams, body, header }) => {
          seen.push([method, path, search, pathParams["city"], body, header("x-key"), header("constructor")]);
          return "$0.02";
        },
      },
    },
    {
      hooks: {
        onRequest: ({ header, headers, native, payment, url }) => {
          asked.push([headers, (native as Request | undefined)?.method, payment?.accepted.amount]);
          if (header("x-key") === "good") return { grant: true };
          return url.startsWith("https://api.example.com/") ? undefined : { deny: "Not here" };
        },
      },
    },
  );
  const about = {
    request: { method: "POST", url: `${URL_OF}?units=metric`, body: { days: 2 }, headers: { "X-Key": "other" } },
    pathParams: { city: "Paris" },
  };
  const signed = await sign(sale, about);
  expect(verifiedIn(await sale.verify(signed, about)).requirements.amount).toBe("20000");
  expect(seen[0]).toEqual(["POST", "/weather", "?units=metric", "Paris", { days: 2 }, "other", undefined]);
  expect(asked[0]).toEqual([{ "x-key": "other" }, "POST", "20000"]);
  const granted = await sale.verify(undefined, { request: { ...about.request, headers: { "X-Key": "good" } } });
  expect(granted).toEqual({ kind: "granted" });
  const denied = await sale.verify(signed, { resource: "https://other.example.com/" });
  expect(denied).toMatchObject({ kind: "refused", response: { status: 403 }, reason: "denied" });
});

const circle: Record<string, unknown> = {};
circle["self"] = circle;

const UNSENDABLE: readonly (readonly [what: string, response: unknown])[] = [
  ["null", null],
  ["a text", "sunny"],
  [
    "a getter that throws",
    {
      get body() {
        throw new RangeError("no body");
      },
    },
  ],
  ["a status that is a text", { status: "200" }],
  ["an informational status", { status: 101 }],
  ["a status that is no number", { status: Number.NaN }],
  ["headers that are null", { headers: null }],
  ["a header with a line break", { body: "goods", headers: { "x-note": "a\r\nb" } }],
  ["a header's name with a space", { headers: { "a b": "c" } }],
  ["a header that is an object", { headers: { "x-note": {} } }],
  ["a bigint", { body: 1n }],
  ["a symbol", { body: Symbol("s") }],
  ["a function", { body: () => "sunny" }],
  ["a circle", { body: circle }],
  [
    "a toJSON that throws",
    {
      body: {
        toJSON() {
          throw new RangeError("no JSON");
        },
      },
    },
  ],
  ["a promise", { body: Promise.resolve("sunny") }],
  ["a stream of the web", { body: new ReadableStream() }],
  ["a stream of Node", { body: Readable.from(["sunny"]) }],
  ["a Blob", { body: new Blob(["sunny"]) }],
  ["a Response", { body: new Response("sunny") }],
];

test.each(UNSENDABLE)(
  "a response by hand that is %s is refused before the money moves, and the payment is usable",
  async (_what, given) => {
    const { sale, sign, settled, events } = open();
    const payment = await sign();
    const response = given as PaidResponseByHand;
    const first = verifiedIn(await sale.verify(payment));
    await expect(first.settle({ response })).rejects.toMatchObject({ code: "ERR_FAREBOX_RESPONSE" });
    expect([settled(), events]).toEqual([[], ["not_chargeable"]]);
    const again = verifiedIn(await sale.verify(payment));
    expect(await again.settle({ response: { body: "sunny" } })).toMatchObject({ kind: "settled" });
    expect(settled()).toEqual([10_000n]);
  },
);

test('by hand with settle: "before", a response that cannot be sent leaves one more run', async () => {
  const { sale, sign, settled } = open({ ...ROUTE, settle: "before" });
  const payment = await sign();
  const first = verifiedIn(await sale.verify(payment));
  const response = { body: { rows: 1n } };
  await expect(first.settle({ response })).rejects.toThrow(
    /^response: expected an object that can be read and written as JSON, received an object$/,
  );
  const again = verifiedIn(await sale.verify(payment));
  expect(await again.settle({ response: { body: "sunny" } })).toMatchObject({ kind: "settled" });
  expect(settled()).toEqual([10_000n]);
});

test.each<[string, PaidResponseByHand, body: string, headers: object]>([
  ["an ArrayBuffer", { body: new Uint8Array([65, 66]).buffer }, "AB", {}],
  ["a DataView", { body: new DataView(new Uint8Array([65, 66, 67]).buffer, 1) }, "BC", {}],
  ["lists of headers", { body: "x", headers: { "Set-Cookie": ["a=1", "b=2"] } }, "x", { "Set-Cookie": ["a=1", "b=2"] }],
  [
    "headers of the Fetch API",
    {
      body: { a: 1 },
      headers: new Headers([
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2"],
        ["x-note", "n"],
      ]),
    },
    '{"a":1}',
    { "set-cookie": ["a=1", "b=2"], "x-note": "n", "Content-Type": "application/json; charset=utf-8" },
  ],
])("a response by hand with %s is replayed as it was", async (_what, response, body, headers) => {
  const { sale, sign } = open();
  const payment = await sign();
  const settled = await verifiedIn(await sale.verify(payment)).settle({ response });
  if (settled.kind !== "settled") throw new Error(settled.kind);
  await settled.undelivered();
  const again = await sale.verify(payment);
  if (again.kind !== "replay") throw new Error(again.kind);
  expect(Buffer.from(again.response.body).toString()).toBe(body);
  expect(again.response.headers).toEqual({ ...headers, ...settled.headers });
});

test("a payment is not found by hand by what is none", async () => {
  const { payments, sale, sign } = open();
  const payment = await sign();
  const { requirements } = verifiedIn(await sale.verify(payment));
  const find = (one: unknown, terms: unknown) => payments.engine.findByHand(one as PaymentPayload, terms as never);
  expect(find(payment, requirements)).toBeDefined();
  const { asset: _asset, ...rest } = requirements;
  const hostile = {
    get payload(): never {
      throw new RangeError("no payload");
    },
  };
  for (const one of [null, undefined, 5, {}, [], "x", hostile, { payload: circle }])
    expect(find(one, requirements)).toBeUndefined();
  for (const terms of [null, undefined, 5, {}, rest, { ...rest, asset: 5 }])
    expect(find(payment, terms)).toBeUndefined();
});

test("a payment that is used by hand for one body or resource buys no other", async () => {
  const { sale, sign, settled } = open();
  const signed = await sign();
  const about = (body: unknown, resource = URL_OF): OptionsByHand => ({ resource, request: { method: "POST", body } });
  const settlement = await verifiedIn(await sale.verify(signed, about({ a: 1 }))).settle({ response: { body: "A" } });
  if (settlement.kind === "settled") await settlement.undelivered();
  const others = [about({ a: 2 }), about({ a: 1 }, "https://api.example.com/news"), about({ a: 1 }, "mcp://tool/a")];
  const refused = await Promise.all(others.map((other) => sale.verify(signed, other)));
  expect(errorsOf(refused)).toEqual(Array.from({ length: 3 }, () => "payment_already_used"));
  expect((await sale.verify(signed, about({ a: 1 }))).kind).toBe("replay");
  expect(settled()).toEqual([10_000n]);
});

test("nothing that a client sends makes a sale by hand reject", async () => {
  const { sale, settled } = open();
  const deep = JSON.parse(`${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`);
  const payments: unknown[] = ["", "%", "e30=", null, 1, true, [], {}, deep, { x402Version: 2 }, "a".repeat(200_000)];
  const requests: OptionsByHand[] = [
    { resource: "not a url" },
    { resource: "https://%/" },
    { request: { method: "\n", url: "//", headers: { host: "a b", "user-agent": "\u0000" }, body: deep } },
    { request: { url: "\\\\x", headers: { get: "text", constructor: "a" } } },
  ];
  for (const payment of payments) {
    expect((await sale.verify(payment)).kind).toBe("refused");
    for (const request of requests) expect((await sale.verify(payment, request)).kind).toBe("refused");
  }
  for (const request of requests) expect((await sale.challenge(request)).status).toBe(402);
  expect(settled()).toEqual([]);
});

test("terms that are only known at a request share what was compiled for them, and are in no report", async () => {
  const { payments, sign, settled } = open();
  const { engine } = payments;
  const routes = payments.report().routes.length;
  const sell = (amount: string, resource = URL_OF) =>
    engine.byHandFor({ resource, accepts: { price: amount, network: NETWORK, payTo: PAY_TO } });
  const first = sell("$0.03");
  const signed = await sign(first);
  const payment = verifiedIn(await sell("$0.03").verify(signed));
  expect(engine.findByHand(signed, payment.requirements)).toBe(payment);
  expect(engine.findByHand(JSON.parse(JSON.stringify(signed)), { ...payment.requirements, extra: {} })).toBe(payment);
  expect(engine.findByHand(signed, { ...payment.requirements, amount: "1" })).toBeUndefined();
  expect(errorsOf([await sell("$0.04").verify(signed)])[0]).toMatch(/^invalid_payment_requirements/);
  await payment.settle();
  expect(engine.findByHand(signed, payment.requirements)).toBeUndefined();
  expect([settled(), payments.report().routes.length]).toEqual([[30_000n], routes]);
  expect(() => sell("free")).toThrow(/byHand.accepts/);
});

test("a mistake in a route by hand is told at the start, and a sale of nothing at the call", async () => {
  const { payments } = open();
  expect(() => payments.byHand({ ...ROUTE, resource: "/weather", mimeType: "x".repeat(256) })).toThrow(
    /byHand\.resource: expected an absolute URL[\s\S]*byHand\.mimeType|byHand\.mimeType[\s\S]*byHand\.resource/,
  );
  const { resource: _, ...nowhere } = ROUTE;
  await expect(payments.byHand(nowhere).challenge()).rejects.toMatchObject({ code: "ERR_FAREBOX_STATE" });
  const free = payments.byHand({
    accepts: { price: "$0", network: NETWORK, payTo: PAY_TO },
    free: true,
    resource: URL_OF,
  });
  expect([await free.challenge(), await free.verify(undefined)]).toMatchObject([
    { status: 200, document: undefined },
    { kind: "granted" },
  ]);
});

/** A store that other processes share, and that renews leases. */
function sharedStore(): PaymentStore {
  const memory = createMemoryStore();
  return {
    claim: (request) => memory.claim(request),
    find: (identity) => memory.find(identity),
    transition: (change) => memory.transition(change),
    release: (identity, owner) => memory.release(identity, owner),
    unfinished: () => memory.unfinished(),
    renew() {},
  };
}

test("a sale by hand that swallows the error of a refused amount charges nothing until it names a good one", async () => {
  const { sale, sign, settled } = open(UPTO);
  const [first, second] = [await sign(), await sign()];
  for (const [payment, amounts] of [
    [first, ["200%"]],
    [second, ["abc", "$0.05"]],
  ] as const) {
    const verified = verifiedIn(await sale.verify(payment));
    for (const amount of amounts) await verified.settle({ amount }).catch(() => {});
    const { kind } = await verified.settle();
    expect(kind).toBe(amounts.length === 1 ? "refused" : "settled");
  }
  expect(settled()).toEqual([50_000n]);
});

describe("a quote", () => {
  const priceOf = (text: "$0.001" | "$1") => () => text;
  const sell = (text: "$0.001" | "$1"): RouteByHand => ({
    accepts: { price: priceOf(text), network: NETWORK, payTo: PAY_TO },
    resource: URL_OF,
  });

  test("of one sale by hand buys no other one of the same resource", async () => {
    const { payments, sign } = open();
    const { engine } = payments;
    const [first, second] = [sell("$0.001"), sell("$1")];
    for (const [cheap, dear] of [
      [payments.byHand(first), payments.byHand(second)],
      [engine.byHandFor(first), engine.byHandFor(second)],
    ] as const) {
      const payment = await sign(cheap);
      expect(errorsOf([await dear.verify(payment)])).toEqual([
        "invalid_payment_requirements: amount is not as offered",
      ]);
      expect(verifiedIn(await cheap.verify(payment)).requirements.amount).toBe("1000");
    }
  });

  test("holds for the same sale, also of a process that creates the same sales, and of terms that are passed again", async () => {
    let price: "$0.001" | "$1" = "$0.001";
    const moving: RouteByHand = { ...sell("$1"), accepts: { price: () => price, network: NETWORK, payTo: PAY_TO } };
    const options = { quoteSecret: "0123456789abcdef0123456789abcdef" };
    const [here, elsewhere] = [open(moving, options), open(moving, options)];
    const { engine } = here.payments;
    const quoted = await Promise.all([here.sign(), here.sign(engine.byHandFor(moving))]);
    price = "$1";
    const [byHand, passing] = quoted;
    expect(verifiedIn(await elsewhere.sale.verify(byHand)).requirements.amount).toBe("1000");
    expect(verifiedIn(await engine.byHandFor(moving).verify(passing)).requirements.amount).toBe("1000");
  });

  test("of one handler buys nothing at another one of the same path", async () => {
    const { payments, payer, settled } = open();
    const app = express();
    const skip: RequestHandler = (req, _res, next) => next(req.headers["x-vip"] === undefined ? undefined : "route");
    for (const text of ["$0.001", "$1"] as const) {
      app.get("/x", ...(text === "$1" ? [] : [skip]), payments.charge(sell(text)), (_req, res) => void res.send(text));
    }
    const url = await serve(app);
    const { challenge } = await pay(url, { path: "/x" });
    const payment = await payer.signExact(challenge!.accepts[0]!, { challenge: challenge! });
    expect((await pay(url, { path: "/x", headers: { "x-vip": "1" }, payment })).status).toBe(402);
    expect((await pay(url, { path: "/x", payment })).text).toBe("$0.001");
    expect(settled()).toEqual([1_000n]);
  });
});
