import { describe, expect, test } from "vitest";
import { FacilitatorError } from "../errors.js";
import type { Chargeable } from "../options.js";
import {
  admissionOf,
  createShop,
  decodeHeader,
  HANDLED,
  isHeld,
  NETWORK,
  NOW_SECONDS,
  PAYER,
  ROUTES,
  readResponse,
  responseOf,
  SETTLED,
  stageOf,
} from "./shop.fixture.js";

const IDENTITY = `${NETWORK}|n1`;

const TIMEOUT = new FacilitatorError("secret", {
  code: "ERR_FAREBOX_FACILITATOR_TIMEOUT",
  operation: "settle",
  outcome: "unknown",
});
const REFUSED_CONNECTION = new FacilitatorError("secret", {
  code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE",
  operation: "settle",
  outcome: "none",
});

async function admitted(options = {}) {
  const shop = createShop(options);
  return { ...shop, admission: admissionOf(await shop.pay()) };
}

describe("a response that is not charged", () => {
  test.each([100, 199, 300, 301, 302, 304, 400, 402, 404, 500, 503, Number.NaN])(
    "releases a response with status %i uncharged and makes the payment usable again",
    async (status) => {
      const { admission, facilitator, store, pay } = await admitted();
      const release = await admission.complete({ ...HANDLED, status });
      expect(release).toEqual({
        kind: "release",
        paid: false,
        headers: [["PAYMENT-RESPONSE", expect.any(String)]],
        kept: [["Content-Type", "text/plain"]],
      });
      expect(decodeHeader(release.kind === "release" ? release.headers[0]?.[1] : "")).toEqual({
        success: false,
        errorReason: "not_charged",
        payer: PAYER,
        transaction: "",
        network: NETWORK,
      });
      expect(facilitator.count("settle")).toBe(0);
      expect(await store.find(IDENTITY)).toBeUndefined();
      expect(stageOf(await pay())).toBe("held");
    },
  );

  test.each([200, 201, 204, 206, 299])("charges for a response with status %i", async (status) => {
    const { admission, facilitator } = await admitted();
    expect(await admission.complete({ ...HANDLED, status })).toMatchObject({ kind: "release", paid: true });
    expect(facilitator.count("settle")).toBe(1);
  });

  test("charges nothing when the client disconnects", async () => {
    const { admission, facilitator, store } = await admitted();
    await admission.cancel();
    expect(facilitator.count("settle")).toBe(0);
    expect(await store.find(IDENTITY)).toBeUndefined();
  });
});

describe("a route with its own chargeable", () => {
  const sell = (chargeable: Chargeable) =>
    admitted({ routes: { "GET /weather": { ...ROUTES["GET /weather"], chargeable } } });

  test.each<[status: number, paid: boolean]>([
    [200, false],
    [404, true],
    [500, true],
    [302, true],
    [304, false],
  ])("chargeable decides for status %i whether the response is charged: %s", async (status, paid) => {
    const { admission, facilitator, store, pay } = await sell(({ status }) => status !== 200);
    expect(await admission.complete({ ...HANDLED, status })).toMatchObject({ kind: "release", paid });
    expect(facilitator.count("settle")).toBe(paid ? 1 : 0);
    if (paid) return;
    expect(await store.find(IDENTITY)).toBeUndefined();
    expect(stageOf(await pay())).toBe("held");
  });

  test("calls chargeable once, with the status and the default", async () => {
    const asked: unknown[] = [];
    const { admission } = await sell((response) => asked.push(response) > 0);
    await admission.complete(HANDLED);
    expect(asked).toEqual([{ status: 200, isSale: true }]);
  });

  const broken = (): never => {
    throw new RangeError("secret");
  };
  test.each<[chargeable: () => unknown, error: string]>([
    [broken, "RangeError"],
    [() => Promise.reject("secret"), "it returned a promise"],
    [() => Promise.resolve(true), "it returned a promise"],
    [() => ({}), "it returned an object"],
    [() => 1, "it returned number"],
    [() => "yes", "it returned string"],
    [() => undefined, "it returned undefined"],
    [() => null, "it returned null"],
  ])("neither charges nor gives anything, and logs an error when chargeable is %s: %s", async (chargeable, error) => {
    const { admission, facilitator, store, log } = await sell(chargeable as Chargeable);
    expect(await admission.complete(HANDLED)).toMatchObject({ kind: "replace", response: { status: 500 } });
    expect(facilitator.count("settle")).toBe(0);
    expect(await store.find(IDENTITY)).toBeUndefined();
    expect(log).toEqual([{ event: "chargeable_failed", fields: { route: "GET /weather", status: 200, error } }]);
  });
});

