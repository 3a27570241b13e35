/**
 * Events of requests and payments, over real HTTP: each once, in order, without secrets.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import diagnostics from "node:diagnostics_channel";
import type { PaymentEvent } from "@farebox/express";
import { createTestFacilitator } from "@farebox/testing";
import type { RequestHandler } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { type ObservedPlan, openObservedShop, TYPES } from "./observed-shop.js";
import { expectNoStrayErrors, VERSIONS } from "./shop.js";

const PAID = ["claimed", "verified", "admitted", "settled"];

describe.each(VERSIONS)("on %s", (name, express) => {
  const open = (plan?: ObservedPlan) => {
    expectNoStrayErrors();
    return openObservedShop(express, plan);
  };

  test("a challenge and a good payment emit their events in order", async () => {
    const shop = await open();
    const paid = await shop.pay();
    expect(shop.told()).toEqual(["challenged", ...PAID]);
    const facts = {
      route: "/paid",
      payer: paid.receipt!.payer,
      scheme: "exact",
      network: "eip155:84532",
      amount: "10000",
    };
    expect(shop.events[0]).toEqual({ type: "challenged", atMs: expect.any(Number), route: "/paid" });
    for (const event of shop.events.slice(1)) {
      expect(event).toMatchObject({ ...facts, payment: expect.stringContaining("eip155:84532") });
    }
    const durationMs = expect.any(Number);
    expect(shop.events[2]).toMatchObject({ durationMs });
    expect(shop.events[4]).toMatchObject({ durationMs, transaction: paid.receipt!.transaction });
  });

  test.each<[string, RequestHandler]>([
    ["that is a 404", (_req, res) => void res.status(404).send("none")],
    ["that is an error", (_req, _res, next) => next(new Error("broken"))],
  ])("a response %s emits that it is not charged", async (_what, handler) => {
    const shop = await open({ handler });
    await shop.pay();
    expect(shop.told().slice(1)).toEqual(["claimed", "verified", "admitted", "cancelled not_chargeable"]);
  });

  test("a client that disconnects while the handler runs emits that nothing is charged", async () => {
    let run = () => {};
    const running = new Promise<void>((resolve) => {
      run = resolve;
    });
    const shop = await open({ handler: () => run() });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    await running;
    const cancelled = shop.next("cancelled");
    line.socket.destroy();
    expect(await cancelled).toMatchObject({ reason: "client_gone", route: "/paid" });
    expect(shop.told().slice(1)).toEqual(["claimed", "verified", "admitted", "cancelled client_gone"]);
  });

  test("a facilitator that is down emits that, and that it is up as soon as it responds", async () => {
    const facilitator = createTestFacilitator();
    facilitator.faults.next("supported", { kind: "status", status: 500 });
    const shop = await open({ options: { facilitator: { facilitator, name: "mine" }, strict: false } });
    await shop.payments.ready(express());
    const down = { type: "facilitator_down", atMs: expect.any(Number), facilitator: "mine" };
    expect(shop.facilitators).toEqual([{ ...down, code: "ERR_FAREBOX_FACILITATOR_STATUS" }]);
    // The payer has no money, so the facilitator refuses the payment. That is a response, too.
    await shop.pay();
    expect(shop.facilitators.slice(1)).toMatchObject([{ type: "facilitator_up", facilitator: "mine" }]);
    expect(shop.told().slice(1)).toEqual(["claimed", "invalid insufficient_funds"]);
  });

  test("events are emitted in their request's async context, where tracers keep the span", async () => {
    const context = new AsyncLocalStorage<string>();
    const shop = await open({
      before: [(req, _res, next) => context.run(req.get("x-trace") ?? "none", next)],
      handler: (_req, res) => void setImmediate(() => res.send("goods")),
    });
    const heard: unknown[] = [];
    for (const type of TYPES) shop.payments.on(type, () => void heard.push(context.getStore()));
    await shop.pay({ headers: { "X-Trace": "t1" } });
    expect(heard).toEqual(Array(5).fill("t1"));
  });

  // Below Express, both versions are the same.
  if (name === "Express 4") return;

  test("a free request emits nothing, an invalid header malformed, and another offer's payment mismatched", async () => {
    const shop = await open();
    await shop.ask({ path: "/free" });
    const { payment } = await shop.sign();
    await shop.ask({ payment: "junk" });
    await shop.ask({ payment: { ...payment, accepted: { ...payment.accepted, amount: "1" } } });
    expect(shop.told()).toEqual(["challenged", "malformed invalid_payload", "mismatched invalid_payment_requirements"]);
    expect(shop.events.at(-1)).toMatchObject({ route: "/paid", field: "amount" });
  });

  test("duplicates emit events, at once and later", async () => {
    let requests = 0;
    let arrive = () => {};
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const count: RequestHandler = (_req, _res, next) => {
      requests += 1;
      next();
      if (requests === 3) setImmediate(arrive);
    };
    const shop = await open({ before: [count] });
    const { header } = await shop.sign();
    const verify = shop.facilitator.hold("verify");
    const asked = [shop.ask({ payment: header }), shop.ask({ payment: header })];
    await arrived;
    (await verify)();
    await Promise.all(asked);
    await shop.ask({ payment: header });
    expect(shop.told()).toEqual(["challenged", ...PAID, "replayed shared", "replayed refused"]);
  });

  test("a handler that is too late emits that nothing is charged", async () => {
    let aheadMs = 0;
    let run = () => {};
    const running = new Promise<void>((resolve) => {
      run = resolve;
    });
    const shop = await open({ handler: () => run(), options: { now: () => Date.now() + aheadMs } });
    const { header } = await shop.sign();
    const response = shop.ask({ payment: header });
    await running;
    aheadMs = 300_000;
    shop.passTime();
    expect((await response).status).toBe(504);
    expect(shop.told().slice(1)).toEqual(["claimed", "verified", "admitted", "cancelled expired"]);
    expect(shop.facilitator.settled).toEqual([]);
  });

  test("a route that settles before its handler emits the settlement first", async () => {
    const shop = await open();
    await shop.pay({ path: "/upfront" });
    expect(shop.told()).toEqual(["challenged", "claimed", "settled", "admitted"]);
  });

  test.each(["rejected", "unsent"] as const)("a settlement that is %s emits its outcome", async (ending) => {
    const shop = await open();
    const { header } = await shop.sign();
    shop.facilitator.failNext(ending);
    await shop.ask({ payment: header });
    const last = ending === "rejected" ? "rejected insufficient_funds" : ending;
    expect(shop.told().slice(1)).toEqual(["claimed", "verified", "admitted", last]);
  });

  test("a settlement emits unknown, and its outcome once the background knows it", async () => {
    const shop = await open();
    const { header } = await shop.sign();
    shop.facilitator.failNext("unknown");
    expect((await shop.ask({ payment: header })).status).toBe(503);
    const settled = shop.next("settled");
    shop.passTime();
    expect(await settled).toMatchObject({ route: "/paid", amount: "10000" });
    expect(shop.told().slice(1)).toEqual(["claimed", "verified", "admitted", "unknown", "settled"]);
    expect((await shop.ask({ payment: header })).text).toBe("goods");
    expect(shop.told().slice(6)).toEqual(["replayed stored"]);
  });

  test("subscribers of diagnostics channels get the same objects as listeners", async () => {
    const heard: unknown[] = [];
    const hear = (message: unknown) => void heard.push(message);
    for (const type of TYPES) diagnostics.subscribe(`farebox:${type}`, hear);
    onTestFinished(() => TYPES.forEach((type) => void diagnostics.unsubscribe(`farebox:${type}`, hear)));
    const shop = await open();
    await shop.pay();
    // The channels are the process's: an earlier test's shop may still say something there.
    const said = heard.filter((event) => shop.events.includes(event as PaymentEvent));
    expect(said).toHaveLength(5);
    for (const [at, event] of shop.events.entries()) expect(said[at]).toBe(event);
  });

  test("a listener that throws or rejects changes nothing, and one that was removed hears no more", async () => {
    const shop = await open();
    for (const type of TYPES) {
      shop.payments.on(type, () => {
        throw new Error("the listener's secret");
      });
      shop.payments.on(type, async () => Promise.reject(new Error("the listener's secret")));
    }
    const first: string[] = [];
    const off = shop.payments.on("settled", ({ transaction }) => void first.push(transaction));
    const paid = await shop.pay();
    off();
    await shop.pay();
    expect(paid).toMatchObject({ status: 200, text: "goods", receipt: { success: true } });
    expect(first).toEqual([paid.receipt!.transaction]);
    expect(JSON.stringify(shop.log)).toContain("listener_failed");
    expect(JSON.stringify(shop.log)).not.toContain("secret");
  });

  test("an event of another name cannot be listened to", async () => {
    const { payments } = await open();
    expect(() => payments.on("paid" as never, () => {})).toThrow("a type of event");
    expect(() => payments.on("settled", undefined as never)).toThrow("a function that listens");
  });

  test("no event and no log line of a whole run has anything secret", async () => {
    const id = "the-id-of-the-client-0123";
    const denied = { deny: "the words of the seller" };
    const shop = await open({
      handler: (_req, res) => void res.set("X-Secret", "a header of the response").send("the body of the response"),
      options: { hooks: { onRequest: ({ header }) => (header("x-api-key") === "deny-this-key" ? denied : undefined) } },
    });
    const extensions = { "payment-identifier": { info: { required: false, id } } };
    const secrets = [
      id,
      "deny-this-key",
      "the words of",
      "a header of the response",
      "the body of",
      "sent by the client",
    ];
    for (const ending of ["rejected", "unknown", "unsent", undefined] as const) {
      const { payment } = await shop.sign("/paid", "POST");
      const sent = { ...payment, extensions: { ...payment.extensions, ...extensions } };
      const request = { method: "POST", body: "sent by the client", headers: { Cookie: "sent by the client" } };
      if (ending !== undefined) shop.facilitator.failNext(ending);
      for (let sends = 0; sends < 2; sends++) await shop.ask({ ...request, payment: sent });
      await shop.ask({ ...request, payment: sent, headers: { "X-API-Key": "deny-this-key" } });
      await shop.ask({ ...request, payment: `${Buffer.from(JSON.stringify(sent)).toString("base64")}!` });
      const { signature } = sent.payload as { signature: string };
      secrets.push(
        signature,
        signature.slice(2, 40),
        Buffer.from(JSON.stringify(sent)).toString("base64").slice(0, 60),
      );
    }
    const said = JSON.stringify([shop.events, shop.log]);
    expect(shop.events.length).toBeGreaterThan(20);
    expect(shop.log.length).toBeGreaterThan(2);
    expect(secrets.filter((secret) => said.includes(secret))).toEqual([]);
  });
});
