import { describe, expect, test } from "vitest";
import { FacilitatorError } from "../errors.js";
import {
  admissionOf,
  createShop,
  createTestScheme,
  decodeHeader,
  HANDLED,
  NETWORK,
  NOW_SECONDS,
  PAY_TO,
  PAYER,
  type PaymentOverrides,
  paymentOf,
  responseOf,
  SETTLED,
  stageOf,
} from "./shop.fixture.js";

/** What every answer about payment has in common. */
function expectNotKept(headers: Readonly<Record<string, string>>): void {
  expect(headers["cache-control"]).toBe("no-store");
}

describe("a request that is not priced", () => {
  test.each(["/free", "/weather/paris", "/"])("%s is let through, whatever payment it carries", async (path) => {
    const { ask, pay, facilitator } = createShop();
    expect(await ask({ path })).toEqual({ kind: "pass", isGranted: false });
    expect(await pay({}, { path })).toEqual({ kind: "pass", isGranted: false });
    expect(await ask({ path, paymentSignature: "junk" })).toEqual({ kind: "pass", isGranted: false });
    expect(facilitator.calls).toEqual([]);
  });
});

describe("a priced request without a payment", () => {
  test("is challenged: the same document in header and body", async () => {
    const { status, headers, json } = responseOf(await createShop().ask({ search: "?a=1" }));
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
    expect(responseOf(await createShop().ask(request)).json).toMatchObject({ resource: { url } });
  });

  test("names the resource by the public URL, whatever Host says", async () => {
    const { ask } = createShop({ publicUrl: "https://api.example.com/v1/" });
    const { json } = responseOf(await ask({ origin: "http://evil.example" }));
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
    const { ask, facilitator } = createShop();
    const { status, headers, json } = responseOf(await ask({ paymentSignature }));
    expect(status).toBe(400);
    expectNotKept(headers);
    expect(json).toMatchObject({ error, accepts: [{ amount: "10000" }] });
    expect(decodeHeader(headers["payment-required"])).toEqual(json);
    expect(facilitator.calls).toEqual([]);
  });
});

describe("a payment for something else", () => {
  test.each<[accepted: PaymentOverrides["accepted"], field: string]>([
    [{ scheme: "upto" }, "scheme"],
    [{ network: "eip155:1" }, "network"],
    [{ asset: "0xOTHER" }, "asset"],
    [{ payTo: PAYER }, "payTo"],
    [{ amount: "9999" }, "amount"],
    [{ amount: "20000" }, "amount"],
  ])("that accepts %j is challenged, and told of the %s", async (accepted, field) => {
    const { pay, facilitator } = createShop();
    const { status, json } = responseOf(await pay({ accepted: accepted! }));
    expect([status, json["error"]]).toEqual([402, `invalid_payment_requirements: ${field} is not as offered`]);
    expect(facilitator.calls).toEqual([]);
  });
});

describe("a payment that the scheme refuses", () => {
  test("is challenged with the reason, and nobody is asked", async () => {
    const { pay, facilitator } = createShop();
    const { status, json } = responseOf(await pay({ payload: { nonce: undefined as never } }));
    expect([status, json["error"]]).toEqual([402, "invalid_payload"]);
    expect(facilitator.calls).toEqual([]);
  });

  test("for its time is challenged with that reason when nobody knows it", async () => {
    const { pay, facilitator, store } = createShop();
    const { status, json } = responseOf(await pay({ payload: { expiresAtSeconds: NOW_SECONDS - 1 } }));
    expect([status, json["error"]]).toEqual([402, "invalid_exact_evm_payload_authorization_valid_before"]);
    expect(facilitator.calls).toEqual([]);
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
    const { pay, facilitator, log } = createShop({ scheme });
    const { status, headers, text } = responseOf(await pay());
    expect([status, headers["retry-after"]]).toEqual([503, "5"]);
    expect(text).not.toContain("secret");
    expect(facilitator.calls).toEqual([]);
    expect(log).toEqual([{ event: "decision_failed", fields: { route: "GET /weather", error } }]);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 0.5])(
    "by an expiry of %d is answered 503",
    async (expiresAtSeconds) => {
      const reading = { kind: "readable" as const, identity: "p", payer: "0x", expiresAtSeconds };
      const readPayment = () => ({ ...reading, expiredReason: "invalid_payload" as const });
      const { pay, facilitator } = createShop({ scheme: createTestScheme({ readPayment }) });
      expect([responseOf(await pay()).status, facilitator.calls]).toEqual([503, []]);
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
    const { pay, facilitator } = createShop();
    facilitator.verifies = answer;
    const refused = responseOf(await pay());
    expect([refused.status, refused.json["error"]]).toEqual([status, error]);
    expectNotKept(refused.headers);
    expect("payment-required" in refused.headers).toBe(status < 500);
    expect("retry-after" in refused.headers).toBe(status === 503);
    expect(refused.text + JSON.stringify(refused.headers)).not.toContain("secret");

    facilitator.verifies = { isValid: true };
    expect(stageOf(await pay())).toBe("held");
  });

  test("is asked for again when the facilitator said it may", async () => {
    const { pay, facilitator } = createShop();
    facilitator.verifies = failure("ERR_FAREBOX_FACILITATOR_STATUS", { status: 429, retryAfterSeconds: 40 });
    expect(responseOf(await pay()).headers["retry-after"]).toBe("40");
  });
});

