/**
 * Responses to a settlement that prove nothing, over real HTTP: the payer is never told that it was not charged, and gets the
 * response for the same payment.
 */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createPayments } from "@farebox/express";
import { createPayer, createTestFacilitator, type Fault, pay, startFacilitatorServer } from "@farebox/testing";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { NEWEST, PATIENT, PRICED, until } from "./shop.js";

/** Longer than the pause after failed settlements. */
const PAUSE_MS = 31_000;

const GATEWAY_STATUSES = [401, 403, 404, 405, 413, 415, 429];

afterEach(() => void vi.useRealTimers());

/** A shop with `/paid` and `/upfront`, and its facilitator behind HTTP. The test runs the timers. */
async function open(express: (typeof NEWEST)[number][1]) {
  const payer = createPayer();
  const facilitator = createTestFacilitator();
  facilitator.ledger.fund(payer.address, 1_000_000n);
  const facilitatorServer = await startFacilitatorServer({ facilitator });
  onTestFinished(() => facilitatorServer.close());

  const log: object[] = [];
  const note = (event: string, fields: object) => void log.push({ event, ...fields });
  const timers = new Set<() => void>();
  const payments = createPayments({
    facilitator: { url: facilitatorServer.url, name: "main" },
    logger: { info: note, warn: note, error: note },
    deadlines: PATIENT,
    now: () => Date.now(),
    timer(act) {
      timers.add(act);
      return () => void timers.delete(act);
    },
  });
  onTestFinished(() => payments.close());

  let runs = 0;
  const app = express().set("env", "test");
  app.use(payments.routes({ "GET /paid": PRICED, "GET /upfront": { ...PRICED, settle: "before" } }));
  app.get(["/paid", "/upfront"], (_req, res) => void res.json({ runs: ++runs }));
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    payments,
    faults: facilitatorServer.faults,
    log,
    transfers: () => facilitator.ledger.transfers.length,
    runs: () => runs,
    /** Another payer with money. */
    openPurse() {
      const other = createPayer();
      facilitator.ledger.fund(other.address, 1_000_000n);
      return other;
    },
    buy: (path: string, options: Parameters<typeof pay>[1] = {}) =>
      pay(`http://127.0.0.1:${port}${path}`, { payer, ...options }),
    /** Runs every timer that is due. */
    passTime() {
      const due = [...timers];
      timers.clear();
      for (const act of due) act();
    },
  };
}

