import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../store/memory-store.js";
import { createHeardShop, FACTS, handle, PAID, PENDING, REFUSED } from "./events.fixture.js";
import { admissionOf, HANDLED, NOW_SECONDS, SETTLED } from "./shop.fixture.js";

describe("the same payment again", () => {
  test("while it is served: each copy is told once what becomes of it", async () => {
    const shop = createHeardShop();
    const admission = admissionOf(await shop.pay());
    const copies = [shop.pay(), shop.pay()];
    // Both have been read before the handler responds.
    await new Promise(setImmediate);
    await admission.complete(HANDLED);
    await Promise.all(copies);
    expect(shop.told()).toEqual([...PAID, "replayed shared", "replayed shared"]);
  });

  test("is told to come back when it has waited long enough", async () => {
    const shop = createHeardShop({ copyWaitMs: 0 });
    await shop.pay();
    await shop.pay();
    expect(shop.told().slice(3)).toEqual(["replayed pending"]);
  });

  test("is refused when it was settled, for another request, and when it was rejected", async () => {
    const shop = createHeardShop();
    await handle(shop);
    await shop.pay();
    await shop.pay({ accepted: { amount: "20000" } }, { path: "/news" });
    expect(shop.told()).toEqual([...PAID, "replayed refused", "replayed refused"]);
    const other = createHeardShop();
    other.till.settles = { ...REFUSED, transaction: "0xbad", errorReason: "invalid_transaction_state" };
    await handle(other);
    await other.pay();
    expect(other.told().slice(3)).toEqual(["rejected invalid_transaction_state", "replayed refused"]);
  });

  test("gets the kept answer", async () => {
    const shop = createHeardShop();
    const admission = admissionOf(await shop.pay());
    await admission.complete(HANDLED);
    await admission.undelivered(HANDLED);
    await shop.pay();
    expect(shop.told()).toEqual([...PAID, "replayed stored"]);
  });

  test("settles what was unknown; that it still is, is no news", async () => {
    const shop = createHeardShop();
    shop.till.settles = PENDING;
    await handle(shop);
    await shop.pay();
    await shop.passTime(60_000);
    shop.till.settles = SETTLED;
    await shop.pay();
    expect(shop.told().slice(3)).toEqual(["unknown", "replayed pending", "settled", "replayed stored"]);
  });

  test("runs the handler when its answer was too large to keep", async () => {
    const shop = createHeardShop();
    shop.till.settles = PENDING;
    await handle(shop, { ...HANDLED, body: undefined });
    shop.till.settles = SETTLED;
    admissionOf(await shop.pay());
    expect(shop.told().slice(3)).toEqual(["unknown", "settled", "replayed owed", "admitted"]);
  });

  test("after its time may ask what became of it", async () => {
    const shop = createHeardShop();
    await handle(shop);
    shop.clock.ms += 301_000;
    await shop.pay();
    expect(shop.told()).toEqual([...PAID, "replayed refused"]);
  });
});

describe("in the background", () => {
  test("a settlement becomes known, and nobody is told twice", async () => {
    const shop = createHeardShop();
    shop.till.settles = PENDING;
    await handle(shop);
    await shop.passTime(60_000);
    await shop.passTime(60_000);
    shop.till.settles = SETTLED;
    await shop.passTime(60_000);
    await shop.passTime(60_000);
    expect(shop.told().slice(3)).toEqual(["unknown", "settled"]);
  });

  test("a settlement that never becomes known is unresolved, once", async () => {
    const shop = createHeardShop();
    shop.till.settles = PENDING;
    await handle(shop);
    for (let minute = 0; minute < 15; minute++) await shop.passTime(60_000);
    expect(shop.told().slice(3)).toEqual(["unknown", "unresolved"]);
    expect(shop.all.at(-1)).toMatchObject(FACTS);
  });

  test("what a dead process has left behind is settled by the next", async () => {
    const store = createMemoryStore(() => NOW_SECONDS * 1000);
    const dying = createHeardShop({ store });
    dying.till.settles = () => new Promise(() => {});
    void handle(dying);
    await dying.passTime(0);
    const next = createHeardShop({ store });
    next.clock.ms += 120_000;
    expect(await next.engine.recover()).toEqual({ settled: 1, rejected: 0, unknown: 0 });
    expect(next.told()).toEqual(["settled"]);
    expect(next.all.at(-1)).toMatchObject({ ...FACTS, transaction: "0xabc" });
  });
});