describe("a payment that is good", () => {
  test("admits the request, with what the handler may know", async () => {
    const { pay, facilitator } = createShop();
    const { payment } = admissionOf(await pay());
    const place = { routeTemplate: "/weather", pathParams: {} };
    const terms = { scheme: "exact", network: NETWORK, asset: "0xASSET", amount: "10000" };
    expect(payment).toEqual({ payer: PAYER, ...terms, maxAmount: "10000", ...place });
    expect(Object.isFrozen(payment)).toBe(true);
    expect(facilitator.count("verify")).toBe(1);
    expect(facilitator.count("settle")).toBe(0);
  });

  test("may name the amount as older clients do", async () => {
    const accepted = { amount: undefined as never, maxAmountRequired: "10000" };
    expect(stageOf(await createShop().pay({ accepted }))).toBe("held");
  });

  test("is verified and settled with our own words, whatever the client echoed", async () => {
    const { pay, facilitator } = createShop();
    const accepted = { extra: { name: "Evil" }, maxTimeoutSeconds: 1 } as PaymentOverrides["accepted"];
    const wish = { accepted: accepted!, resource: { url: "http://evil.example" }, extensions: { evil: { info: {} } } };
    await admissionOf(await pay(wish)).complete(HANDLED);
    expect(facilitator.calls.map(({ operation }) => operation)).toEqual(["verify", "settle"]);
    for (const { request } of facilitator.calls) {
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

describe("one payer", () => {
  test("has only so many handlers at work, and is told to come back with the same payment", async () => {
    const { pay, store } = createShop({ maxRunsPerPayer: 2 });
    const payments = ["n1", "n2", "n3"].map((nonce) => ({ payload: { nonce } }));
    const [first, , third] = await Promise.all(payments.map((payment) => pay(payment)));
    const { status, headers, json } = responseOf(third!);
    expect([status, headers["retry-after"], json["error"]]).toEqual([429, "1", "too_many_payments"]);
    expect(await store.find(`${NETWORK}|n3`)).toBeUndefined();
    await admissionOf(first!).complete(HANDLED);
    expect(stageOf(await pay(payments[2]))).toBe("held");
  });

  test("is one payer, however the address is written, and another payer is another", async () => {
    const { pay } = createShop({ maxRunsPerPayer: 1 });
    await pay({ payload: { nonce: "n1", payer: "0xAB" } });
    expect(responseOf(await pay({ payload: { nonce: "n2", payer: "0xab" } })).status).toBe(429);
    expect(stageOf(await pay({ payload: { nonce: "n3", payer: "0xac" } }))).toBe("held");
  });
});

test("a request whose body never arrives whole is neither claimed nor verified", async () => {
  const { pay, facilitator, store } = createShop();
  expect(responseOf(await pay({}, { digestBody: async () => undefined })).status).toBe(400);
  expect([await store.find(`${NETWORK}|n1`), facilitator.calls.length]).toEqual([undefined, 0]);
});
