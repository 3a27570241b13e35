import { describe, expect, test } from "vitest";
import { readPaymentIdentifier } from "../protocol/payment-identifier.js";
import {
  admissionOf,
  createShop,
  decodeHeader,
  HANDLED,
  NETWORK,
  ROUTES,
  responseOf,
  SETTLED,
  stageOf,
} from "./shop.fixture.js";

const IDENTITY = `${NETWORK}|n1`;
const ID = "pay_0123456789abcdef";

const withId = (id: unknown) => ({ extensions: { "payment-identifier": { info: { required: false, id } } } });

describe("a payment with an identifier", () => {
  test("a payment with an identifier gets the same response and receipt each time it is sent again", async () => {
    const { pay, facilitator } = createShop();
    const release = await admissionOf(await pay(withId(ID))).complete(HANDLED);
    for (const _again of [1, 2, 3]) {
      const { status, text, headers } = responseOf(await pay(withId(ID)));
      expect([status, text]).toEqual([200, "sunny"]);
      expect(release).toMatchObject({ headers: [["PAYMENT-RESPONSE", headers["payment-response"]]] });
    }
    expect([facilitator.count("verify"), facilitator.count("settle")]).toEqual([1, 1]);
  });

  test("a payment with an identifier gets 402 when it is sent again without its identifier or with another one", async () => {
    const { pay } = createShop();
    await admissionOf(await pay(withId(ID))).complete(HANDLED);
    for (const duplicate of [{}, withId(`${ID}x`)]) {
      expect(responseOf(await pay(duplicate)).json["error"]).toBe("payment_already_used");
    }
  });

  test("a payment with an identifier gets its undelivered response only with its identifier", async () => {
    const { pay } = createShop();
    const admission = admissionOf(await pay(withId(ID)));
    await admission.complete(HANDLED);
    await admission.undelivered(HANDLED);
    expect(responseOf(await pay()).json["error"]).toBe("payment_already_used");
    expect(responseOf(await pay(withId(ID))).text).toBe("sunny");
  });

  test("a payment with an identifier is settled again only with its identifier when the outcome is unknown", async () => {
    const { pay, facilitator } = createShop();
    facilitator.settles = new Error("lost");
    await admissionOf(await pay(withId(ID))).complete(HANDLED);
    facilitator.settles = SETTLED;
    const { status, headers, json } = responseOf(await pay());
    expect([status, json["error"]]).toEqual([503, "settlement_pending"]);
    expect(headers).not.toHaveProperty("payment-required");
    expect(headers).not.toHaveProperty("payment-retry-token");
    expect(facilitator.count("settle")).toBe(1);
    expect(responseOf(await pay(withId(ID))).text).toBe("sunny");
  });

  test("a payment with an identifier that was added later proves nothing, and the response is kept for others, too", async () => {
    const { pay, facilitator } = createShop();
    facilitator.settles = new Error("lost");
    await admissionOf(await pay()).complete(HANDLED);
    facilitator.settles = SETTLED;
    expect(responseOf(await pay(withId(ID))).text).toBe("sunny");
    for (const duplicate of [withId(ID), {}]) expect(responseOf(await pay(duplicate)).text).toBe("sunny");
  });

  test("a payment with an identifier gets 409 and no challenge when its response was not stored", async () => {
    const { pay } = createShop();
    await admissionOf(await pay(withId(ID))).complete({ ...HANDLED, body: undefined });
    const { status, headers, json } = responseOf(await pay(withId(ID)));
    expect([status, json["error"]]).toEqual([409, "answer_not_kept"]);
    expect(headers).not.toHaveProperty("payment-required");
    expect(decodeHeader(headers["payment-response"])).toMatchObject({ success: true, transaction: "0xabc" });
  });

  test("a payment with an identifier gets 409 without verification when another payment has the identifier", async () => {
    const { pay, facilitator } = createShop();
    await pay(withId(ID));
    const { status, headers, json } = responseOf(await pay({ ...withId(ID), payload: { nonce: "n2" } }));
    expect([status, json["error"]]).toEqual([409, "payment_identifier_conflict"]);
    expect(headers).not.toHaveProperty("payment-required");
    expect(facilitator.count("verify")).toBe(1);
  });

  test("another payer and another recipient may use the same identifier", async () => {
    const other = "0x1111111111111111111111111111111111111111";
    const route = { description: "", accepts: { network: NETWORK, price: "$0.01", payTo: other } } as const;
    const routes = { ...ROUTES, "GET /other": route };
    const { pay } = createShop({ routes });
    expect(stageOf(await pay(withId(ID)))).toBe("held");
    expect(stageOf(await pay({ ...withId(ID), payload: { nonce: "n2", payer: "0xother" } }))).toBe("held");
    const elsewhere = { ...withId(ID), payload: { nonce: "n3" }, accepted: { payTo: other } };
    expect(stageOf(await pay(elsewhere, { path: "/other" }))).toBe("held");
    expect(responseOf(await pay({ ...withId(ID), payload: { nonce: "n4" } })).status).toBe(409);
  });

  test("a payment with an identifier frees its identifier when it was not charged or was rejected", async () => {
    const { pay, facilitator } = createShop();
    await admissionOf(await pay(withId(ID))).complete({ ...HANDLED, status: 500 });
    facilitator.settles = { ...SETTLED, success: false, errorReason: "insufficient_funds", transaction: "" };
    await admissionOf(await pay({ ...withId(ID), payload: { nonce: "n2" } })).complete(HANDLED);
    expect(stageOf(await pay({ ...withId(ID), payload: { nonce: "n3" } }))).toBe("held");
  });

  test("a payment with an identifier is stored with the identifier's digest only, and the facilitator does not get the identifier", async () => {
    const { pay, facilitator, store } = createShop();
    await admissionOf(await pay(withId(ID))).complete(HANDLED);
    const record = await store.find(IDENTITY);
    expect(record?.identifier).toMatch(/^[\w-]{43}$/);
    expect(JSON.stringify([record, facilitator.calls])).not.toContain(ID);
  });
});

