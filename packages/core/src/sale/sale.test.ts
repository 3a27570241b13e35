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

/** Every response about payment is kept out of caches. */
function expectNotCached(headers: Readonly<Record<string, string>>): void {
  expect(headers["cache-control"]).toBe("no-store");
}

/** A scheme that reads this of each payment. */
function schemeReading({
  identity,
  expiresAtSeconds = NOW_SECONDS + 300,
}: {
  readonly identity: string;
  readonly expiresAtSeconds?: number;
}) {
  const reading = { kind: "readable", payload: {}, identity, payer: "0x", expiresAtSeconds } as const;
  return createTestScheme({ readPayment: () => ({ ...reading, expiredReason: "invalid_payload" }) });
}

describe("a request without a price", () => {
  test.each(["/free", "/weather/paris", "/"])("passes %s through, with or without a payment", async (path) => {
    const { ask, pay, facilitator } = createShop();
    expect(await ask({ path })).toEqual({ kind: "pass", isGranted: false });
    expect(await pay({}, { path })).toEqual({ kind: "pass", isGranted: false });
    expect(await ask({ path, paymentSignature: "junk" })).toEqual({ kind: "pass", isGranted: false });
    expect(facilitator.calls).toEqual([]);
  });
});

describe("a priced request without a payment", () => {
  test("answers 402 with the same challenge in header and body", async () => {
    const { status, headers, json } = responseOf(await createShop().ask({ search: "?a=1" }));
    expect(status).toBe(402);
    expectNotCached(headers);
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
    [{ mountPath: "/api", path: "/weather" }, "http://shop.example/api/weather", "the mount path is included"],
    [{ origin: undefined }, "http://localhost/weather", "without a usable Host"],
    [{ path: "/WEATHER/" }, "http://shop.example/WEATHER/", "as the client wrote it"],
  ])("writes the URL of %j as %s in the challenge: %s", async (request, url) => {
    expect(responseOf(await createShop().ask(request)).json).toMatchObject({ resource: { url } });
  });

  test("writes the public URL in the challenge, even if Host differs", async () => {
    const { ask } = createShop({ publicUrl: "https://api.example.com/v1/" });
    const { json } = responseOf(await ask({ origin: "http://evil.example" }));
    expect(json).toMatchObject({ resource: { url: "https://api.example.com/v1/weather" } });
  });
});

describe("a malformed payment", () => {
  test.each<[why: string, header: string, error: string]>([
    ["empty", "", "invalid_payload: PAYMENT-SIGNATURE is not standard base64 of JSON, or nested too deeply"],
    ["not base64", "!", "invalid_payload: PAYMENT-SIGNATURE is not standard base64 of JSON, or nested too deeply"],
    ["too long", "A".repeat(17_000), "invalid_payload: PAYMENT-SIGNATURE is longer than 16384 characters"],
    ["null", "bnVsbA==", "invalid_payload: PAYMENT-SIGNATURE is not a JSON object"],
    ["without a version", "e30=", "invalid_x402_version: PAYMENT-SIGNATURE is not of x402Version 2, which is a number"],
  ])(
    "answers 400 with a challenge that names the problem when the payment is %s",
    async (_why, paymentSignature, error) => {
      const { ask, facilitator } = createShop();
      const { status, headers, json } = responseOf(await ask({ paymentSignature }));
      expect(status).toBe(400);
      expectNotCached(headers);
      expect(json).toMatchObject({ error, accepts: [{ amount: "10000" }] });
      expect(decodeHeader(headers["payment-required"])).toEqual(json);
      expect(facilitator.calls).toEqual([]);
    },
  );
});

describe("a payment that matches no offer", () => {
  test.each<[accepted: PaymentOverrides["accepted"], field: string]>([
    [{ scheme: "upto" }, "scheme"],
    [{ network: "eip155:1" }, "network"],
    [{ asset: "0xOTHER" }, "asset"],
    [{ payTo: PAYER }, "payTo"],
    [{ amount: "9999" }, "amount"],
    [{ amount: "20000" }, "amount"],
  ])("answers 402 for the payment with %j and names the field %s", async (accepted, field) => {
    const { pay, facilitator } = createShop();
    const { status, json } = responseOf(await pay({ accepted: accepted! }));
    expect([status, json["error"]]).toEqual([402, `invalid_payment_requirements: ${field} is not as offered`]);
    expect(facilitator.calls).toEqual([]);
  });
});

