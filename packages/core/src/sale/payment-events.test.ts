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

describe("events of a request", () => {
  test("emits nothing for an unpriced request", async () => {
    const shop = createObservedShop();
    await shop.ask({ path: "/free" });
    await shop.pay({}, { path: "/free" });
    expect(shop.emitted()).toEqual([]);
  });

  test.each(["text/html", undefined])(
    "emits challenged once for a request without a payment (Accept: %s)",
    async (accept) => {
      const shop = createObservedShop();
      await shop.ask({ accept, userAgent: "Mozilla/5.0" });
      expect(shop.events).toEqual([{ type: "challenged", atMs: NOW_SECONDS * 1000, route: "GET /weather" }]);
    },
  );

  test("emits nothing when no offer is available", async () => {
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
      "a malformed payment identifier",
      [{ extensions: { "payment-identifier": { info: { id: "short" } } } }],
      { type: "malformed", reason: "invalid_payment_identifier" },
    ],
  ])("emits what is wrong with %s", async (payment, call, event) => {
    const shop = createObservedShop();
    await (payment === "junk" ? shop.ask({ paymentSignature: "junk" }) : shop.pay(...call));
    expect(shop.events).toEqual([{ ...event, atMs: NOW_SECONDS * 1000, route: "GET /weather" }]);
  });

  test("emits denied by payment-identifier when another payment has the identifier", async () => {
    const shop = createObservedShop();
    const extensions = { "payment-identifier": { info: { id: "0123456789abcdef" } } };
    await shop.pay({ extensions });
    await shop.pay({ extensions, payload: { nonce: "n2" } });
    expect(shop.events.at(-1)).toMatchObject({ type: "denied", by: "payment-identifier", payment: `${NETWORK}|n2` });
    expect(JSON.stringify(shop.events)).not.toContain("0123456789abcdef");
  });
});

describe("events of a payment", () => {
  test("emits each event of a valid payment once, in order, with its facts", async () => {
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
    ["refused", { isValid: false, invalidReason: "insufficient_funds" }, "invalid insufficient_funds"],
    ["refused with prose", { isValid: false, invalidReason: "It\nis bad" }, "invalid invalid_payload"],
    ["not verified", new Error("down"), "invalid unexpected_verify_error"],
    ["verified with an invalid result", "yes", "invalid unexpected_verify_error"],
  ])("emits invalid when the payment is %s", async (_what, verifies, event) => {
    const shop = createObservedShop();
    shop.facilitator.verifies = verifies;
    await shop.pay();
    expect(shop.emitted()).toEqual(["claimed", event]);
  });

  test.each<[string, unknown, string]>([
    ["rejected", REFUSED, "rejected insufficient_funds"],
    ["unknown", new Error("lost"), "unknown"],
  ])("emits the outcome of a settlement that is %s", async (_how, settles, event) => {
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
  ])("emits cancelled once when nothing is charged: %s", async (reason, act) => {
    const shop = createObservedShop();
    await act(shop);
    await shop.passTime(400_000);
    expect(shop.emitted()).toEqual(["claimed", "verified", "admitted", `cancelled ${reason}`]);
    expect(shop.events.find(({ type }) => type === "cancelled")).toMatchObject(FACTS);
  });

  test("emits denied after verification when the payer has too many handlers running", async () => {
    const shop = createObservedShop({ maxRunsPerPayer: 1 });
    await shop.pay();
    await shop.pay({ payload: { nonce: "n2" } });
    expect(shop.emitted().slice(3)).toEqual(["claimed", "verified", "denied maxRunsPerPayer"]);
    expect(shop.events.at(-1)).toMatchObject({ route: "GET /weather", payer: PAYER, payment: `${NETWORK}|n2` });
  });

  test.each<[string, keyof PaymentStore]>([
    ["change the record", "transition"],
    ["release the claim", "release"],
  ])("emits cancelled as failed when the store cannot %s", async (_what, method) => {
    const memory = createMemoryStore(() => NOW_SECONDS * 1000);
    const store = { ...memory };
    const shop = createObservedShop({ store });
    const admission = admissionOf(await shop.pay());
    Object.assign(store, { [method]: () => Promise.reject(new Error("the store failed")) });
    await admission.complete({ ...HANDLED, status: method === "release" ? 500 : 200 });
    expect(shop.emitted().slice(3)).toEqual(["cancelled failed"]);
  });

  test("emits cancelled as failed when another run took over the payment", async () => {
    const shop = createObservedShop();
    const admission = admissionOf(await shop.pay());
    await shop.store.release(FACTS.payment, (await shop.store.find(FACTS.payment))!.owner);
    await admission.complete(HANDLED);
    expect(shop.emitted().slice(3)).toEqual(["cancelled failed"]);
  });
});

