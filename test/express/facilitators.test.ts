/**
 * Several facilitators of one shop, over real HTTP: which one is called, which offers are made, and what happens if all are down.
 */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createMemoryStore } from "@farebox/core";
import {
  createPayments,
  type FacilitatorChoice,
  type PaymentOption,
  type Payments,
  type PaymentsOptions,
} from "@farebox/express";
import {
  createPayer,
  createTestFacilitator,
  type FacilitatorServer,
  type PayOptions,
  pay,
  startFacilitatorServer,
  type TestFacilitator,
} from "@farebox/testing";
import express from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { LENIENT, PATIENT } from "./shop.js";

const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const SEPOLIA = { price: "$0.01", network: "eip155:84532", payTo: PAY_TO } as const;
const BASE = { ...SEPOLIA, network: "eip155:8453" } as const;

const payer = createPayer();

interface Stand extends FacilitatorServer {
  readonly facilitator: TestFacilitator;
  readonly name: string;
  /** Its calls of verify and settle, in order. */
  asked(): readonly unknown[];
}

/** A facilitator behind HTTP, with money for the payer. */
async function openStand(network: `eip155:${number}` = "eip155:84532", port = 0): Promise<Stand> {
  const facilitator = createTestFacilitator({ network });
  facilitator.ledger.fund(payer.address, 1_000_000n);
  const server = await startFacilitatorServer({ facilitator, port });
  onTestFinished(() => server.close());
  const asked = () => server.requests.map(({ operation }) => operation).filter((one) => one !== "supported");
  return { ...server, facilitator, name: new URL(server.url).host, asked };
}

/** A facilitator for whose settlements the seller has no credentials: nothing is sent. */
function withoutSettling({ url }: Stand): FacilitatorChoice {
  const headers = (operation: string) => {
    if (operation === "settle") throw new Error("no token");
    return {};
  };
  return { url, headers };
}

interface Shop {
  readonly payments: Payments;
  /** Gets ready: each facilitator was asked what it supports. */
  ready(): ReturnType<Payments["ready"]>;
  /** Asks for `/goods` and pays for it. */
  buy(options?: PayOptions): ReturnType<typeof pay>;
  /** Asks for it, or for something else, without paying. */
  ask(options?: PayOptions): ReturnType<typeof pay>;
  readonly warnings: readonly string[];
}