describe("a late response", () => {
  test.each<[secondsLeft: number, settled: boolean]>([
    [6, true],
    [5.999, false],
    [0, false],
    [-100, false],
  ])("a response with %d seconds left is settled: %s", async (secondsLeft, settled) => {
    const { admission, facilitator, clock, store } = await admitted();
    clock.ms = (NOW_SECONDS + 300 - secondsLeft) * 1000;
    const release = await admission.complete(HANDLED);
    expect(facilitator.count("settle")).toBe(settled ? 1 : 0);
    if (release.kind === "release") return expect(settled).toBe(true);
    const { status, json, headers } = readResponse(release.response);
    expect([status, json["error"], headers["cache-control"]]).toEqual([504, "payment_expired", "no-store"]);
    expect(Object.keys(headers)).toEqual(["content-type", "cache-control", "x-content-type-options"]);
    expect(await store.find(IDENTITY)).toBeUndefined();
  });
});

describe("a settlement that fails", () => {
  test("answers a rejected settlement with 402, reason and receipt, without the handler's response", async () => {
    const { admission, facilitator, store } = await admitted();
    facilitator.settles = { ...SETTLED, success: false, errorReason: "insufficient_funds", transaction: "" };
    const release = await admission.complete(HANDLED);
    const { status, headers, json, text } = readResponse(release.kind === "replace" ? release.response : ({} as never));
    expect(status).toBe(402);
    expect(json).toMatchObject({ error: "insufficient_funds", accepts: [{}] });
    expect(decodeHeader(headers["payment-required"])).toEqual(json);
    expect(decodeHeader(headers["payment-response"])).toEqual({
      success: false,
      errorReason: "insufficient_funds",
      payer: PAYER,
      transaction: "",
      network: NETWORK,
    });
    expect(text).not.toContain("sunny");
    const record = await store.find(IDENTITY);
    expect([record?.state, record?.answer]).toEqual(["rejected", undefined]);
  });

  test.each<[failure: unknown, state: string, error: string, why: string]>([
    [TIMEOUT, "unknown", "settlement_pending", "a timeout"],
    [new RangeError("secret"), "unknown", "settlement_pending", "an unknown error"],
    [undefined, "unknown", "settlement_pending", "no response"],
    [REFUSED_CONNECTION, "unsent", "unexpected_settle_error", "never sent"],
  ])("answers 503 without a challenge after %o, and the payment is %s (%s, %s)", async (failure, state, error) => {
    const { admission, facilitator, store, log } = await admitted();
    facilitator.settles = failure;
    const release = await admission.complete(HANDLED);
    const { status, headers, json, text } = readResponse(release.kind === "replace" ? release.response : ({} as never));
    expect([status, headers["retry-after"], headers["cache-control"]]).toEqual([503, "5", "no-store"]);
    expect(json["error"]).toBe(error);
    expect(headers).not.toHaveProperty("payment-required");
    expect(text).not.toMatch(/secret|sunny/);
    expect(text.includes("not charged")).toBe(state === "unsent");
    const record = await store.find(IDENTITY);
    expect([record?.state, record?.answer]).toEqual([state, HANDLED]);
    expect(log.map(({ event }) => event)).toEqual([`settlement_${state}`]);
    expect(JSON.stringify(log)).not.toContain("RangeError: secret");
  });

  test("stores no response that is longer than holdBytes", async () => {
    const { admission, facilitator, store } = await admitted();
    facilitator.settles = TIMEOUT;
    await admission.complete({ ...HANDLED, body: undefined });
    expect(await store.find(IDENTITY)).not.toHaveProperty("answer");
  });
});