describe("events of a route that settles before its handler", () => {
  test("emits settled before admitted", async () => {
    const shop = createObservedShop({ routes: SETTLE_BEFORE });
    await shop.pay();
    await shop.pay();
    expect(shop.emitted()).toEqual(["claimed", "settled", "admitted", "replayed pending"]);
  });

  test("emits admitted again when the handler could not run before", async () => {
    const shop = createObservedShop({ routes: SETTLE_BEFORE });
    const decision = await shop.pay();
    if (isPrepaid(decision)) await decision.admission.cancel();
    await shop.pay();
    expect(shop.emitted().slice(2)).toEqual(["admitted", "replayed owed", "admitted"]);
  });

  test.each<[unknown, readonly string[]]>([
    [REFUSED, ["claimed", "rejected insufficient_funds"]],
    [new Error("lost"), ["claimed", "unknown"]],
  ])("emits no admitted when the settlement fails (%o)", async (settles, events) => {
    const shop = createObservedShop({ routes: SETTLE_BEFORE });
    shop.facilitator.settles = settles;
    await shop.pay();
    expect(shop.emitted()).toEqual(events);
  });
});

test("decides the same without listeners and with listeners that throw", async () => {
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

describe("events of a replay", () => {
  test("emits replayed shared once for each duplicate that waits for the handler", async () => {
    const shop = createObservedShop();
    const admission = admissionOf(await shop.pay());
    const duplicates = [shop.pay(), shop.pay()];
    // The gate has read both before the handler responds.
    await new Promise(setImmediate);
    await admission.complete(HANDLED);
    await Promise.all(duplicates);
    expect(shop.emitted()).toEqual([...PAID, "replayed shared", "replayed shared"]);
  });

  test("emits replayed pending when a duplicate has waited for copyWaitMs", async () => {
    const shop = createObservedShop({ copyWaitMs: 0 });
    await shop.pay();
    await shop.pay();
    expect(shop.emitted().slice(3)).toEqual(["replayed pending"]);
  });

  test("emits replayed refused for a settled payment, another request and a rejected payment", async () => {
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

  test("emits replayed stored when the stored response is sent", async () => {
    const shop = createObservedShop();
    const admission = admissionOf(await shop.pay());
    await admission.complete(HANDLED);
    await admission.undelivered(HANDLED);
    await shop.pay();
    expect(shop.emitted()).toEqual([...PAID, "replayed stored"]);
  });

  test("emits unknown only once, and settled when the outcome becomes known", async () => {
    const shop = createObservedShop();
    shop.facilitator.settles = PENDING;
    await handle(shop);
    await shop.pay();
    await shop.passTime(60_000);
    shop.facilitator.settles = SETTLED;
    await shop.pay();
    expect(shop.emitted().slice(3)).toEqual(["unknown", "replayed pending", "settled", "replayed stored"]);
  });

  test("emits replayed owed when the handler runs again for a response too large to store", async () => {
    const shop = createObservedShop();
    shop.facilitator.settles = PENDING;
    await handle(shop, { ...HANDLED, body: undefined });
    shop.facilitator.settles = SETTLED;
    admissionOf(await shop.pay());
    expect(shop.emitted().slice(3)).toEqual(["unknown", "settled", "replayed owed", "admitted"]);
  });

  test("emits replayed refused for a settled payment after its expiry", async () => {
    const shop = createObservedShop();
    await handle(shop);
    shop.clock.ms += 301_000;
    await shop.pay();
    expect(shop.emitted()).toEqual([...PAID, "replayed refused"]);
  });
});

describe("events in the background", () => {
  test("emits settled once when the outcome of a settlement becomes known", async () => {
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

  test("emits unresolved once when the outcome never becomes known", async () => {
    const shop = createObservedShop();
    shop.facilitator.settles = PENDING;
    await handle(shop);
    for (let minute = 0; minute < 15; minute++) await shop.passTime(60_000);
    expect(shop.emitted().slice(3)).toEqual(["unknown", "unresolved"]);
    expect(shop.events.at(-1)).toMatchObject(FACTS);
  });

  test("emits settled when the next process recovers a settlement", async () => {
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
