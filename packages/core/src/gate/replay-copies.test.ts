import { describe, expect, test } from "vitest";
import { readPaymentIdentifier } from "../protocol/payment-identifier.js";
import {
  admissionOf,
  answerOf,
  createShop,
  decodeHeader,
  HANDLED,
  NETWORK,
  ROUTES,
  SETTLED,
  stageOf,
} from "./shop.fixture.js";

const IDENTITY = `${NETWORK}|n1`;
const ID = "pay_0123456789abcdef";

/** Requests come one by one: each has been read before anything else happens. */
const arrival = () => new Promise(setImmediate);

const withId = (id: unknown) => ({ extensions: { "payment-identifier": { info: { required: false, id } } } });

describe("a copy that comes while the handler runs", () => {
  test("gets what the first one gets: the answer and the same receipt", async () => {
    const { pay, till } = createShop();
    const admission = admissionOf(await pay());
    const copies = [pay(), pay({}, { client: "elsewhere" })];
    await arrival();
    const release = await admission.complete(HANDLED);
    for (const copy of copies) {
      const { status, text, headers } = answerOf(await copy);
      expect([status, text]).toEqual([200, "sunny"]);
      expect(release).toMatchObject({ headers: [["PAYMENT-RESPONSE", headers["payment-response"]]] });
      expect([headers["cache-control"], headers["content-type"]]).toEqual(["private", "text/plain"]);
    }
    expect([till.count("verify"), till.count("settle")]).toEqual([1, 1]);
  });

  test("gets the error the first one gets, and is not charged either", async () => {
    const { pay, till } = createShop();
    const admission = admissionOf(await pay());
    const copy = pay();
    await arrival();
    await admission.complete({ ...HANDLED, status: 500, headers: [["Cache-Control", "public"]] });
    const { status, headers } = answerOf(await copy);
    expect([status, headers["cache-control"], till.count("settle")]).toEqual([500, "public", 0]);
    expect(decodeHeader(headers["payment-response"])).toMatchObject({ success: false, errorReason: "not_charged" });
  });

  test.each([
    ["rejected", { ...SETTLED, success: false, errorReason: "insufficient_funds", transaction: "" }, 402],
    ["unknown", new Error("lost"), 503],
  ])("gets the answer to a settlement that is %s", async (_why, settles, status) => {
    const { pay, till } = createShop();
    till.settles = settles;
    const admission = admissionOf(await pay());
    const copy = pay();
    await arrival();
    await admission.complete(HANDLED);
    expect([answerOf(await copy).status, till.count("settle")]).toEqual([status, 1]);
  });

  test("gets the refusal, when the payment turns out to be bad", async () => {
    const { pay, till } = createShop();
    till.verifies = { isValid: false, invalidReason: "insufficient_funds" };
    const statuses = (await Promise.all([pay(), pay(), pay()])).map((decision) => answerOf(decision).json["error"]);
    expect([statuses, till.count("verify")]).toEqual([
      ["insufficient_funds", "insufficient_funds", "insufficient_funds"],
      1,
    ]);
  });

  test("of a payer who has to allow the transfer first is told so, with 412 and the challenge", async () => {
    const { pay, till } = createShop();
    till.verifies = { isValid: false, invalidReason: "permit2_allowance_required" };
    for (const decision of await Promise.all([pay(), pay()])) {
      const { status, headers, json } = answerOf(decision);
      expect([status, json["error"]]).toEqual([412, "permit2_allowance_required"]);
      expect(decodeHeader(headers["payment-required"])).toEqual(json);
    }
  });

  test("is served itself, when the first client leaves", async () => {
    const { pay } = createShop();
    const admission = admissionOf(await pay());
    const copies = [pay(), pay()];
    await admission.cancel();
    const second = await Promise.race(copies);
    await admissionOf(second).complete(HANDLED);
    const others = (await Promise.all(copies)).filter((decision) => decision !== second);
    expect(others.map((decision) => answerOf(decision).text)).toEqual(["sunny"]);
  });

  test("gets nothing of an answer that is too large to keep, once that was paid for", async () => {
    const { pay } = createShop();
    const admission = admissionOf(await pay());
    const copy = pay();
    await admission.complete({ ...HANDLED, body: undefined });
    expect(answerOf(await copy).json["error"]).toBe("payment_already_used");
  });

  test("gets the answer that the payment has run out", async () => {
    const { pay, passTime } = createShop();
    const admission = admissionOf(await pay({ payload: { expiresAtSeconds: 1_800_000_009 } }));
    admission.onExpired(() => {});
    const copy = pay({ payload: { expiresAtSeconds: 1_800_000_009 } });
    await passTime(3_001);
    expect(answerOf(await copy).json["error"]).toBe("payment_expired");
  });

  test("waits for no longer than it is told to", async () => {
    const { pay, passTime, engine } = createShop({ copyWaitMs: 50 });
    await pay();
    const copy = pay();
    await passTime(50);
    const { status, headers } = answerOf(await copy);
    expect([status, headers["retry-after"]]).toEqual([409, "1"]);
    expect(answerOf(await createShopThatDoesNotWait()).status).toBe(409);
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
    for (const other of others) expect(answerOf(await pay({}, other)).json["error"]).toBe("payment_already_used");
  });
});

