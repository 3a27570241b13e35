import { describe, expect, test } from "vitest";
import { FacilitatorError } from "../errors.js";
import { CLAIM } from "../store/memory-store.fixture.js";
import {
  admissionOf,
  createShop,
  decodeHeader,
  HANDLED,
  NETWORK,
  NOW_SECONDS,
  PAYER,
  responseOf,
  SETTLED,
} from "./shop.fixture.js";

const IDENTITY = `${NETWORK}|n1`;
const UNREACHABLE = new FacilitatorError("down", {
  code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE",
  operation: "settle",
  outcome: "none",
});
const REFUSED = { ...SETTLED, success: false, transaction: "" };
const SETTLED_BEFORE = { ...REFUSED, errorReason: "payment_already_settled", transaction: "0xabc" };

type Shop = ReturnType<typeof createShop>;

/** How a payment gets to each state. The record of one whose handler is running is `claimed`. */
const STATES = {
  claimed: async ({ facilitator, pay }: Shop) => {
    facilitator.verifies = () => new Promise(() => {});
    void pay();
    await new Promise(setImmediate);
  },
  running: async ({ pay }: Shop) => void admissionOf(await pay()),
  settling: async ({ facilitator, pay }: Shop) => {
    const admission = admissionOf(await pay());
    facilitator.settles = () => new Promise(() => {});
    void admission.complete(HANDLED);
    await new Promise(setImmediate);
  },
  settled: (shop: Shop) => settleWith(shop, SETTLED),
  rejected: (shop: Shop) => settleWith(shop, { ...REFUSED, errorReason: "insufficient_funds" }),
  unsent: (shop: Shop) => settleWith(shop, UNREACHABLE),
  unknown: (shop: Shop) => settleWith(shop, new Error("lost")),
} as const;

async function settleWith({ facilitator, pay }: Shop, result: unknown): Promise<void> {
  const admission = admissionOf(await pay());
  facilitator.settles = result;
  await admission.complete(HANDLED);
}

async function shopWith(state: keyof typeof STATES): Promise<Shop> {
  const shop = createShop();
  await STATES[state](shop);
  expect((await shop.store.find(IDENTITY))?.state).toBe(state === "running" ? "claimed" : state);
  return shop;
}

const EVERY_STATE = Object.keys(STATES) as (keyof typeof STATES)[];

describe("a payment sent for another request", () => {
  const OPEN: readonly string[] = ["settling", "unknown"];

  test.each(EVERY_STATE.map((state) => [state, OPEN.includes(state) ? 409 : 402] as const))(
    "while it is %s gets %i for every other request",
    async (state, expected) => {
      const { pay, facilitator, store } = await shopWith(state);
      const before = await store.find(IDENTITY);
      const settles = facilitator.count("settle");
      const others = [
        pay({}, { search: "?b=2" }),
        pay({}, { method: "HEAD" }),
        pay({}, { path: "/weather/" }),
        pay({}, { mountPath: "/v2" }),
        pay({ accepted: { amount: "20000" } }, { path: "/news" }),
      ];
      for (const other of others) {
        const { status, headers, json } = responseOf(await other);
        const error = expected === 402 ? "payment_already_used" : "payment_in_progress";
        expect([status, json["error"], "payment-required" in headers]).toEqual([expected, error, expected === 402]);
      }
      expect(await store.find(IDENTITY)).toEqual(before);
      expect(facilitator.count("settle")).toBe(settles);
    },
  );
});

