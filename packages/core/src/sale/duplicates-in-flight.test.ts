import { describe, expect, test } from "vitest";
import { admissionOf, createShop, decodeHeader, HANDLED, responseOf, SETTLED } from "./shop.fixture.js";

const ID = "pay_0123456789abcdef";

/** Lets the gate read a request before the next step. */
const arrival = () => new Promise(setImmediate);

const withId = (id: unknown) => ({ extensions: { "payment-identifier": { info: { required: false, id } } } });

describe("a duplicate while the handler runs", () => {
  test("a duplicate gets the response and receipt of the first request", async () => {
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

  test("a duplicate gets the error response of the first request without a charge", async () => {
    const { pay, facilitator } = createShop();
    const admission = admissionOf(await pay());
    const duplicate = pay();
    await arrival();
    await admission.complete({ ...HANDLED, status: 500, headers: [["Cache-Control", "public"]] });
    const { status, headers } = responseOf(await duplicate);
    expect([status, headers["cache-control"], facilitator.count("settle")]).toEqual([500, "private", 0]);
    expect(decodeHeader(headers["payment-response"])).toMatchObject({ success: false, errorReason: "not_charged" });
  });

  test.each([
    ["rejected", { ...SETTLED, success: false, errorReason: "insufficient_funds", transaction: "" }, 402],
    ["unknown", new Error("lost"), 503],
  ])("a duplicate gets the response of the first request when the settlement is %s", async (_why, settles, status) => {
    const { pay, facilitator } = createShop();
    facilitator.settles = settles;
    const admission = admissionOf(await pay());
    const duplicate = pay();
    await arrival();
    await admission.complete(HANDLED);
    expect([responseOf(await duplicate).status, facilitator.count("settle")]).toEqual([status, 1]);
  });

  test("a duplicate gets the refusal of the first request when the payment is invalid", async () => {
    const { pay, facilitator } = createShop();
    facilitator.verifies = { isValid: false, invalidReason: "insufficient_funds" };
    const statuses = (await Promise.all([pay(), pay(), pay()])).map((decision) => responseOf(decision).json["error"]);
    expect([statuses, facilitator.count("verify")]).toEqual([
      ["insufficient_funds", "insufficient_funds", "insufficient_funds"],
      1,
    ]);
  });

  test("a duplicate gets 412 with the challenge when the payer has to allow the transfer first", async () => {
    const { pay, facilitator } = createShop();
    facilitator.verifies = { isValid: false, invalidReason: "permit2_allowance_required" };
    for (const decision of await Promise.all([pay(), pay()])) {
      const { status, headers, json } = responseOf(decision);
      expect([status, json["error"]]).toEqual([412, "permit2_allowance_required"]);
      expect(decodeHeader(headers["payment-required"])).toEqual(json);
    }
  });

  test("a duplicate runs the handler itself when the first client disconnects", async () => {
    const { pay } = createShop();
    const admission = admissionOf(await pay());
    const duplicates = [pay(), pay()];
    await admission.cancel();
    const second = await Promise.race(duplicates);
    await admissionOf(second).complete(HANDLED);
    const others = (await Promise.all(duplicates)).filter((decision) => decision !== second);
    expect(others.map((decision) => responseOf(decision).text)).toEqual(["sunny"]);
  });

  test("a duplicate gets 409 with the receipt after a paid response that is too large to store", async () => {
    const { pay } = createShop();
    const admission = admissionOf(await pay());
    const duplicate = pay();
    await admission.complete({ ...HANDLED, body: undefined });
    const { status, headers, json } = responseOf(await duplicate);
    // It came while only the payer knew the payment.
    expect([status, json["error"]]).toEqual([409, "answer_not_kept"]);
    expect(decodeHeader(headers["payment-response"])).toMatchObject({ success: true });
  });

  test("a duplicate gets payment_expired when the handler is too late", async () => {
    const { pay, passTime } = createShop({ copyWaitMs: 60_000 });
    const admission = admissionOf(await pay({ payload: { expiresAtSeconds: 1_800_000_017 } }));
    admission.onExpired(() => {});
    const duplicate = pay({ payload: { expiresAtSeconds: 1_800_000_017 } });
    await passTime(11_001);
    expect(responseOf(await duplicate).json["error"]).toBe("payment_expired");
  });

  test("a duplicate waits for at most copyWaitMs", async () => {
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

  test("a duplicate gets 402 at once when it is for another request", async () => {
    const { pay } = createShop();
    await pay();
    const others = [{ search: "?a=1" }, { method: "HEAD" }, { digestBody: () => "another" }];
    for (const other of others) expect(responseOf(await pay({}, other)).json["error"]).toBe("payment_already_used");
  });
});

describe("a duplicate while the payment is settled", () => {
  /** A shop whose settlement waits until the test lets it end. */
  async function createSettling(payment: object, client: string) {
    const shop = createShop();
    let resolveSettle: (value: unknown) => void = () => {};
    const held = new Promise((resolve) => {
      resolveSettle = resolve;
    });
    shop.facilitator.settles = () => held;
    const admission = admissionOf(await shop.pay(payment, { client }));
    const done = admission.complete(HANDLED);
    await new Promise(setImmediate);
    return { ...shop, done, settle: () => resolveSettle(SETTLED) };
  }

  test.each([
    ["gets the response when it comes from the same address", {}, {}, { client: "2001:db8::1" }, 200],
    ["gets 402 when it comes from another address", {}, {}, { client: "2001:db8::2" }, 402],
    ["gets 402 when its address is unknown", {}, {}, {}, 402],
    [
      "gets the response from any address when it has the same id",
      withId(ID),
      withId(ID),
      { client: "2001:db8::2" },
      200,
    ],
    ["gets 402 without the id of the first request", withId(ID), {}, { client: "2001:db8::1" }, 402],
    ["gets 402 with another id", withId(ID), withId(`${ID}x`), { client: "2001:db8::1" }, 402],
  ])("a duplicate during settlement %s", async (_who, first, payment, request, status) => {
    const { pay, done, settle } = await createSettling(first, "2001:db8::1");
    const duplicate = pay(payment, request);
    settle();
    await done;
    expect(responseOf(await duplicate).status).toBe(status);
  });

  test.each([
    ...["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.1.2.3", "::ffff:10.1.2.3", "172.16.0.1", "172.31.255.255"],
    ...[
      "192.168.1.1",
      "169.254.1.1",
      "100.64.0.1",
      "100.127.0.1",
      "fc00::1",
      "fd12::1",
      "fe80::1%eth0",
      "0.0.0.0",
      "::",
    ],
  ])("a duplicate during settlement gets 402 when both come from %s, which others may have, too", async (client) => {
    const { pay, done, settle } = await createSettling({}, client);
    const duplicate = pay({}, { client });
    settle();
    await done;
    expect(responseOf(await duplicate).status).toBe(402);
  });

  test.each(["9.255.255.255", "11.0.0.1", "172.15.0.1", "172.32.0.1", "100.128.0.1", "::ffff:8.8.8.8", "session-7"])(
    "a duplicate during settlement gets the response when both come from %s",
    async (client) => {
      const { pay, done, settle } = await createSettling({}, client);
      const duplicate = pay({}, { client });
      settle();
      await done;
      expect(responseOf(await duplicate).status).toBe(200);
    },
  );
});