async function openShop(
  facilitator: FacilitatorChoice | readonly FacilitatorChoice[],
  accepts: PaymentOption | readonly PaymentOption[] = SEPOLIA,
  options: Partial<PaymentsOptions> = {},
): Promise<Shop> {
  const warnings: string[] = [];
  const logger = { info() {}, error() {}, warn: (event: string) => void warnings.push(event) };
  const payments = createPayments({ facilitator, logger, deadlines: PATIENT, ...LENIENT, ...options });
  const app = express();
  app.use(payments.routes({ "GET /goods": { accepts } }));
  app.get("/goods", (_req, res) => void res.json({ goods: true }));
  app.get("/free", (_req, res) => void res.json({ free: true }));
  const server = await new Promise<Server>((resolve) => {
    const starting = app.listen(0, "127.0.0.1", () => resolve(starting));
  });
  onTestFinished(() => {
    payments.close();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const ask = (more: PayOptions = {}) => pay(`http://127.0.0.1:${port}/goods`, more);
  return { payments, ready: () => payments.ready(app), ask, buy: (more) => ask({ payer, ...more }), warnings };
}

describe("of two facilitators", () => {
  test("the first of two facilitators is asked while it responds", async () => {
    const [first, second] = [await openStand(), await openStand()];
    const shop = await openShop([first.url, second.url]);
    expect((await shop.buy()).status).toBe(200);
    expect([first.asked(), second.asked()]).toEqual([["verify", "settle"], []]);
  });

  test("the second facilitator verifies when the first gives no response, and settles what it verified", async () => {
    const [first, second] = [await openStand(), await openStand()];
    const shop = await openShop([first.url, { url: second.url }]);
    first.faults.always("verify", { kind: "status", status: 500 });
    expect((await shop.buy()).status).toBe(200);
    expect([first.asked(), second.asked()]).toEqual([["verify"], ["verify", "settle"]]);
  });

  test("the second facilitator is not asked when the first refuses", async () => {
    const [first, second] = [await openStand(), await openStand()];
    const shop = await openShop([first.url, second.url]);
    first.faults.next("verify", {
      kind: "rewrite",
      rewrite: () => ({ isValid: false, invalidReason: "insufficient_funds" }),
    });
    expect((await shop.buy()).status).toBe(402);
    expect(second.asked()).toEqual([]);
  });

  test("the second facilitator settles when the first was provably not asked to", async () => {
    const [first, second] = [await openStand(), await openStand()];
    const shop = await openShop([withoutSettling(first), second.url]);
    expect((await shop.buy()).status).toBe(200);
    expect([first.asked(), second.asked()]).toEqual([["verify"], ["settle"]]);
  });

  test("the second facilitator is never asked about a payment that the first may have settled", async () => {
    const [first, second] = [await openStand(), await openStand()];
    const shop = await openShop([first.url, second.url]);
    first.faults.next("settle", { kind: "drop", when: "after" });
    const unknown = await shop.buy();
    expect(unknown.status).toBe(503);
    expect(unknown.json()).toMatchObject({ error: "settlement_pending" });
    expect((await shop.buy({ payment: unknown.payment! })).status).toBe(200);
    expect([first.asked(), second.asked()]).toEqual([["verify", "settle", "settle"], []]);
    expect(first.facilitator.ledger.transfers).toHaveLength(1);
  });

  test.each<[state: "unknown" | "unsent", choose: (stand: Stand) => FacilitatorChoice, asked: readonly string[]]>([
    ["unknown", ({ url }) => url, []],
    ["unsent", (stand) => withoutSettling(stand), ["settle"]],
  ])(
    "another process knows from the record which facilitator has a payment that is %s",
    async (_state, choose, asked) => {
      const [first, second] = [await openStand(), await openStand()];
      const store = createMemoryStore();
      const before = await openShop([choose(first)], SEPOLIA, { store });
      first.faults.next("settle", { kind: "drop", when: "after" });
      const { payment } = await before.buy();
      before.payments.close();

      const after = await openShop([second.url, first.url], SEPOLIA, { store });
      expect((await after.buy({ payment: payment! })).status).toBe(200);
      // Only the facilitator that may have settled it is asked. If provably none has the payment, the first one is asked.
      expect(second.asked()).toEqual(asked);
    },
  );

  test("each facilitator is asked about its own networks", async () => {
    const [base, sepolia] = [await openStand("eip155:8453"), await openStand()];
    const shop = await openShop(
      [
        { url: base.url, networks: ["eip155:8453"] },
        { url: sepolia.url, networks: ["eip155:84532"], name: "sepolia" },
      ],
      [SEPOLIA, BASE],
    );
    for (const [network, asked] of [
      ["eip155:84532", [0, 2]],
      ["eip155:8453", [2, 2]],
    ] as const) {
      const select: PayOptions["select"] = (offers) => offers.find((offer) => offer.network === network);
      expect((await shop.buy({ select })).status).toBe(200);
      expect([base.asked().length, sepolia.asked().length]).toEqual(asked);
    }
    expect((await shop.payments.health()).facilitators.map(({ name }) => name)).toEqual([base.name, "sepolia"]);
  });
});

describe("a facilitator that is down at start", () => {
  test("a facilitator that is down at start costs free routes nothing, and priced routes are 503 until it is back", async () => {
    const down = await openStand();
    await down.close();
    const shop = await openShop(down.url);
    expect((await shop.ready()).findings).toMatchObject([
      { code: "FAREBOX_FACILITATOR_DOWN", message: expect.stringContaining(down.name) },
    ]);
    expect((await shop.payments.health()).facilitators).toMatchObject([
      { name: down.name, state: "down", lastErrorCode: "ERR_FAREBOX_FACILITATOR_UNREACHABLE" },
    ]);
    expect((await shop.ask({ path: "/free" })).status).toBe(200);
    expect((await shop.ask()).challenge?.accepts).toMatchObject([{ network: "eip155:84532" }]);
    const refused = await shop.buy();
    expect(refused.status).toBe(503);
    expect(refused.headers["retry-after"]).toMatch(/^[1-9]\d*$/);

    await openStand("eip155:84532", Number(new URL(down.url).port));
    expect((await shop.buy({ payment: refused.payment! })).status).toBe(200);
    expect((await shop.payments.health()).facilitators).toMatchObject([{ state: "up" }]);
  });

  test("no request waits for a facilitator that does not say what it supports", async () => {
    const silent = await openStand();
    const held = silent.faults.always("supported", { kind: "hold" });
    const shop = await openShop(silent.url);
    await held.reached;
    expect((await shop.ask({ path: "/free" })).status).toBe(200);
    expect((await shop.buy()).status).toBe(200);
    const ready = shop.ready();
    shop.payments.close();
    expect((await ready).routes).toHaveLength(1);
  });
});

describe("a way to pay that no facilitator supports", () => {
  test("an offer that no facilitator supports is left out, named in the report, and logged once", async () => {
    const stand = await openStand();
    const held = stand.faults.next("supported", { kind: "hold" });
    const shop = await openShop(stand.url, [BASE, SEPOLIA], { strict: true });
    const { challenge } = await shop.ask();
    expect(challenge?.accepts.map(({ network }) => network)).toEqual(["eip155:8453", "eip155:84532"]);
    const early = await payer.signExact(challenge!.accepts[0]!, { challenge: challenge! });

    held.release();
    const { findings, routes } = await shop.ready();
    expect(findings).toMatchObject([
      { code: "FAREBOX_OFFER_UNSUPPORTED", route: "GET /goods", message: expect.stringContaining("eip155:8453") },
    ]);
    expect(routes[0]?.offers).toHaveLength(2);
    for (const _again of [1, 2]) {
      const { accepts } = (await shop.ask()).challenge!;
      expect(accepts.map(({ network }) => network)).toEqual(["eip155:84532"]);
    }
    expect(shop.warnings).toEqual(["FAREBOX_OFFER_UNSUPPORTED"]);

    const refused = await shop.buy({ payment: early });
    expect(refused.status).toBe(503);
    expect(refused.headers["retry-after"]).toBeDefined();
    expect(stand.asked()).toEqual([]);
    expect((await shop.buy()).status).toBe(200);
  });

  test.each<[who: string, headers: Readonly<Record<string, string>>]>([
    ["a program", {}],
    ["a person", { accept: "text/html", "user-agent": "Mozilla/5.0" }],
  ])(
    "a route whose only offer is unsupported answers 503 for %s, never a challenge without offers",
    async (_who, headers) => {
      const shop = await openShop((await openStand()).url, BASE);
      await shop.ready();
      const { status, headers: received, json } = await shop.ask({ headers });
      expect(status).toBe(503);
      expect(received["retry-after"]).toMatch(/^[1-9]\d*$/);
      expect(received["payment-required"]).toBeUndefined();
      expect(json()).toMatchObject({ error: "unexpected_verify_error" });
      expect((await shop.ask({ path: "/free" })).status).toBe(200);
    },
  );
});

describe("in the background", () => {
  const countTimers = () => process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;

  test("Farebox keeps no process alive, before and after it was closed", async () => {
    const stand = await openStand();
    const shop = await openShop([stand.url, createTestFacilitator()]);
    const timers = countTimers();
    await shop.ready();
    expect((await shop.payments.health()).facilitators).toMatchObject([
      { name: stand.name, state: "up", breakers: { verify: "closed", settle: "closed" } },
      { name: "facilitator-2", state: "up", supportedFetchedAtMs: expect.any(Number) },
    ]);
    expect(countTimers()).toBeLessThanOrEqual(timers);
    shop.payments.close();
    expect(countTimers()).toBeLessThanOrEqual(timers);
    expect((await shop.buy()).status).toBe(200);
  });

  test("no facilitator is asked for a configuration that is refused", async () => {
    const stand = await openStand();
    const timers = countTimers();
    expect(() => createPayments({ facilitator: [stand.url, "?"] })).toThrow("options.facilitator[1]");
    expect(() => createPayments({ facilitator: stand.url }).routes({ "GET /x": {} })).toThrow("price");
    expect(countTimers()).toBe(timers);
    // One that is good is asked after all that the others would have sent.
    await (await openShop(stand.url)).ready();
    expect(stand.requests).toHaveLength(1);
  });
});
