import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../store/memory-store.js";
import type { PaymentStore } from "../store/payment-store.js";
import { createObservedShop, FACTS, handle, PAID, PENDING, REFUSED, SETTLE_BEFORE, TYPES } from "./events.fixture.js";
import {
  admissionOf,
  createFakeFacilitator,
  createShop,
  HANDLED,
  isPrepaid,
  NETWORK,
  NOW_SECONDS,
  PAYER,
  responseOf,
  SETTLED,
} from "./shop.fixture.js";

describe("a request", () => {
  test("for nothing that is priced yields nothing", async () => {
    const shop = createObservedShop();
    await shop.ask({ path: "/free" });
    await shop.pay({}, { path: "/free" });
    expect(shop.emitted()).toEqual([]);
  });

  test.each(["text/html", undefined])("without a payment is challenged, once (Accept: %s)", async (accept) => {
    const shop = createObservedShop();
    await shop.ask({ accept, userAgent: "Mozilla/5.0" });
    expect(shop.events).toEqual([{ type: "challenged", atMs: NOW_SECONDS * 1000, route: "GET /weather" }]);
  });

  test("is not challenged when there is no way to pay", async () => {
    const facilitator = createFakeFacilitator();
    facilitator.supports = { kinds: [], extensions: [], signers: {} };
    const shop = createObservedShop({ facilitator });
    await shop.engine.ready();
    expect(responseOf(await shop.ask()).status).toBe(503);
    expect(shop.emitted()).toEqual([]);
  });

  test.each<[string, Parameters<ReturnType<typeof createShop>["pay"]>, object]>([
    ["junk", [{}, {}], { type: "malformed", reason: "invalid_payload" }],
    [
      "another amount",
      [{ accepted: { amount: "1" } }],
      { type: "mismatched", reason: "invalid_payment_requirements", field: "amount" },
    ],
    ["no nonce", [{ payload: { nonce: undefined as never } }], { type: "mismatched", reason: "invalid_payload" }],
    [
      "a payment that has expired",
      [{ payload: { expiresAtSeconds: 1 } }],
      { type: "mismatched", reason: "invalid_exact_evm_payload_authorization_valid_before" },
    ],
    [
      "an id that is none",
      [{ extensions: { "payment-identifier": { info: { id: "short" } } } }],
      { type: "malformed", reason: "invalid_payment_identifier" },
    ],
  ])("with %s yields what was wrong with it", async (what, payment, event) => {
    const shop = createObservedShop();
    await (what === "junk" ? shop.ask({ paymentSignature: "junk" }) : shop.pay(...payment));
    expect(shop.events).toEqual([{ ...event, atMs: NOW_SECONDS * 1000, route: "GET /weather" }]);
  });

  test("whose id another payment has is denied by that", async () => {
    const shop = createObservedShop();
    const extensions = { "payment-identifier": { info: { id: "0123456789abcdef" } } };
    await shop.pay({ extensions });
    await shop.pay({ extensions, payload: { nonce: "n2" } });
    expect(shop.events.at(-1)).toMatchObject({ type: "denied", by: "payment-identifier", payment: `${NETWORK}|n2` });
    expect(JSON.stringify(shop.events)).not.toContain("0123456789abcdef");
  });
});

