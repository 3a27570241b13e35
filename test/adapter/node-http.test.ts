import { readFileSync } from "node:fs";
import type { RoutesConfig } from "@farebox/core";
import { createPaymentsEngine } from "@farebox/core/adapter";
import { exactEvm } from "@farebox/evm";
import { createPayer, pay } from "@farebox/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { createShopFacilitator } from "../express/shop-facilitator.js";
import { type Handler, type Reply, sell } from "./node-http.js";

const ACCEPTS = {
  price: "$0.01",
  network: "eip155:84532",
  payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
} as const;
const ROUTES: RoutesConfig = {
  "GET /report": { accepts: ACCEPTS, description: "A report" },
  "POST /report": { accepts: ACCEPTS, description: "A report about a body" },
  "GET /first": { accepts: { ...ACCEPTS, settle: "before" }, description: "Paid first" },
};
const QUIET = { info() {}, warn() {}, error() {} };

function open(handler: Handler, holdBytes = 1_000) {
  const payer = createPayer();
  const facilitator = createShopFacilitator(payer);
  const engine = createPaymentsEngine(
    { facilitator, holdBytes, logger: QUIET, strict: false },
    { schemes: [exactEvm()] },
  );
  onTestFinished(() => engine.close());
  return { payer, facilitator, listener: sell(engine, ROUTES, handler) };
}

const reply = (body: Reply["body"], status = 200): Reply => ({
  status,
  headers: [["Content-Type", "text/plain"]],
  body,
});

describe("an adapter in one file for plain node:http", () => {
  test("has fewer than 120 lines", () => {
    const lines = readFileSync(new URL("node-http.ts", import.meta.url), "utf8")
      .trimEnd()
      .split("\n");
    expect(lines.length).toBeLessThan(120);
  });

  test("asks for payment, sells once, and lets what is not priced pass", async () => {
    let runs = 0;
    const { payer, facilitator, listener } = open(async (_req, _body, payment) => {
      runs += 1;
      return reply([Buffer.from(payment === undefined ? "free" : `paid by ${payment.payer}`)]);
    });
    expect((await pay(listener, { path: "/report" })).status).toBe(402);
    const paid = await pay(listener, { path: "/report", payer });
    expect([paid.status, paid.text, paid.receipt?.success]).toEqual([200, `paid by ${payer.address}`, true]);
    expect(paid.headers["cache-control"]).toBe("private");
    expect(facilitator.settled).toEqual([10_000n]);
    const again = await pay(listener, { path: "/report", payment: paid.payment as never });
    expect(again.status).toBe(402);
    expect((await pay(listener, { path: "/free" })).text).toBe("free");
    expect(runs).toBe(2);
  });

  test("holds a response until it is paid: a refused settlement gives nothing of it", async () => {
    const { payer, facilitator, listener } = open(async () => reply([Buffer.from("the goods")]));
    facilitator.failNext("rejected");
    const refused = await pay(listener, { path: "/report", payer });
    expect(refused.status).toBe(402);
    expect(refused.text).not.toContain("goods");
    expect(facilitator.settled).toEqual([]);
  });

  test("sends a stream that is too long to keep after its settlement, whole", async () => {
    async function* chunks() {
      for (let at = 0; at < 50; at++) yield Buffer.alloc(100, at);
    }
    const { payer, facilitator, listener } = open(async () => reply(chunks()));
    const paid = await pay(listener, { path: "/report", payer });
    expect([paid.status, paid.body.length, paid.receipt?.success]).toEqual([200, 5_000, true]);
    expect(facilitator.settled).toEqual([10_000n]);
  });

  test("charges nothing for a handler that fails", async () => {
    const { payer, facilitator, listener } = open(() => Promise.reject(new Error("broken")));
    expect((await pay(listener, { path: "/report", payer })).status).toBe(500);
    expect(facilitator.settled).toEqual([]);
  });

  test("binds a payment to the body of its request", async () => {
    const { payer, listener } = open(async (_req, body) => reply([body]));
    const paid = await pay(listener, { path: "/report", body: { about: "a" }, payer });
    expect(paid.json()).toEqual({ about: "a" });
    const other = await pay(listener, { path: "/report", body: { about: "b" }, payment: paid.payment as never });
    expect(other.status).toBe(402);
  });

  test("settles before the handler where the offer says so", async () => {
    const order: string[] = [];
    const { payer, facilitator, listener } = open(async (_req, _body, payment) => {
      order.push(`${facilitator.settled.length} settled, ${payment?.isSettled}`);
      return reply([Buffer.from("late")]);
    });
    const paid = await pay(listener, { path: "/first", payer });
    expect([paid.status, paid.text, paid.receipt?.success, order]).toEqual([200, "late", true, ["1 settled, true"]]);
  });

  test("claims nothing from a client that leaves while the handler runs", async () => {
    const leaving = new AbortController();
    const { payer, facilitator, listener } = open(async (_req, _body, payment) => {
      const aborted = new Promise<void>((resolve) => payment?.signal.addEventListener("abort", () => resolve()));
      leaving.abort();
      await aborted;
      return reply([Buffer.from("nobody reads this")]);
    });
    await expect(pay(listener, { path: "/report", payer, signal: leaving.signal })).rejects.toThrow();
    expect(facilitator.settled).toEqual([]);
  });
});