describe("a payment that the scheme refuses", () => {
  test("answers 402 with the scheme's reason and calls no facilitator", async () => {
    const { pay, facilitator } = createShop();
    const { status, json } = responseOf(await pay({ payload: { nonce: undefined as never } }));
    expect([status, json["error"]]).toEqual([402, "invalid_payload"]);
    expect(facilitator.calls).toEqual([]);
  });

  test("answers 402 with the expiry reason when the payment has no record", async () => {
    const { pay, facilitator, store } = createShop();
    const { status, json } = responseOf(await pay({ payload: { expiresAtSeconds: NOW_SECONDS - 1 } }));
    expect([status, json["error"]]).toEqual([402, "invalid_exact_evm_payload_authorization_valid_before"]);
    expect(facilitator.calls).toEqual([]);
    expect(await store.find(`${NETWORK}|n1`)).toBeUndefined();
  });

  test.each<[thrown: unknown, name: string]>([
    [new RangeError("secret"), "RangeError"],
    ["secret", "unknown"],
  ])("answers 503 and calls no facilitator when the scheme throws %o", async (thrown, error) => {
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

  test.each([
    ["NUL", "a\0b"],
    ["NUL alone", "\0"],
    ["half a surrogate pair", "a\ud800"],
    ["the other half", "\udc00b"],
    ["no character", ""],
    ["2001 characters", "x".repeat(2001)],
  ])("answers 503 when the scheme gives an identity of %s, which no store can hold", async (_what, identity) => {
    const { pay, facilitator, store } = createShop({ scheme: schemeReading({ identity }) });
    expect([responseOf(await pay()).status, facilitator.calls]).toEqual([503, []]);
    expect(await store.find(identity)).toBeUndefined();
  });

  test("accepts an identity of any other text, and records well-formed text for any path", async () => {
    const identity = "\u0001 支付 😀 '\"\\ \u2028";
    const { pay, store } = createShop({ scheme: schemeReading({ identity }) });
    await pay({}, { search: "?a=\0\ud800😀" });
    const record = await store.find(identity);
    expect(record).toMatchObject({ route: "GET /weather", method: "GET", target: "/weather?a=%00\ufffd😀" });
    expect(record?.binding).toMatch(/^[\w-]{43}$/);
  });

  test("a payment for a path is refused for another one that a record writes alike", async () => {
    const { pay } = createShop();
    await admissionOf(await pay({}, { search: "?a=\0\ud800" })).complete(HANDLED);
    for (const search of ["?a=%00\ufffd", "?a=\0\udc00", "?a=\\u0000\\ud800", "?a="]) {
      expect(responseOf(await pay({}, { search })).json["error"]).toBe("payment_already_used");
    }
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 0.5])(
    "answers 503 when the scheme reads an expiry of %d",
    async (expiresAtSeconds) => {
      const { pay, facilitator } = createShop({ scheme: schemeReading({ identity: "p", expiresAtSeconds }) });
      expect([responseOf(await pay()).status, facilitator.calls]).toEqual([503, []]);
    },
  );
});

describe("a payment that the facilitator does not verify", () => {
  const failure = (code: string, more = {}) =>
    new FacilitatorError("secret", { code, operation: "verify", outcome: "none", ...more } as never);

  test.each<[result: unknown, status: number, error: string, why: string]>([
    [
      { isValid: false, invalidReason: "insufficient_funds" },
      402,
      "insufficient_funds",
      "the protocol defines the reason",
    ],
    [
      { isValid: false, invalidReason: "permit2_allowance_required" },
      412,
      "permit2_allowance_required",
      "the payer has to allow the transfer first",
    ],
    [{ isValid: false }, 402, "invalid_payload", "no reason"],
    [{ isValid: false, invalidReason: "Sorry: secret" }, 402, "invalid_payload", "prose is not a reason"],
    [
      { isValid: false, invalidReason: "unexpected_verify_error" },
      503,
      "unexpected_verify_error",
      "the facilitator itself failed",
    ],
    [{ isValid: "true" }, 503, "unexpected_verify_error", "invalid result"],
    [undefined, 503, "unexpected_verify_error", "invalid result"],
    [failure("ERR_FAREBOX_FACILITATOR_STATUS", { status: 401 }), 503, "unexpected_verify_error", "bad credentials"],
    [failure("ERR_FAREBOX_FACILITATOR_TIMEOUT"), 503, "unexpected_verify_error", "too slow"],
    [new TypeError("secret"), 503, "unexpected_verify_error", "broken"],
  ])("verification with %o answers %i %s: %s", async (result, status, error) => {
    const { pay, facilitator } = createShop();
    facilitator.verifies = result;
    const refused = responseOf(await pay());
    expect([refused.status, refused.json["error"]]).toEqual([status, error]);
    expectNotCached(refused.headers);
    expect("payment-required" in refused.headers).toBe(status < 500);
    expect("retry-after" in refused.headers).toBe(status === 503);
    expect(refused.text + JSON.stringify(refused.headers)).not.toContain("secret");

    facilitator.verifies = { isValid: true };
    expect(stageOf(await pay())).toBe("held");
  });

  test("repeats the facilitator's Retry-After when verification fails", async () => {
    const { pay, facilitator } = createShop();
    facilitator.verifies = failure("ERR_FAREBOX_FACILITATOR_STATUS", { status: 429, retryAfterSeconds: 40 });
    expect(responseOf(await pay()).headers["retry-after"]).toBe("40");
  });
});

describe("a valid payment", () => {
  test("runs the handler with the payer, the terms and the path parameters", async () => {
    const { pay, facilitator } = createShop();
    const { payment } = admissionOf(await pay());
    const match = { routeTemplate: "/weather", pathParams: {} };
    const terms = { scheme: "exact", network: NETWORK, asset: "0xASSET", amount: "10000" };
    expect(payment).toEqual({ payer: PAYER, ...terms, maxAmount: "10000", ...match });
    expect(Object.isFrozen(payment)).toBe(true);
    expect(facilitator.count("verify")).toBe(1);
    expect(facilitator.count("settle")).toBe(0);
  });

  test("accepts maxAmountRequired in place of the amount", async () => {
    const accepted = { amount: undefined as never, maxAmountRequired: "10000" };
    expect(stageOf(await createShop().pay({ accepted }))).toBe("held");
  });

  test("sends the seller's own offer and resource to the facilitator, not the client's echo", async () => {
    const { pay, facilitator } = createShop();
    const accepted = { extra: { name: "Evil" }, maxTimeoutSeconds: 1 } as PaymentOverrides["accepted"];
    const payment = {
      accepted: accepted!,
      resource: { url: "http://evil.example" },
      extensions: { evil: { info: {} } },
    };
    await admissionOf(await pay(payment)).complete(HANDLED);
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

  test("settles the payment and releases the response with a receipt", async () => {
    const { pay, store } = createShop();
    const release = await admissionOf(await pay()).complete(HANDLED);
    expect(release).toEqual({ kind: "release", paid: true, headers: [["PAYMENT-RESPONSE", expect.any(String)]] });
    const receipt = release.kind === "release" ? decodeHeader(release.headers[0]?.[1]) : {};
    expect(receipt).toEqual({ ...SETTLED, amount: "10000" });
    expect((await store.find(`${NETWORK}|n1`))?.state).toBe("settled");
  });
});

describe("a payment that expires soon", () => {
  test.each<[maxTimeoutSeconds: number, leastSeconds: number]>([
    [300, 16],
    [26, 16],
    [10, 8],
  ])(
    "with maxTimeoutSeconds %d, is refused unless %d seconds are left for handler and settlement",
    async (limit, least) => {
      const accepts = { network: NETWORK, price: "$0.01", payTo: PAY_TO, maxTimeoutSeconds: limit } as const;
      const routes = { "GET /weather": { accepts, description: "Weather" } };
      const { pay, facilitator, store } = createShop({ routes });
      const short = { payload: { expiresAtSeconds: NOW_SECONDS + least - 1 } };
      expect(responseOf(await pay(short))).toMatchObject({ status: 402, json: { error: "payment_expired" } });
      expect([facilitator.calls.length, await store.find(`${NETWORK}|n1`)]).toEqual([0, undefined]);
      expect(stageOf(await pay({ payload: { expiresAtSeconds: NOW_SECONDS + least } }))).toBe("held");
    },
  );
});

describe("a payer with several payments", () => {
  test("answers 429 when the payer has maxRunsPerPayer handlers running, and keeps the payment usable", async () => {
    const { pay, store } = createShop({ maxRunsPerPayer: 2 });
    const payments = ["n1", "n2", "n3"].map((nonce) => ({ payload: { nonce } }));
    const [first, , third] = await Promise.all(payments.map((payment) => pay(payment)));
    const { status, headers, json } = responseOf(third!);
    expect([status, headers["retry-after"], json["error"]]).toEqual([429, "1", "too_many_payments"]);
    expect(await store.find(`${NETWORK}|n3`)).toBeUndefined();
    await admissionOf(first!).complete(HANDLED);
    expect(stageOf(await pay(payments[2]))).toBe("held");
  });

  test("counts running handlers by payer, without regard to case in the address", async () => {
    const { pay } = createShop({ maxRunsPerPayer: 1 });
    await pay({ payload: { nonce: "n1", payer: "0xAB" } });
    expect(responseOf(await pay({ payload: { nonce: "n2", payer: "0xab" } })).status).toBe(429);
    expect(stageOf(await pay({ payload: { nonce: "n3", payer: "0xac" } }))).toBe("held");
  });
});

test("counts an uncharged request down even if its payment was claimed anew before the store responded", async () => {
  const { pay, store } = createShop({ maxRunsPerPayer: 2 });
  const { release } = store;
  const { promise: responded, resolve: respond } = withResolvers();
  const { promise: isReleased, resolve: noteReleased } = withResolvers();
  store.release = async (...released) => {
    await release.apply(store, released);
    noteReleased();
    await responded;
  };
  const failed = [admissionOf(await pay()).complete({ ...HANDLED, status: 500 })];
  await isReleased;
  failed.push(admissionOf(await pay()).complete({ ...HANDLED, status: 500 }));
  respond();
  await Promise.all(failed);
  const fresh = await Promise.all(["n2", "n3", "n4"].map((nonce) => pay({ payload: { nonce } })));
  expect(fresh.map(stageOf)).toEqual(["held", "held", "respond"]);
});

test("answers 400 without a claim or verification when the body never arrives completely", async () => {
  const { pay, facilitator, store } = createShop();
  expect(responseOf(await pay({}, { digestBody: async () => undefined })).status).toBe(400);
  expect([await store.find(`${NETWORK}|n1`), facilitator.calls.length]).toEqual([undefined, 0]);
});

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
