import { describe, expect, test } from "vitest";
import { FacilitatorError } from "../errors.js";
import {
  admissionOf,
  answerOf,
  createShop,
  createTestScheme,
  decodeHeader,
  HANDLED,
  NETWORK,
  NOW_SECONDS,
  PAY_TO,
  PAYER,
  type PaymentWish,
  paymentOf,
  SETTLED,
  stageOf,
} from "./shop.fixture.js";

/** What every answer about payment has in common. */
function expectNotKept(headers: Readonly<Record<string, string>>): void {
  expect(headers["cache-control"]).toBe("no-store");
}

describe("a request that is not priced", () => {
  test.each(["/free", "/weather/paris", "/"])("%s is let through, whatever payment it carries", async (path) => {
    const { ask, pay, till } = createShop();
    expect(await ask({ path })).toEqual({ kind: "pass", isGranted: false });
    expect(await pay({}, { path })).toEqual({ kind: "pass", isGranted: false });
    expect(await ask({ path, paymentSignature: "junk" })).toEqual({ kind: "pass", isGranted: false });
    expect(till.calls).toEqual([]);
  });
});

describe("a priced request without a payment", () => {
  test("is challenged: the same document in header and body", async () => {
    const { status, headers, json } = answerOf(await createShop().ask({ search: "?a=1" }));
    expect(status).toBe(402);
    expectNotKept(headers);
    expect(headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(decodeHeader(headers["payment-required"])).toEqual(json);
    expect(json).toMatchObject({
      x402Version: 2,
      error: "Payment required",
      resource: { url: "http://shop.example/weather", description: "Weather", mimeType: "" },
      accepts: [{ scheme: "exact", network: NETWORK, amount: "10000", payTo: PAY_TO, maxTimeoutSeconds: 300 }],
    });
  });

  test.each<[request: object, url: string, why: string]>([
    [{ mountPath: "/api", path: "/weather" }, "http://shop.example/api/weather", "the mount path is part of it"],
    [{ origin: undefined }, "http://localhost/weather", "no usable Host"],
    [{ path: "/WEATHER/" }, "http://shop.example/WEATHER/", "as the client wrote it"],
  ])("names the resource of %j as %s: %s", async (request, url) => {
    expect(answerOf(await createShop().ask(request)).json).toMatchObject({ resource: { url } });
  });

  test("names the resource by the public URL, whatever Host says", async () => {
    const { ask } = createShop({ publicUrl: "https://api.example.com/v1/" });
    const { json } = answerOf(await ask({ origin: "http://evil.example" }));
    expect(json).toMatchObject({ resource: { url: "https://api.example.com/v1/weather" } });
  });
});

describe("a malformed payment", () => {
  test.each<[why: string, header: string, error: string]>([
    ["empty", "", "invalid_payload: PAYMENT-SIGNATURE is not standard base64 of JSON, or nested too deeply"],
    ["no base64", "!", "invalid_payload: PAYMENT-SIGNATURE is not standard base64 of JSON, or nested too deeply"],
    ["too long", "A".repeat(17_000), "invalid_payload: PAYMENT-SIGNATURE is longer than 16384 characters"],
    ["null", "bnVsbA==", "invalid_payload: PAYMENT-SIGNATURE is not a JSON object"],
    ["of no version", "e30=", "invalid_x402_version: PAYMENT-SIGNATURE is not of x402Version 2, which is a number"],
  ])("that is %s is answered 400 with a challenge that says so", async (_why, paymentSignature, error) => {
    const { ask, till } = createShop();
    const { status, headers, json } = answerOf(await ask({ paymentSignature }));
    expect(status).toBe(400);
    expectNotKept(headers);
    expect(json).toMatchObject({ error, accepts: [{ amount: "10000" }] });
    expect(decodeHeader(headers["payment-required"])).toEqual(json);
    expect(till.calls).toEqual([]);
  });
});

describe("a payment for something else", () => {
  test.each<[accepted: PaymentWish["accepted"], field: string]>([
    [{ scheme: "upto" }, "scheme"],
    [{ network: "eip155:1" }, "network"],
    [{ asset: "0xOTHER" }, "asset"],
    [{ payTo: PAYER }, "payTo"],
    [{ amount: "9999" }, "amount"],
    [{ amount: "20000" }, "amount"],
  ])("that accepts %j is challenged, and told of the %s", async (accepted, field) => {
    const { pay, till } = createShop();
    const { status, json } = answerOf(await pay({ accepted: accepted! }));
    expect([status, json["error"]]).toEqual([402, `invalid_payment_requirements: ${field} is not as offered`]);
    expect(till.calls).toEqual([]);
  });
});

describe("a payment that the scheme refuses", () => {
  test("is challenged with the reason, and nobody is asked", async () => {
    const { pay, till } = createShop();
    const { status, json } = answerOf(await pay({ payload: { nonce: undefined as never } }));
    expect([status, json["error"]]).toEqual([402, "invalid_payload"]);
    expect(till.calls).toEqual([]);
  });

  test("for its time is challenged with that reason when nobody knows it", async () => {
    const { pay, till, store } = createShop();
    const { status, json } = answerOf(await pay({ payload: { expiresAtSeconds: NOW_SECONDS - 1 } }));
    expect([status, json["error"]]).toEqual([402, "invalid_exact_evm_payload_authorization_valid_before"]);
    expect(till.calls).toEqual([]);
    expect(await store.find(`${NETWORK}|n1`)).toBeUndefined();
  });

  test.each<[thrown: unknown, name: string]>([
    [new RangeError("secret"), "RangeError"],
    ["secret", "unknown"],
  ])("by throwing %o is answered 503, and nobody is asked", async (thrown, error) => {
    const scheme = createTestScheme({
      readPayment: () => {
        throw thrown;
      },
    });
    const { pay, till, log } = createShop({ scheme });
    const { status, headers, text } = answerOf(await pay());
    expect([status, headers["retry-after"]]).toEqual([503, "5"]);
    expect(text).not.toContain("secret");
    expect(till.calls).toEqual([]);
    expect(log).toEqual([{ event: "decision_failed", fields: { route: "GET /weather", error } }]);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 0.5])(
    "by an expiry of %d is answered 503",
    async (expiresAtSeconds) => {
      const reading = { kind: "readable" as const, identity: "p", payer: "0x", expiresAtSeconds };
      const readPayment = () => ({ ...reading, expiredReason: "invalid_payload" as const });
      const { pay, till } = createShop({ scheme: createTestScheme({ readPayment }) });
      expect([answerOf(await pay()).status, till.calls]).toEqual([503, []]);
    },
  );
});

describe("a payment that the facilitator does not verify", () => {
  const failure = (code: string, more = {}) =>
    new FacilitatorError("secret", { code, operation: "verify", outcome: "none", ...more } as never);

  test.each<[answer: unknown, status: number, error: string, why: string]>([
    [{ isValid: false, invalidReason: "insufficient_funds" }, 402, "insufficient_funds", "a reason of the protocol"],
    [
      { isValid: false, invalidReason: "permit2_allowance_required" },
      412,
      "permit2_allowance_required",
      "an allowance comes first",
    ],
    [{ isValid: false }, 402, "invalid_payload", "no reason"],
    [{ isValid: false, invalidReason: "Sorry: secret" }, 402, "invalid_payload", "prose goes no further"],
    [{ isValid: false, invalidReason: "unexpected_verify_error" }, 503, "unexpected_verify_error", "its own trouble"],
    [{ isValid: "true" }, 503, "unexpected_verify_error", "no answer"],
    [undefined, 503, "unexpected_verify_error", "no answer"],
    [failure("ERR_FAREBOX_FACILITATOR_STATUS", { status: 401 }), 503, "unexpected_verify_error", "bad credentials"],
    [failure("ERR_FAREBOX_FACILITATOR_TIMEOUT"), 503, "unexpected_verify_error", "too slow"],
    [new TypeError("secret"), 503, "unexpected_verify_error", "broken"],
  ])("%o: %i %s, %s", async (answer, status, error) => {
    const { pay, till } = createShop();
    till.verifies = answer;
    const refused = answerOf(await pay());
    expect([refused.status, refused.json["error"]]).toEqual([status, error]);
    expectNotKept(refused.headers);
    expect("payment-required" in refused.headers).toBe(status < 500);
    expect("retry-after" in refused.headers).toBe(status === 503);
    expect(refused.text + JSON.stringify(refused.headers)).not.toContain("secret");

    till.verifies = { isValid: true };
    expect(stageOf(await pay())).toBe("held");
  });

  test("is asked for again when the facilitator said it may", async () => {
    const { pay, till } = createShop();
    till.verifies = failure("ERR_FAREBOX_FACILITATOR_STATUS", { status: 429, retryAfterSeconds: 40 });
    expect(answerOf(await pay()).headers["retry-after"]).toBe("40");
  });
});

describe("a payment that is good", () => {
  test("admits the request, with what the handler may know", async () => {
    const { pay, till } = createShop();
    const { payment } = admissionOf(await pay());
    const place = { routeTemplate: "/weather", pathParams: {} };
    const terms = { scheme: "exact", network: NETWORK, asset: "0xASSET", amount: "10000" };
    expect(payment).toEqual({ payer: PAYER, ...terms, maxAmount: "10000", ...place });
    expect(Object.isFrozen(payment)).toBe(true);
    expect(till.count("verify")).toBe(1);
    expect(till.count("settle")).toBe(0);
  });

  test("may name the amount as older clients do", async () => {
    const accepted = { amount: undefined as never, maxAmountRequired: "10000" };
    expect(stageOf(await createShop().pay({ accepted }))).toBe("held");
  });

  test("is verified and settled with our own words, whatever the client echoed", async () => {
    const { pay, till } = createShop();
    const accepted = { extra: { name: "Evil" }, maxTimeoutSeconds: 1 } as PaymentWish["accepted"];
    const wish = { accepted: accepted!, resource: { url: "http://evil.example" }, extensions: { evil: { info: {} } } };
    await admissionOf(await pay(wish)).complete(HANDLED);
    expect(till.calls.map(({ operation }) => operation)).toEqual(["verify", "settle"]);
    for (const { request } of till.calls) {
      const { accepted, resource, payload, ...rest } = request.paymentPayload;
      expect(accepted).toBe(request.paymentRequirements);
      expect(accepted).toEqual({
        scheme: "exact",
        network: NETWORK,
        amount: "10000",
        asset: "0xASSET",
        payTo: PAY_TO,
        maxTimeoutSeconds: 300,
        extra: { name: "USDC", version: "2" },
      });
      expect(resource).toEqual({ url: "http://shop.example/weather", description: "Weather", mimeType: "" });
      expect(payload).toEqual(paymentOf().payload);
      expect(rest).toEqual({ x402Version: 2 });
    }
  });

  test("is settled, and the answer goes out with its receipt", async () => {
    const { pay, store } = createShop();
    const release = await admissionOf(await pay()).complete(HANDLED);
    expect(release).toEqual({ kind: "release", paid: true, headers: [["PAYMENT-RESPONSE", expect.any(String)]] });
    const receipt = release.kind === "release" ? decodeHeader(release.headers[0]?.[1]) : {};
    expect(receipt).toEqual({ ...SETTLED, amount: "10000" });
    expect((await store.find(`${NETWORK}|n1`))?.state).toBe("settled");
  });
});