describe("a copy that comes while the money moves", () => {
  /** Whose settlement is held until it is let go. */
  async function createSettling(payment = {}) {
    const shop = createShop();
    let letGo: (value: unknown) => void = () => {};
    const held = new Promise((resolve) => {
      letGo = resolve;
    });
    shop.till.settles = () => held;
    const admission = admissionOf(await shop.pay(payment, { client: "::1" }));
    const done = admission.complete(HANDLED);
    await new Promise(setImmediate);
    return { ...shop, done, settle: () => letGo(SETTLED) };
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
    const copy = pay(payment, request);
    settle();
    await done;
    expect(answerOf(await copy).status).toBe(status);
  });
});

describe("a payment with an id", () => {
  test("that is sent again gets the same answer and receipt, as often as it is asked for", async () => {
    const { pay, till } = createShop();
    const release = await admissionOf(await pay(withId(ID))).complete(HANDLED);
    for (const _again of [1, 2, 3]) {
      const { status, text, headers } = answerOf(await pay(withId(ID)));
      expect([status, text]).toEqual([200, "sunny"]);
      expect(release).toMatchObject({ headers: [["PAYMENT-RESPONSE", headers["payment-response"]]] });
    }
    expect([till.count("verify"), till.count("settle")]).toEqual([1, 1]);
  });

  test("is nobody else's: without the id, or with another, there is nothing for it", async () => {
    const { pay } = createShop();
    await admissionOf(await pay(withId(ID))).complete(HANDLED);
    for (const copy of [{}, withId(`${ID}x`)]) {
      expect(answerOf(await pay(copy)).json["error"]).toBe("payment_already_used");
    }
  });

  test("whose delivery broke off is given to nobody without the id", async () => {
    const { pay } = createShop();
    const admission = admissionOf(await pay(withId(ID)));
    await admission.complete(HANDLED);
    await admission.undelivered(HANDLED);
    expect(answerOf(await pay()).json["error"]).toBe("payment_already_used");
    expect(answerOf(await pay(withId(ID))).text).toBe("sunny");
  });

  test("whose outcome is unknown is settled for nobody without the id", async () => {
    const { pay, till } = createShop();
    till.settles = new Error("lost");
    await admissionOf(await pay(withId(ID))).complete(HANDLED);
    till.settles = SETTLED;
    expect(answerOf(await pay()).json["error"]).toBe("payment_already_used");
    expect(till.count("settle")).toBe(1);
    expect(answerOf(await pay(withId(ID))).text).toBe("sunny");
  });

  test("that it got only later is as one without: its answer is given once", async () => {
    const { pay, till } = createShop();
    till.settles = new Error("lost");
    await admissionOf(await pay()).complete(HANDLED);
    till.settles = SETTLED;
    expect(answerOf(await pay(withId(ID))).text).toBe("sunny");
    for (const copy of [withId(ID), {}]) {
      expect(answerOf(await pay(copy)).json["error"]).toBe("payment_already_used");
    }
  });

  test("whose answer was not kept says so, and is not asked to pay again", async () => {
    const { pay } = createShop();
    await admissionOf(await pay(withId(ID))).complete({ ...HANDLED, body: undefined });
    const { status, headers, json } = answerOf(await pay(withId(ID)));
    expect([status, json["error"]]).toEqual([409, "answer_not_kept"]);
    expect(headers).not.toHaveProperty("payment-required");
    expect(decodeHeader(headers["payment-response"])).toMatchObject({ success: true, transaction: "0xabc" });
  });

  test("that another payment has is refused, and nothing happens", async () => {
    const { pay, till } = createShop();
    await pay(withId(ID));
    const { status, headers, json } = answerOf(await pay({ ...withId(ID), payload: { nonce: "n2" } }));
    expect([status, json["error"]]).toEqual([409, "payment_identifier_conflict"]);
    expect(headers).not.toHaveProperty("payment-required");
    expect(till.count("verify")).toBe(1);
  });

  test("that was not charged, or was rejected, is free for another payment", async () => {
    const { pay, till } = createShop();
    await admissionOf(await pay(withId(ID))).complete({ ...HANDLED, status: 500 });
    till.settles = { ...SETTLED, success: false, errorReason: "insufficient_funds", transaction: "" };
    await admissionOf(await pay({ ...withId(ID), payload: { nonce: "n2" } })).complete(HANDLED);
    expect(stageOf(await pay({ ...withId(ID), payload: { nonce: "n3" } }))).toBe("held");
  });

  test("is known by its digest alone, and the facilitator does not hear of it", async () => {
    const { pay, till, store } = createShop();
    await admissionOf(await pay(withId(ID))).complete(HANDLED);
    const record = await store.find(IDENTITY);
    expect(record?.identifier).toMatch(/^[\w-]{43}$/);
    expect(JSON.stringify([record, till.calls])).not.toContain(ID);
  });
});

