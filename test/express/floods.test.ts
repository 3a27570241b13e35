/** Floods of payments that are good for nothing: one source of them does not close the shop to others. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { PaymentPayload } from "@farebox/core";
import { encodePaymentSignature } from "@farebox/core/protocol";
import type { PaymentsOptions, RoutesConfig } from "@farebox/express";
import { createPayer, createTestFacilitator, type Payer, type PayResult } from "@farebox/testing";
import type express from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { listener } from "../listener.js";
import { openShop, PATIENT, PRICED, type Shop, until, VERSIONS } from "./shop.js";

type Payload = { readonly signature: string; readonly authorization: { readonly from: string } };
type Rule = (payer: string) => { readonly status: number; readonly retryAfter?: number } | "hold" | undefined;

/** A facilitator behind HTTP that verifies and settles, unless the rule says otherwise. */
interface Desk {
  readonly url: string;
  /** The payers of the calls of verify, in order. */
  readonly verified: readonly string[];
  readonly settled: readonly string[];
  /** The most calls of verify that were in flight at once. */
  mostAtOnce(): number;
  /** The payers of the calls that are held now. */
  held(): readonly string[];
  /** Lets the calls continue that are held, and no longer holds any. */
  release(): void;
  /** Lets the calls continue that are held, and holds later ones. */
  releaseHeld(): void;
  fund(payer: Payer): void;
}

async function openDesk(rule: Rule = () => undefined): Promise<Desk> {
  const facilitator = createTestFacilitator();
  const verified: string[] = [];
  const settled: string[] = [];
  const held: { readonly payer: string; readonly go: () => void }[] = [];
  let [isReleased, atOnce, most] = [false, 0, 0];

  async function answer(path: string, body: string) {
    if (path === "/supported") return { status: 200, body: await facilitator.supported() };
    const request = JSON.parse(body);
    const payer: string = request.paymentPayload.payload.authorization.from.toLowerCase();
    (path === "/verify" ? verified : settled).push(payer);
    const ruled = rule(payer);
    if (ruled === "hold" && !isReleased) await new Promise<void>((go) => void held.push({ payer, go }));
    else if (typeof ruled === "object") return { ...ruled, body: {} };
    return {
      status: 200,
      body: await (path === "/verify" ? facilitator.verify(request) : facilitator.settle(request)),
    };
  }

  function releaseHeld() {
    for (const { go } of held.splice(0)) go();
  }

  const server = createServer(
    listener(async (req, res) => {
      res.on("error", () => {});
      const isVerify = req.url === "/verify";
      let text = "";
      try {
        for await (const chunk of req.setEncoding("utf8")) text += chunk;
      } catch {
        // The seller has given the call up.
        return;
      }
      if (isVerify) most = Math.max(most, ++atOnce);
      const { status, body, ...more } = await answer(req.url ?? "", text);
      if (isVerify) atOnce--;
      const headers = "retryAfter" in more ? { "Retry-After": String(more.retryAfter) } : {};
      res.writeHead(status, headers).end(JSON.stringify(body));
    }),
  ).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    verified,
    settled,
    mostAtOnce: () => most,
    held: () => held.map(({ payer }) => payer),
    release() {
      isReleased = true;
      releaseHeld();
    },
    releaseHeld,
    fund: (payer) => facilitator.ledger.fund(payer.address, 1_000_000n),
  };
}

interface FloodedShop extends Shop {
  /** Signs a payment of any payer. */
  signBy(payer: Payer): Promise<PaymentPayload>;
  send(payment: PaymentPayload, client?: string): Promise<PayResult>;
}

async function open(
  version: typeof express,
  desk: Desk,
  options: Partial<PaymentsOptions> = {},
  routes: RoutesConfig = { "GET /paid": PRICED },
): Promise<FloodedShop> {
  const shop = await openShop(version, {
    options: { facilitator: desk.url, deadlines: PATIENT, ...options },
    routes,
    build(app, payments) {
      app.set("trust proxy", true);
      app.use(payments);
      app.get("/paid", (_req, res) => void res.json({ paid: true }));
    },
  });
  const { challenge } = await shop.ask();
  const [offer] = challenge?.accepts ?? [];
  return {
    ...shop,
    signBy: (payer) => payer.signExact(offer!, { challenge: challenge! }),
    send: (payment, client) =>
      shop.ask({
        headers: {
          "PAYMENT-SIGNATURE": encodePaymentSignature(payment),
          ...(client === undefined ? {} : { "X-Forwarded-For": client }),
        },
      }),
  };
}