describe("a payment", () => {
  test("that is good: each event once, in order, with what it is about", async () => {
    const shop = createObservedShop();
    shop.facilitator.verifies = () => {
      shop.clock.ms += 20;
      return { isValid: true };
    };
    shop.facilitator.settles = () => {
      shop.clock.ms += 300;
      return SETTLED;
    };
    await handle(shop);
    const atMs = NOW_SECONDS * 1000;
    expect(shop.events.filter(({ type }) => type !== "facilitator_up")).toEqual([
      { type: "claimed", atMs, ...FACTS },
      { type: "verified", atMs: atMs + 20, ...FACTS, durationMs: 20 },
      { type: "admitted", atMs: atMs + 20, ...FACTS },
      { type: "settled", atMs: atMs + 320, ...FACTS, durationMs: 300, transaction: "0xabc" },
    ]);
  });

  test.each<[string, unknown, string]>([
    ["bad", { isValid: false, invalidReason: "insufficient_funds" }, "invalid insufficient_funds"],
    ["bad, in other words", { isValid: false, invalidReason: "It\nis bad" }, "invalid invalid_payload"],
    ["not verified", new Error("down"), "invalid unexpected_verify_error"],
    ["verified by junk", "yes", "invalid unexpected_verify_error"],
  ])("that is %s is invalid", async (_what, verifies, event) => {
    const shop = createObservedShop();
    shop.facilitator.verifies = verifies;
    await shop.pay();
    expect(shop.emitted()).toEqual(["claimed", event]);
  });

  test.each<[string, unknown, string]>([
    ["rejected", REFUSED, "rejected insufficient_funds"],
    ["unknown", new Error("lost"), "unknown"],
  ])("whose settlement is %s", async (_how, settles, event) => {
    const shop = createObservedShop();
    shop.facilitator.settles = settles;
    await handle(shop);
    expect(shop.emitted()).toEqual(["claimed", "verified", "admitted", event]);
  });

  test.each<[string, (shop: ReturnType<typeof createObservedShop>) => Promise<unknown>]>([
    ["not_chargeable", (shop) => handle(shop, { ...HANDLED, status: 500 })],
    ["client_gone", async (shop) => admissionOf(await shop.pay()).cancel()],
    ["expired", async (shop) => [admissionOf(await shop.pay()), await shop.passTime(295_000)]],
    [
      "expired",
      async (shop) => {
        const admission = admissionOf(await shop.pay());
        shop.clock.ms += 295_000;
        await admission.complete(HANDLED);
      },
    ],
  ])("that is not charged is cancelled once: %s", async (reason, act) => {
    const shop = createObservedShop();
    await act(shop);
    await shop.passTime(400_000);
    expect(shop.emitted()).toEqual(["claimed", "verified", "admitted", `cancelled ${reason}`]);
    expect(shop.events.find(({ type }) => type === "cancelled")).toMatchObject(FACTS);
  });

  test("of a payer with too many handlers at work is denied after it was verified", async () => {
    const shop = createObservedShop({ maxRunsPerPayer: 1 });
    await shop.pay();
    await shop.pay({ payload: { nonce: "n2" } });
    expect(shop.emitted().slice(3)).toEqual(["claimed", "verified", "denied maxRunsPerPayer"]);
    expect(shop.events.at(-1)).toMatchObject({ route: "GET /weather", payer: PAYER, payment: `${NETWORK}|n2` });
  });

  test.each<[string, keyof PaymentStore]>([
    ["cannot be written down", "transition"],
    ["cannot be forgotten", "release"],
  ])("whose end %s is cancelled as failed", async (_what, method) => {
    const memory = createMemoryStore(() => NOW_SECONDS * 1000);
    const store = { ...memory };
    const shop = createObservedShop({ store });
    const admission = admissionOf(await shop.pay());
    Object.assign(store, { [method]: () => Promise.reject(new Error("the store failed")) });
    await admission.complete({ ...HANDLED, status: method === "release" ? 500 : 200 });
    expect(shop.emitted().slice(3)).toEqual(["cancelled failed"]);
  });

  test("that another run has taken away is cancelled as failed", async () => {
    const shop = createObservedShop();
    const admission = admissionOf(await shop.pay());
    await shop.store.release(FACTS.payment, (await shop.store.find(FACTS.payment))!.owner);
    await admission.complete(HANDLED);
    expect(shop.emitted().slice(3)).toEqual(["cancelled failed"]);
  });
});

describe("a route that settles before its handler", () => {
  test("settles, then admits", async () => {
    const shop = createObservedShop({ routes: SETTLE_BEFORE });
    await shop.pay();
    await shop.pay();
    expect(shop.emitted()).toEqual(["claimed", "settled", "admitted", "replayed refused"]);
  });

  test("admits once more when the handler could not run", async () => {
    const shop = createObservedShop({ routes: SETTLE_BEFORE });
    const decision = await shop.pay();
    if (isPrepaid(decision)) await decision.admission.cancel();
    await shop.pay();
    expect(shop.emitted().slice(2)).toEqual(["admitted", "replayed owed", "admitted"]);
  });

  test.each<[unknown, readonly string[]]>([
    [REFUSED, ["claimed", "rejected insufficient_funds"]],
    [new Error("lost"), ["claimed", "unknown"]],
  ])("admits nobody when the money does not move (%o)", async (settles, events) => {
    const shop = createObservedShop({ routes: SETTLE_BEFORE });
    shop.facilitator.settles = settles;
    await shop.pay();
    expect(shop.emitted()).toEqual(events);
  });
});

test("nothing changes when nobody listens, nor when a listener throws", async () => {
  const silent = createShop();
  const shop = createShop();
  for (const type of TYPES) {
    shop.engine.on(type, () => {
      throw new Error("no");
    });
  }
  const buy = async ({ pay }: typeof shop) => [await admissionOf(await pay()).complete(HANDLED), await pay()];
  expect(await buy(shop)).toEqual(await buy(silent));
});