describe("the end of an admission", () => {
  test("settles once when complete is called many times at once", async () => {
    const { admission, facilitator } = await admitted();
    const releases = await Promise.all(Array.from({ length: 20 }, () => admission.complete(HANDLED)));
    expect(facilitator.count("settle")).toBe(1);
    expect(releases.filter(({ kind }) => kind === "release")).toHaveLength(1);
    const lost = releases.find((release) => release.kind === "replace");
    expect(lost?.kind === "replace" && lost.response.status).toBe(409);
  });

  test("answers 409 without a settlement when complete follows cancel", async () => {
    const { admission, facilitator } = await admitted();
    await admission.cancel();
    expect(await admission.complete(HANDLED)).toMatchObject({ kind: "replace", response: { status: 409 } });
    expect(facilitator.count("settle")).toBe(0);
  });

  test("ignores cancel after complete", async () => {
    const { admission, store } = await admitted();
    await admission.complete(HANDLED);
    await admission.cancel();
    expect((await store.find(IDENTITY))?.state).toBe("settled");
  });

  test("ignores cancel when another run owns the payment", async () => {
    const { admission, pay, facilitator } = await admitted();
    await admission.cancel();
    const second = admissionOf(await pay());
    await admission.cancel();
    expect(await second.complete(HANDLED)).toMatchObject({ kind: "release", paid: true });
    expect(facilitator.count("settle")).toBe(1);
  });
});

describe("duplicates of a paid request", () => {
  test("runs the handler once for seventeen requests and gives all of them its response", async () => {
    const { pay, facilitator } = createShop();
    const asked = Array.from({ length: 17 }, () => pay());
    const release = await admissionOf(await Promise.race(asked)).complete(HANDLED);
    const decisions = await Promise.all(asked);
    expect(decisions.filter(isHeld)).toHaveLength(1);
    expect([facilitator.count("verify"), facilitator.count("settle")]).toEqual([1, 1]);
    const [[name, receipt] = ["", ""]] = release.kind === "release" ? release.headers : [];
    for (const decision of decisions.filter(({ kind }) => kind === "respond")) {
      const { status, headers, text } = responseOf(decision);
      expect([status, text, headers[name.toLowerCase()]]).toEqual([200, "sunny", receipt]);
    }
  });

  test("lets sixteen of fifty duplicates wait, and answers 409 to the others", async () => {
    const { pay } = createShop();
    const admission = admissionOf(await pay());
    const asked = Array.from({ length: 50 }, () => pay());
    await new Promise(setImmediate);
    await admission.complete(HANDLED);
    const responses = (await Promise.all(asked)).map(responseOf);
    expect(responses.filter(({ text }) => text === "sunny")).toHaveLength(16);
    const others = responses.filter(({ text }) => text !== "sunny");
    for (const { status, headers, json } of others) {
      expect([status, headers["retry-after"], json["error"]]).toEqual([409, "1", "payment_in_progress"]);
    }
  });
});

/** Too large to store. */
const LARGE = { ...HANDLED, body: undefined };

const LOST = new Error("lost");

test.each([
  ["a response too large to store", LARGE, "owed"],
  ["a stored response", HANDLED, "settled"],
] as const)("%s leaves a paid and undelivered payment %s", async (_, response, state) => {
  const { pay, store, facilitator } = createShop();
  const admission = admissionOf(await pay());
  await admission.complete(response);
  await admission.unreleased(response);
  expect(await store.find(IDENTITY)).toMatchObject({ state });

  const again = await pay();
  expect(stageOf(again)).toBe(state === "owed" ? "held" : "respond");
  if (isHeld(again)) await again.admission.complete(LARGE);
  else expect(responseOf(again).text).toBe("sunny");
  const { json, text } = responseOf(await pay());
  expect(state === "owed" ? json["error"] : text).toBe(state === "owed" ? "payment_already_used" : "sunny");
  expect(facilitator.count("settle")).toBe(1);
});

test("a response too large to store is not owed again after it broke off half-way", async () => {
  const { pay } = createShop();
  const admission = admissionOf(await pay());
  await admission.complete(LARGE);
  await admission.undelivered(LARGE);
  expect(responseOf(await pay()).json["error"]).toBe("payment_already_used");
});

test("an owed handler stays owed when the client disconnects before the response", async () => {
  const { pay, facilitator, store } = createShop();
  facilitator.settles = LOST;
  await admissionOf(await pay()).complete(LARGE);
  facilitator.settles = SETTLED;
  const second = admissionOf(await pay());
  await second.cancel();
  expect(second.payment.signal.aborted).toBe(true);
  expect(await store.find(IDENTITY)).toMatchObject({ state: "owed" });

  const third = admissionOf(await pay());
  expect(await third.complete(LARGE)).toMatchObject({ kind: "release", paid: true });
  expect(responseOf(await pay()).json["error"]).toBe("payment_already_used");
});