describe("the extension", () => {
  const routesWith = (route: object) => ({ "GET /weather": { ...ROUTES["GET /weather"], ...route } });

  async function challengeOf(route: object) {
    const decision = await createShop({ routes: routesWith(route) }).ask();
    return decodeHeader(answerOf(decision).headers["payment-required"])["extensions"];
  }

  test.each([
    [{}, { required: false }],
    [{ paymentIdentifier: "optional" }, { required: false }],
    [{ paymentIdentifier: "required" }, { required: true }],
    [{ extensions: { "payment-identifier": { info: { required: true }, schema: {} } } }, { required: true }],
    [{ extensions: { "payment-identifier": { info: { required: false }, schema: {} } } }, { required: false }],
  ])("is in the challenge: %j", async (route, info) => {
    expect(await challengeOf(route)).toMatchObject({
      "payment-identifier": { info, schema: { required: ["required"] } },
    });
  });

  test("is not in the challenge when it is off, and then ids are not read", async () => {
    expect(await challengeOf({ paymentIdentifier: "off" })).toBeUndefined();
    const { pay } = createShop({ routes: routesWith({ paymentIdentifier: "off" }) });
    expect(stageOf(await pay(withId("short")))).toBe("held");
  });

  test.each([
    ["sometimes", /"optional", "required" or "off"/],
    [true, /"optional", "required" or "off"/],
  ])("cannot be %j", (paymentIdentifier, message) => {
    expect(() => createShop({ routes: routesWith({ paymentIdentifier }) })).toThrow(message);
  });

  test("cannot be declared as one thing and set to another", () => {
    const declared = { "payment-identifier": { info: { required: false }, schema: {} } };
    const routes = routesWith({ paymentIdentifier: "required", extensions: declared });
    expect(() => createShop({ routes })).toThrow(/"optional", as in extensions\["payment-identifier"\]/);
  });

  test("that is required and missing is answered 400 with a challenge, and nobody is asked", async () => {
    const { pay, till } = createShop({ routes: routesWith({ paymentIdentifier: "required" }) });
    const { status, headers, json } = answerOf(await pay());
    expect([status, json["error"], till.calls.length]).toEqual([
      400,
      'payment_identifier_required: extensions["payment-identifier"].info.id is missing',
      0,
    ]);
    expect(decodeHeader(headers["payment-required"])).toEqual(json);
    expect(stageOf(await pay(withId(ID)))).toBe("held");
  });

  test.each(
    [["", "a".repeat(15), "a".repeat(129), "a b".repeat(8), "é".repeat(16), "a\n".repeat(8), 5, {}, [], true]].flat(),
  )("with an id of another form is answered 400: %j", async (id) => {
    const { pay, till } = createShop();
    const { status, json } = answerOf(await pay(withId(id)));
    expect([status, till.calls.length]).toEqual([400, 0]);
    expect(json["error"]).toMatch(/^invalid_payment_identifier: /);
  });

  test.each([
    [undefined, "absent"],
    [{}, "absent"],
    [{ "payment-identifier": null }, "absent"],
    [{ "payment-identifier": {} }, "absent"],
    [{ "payment-identifier": { info: null } }, "absent"],
    [{ "payment-identifier": { info: {} } }, "absent"],
    [{ "payment-identifier": { info: { id: null } } }, "absent"],
    [{ "payment-identifier": 5 }, "malformed"],
    [{ "payment-identifier": { info: [] } }, "malformed"],
    [JSON.parse('{"__proto__":{"payment-identifier":{"info":{"id":5}}}}'), "absent"],
    [{ "payment-identifier": { info: { id: "a".repeat(16) } } }, "present"],
    [{ "payment-identifier": { info: { id: "a-B_9".repeat(25) } } }, "present"],
  ])("reads %j as %s", (extensions, kind) => {
    expect(readPaymentIdentifier(extensions).kind).toBe(kind);
  });
});