describe("a replay of the same request", () => {
  test("a replay counts as the same request under another host", async () => {
    const { pay, passTime } = await shopWith("running");
    const duplicate = pay({}, { origin: "http://other.example" });
    await passTime(10_000);
    expect(responseOf(await duplicate).status).toBe(409);
  });

  test.each(["claimed", "running", "settling"] as const)(
    "a replay waits, and then gets 409, while the payment is %s",
    async (state) => {
      const { pay, passTime } = await shopWith(state);
      const duplicate = pay();
      await passTime(9_999);
      await passTime(1);
      const { status, headers, json } = responseOf(await duplicate);
      expect([status, headers["retry-after"], json["error"]]).toEqual([409, "1", "payment_in_progress"]);
      expect(headers).not.toHaveProperty("payment-required");
    },
  );

  test("a replay gets 402 after the payment was settled and the response delivered", async () => {
    const { pay, facilitator } = await shopWith("settled");
    const { status, json, text } = responseOf(await pay());
    expect([status, json["error"]]).toEqual([402, "payment_already_used"]);
    expect(text).not.toContain("sunny");
    expect([facilitator.count("verify"), facilitator.count("settle")]).toEqual([1, 1]);
  });

  test("a replay gets 402 with the same reason and receipt after the payment was rejected", async () => {
    const { pay, facilitator } = await shopWith("rejected");
    const { status, headers, json } = responseOf(await pay());
    expect([status, json["error"]]).toEqual([402, "insufficient_funds"]);
    expect(decodeHeader(headers["payment-response"])).toMatchObject({ success: false, payer: PAYER });
    expect(facilitator.count("settle")).toBe(1);
  });

  test.each<[state: "unsent" | "unknown", result: unknown, status: number, ends: string, why: string]>([
    ["unsent", SETTLED, 200, "settled", "the stored response is sent"],
    ["unknown", SETTLED, 200, "settled", "the stored response is sent"],
    ["unknown", SETTLED_BEFORE, 200, "settled", "an earlier attempt settled it"],
    ["unsent", SETTLED_BEFORE, 402, "rejected", "another seller's attempt settled it"],
    ["unsent", { ...REFUSED, errorReason: "insufficient_funds" }, 402, "rejected", "refused"],
    [
      "unknown",
      { ...REFUSED, errorReason: "insufficient_funds" },
      503,
      "unknown",
      "an earlier attempt may have spent the funds",
    ],
    ["unsent", UNREACHABLE, 503, "unsent", "still not sent"],
    ["unknown", UNREACHABLE, 503, "unknown", "an earlier attempt may have been sent"],
    ["unsent", new Error("lost"), 503, "unknown", "this attempt may have been sent"],
  ])(
    "a replay settles the %s payment again: after %o it gets %i and the payment is %s (%s)",
    async (state, result, status, ends) => {
      const { pay, facilitator, store } = await shopWith(state);
      facilitator.settles = result;
      const again = responseOf(await pay());
      expect(again.status).toBe(status);
      expect(again.text === "sunny").toBe(status === 200);
      expect([facilitator.count("verify"), facilitator.count("settle")]).toEqual([1, 2]);
      const record = await store.find(IDENTITY);
      expect([record?.state, record?.answer !== undefined]).toEqual([ends, ends !== "rejected"]);
    },
  );

  test("an unknown payment is settled only once when many replays arrive at once", async () => {
    const { pay, facilitator } = await shopWith("unknown");
    facilitator.settles = SETTLED;
    const responses = (await Promise.all(Array.from({ length: 20 }, () => pay()))).map(responseOf);
    expect(facilitator.count("settle")).toBe(2);
    // The others find that it settles, and 16 of them wait for that. All copies of a minute are 16, too.
    const paid = responses.filter(({ status }) => status === 200);
    expect(new Set(paid.map(({ text }) => text))).toEqual(new Set(["sunny"]));
    expect(new Set(paid.map(({ headers }) => headers["payment-response"])).size).toBe(1);
    const count = (status: number) => responses.filter((response) => response.status === status).length;
    expect({ 200: count(200), 409: count(409), 429: count(429) }).toEqual({ 200: 16, 409: 3, 429: 1 });
  });
});

