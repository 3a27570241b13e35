import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../store/memory-store.js";
import type { PaymentStore } from "../store/payment-store.js";
import { createHeardShop, FACTS, handle, REFUSED, TYPES, UPFRONT } from "./events.fixture.js";
import {
  admissionOf,
  answerOf,
  createShop,
  createTill,
  HANDLED,
  isPrepaid,
  NETWORK,
  NOW_SECONDS,
  PAYER,
  SETTLED,
} from "./shop.fixture.js";

describe("a request", () => {
  test("for nothing that is priced yields nothing", async () => {
    const shop = createHeardShop();
    await shop.ask({ path: "/free" });
    await shop.pay({}, { path: "/free" });
    expect(shop.told()).toEqual([]);
  });

  test.each(["text/html", undefined])("without a payment is challenged, once (Accept: %s)", async (accept) => {
    const shop = createHeardShop();
    await shop.ask({ accept, userAgent: "Mozilla/5.0" });
    expect(shop.all).toEqual([{ type: "challenged", atMs: NOW_SECONDS * 1000, route: "GET /weather" }]);
  });

  test("is not challenged when there is no way to pay", async () => {
    const facilitator = createTill();
    facilitator.supports = { kinds: [], extensions: [], signers: {} };
    const shop = createHeardShop({ facilitator });
    await shop.engine.ready();
    expect(answerOf(await shop.ask()).status).toBe(503);
    expect(shop.told()).toEqual([]);
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
    const shop = createHeardShop();
    await (what === "junk" ? shop.ask({ paymentSignature: "junk" }) : shop.pay(...payment));
    expect(shop.all).toEqual([{ ...event, atMs: NOW_SECONDS * 1000, route: "GET /weather" }]);
  });

  test("whose id another payment has is denied by that", async () => {
    const shop = createHeardShop();
    const extensions = { "payment-identifier": { info: { id: "0123456789abcdef" } } };
    await shop.pay({ extensions });
    await shop.pay({ extensions, payload: { nonce: "n2" } });
    expect(shop.all.at(-1)).toMatchObject({ type: "denied", by: "payment-identifier", payment: `${NETWORK}|n2` });
    expect(JSON.stringify(shop.all)).not.toContain("0123456789abcdef");
  });
});

describe("a payment", () => {
  test("that is good: each event once, in order, with what it is about", async () => {
    const shop = createHeardShop();
    shop.till.verifies = () => {
      shop.clock.ms += 20;
      return { isValid: true };
    };
    shop.till.settles = () => {
      shop.clock.ms += 300;
      return SETTLED;
    };
    await handle(shop);
    const atMs = NOW_SECONDS * 1000;
    expect(shop.all.filter(({ type }) => type !== "facilitator_up")).toEqual([
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
    const shop = createHeardShop();
    shop.till.verifies = verifies;
    await shop.pay();
    expect(shop.told()).toEqual(["claimed", event]);
  });

  test.each<[string, unknown, string]>([
    ["rejected", REFUSED, "rejected insufficient_funds"],
    ["unknown", new Error("lost"), "unknown"],
  ])("whose settlement is %s", async (_how, settles, event) => {
    const shop = createHeardShop();
    shop.till.settles = settles;
    await handle(shop);
    expect(shop.told()).toEqual(["claimed", "verified", "admitted", event]);
  });

  test.each<[string, (shop: ReturnType<typeof createHeardShop>) => Promise<unknown>]>([
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
    const shop = createHeardShop();
    await act(shop);
    await shop.passTime(400_000);
    expect(shop.told()).toEqual(["claimed", "verified", "admitted", `cancelled ${reason}`]);
    expect(shop.all.find(({ type }) => type === "cancelled")).toMatchObject(FACTS);
  });

  test("of a payer with too many handlers at work is denied after it was verified", async () => {
    const shop = createHeardShop({ maxRunsPerPayer: 1 });
    await shop.pay();
    await shop.pay({ payload: { nonce: "n2" } });
    expect(shop.told().slice(3)).toEqual(["claimed", "verified", "denied maxRunsPerPayer"]);
    expect(shop.all.at(-1)).toMatchObject({ route: "GET /weather", payer: PAYER, payment: `${NETWORK}|n2` });
  });

  test.each<[string, keyof PaymentStore]>([
    ["cannot be written down", "transition"],
    ["cannot be forgotten", "release"],
  ])("whose end %s is cancelled as failed", async (_what, method) => {
    const memory = createMemoryStore(() => NOW_SECONDS * 1000);
    const store = { ...memory };
    const shop = createHeardShop({ store });
    const admission = admissionOf(await shop.pay());
    Object.assign(store, { [method]: () => Promise.reject(new Error("the store failed")) });
    await admission.complete({ ...HANDLED, status: method === "release" ? 500 : 200 });
    expect(shop.told().slice(3)).toEqual(["cancelled failed"]);
  });

  test("that another run has taken away is cancelled as failed", async () => {
    const shop = createHeardShop();
    const admission = admissionOf(await shop.pay());
    await shop.store.release(FACTS.payment, (await shop.store.find(FACTS.payment))!.owner);
    await admission.complete(HANDLED);
    expect(shop.told().slice(3)).toEqual(["cancelled failed"]);
  });
});

describe("a route that settles before its handler", () => {
  test("settles, then admits", async () => {
    const shop = createHeardShop({ routes: UPFRONT });
    await shop.pay();
    await shop.pay();
    expect(shop.told()).toEqual(["claimed", "settled", "admitted", "replayed refused"]);
  });

  test("admits once more when the handler could not run", async () => {
    const shop = createHeardShop({ routes: UPFRONT });
    const decision = await shop.pay();
    if (isPrepaid(decision)) await decision.admission.cancel();
    await shop.pay();
    expect(shop.told().slice(2)).toEqual(["admitted", "replayed owed", "admitted"]);
  });

  test.each<[unknown, readonly string[]]>([
    [REFUSED, ["claimed", "rejected insufficient_funds"]],
    [new Error("lost"), ["claimed", "unknown"]],
  ])("admits nobody when the money does not move (%o)", async (settles, events) => {
    const shop = createHeardShop({ routes: UPFRONT });
    shop.till.settles = settles;
    await shop.pay();
    expect(shop.told()).toEqual(events);
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
