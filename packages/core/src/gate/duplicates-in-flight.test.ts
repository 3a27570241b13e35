import { describe, expect, test } from "vitest";
import { admissionOf, createShop, decodeHeader, HANDLED, responseOf, SETTLED } from "./shop.fixture.js";

const ID = "pay_0123456789abcdef";

/** Requests come one by one: each has been read before anything else happens. */
const arrival = () => new Promise(setImmediate);

const withId = (id: unknown) => ({ extensions: { "payment-identifier": { info: { required: false, id } } } });

describe("a duplicate that comes while the handler runs", () => {
  test("gets what the first one gets: the answer and the same receipt", async () => {
    const { pay, facilitator } = createShop();
    const admission = admissionOf(await pay());
    const duplicates = [pay(), pay({}, { client: "elsewhere" })];
    await arrival();
    const release = await admission.complete(HANDLED);
    for (const duplicate of duplicates) {
      const { status, text, headers } = responseOf(await duplicate);
      expect([status, text]).toEqual([200, "sunny"]);
      expect(release).toMatchObject({ headers: [["PAYMENT-RESPONSE", headers["payment-response"]]] });
      expect([headers["cache-control"], headers["content-type"]]).toEqual(["private", "text/plain"]);
    }
    expect([facilitator.count("verify"), facilitator.count("settle")]).toEqual([1, 1]);
  });

  test("gets the error the first one gets, and is not charged either", async () => {
    const { pay, facilitator } = createShop();
    const admission = admissionOf(await pay());
    const duplicate = pay();
    await arrival();
    await admission.complete({ ...HANDLED, status: 500, headers: [["Cache-Control", "public"]] });
    const { status, headers } = responseOf(await duplicate);
    expect([status, headers["cache-control"], facilitator.count("settle")]).toEqual([500, "public", 0]);
    expect(decodeHeader(headers["payment-response"])).toMatchObject({ success: false, errorReason: "not_charged" });
  });

  test.each([
    ["rejected", { ...SETTLED, success: false, errorReason: "insufficient_funds", transaction: "" }, 402],
    ["unknown", new Error("lost"), 503],
  ])("gets the answer to a settlement that is %s", async (_why, settles, status) => {
    const { pay, facilitator } = createShop();
    facilitator.settles = settles;
    const admission = admissionOf(await pay());
    const duplicate = pay();
    await arrival();
    await admission.complete(HANDLED);
    expect([responseOf(await duplicate).status, facilitator.count("settle")]).toEqual([status, 1]);
  });

  test("gets the refusal, when the payment turns out to be bad", async () => {
    const { pay, facilitator } = createShop();
    facilitator.verifies = { isValid: false, invalidReason: "insufficient_funds" };
    const statuses = (await Promise.all([pay(), pay(), pay()])).map((decision) => responseOf(decision).json["error"]);
    expect([statuses, facilitator.count("verify")]).toEqual([
      ["insufficient_funds", "insufficient_funds", "insufficient_funds"],
      1,
    ]);
  });

  test("of a payer who has to allow the transfer first is told so, with 412 and the challenge", async () => {
    const { pay, facilitator } = createShop();
    facilitator.verifies = { isValid: false, invalidReason: "permit2_allowance_required" };
    for (const decision of await Promise.all([pay(), pay()])) {
      const { status, headers, json } = responseOf(decision);
      expect([status, json["error"]]).toEqual([412, "permit2_allowance_required"]);
      expect(decodeHeader(headers["payment-required"])).toEqual(json);
    }
  });

  test("is served itself, when the first client leaves", async () => {
    const { pay } = createShop();
    const admission = admissionOf(await pay());
    const duplicates = [pay(), pay()];
    await admission.cancel();
    const second = await Promise.race(duplicates);
    await admissionOf(second).complete(HANDLED);
    const others = (await Promise.all(duplicates)).filter((decision) => decision !== second);
    expect(others.map((decision) => responseOf(decision).text)).toEqual(["sunny"]);
  });

  test("gets nothing of an answer that is too large to keep, once that was paid for", async () => {
    const { pay } = createShop();
    const admission = admissionOf(await pay());
    const duplicate = pay();
    await admission.complete({ ...HANDLED, body: undefined });
    expect(responseOf(await duplicate).json["error"]).toBe("payment_already_used");
  });

  test("gets the answer that the payment has run out", async () => {
    const { pay, passTime } = createShop();
    const admission = admissionOf(await pay({ payload: { expiresAtSeconds: 1_800_000_009 } }));
    admission.onExpired(() => {});
    const duplicate = pay({ payload: { expiresAtSeconds: 1_800_000_009 } });
    await passTime(3_001);
    expect(responseOf(await duplicate).json["error"]).toBe("payment_expired");
  });

  test("waits for no longer than it is told to", async () => {
    const { pay, passTime, engine } = createShop({ copyWaitMs: 50 });
    await pay();
    const duplicate = pay();
    await passTime(50);
    const { status, headers } = responseOf(await duplicate);
    expect([status, headers["retry-after"]]).toEqual([409, "1"]);
    expect(responseOf(await createShopThatDoesNotWait()).status).toBe(409);
    engine.close();
  });

  async function createShopThatDoesNotWait() {
    const { pay } = createShop({ copyWaitMs: 0 });
    await pay();
    return pay();
  }

  test("for another request is refused at once", async () => {
    const { pay } = createShop();
    await pay();
    const others = [{ search: "?a=1" }, { method: "HEAD" }, { digestBody: () => "another" }];
    for (const other of others) expect(responseOf(await pay({}, other)).json["error"]).toBe("payment_already_used");
  });
});

describe("a duplicate that comes while the money moves", () => {
  /** Whose settlement is held until it is let go. */
  async function createSettling(payment = {}) {
    const shop = createShop();
    let resolveSettle: (value: unknown) => void = () => {};
    const held = new Promise((resolve) => {
      resolveSettle = resolve;
    });
    shop.facilitator.settles = () => held;
    const admission = admissionOf(await shop.pay(payment, { client: "::1" }));
    const done = admission.complete(HANDLED);
    await new Promise(setImmediate);
    return { ...shop, done, settle: () => resolveSettle(SETTLED) };
  }

  test.each([
    ["from the same address", {}, {}, { client: "::1" }, 200],
    ["from another address", {}, {}, { client: "::2" }, 402],
    ["from an address that is not known", {}, {}, {}, 402],
    ["with the same id, from anywhere", withId(ID), withId(ID), { client: "::2" }, 200],
    ["without the id that the first one had", withId(ID), {}, { client: "::1" }, 402],
    ["with another id", withId(ID), withId(`${ID}x`), { client: "::1" }, 402],
  ])("%s", async (_who, first, payment, request, status) => {
    const { pay, done, settle } = await createSettling(first);
    const duplicate = pay(payment, request);
    settle();
    await done;
    expect(responseOf(await duplicate).status).toBe(status);
  });
});