describe("the payment-identifier extension", () => {
  const routesWith = (route: object) => ({ "GET /weather": { ...ROUTES["GET /weather"], ...route } });

  async function challengeOf(route: object) {
    const decision = await createShop({ routes: routesWith(route) }).ask();
    return decodeHeader(responseOf(decision).headers["payment-required"])["extensions"];
  }

  test.each([
    [{}, { required: false }],
    [{ paymentIdentifier: "optional" }, { required: false }],
    [{ paymentIdentifier: "required" }, { required: true }],
    [{ extensions: { "payment-identifier": { info: { required: true }, schema: {} } } }, { required: true }],
    [{ extensions: { "payment-identifier": { info: { required: false }, schema: {} } } }, { required: false }],
  ])("the payment-identifier extension is declared in the challenge of a route with %j", async (route, info) => {
    expect(await challengeOf(route)).toMatchObject({
      "payment-identifier": { info, schema: { required: ["required"] } },
    });
  });

  test("the payment-identifier extension is neither declared nor read when paymentIdentifier is off", async () => {
    expect(await challengeOf({ paymentIdentifier: "off" })).toBeUndefined();
    const { pay } = createShop({ routes: routesWith({ paymentIdentifier: "off" }) });
    expect(stageOf(await pay(withId("short")))).toBe("held");
  });

  test.each([
    ["sometimes", /"optional", "required" or "off"/],
    [true, /"optional", "required" or "off"/],
  ])("throws at startup for paymentIdentifier %j", (paymentIdentifier, message) => {
    expect(() => createShop({ routes: routesWith({ paymentIdentifier }) })).toThrow(message);
  });

  test("throws at startup when the declaration and paymentIdentifier differ", () => {
    const declared = { "payment-identifier": { info: { required: false }, schema: {} } };
    const routes = routesWith({ paymentIdentifier: "required", extensions: declared });
    expect(() => createShop({ routes })).toThrow(/"optional", as in extensions\["payment-identifier"\]/);
  });

  test("answers 400 with a challenge and calls no facilitator when a required identifier is missing", async () => {
    const { pay, facilitator } = createShop({ routes: routesWith({ paymentIdentifier: "required" }) });
    const { status, headers, json } = responseOf(await pay());
    expect([status, json["error"], facilitator.calls.length]).toEqual([
      400,
      'payment_identifier_required: extensions["payment-identifier"].info.id is missing',
      0,
    ]);
    expect(decodeHeader(headers["payment-required"])).toEqual(json);
    expect(stageOf(await pay(withId(ID)))).toBe("held");
  });

  test.each(
    [["", "a".repeat(15), "a".repeat(129), "a b".repeat(8), "é".repeat(16), "a\n".repeat(8), 5, {}, [], true]].flat(),
  )("answers 400 for the malformed identifier %j", async (id) => {
    const { pay, facilitator } = createShop();
    const { status, json } = responseOf(await pay(withId(id)));
    expect([status, facilitator.calls.length]).toEqual([400, 0]);
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
  ])("readPaymentIdentifier reads the extensions %j as %s", (extensions, kind) => {
    expect(readPaymentIdentifier(extensions).kind).toBe(kind);
  });
});