describe("the same payment again", () => {
  test("while it is served: each duplicate is told once what becomes of it", async () => {
    const shop = createObservedShop();
    const admission = admissionOf(await shop.pay());
    const duplicates = [shop.pay(), shop.pay()];
    // Both have been read before the handler responds.
    await new Promise(setImmediate);
    await admission.complete(HANDLED);
    await Promise.all(duplicates);
    expect(shop.emitted()).toEqual([...PAID, "replayed shared", "replayed shared"]);
  });

  test("is told to come back when it has waited long enough", async () => {
    const shop = createObservedShop({ copyWaitMs: 0 });
    await shop.pay();
    await shop.pay();
    expect(shop.emitted().slice(3)).toEqual(["replayed pending"]);
  });

  test("is refused when it was settled, for another request, and when it was rejected", async () => {
    const shop = createObservedShop();
    await handle(shop);
    await shop.pay();
    await shop.pay({ accepted: { amount: "20000" } }, { path: "/news" });
    expect(shop.emitted()).toEqual([...PAID, "replayed refused", "replayed refused"]);
    const other = createObservedShop();
    other.facilitator.settles = { ...REFUSED, transaction: "0xbad", errorReason: "invalid_transaction_state" };
    await handle(other);
    await other.pay();
    expect(other.emitted().slice(3)).toEqual(["rejected invalid_transaction_state", "replayed refused"]);
  });

  test("gets the kept answer", async () => {
    const shop = createObservedShop();
    const admission = admissionOf(await shop.pay());
    await admission.complete(HANDLED);
    await admission.undelivered(HANDLED);
    await shop.pay();
    expect(shop.emitted()).toEqual([...PAID, "replayed stored"]);
  });

  test("settles what was unknown; that it still is, is no news", async () => {
    const shop = createObservedShop();
    shop.facilitator.settles = PENDING;
    await handle(shop);
    await shop.pay();
    await shop.passTime(60_000);
    shop.facilitator.settles = SETTLED;
    await shop.pay();
    expect(shop.emitted().slice(3)).toEqual(["unknown", "replayed pending", "settled", "replayed stored"]);
  });

  test("runs the handler when its answer was too large to keep", async () => {
    const shop = createObservedShop();
    shop.facilitator.settles = PENDING;
    await handle(shop, { ...HANDLED, body: undefined });
    shop.facilitator.settles = SETTLED;
    admissionOf(await shop.pay());
    expect(shop.emitted().slice(3)).toEqual(["unknown", "settled", "replayed owed", "admitted"]);
  });

  test("after its time may ask what became of it", async () => {
    const shop = createObservedShop();
    await handle(shop);
    shop.clock.ms += 301_000;
    await shop.pay();
    expect(shop.emitted()).toEqual([...PAID, "replayed refused"]);
  });
});

describe("in the background", () => {
  test("a settlement becomes known, and nobody is told twice", async () => {
    const shop = createObservedShop();
    shop.facilitator.settles = PENDING;
    await handle(shop);
    await shop.passTime(60_000);
    await shop.passTime(60_000);
    shop.facilitator.settles = SETTLED;
    await shop.passTime(60_000);
    await shop.passTime(60_000);
    expect(shop.emitted().slice(3)).toEqual(["unknown", "settled"]);
  });

  test("a settlement that never becomes known is unresolved, once", async () => {
    const shop = createObservedShop();
    shop.facilitator.settles = PENDING;
    await handle(shop);
    for (let minute = 0; minute < 15; minute++) await shop.passTime(60_000);
    expect(shop.emitted().slice(3)).toEqual(["unknown", "unresolved"]);
    expect(shop.events.at(-1)).toMatchObject(FACTS);
  });

  test("what a dead process has left behind is settled by the next", async () => {
    const store = createMemoryStore(() => NOW_SECONDS * 1000);
    const dying = createObservedShop({ store });
    dying.facilitator.settles = () => new Promise(() => {});
    void handle(dying);
    await dying.passTime(0);
    const next = createObservedShop({ store });
    next.clock.ms += 120_000;
    expect(await next.engine.recover()).toEqual({ settled: 1, rejected: 0, unknown: 0 });
    expect(next.emitted()).toEqual(["settled"]);
    expect(next.events.at(-1)).toMatchObject({ ...FACTS, transaction: "0xabc" });
  });
});