describe("a paid and stored response", () => {
  test("a stored response is sent again, as private, with its receipt", async () => {
    const shop = createShop();
    const admission = admissionOf(await shop.pay());
    const headers = [
      ["cache-control", "public, max-age=60"],
      ["Set-Cookie", ["a=1", "b=2"]],
    ] as const;
    await admission.complete({ ...HANDLED, headers });
    await admission.undelivered({ ...HANDLED, headers });

    const decision = await shop.pay();
    const again = responseOf(decision);
    expect([again.status, again.text]).toEqual([200, "sunny"]);
    expect(again.headers).toMatchObject({ "cache-control": "private, max-age=60", "set-cookie": "a=1,b=2" });
    expect(decodeHeader(again.headers["payment-response"])).toEqual({ ...SETTLED, amount: "10000" });
    expect(responseOf(await shop.pay())).toEqual(again);
    expect(shop.facilitator.count("settle")).toBe(1);
  });

  test.each([undefined, "no-store", "private, no-cache"])(
    "a stored response is kept out of shared caches: Cache-Control %j",
    async (cacheControl) => {
      const shop = await shopWith("settled");
      const headers = cacheControl === undefined ? [] : ([["Cache-Control", cacheControl]] as const);
      const { owner } = (await shop.store.find(IDENTITY))!;
      const change = { identity: IDENTITY, from: "settled", to: "settled", owner } as const;
      await shop.store.transition({ ...change, answer: { status: 200, headers, body: new Uint8Array() } });
      expect(responseOf(await shop.pay()).headers["cache-control"]).toBe(cacheControl ?? "private");
    },
  );

  test("a stored response goes to sixteen of many replays at once, and to one more after a minute", async () => {
    const shop = createShop();
    const admission = admissionOf(await shop.pay());
    await admission.complete(HANDLED);
    await admission.undelivered(HANDLED);
    const responses = (await Promise.all(Array.from({ length: 20 }, () => shop.pay()))).map(responseOf);
    expect(responses.filter(({ text }) => text === "sunny")).toHaveLength(16);
    const refused = responses.filter(({ text }) => text !== "sunny");
    expect(refused.map(({ status, headers, json }) => [status, headers["retry-after"], json["error"]])).toEqual(
      Array(4).fill([429, "60", "too_many_copies"]),
    );
    await shop.passTime(60_000);
    expect([await shop.pay(), await shop.pay()].map((again) => responseOf(again).status)).toEqual([200, 429]);
  });

  test("a stored response counts by its size, and a very large one as four copies", async () => {
    const shop = createShop();
    const admission = admissionOf(await shop.pay());
    const large = { ...HANDLED, body: Buffer.alloc(9 * 1024 * 1024) };
    await admission.complete(large);
    await admission.undelivered(large);
    const statuses: number[] = [];
    for (let copy = 0; copy < 6; copy++) statuses.push(responseOf(await shop.pay()).status);
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
  });
});

describe("a payment settled late without a stored response", () => {
  async function prepaid() {
    const shop = createShop();
    const first = admissionOf(await shop.pay());
    shop.facilitator.settles = new Error("lost");
    await first.complete({ ...HANDLED, body: undefined });
    shop.facilitator.settles = SETTLED;
    return { shop, admission: admissionOf(await shop.pay()) };
  }

  test.each([
    [200, 1],
    [404, 2],
    [500, 2],
  ])(
    "a payment settled late runs the handler again and releases its %i with the receipt, %i times",
    async (status, times) => {
      const { shop, admission } = await prepaid();
      for (let time = 0; time < times; time++) {
        const release = await (time === 0 ? admission : admissionOf(await shop.pay())).complete({ ...HANDLED, status });
        expect(release).toMatchObject({ kind: "release", paid: true });
        expect(decodeHeader(release.kind === "release" ? release.headers[0]?.[1] : "")).toMatchObject({
          success: true,
        });
      }
      expect(shop.facilitator.count("settle")).toBe(2);
      // Kept for the payer, who may be somebody else.
      expect(responseOf(await shop.pay())).toMatchObject({ status, text: "sunny" });
    },
  );

  test("a payment settled late stores the second response if its delivery breaks off", async () => {
    const { shop, admission } = await prepaid();
    await admission.complete(HANDLED);
    await admission.undelivered(HANDLED);
    expect(responseOf(await shop.pay()).text).toBe("sunny");
  });
});

describe("an expired payment", () => {
  test.each(["settled", "rejected", "unsent", "unknown"] as const)(
    "an expired payment is still decided by its record when it is %s",
    async (state) => {
      const { pay, clock, facilitator } = await shopWith(state);
      clock.ms = (NOW_SECONDS + 301) * 1000;
      facilitator.settles = SETTLED;
      const { status, text } = responseOf(await pay());
      expect(text === "sunny").toBe(state === "unsent" || state === "unknown");
      expect(status).toBe(text === "sunny" ? 200 : 402);
    },
  );

  test("an expired payment gets 402 with the expiry reason, without a claim, when its record is gone", async () => {
    const { pay, clock, store, facilitator } = await shopWith("unknown");
    clock.ms = (NOW_SECONDS + 3600) * 1000;
    await store.claim({ ...CLAIM, identity: "other", expiresAtMs: 2 * clock.ms });
    facilitator.settles = SETTLED;
    const { status, json } = responseOf(await pay());
    expect([status, json["error"]]).toEqual([402, "invalid_exact_evm_payload_authorization_valid_before"]);
    expect(facilitator.count("settle")).toBe(1);
  });
});