/** Payments in the name of a new address each. */
async function forge(shop: FloodedShop, count: number, bytes = 65): Promise<readonly PaymentPayload[]> {
  const payment = await shop.signBy(createPayer());
  const { signature: good, authorization } = payment.payload as unknown as Payload;
  const signature = bytes === 65 ? good : `0x${"11".repeat(bytes)}`;
  return Array.from({ length: count }, (_, at) => {
    const from = `0x${(at + 1).toString(16).padStart(40, "0")}`;
    return { ...payment, payload: { ...payment.payload, signature, authorization: { ...authorization, from } } };
  });
}

const statuses = (results: readonly PayResult[]) => {
  const counts: Record<number, number> = {};
  for (const { status } of results) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

describe.each(VERSIONS)("%s", (name, version) => {
  test("a payer for whom the facilitator answers 429 waits alone", async () => {
    const [greedy, honest] = [createPayer(), createPayer()];
    const isGreedy = (payer: string) => payer === greedy.address.toLowerCase();
    const desk = await openDesk((payer) => (isGreedy(payer) ? { status: 429, retryAfter: 60 } : undefined));
    desk.fund(honest);
    const shop = await open(version, desk);
    for (let at = 0; at < 8; at++) {
      const { status, headers } = await shop.send(await shop.signBy(greedy));
      expect(status).toBe(503);
      expect(Number(headers["retry-after"])).toBeGreaterThan(50);
      expect((await shop.send(await shop.signBy(honest))).status).toBe(200);
    }
    expect(desk.verified.filter(isGreedy)).toHaveLength(1);
  });

  test("a payment that is settled first is verified before if its signature may be forged", async () => {
    const honest = createPayer();
    const desk = await openDesk();
    desk.fund(honest);
    const shop = await open(version, desk, {}, { "GET /paid": { ...PRICED, settle: "before" } });
    const [forged] = await forge(shop, 1);
    expect((await shop.send(forged!)).status).toBe(402);
    expect([desk.verified.length, desk.settled.length]).toEqual([1, 0]);
    expect((await shop.send(await shop.signBy(honest))).status).toBe(200);
    expect([desk.verified.length, desk.settled.length]).toEqual([1, 1]);
  });

  // What follows is below Express, and long.
  if (name === "Express 4") return;
  test("a payer who floods has half of the calls in flight, the rest is refused at once, and another payer is served", {
    timeout: 240_000,
  }, async () => {
    const [flooder, honest] = [createPayer(), createPayer()];
    const desk = await openDesk((payer) => (payer === flooder.address.toLowerCase() ? "hold" : undefined));
    desk.fund(honest);
    const shop = await open(version, desk);
    const payment = await shop.signBy(flooder);
    const payments = await Promise.all(Array.from({ length: 320 }, () => shop.signBy(flooder)));
    let refused = 0;
    const flood = payments.map(async (each) => {
      const result = await shop.send(each);
      if (result.status === 503) refused++;
      return result;
    });
    // 32 are in flight and 256 wait. The rest has its response while not one of these has ended.
    await until(() => refused === 32 && desk.held().length === 32);
    const refusal = await shop.send(payment);
    expect([refusal.status, refusal.headers["retry-after"]]).toEqual([503, "1"]);
    expect((await shop.send(await shop.signBy(honest))).status).toBe(200);
    desk.release();
    expect(statuses(await Promise.all(flood))).toEqual({ 402: 288, 503: 32 });
    expect(desk.mostAtOnce()).toBeLessThanOrEqual(64);
  });

  test.each([65, 66])(
    "payments with forged signatures of %d bytes have 8 calls at most, and a good one is served",
    async (bytes) => {
      const honest = createPayer();
      const desk = await openDesk((payer) => (payer.startsWith("0x0000") ? "hold" : undefined));
      desk.fund(honest);
      const shop = await open(version, desk);
      let refused = 0;
      const flood = (await forge(shop, 120, bytes)).map(async (each) => {
        const result = await shop.send(each);
        if (result.status === 503) refused++;
        return result;
      });
      await until(() => refused === 48 && desk.held().length === 8);
      expect((await shop.send(await shop.signBy(honest))).status).toBe(200);
      desk.release();
      expect(statuses(await Promise.all(flood))).toEqual({ 402: 72, 503: 48 });
    },
  );

  test("made-up payers of one client share the places of that client", async () => {
    const honest = createPayer();
    const desk = await openDesk((payer) => (payer === honest.address.toLowerCase() ? undefined : "hold"));
    desk.fund(honest);
    const shop = await open(version, desk);
    const payments = await Promise.all(Array.from({ length: 100 }, () => shop.signBy(createPayer())));
    const flood = payments.map((each, at) => shop.send(each, at % 2 === 0 ? "203.0.113.7" : "::ffff:203.0.113.7"));
    await until(() => desk.held().length === 32);
    expect((await shop.send(await shop.signBy(honest), "2001:db8::1")).status).toBe(200);
    expect(desk.held()).toHaveLength(32);
    desk.release();
    expect(statuses(await Promise.all(flood))).toEqual({ 402: 100 });
  });

  test("a facilitator that answers 429 to five payers in turn is not asked for a sixth", async () => {
    const desk = await openDesk(() => ({ status: 429, retryAfter: 60 }));
    const shop = await open(version, desk);
    const results: PayResult[] = [];
    for (let at = 0; at < 8; at++) results.push(await shop.send(await shop.signBy(createPayer())));
    expect(statuses(results)).toEqual({ 503: 8 });
    expect(Number(results.at(-1)?.headers["retry-after"])).toBeGreaterThan(50);
    expect(desk.verified).toHaveLength(5);
  });

  test("a payer whose payments make the facilitator hang waits alone", async () => {
    const [hanging, honest] = [createPayer(), createPayer()];
    const isHanging = (payer: string) => payer === hanging.address.toLowerCase();
    const desk = await openDesk((payer) => (isHanging(payer) ? "hold" : undefined));
    desk.fund(honest);
    // The calls that hang end by this limit alone. An honest one that it ends on a slow machine is sent again.
    const shop = await open(version, desk, { deadlines: { ...PATIENT, verifyMs: 1_000 } });
    const payments = await Promise.all(Array.from({ length: 5 }, () => shop.signBy(hanging)));
    expect(statuses(await Promise.all(payments.map((each) => shop.send(each))))).toEqual({ 503: 5 });
    expect((await shop.send(await shop.signBy(hanging))).status).toBe(503);
    expect(desk.verified.filter(isHanging)).toHaveLength(5);
    const payment = await shop.signBy(honest);
    await until(async () => (await shop.send(payment)).status === 200);
  });

  test.each([429, 500])(
    "forged payments to which the facilitator answers %d do not pause good ones",
    async (status) => {
      const honest = createPayer();
      const desk = await openDesk((payer) => (payer.startsWith("0x0000") ? { status, retryAfter: 60 } : undefined));
      desk.fund(honest);
      const shop = await open(version, desk);
      expect(statuses(await Promise.all((await forge(shop, 40)).map((each) => shop.send(each))))).toEqual({ 503: 40 });
      expect((await shop.send(await shop.signBy(honest))).status).toBe(200);
    },
  );

  test.each([429, 500])(
    "forged payments to which the facilitator answers %d pause no good one while none is checked beforehand",
    async (status) => {
      const honest = createPayer();
      const desk = await openDesk((payer) => (payer.startsWith("0x0000") ? { status, retryAfter: 60 } : undefined));
      desk.fund(honest);
      const shop = await open(version, desk);
      for (let at = 0; at < 70; at++) expect((await shop.send(await shop.signBy(honest))).status).toBe(200);
      // One after the other, so that each failure counts before the next payment comes.
      for (const each of await forge(shop, 12)) expect((await shop.send(each)).status).toBe(503);
      for (let at = 0; at < 5; at++) expect((await shop.send(await shop.signBy(honest))).status).toBe(200);
    },
  );

  test("forged payments that wait are checked as soon as one was found", { timeout: 240_000 }, async () => {
    const honest = createPayer();
    const desk = await openDesk((payer) => (payer.startsWith("0x0000") ? "hold" : undefined));
    desk.fund(honest);
    const shop = await open(version, desk);
    for (let at = 0; at < 64; at++) expect((await shop.send(await shop.signBy(honest))).status).toBe(200);
    let refused = 0;
    const sent = (await forge(shop, 200)).map(async (each) => {
      const { status } = await shop.send(each);
      if (status === 503) refused++;
      return status;
    });
    await until(() => desk.held().length === 64);
    desk.releaseHeld();
    // Of 136 that waited, 8 are in flight as those of contracts are, and 64 wait.
    await until(() => desk.held().length === 8 && refused === 64);
    expect(desk.verified).toHaveLength(64 + 64 + 8);
    desk.release();
    await expect(Promise.all(sent)).resolves.not.toContain(200);
    expect((await shop.send(await shop.signBy(honest))).status).toBe(200);
  });

  test("a forged payment in the name of a payer does not pause that payer", async () => {
    const honest = createPayer();
    let isForged = true;
    const desk = await openDesk(() => (isForged ? { status: 429, retryAfter: 60 } : undefined));
    desk.fund(honest);
    const shop = await open(version, desk);
    const payment = await shop.signBy(honest);
    const forged = { ...payment, payload: { ...payment.payload, signature: `0x${"22".repeat(65)}` } };
    expect((await shop.send(forged)).status).toBe(503);
    isForged = false;
    expect((await shop.send(payment)).status).toBe(200);
  });
});