describe.each(NEWEST)("on %s", (_, express) => {
  async function expectUnknownThenDelivered(path: string, fault: Fault): Promise<void> {
    const shop = await open(express);
    shop.faults.next("settle", fault);
    const unknown = await shop.buy(path);
    expect(unknown).toMatchObject({ status: 503, headers: { "cache-control": "no-store" } });
    expect(unknown.json()).toMatchObject({ error: "settlement_pending" });
    expect(unknown.text).not.toContain("not charged");
    expect(unknown.headers).not.toHaveProperty("payment-required");

    vi.setSystemTime(Date.now() + PAUSE_MS);
    const { payment } = unknown;
    const delivered = await shop.buy(path, { payment: payment! });
    expect(delivered).toMatchObject({ status: 200, text: '{"runs":1}', receipt: { success: true } });
    const again = path === "/paid" ? { status: 200, text: '{"runs":1}' } : { status: 402 };
    expect(await shop.buy(path, { payment: payment! })).toMatchObject(again);
    expect([shop.runs(), shop.transfers()]).toEqual([1, 1]);
  }

  describe.each(["/paid", "/upfront"])("at %s", (path) => {
    test.each(GATEWAY_STATUSES)(
      "a gateway that responds %i after the money moved leaves the outcome unknown",
      async (status) => {
        await expectUnknownThenDelivered(path, { kind: "status", when: "after", status, body: "<h1>No</h1>" });
      },
    );

    test.each<[why: string, body: object]>([
      ["an error of a gateway", { message: "Too Many Requests", code: 429 }],
      ["a success without a meaning", { success: false, error: "rate limited" }],
      ["a success", { success: true, transaction: "0x1", network: "eip155:84532" }],
    ])("a gateway that responds 429 with %s leaves the outcome unknown", async (_why, body) => {
      const headers = { "Content-Type": "application/json", "Retry-After": "7" };
      const status = { kind: "status", when: "after", status: 429, headers, body: JSON.stringify(body) } as const;
      await expectUnknownThenDelivered(path, status);
    });

    test.each([
      ["an empty transaction", ""],
      ["no transaction", undefined],
      ["a transaction of null", null],
    ])("a success with %s leaves the outcome unknown", async (_why, transaction) => {
      await expectUnknownThenDelivered(path, {
        kind: "rewrite",
        rewrite: (response) => ({ ...response, transaction }),
      });
    });

    test("a success without a transaction settles nothing, however often it is said", async () => {
      const shop = await open(express);
      shop.faults.always("settle", { kind: "status", status: 200, body: '{"success":true,"transaction":""}' });
      const { payment } = await shop.buy(path);
      for (let at = 0; at < 3; at++) {
        const again = await shop.buy(path, { payment: payment! });
        expect(again.status).toBe(503);
        expect(again.json()).toMatchObject({ error: "settlement_pending" });
      }
      expect(shop.log).toContainEqual(expect.objectContaining({ event: "settlement_unknown", lacks: "transaction" }));
    });

    test("a facilitator's own refusal is believed with any status", async () => {
      const shop = await open(express);
      const body = JSON.stringify({ success: false, errorReason: "insufficient_funds", transaction: "" });
      shop.faults.next("settle", { kind: "status", status: 403, body });
      const refused = await shop.buy(path);
      expect(refused).toMatchObject({ status: 402, challenge: { error: "insufficient_funds" } });
    });
  });

  test("a facilitator that responds 404 to each settlement is in the log and the health, and its payments end unresolved", async () => {
    const shop = await open(express);
    shop.faults.always("settle", { kind: "status", status: 404, body: "<h1>Not found</h1>" });
    const unresolved: string[] = [];
    const unknown: string[] = [];
    shop.payments.on("unresolved", ({ payment }) => void unresolved.push(payment));
    shop.payments.on("unknown", ({ payment }) => void unknown.push(payment));
    // One payer's failures would pause only that payer.
    for (let at = 0; at < 3; at++) {
      const payer = shop.openPurse();
      expect((await shop.buy("/paid", { payer })).json()).toMatchObject({ error: "settlement_pending" });
    }
    const message = "facilitator responded to settle with status 404";
    expect(shop.log.filter((line) => "event" in line && line.event === "settlement_unknown")).toMatchObject(
      Array.from({ length: 3 }, () => ({ message, code: "ERR_FAREBOX_FACILITATOR_STATUS" })),
    );
    expect(shop.log.filter((line) => "event" in line && line.event === "facilitator_down")).toMatchObject([
      { facilitator: "main", code: "ERR_FAREBOX_FACILITATOR_STATUS" },
    ]);
    expect((await shop.payments.health()).facilitators).toMatchObject([
      { state: "down", lastErrorCode: "ERR_FAREBOX_FACILITATOR_STATUS", breakers: { settle: "open" } },
    ]);
    // While it is paused, nothing is sent: that is known.
    expect((await shop.buy("/paid")).json()).toMatchObject({ error: "unexpected_settle_error" });

    vi.setSystemTime(Date.now() + 60 * 60 * 1000);
    shop.passTime();
    await until(() => unresolved.length === 3);
    expect([...unresolved].sort()).toEqual([...unknown].sort());
    expect(shop.log.filter((line) => "event" in line && line.event === "settlement_unresolved")).toHaveLength(3);
    expect(shop.transfers()).toBe(0);
  });
});