describe("one payer", () => {
  test("has only so many handlers at work, and is told to come back with the same payment", async () => {
    const { pay, store } = createShop({ maxRunsPerPayer: 2 });
    const payments = ["n1", "n2", "n3"].map((nonce) => ({ payload: { nonce } }));
    const [first, , third] = await Promise.all(payments.map((payment) => pay(payment)));
    const { status, headers, json } = answerOf(third!);
    expect([status, headers["retry-after"], json["error"]]).toEqual([429, "1", "too_many_payments"]);
    expect(await store.find(`${NETWORK}|n3`)).toBeUndefined();
    await admissionOf(first!).complete(HANDLED);
    expect(stageOf(await pay(payments[2]))).toBe("held");
  });

  test("is one payer, however the address is written, and another payer is another", async () => {
    const { pay } = createShop({ maxRunsPerPayer: 1 });
    await pay({ payload: { nonce: "n1", payer: "0xAB" } });
    expect(answerOf(await pay({ payload: { nonce: "n2", payer: "0xab" } })).status).toBe(429);
    expect(stageOf(await pay({ payload: { nonce: "n3", payer: "0xac" } }))).toBe("held");
  });
});

test("a request whose body never arrives whole is neither claimed nor verified", async () => {
  const { pay, till, store } = createShop();
  expect(answerOf(await pay({}, { digestBody: async () => undefined })).status).toBe(400);
  expect([await store.find(IDENTITY), till.calls.length]).toEqual([undefined, 0]);
});
