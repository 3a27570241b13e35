import { afterEach, describe, expect, test, vi } from "vitest";
import { openLedger } from "../ledger-queries/books.js";
import {
  ASSET,
  admissionOf,
  createShop,
  createTestScheme,
  HANDLED,
  NETWORK,
  NOW_SECONDS,
  PAY_TO,
  PAYER,
  responseOf,
  SETTLED,
  type ShopOptions,
} from "../sale/shop.fixture.js";
import { createMemoryStore } from "../store/memory-store.js";
import type { PaymentStore } from "../store/payment-store.js";
import type { LedgerEntry } from "../store/shared-ledger.js";
import type { LedgerQuery } from "./ledger.js";

const NOW_MS = NOW_SECONDS * 1000;
const DAY = new Date(NOW_MS).toISOString().slice(0, 10);
const SECRET = "a secret of at least 32 characters";

afterEach(() => void vi.useRealTimers());

/** Sells one thing to each nonce. */
async function sell(shop: ReturnType<typeof createShop>, ...nonces: readonly string[]) {
  for (const nonce of nonces) await admissionOf(await shop.pay({ payload: { nonce } })).complete(HANDLED);
}

async function entriesOf(shop: ReturnType<typeof createShop>, query?: LedgerQuery): Promise<readonly LedgerEntry[]> {
  const found: LedgerEntry[] = [];
  for await (const entry of shop.engine.ledger.entries(query)) found.push(entry);
  return found;
}

/** Stores with a ledger, and one without. */
const STORES: readonly [string, () => ShopOptions][] = [
  ["in memory", () => ({})],
  [
    "that keeps no ledger",
    () => {
      const { claim, find, transition, release, unfinished } = createMemoryStore(() => NOW_MS);
      return { store: { claim, find, transition, release, unfinished } };
    },
  ],
];

describe.each(STORES)("the ledger with a store %s", (_, options) => {
  test("has one entry for a settled payment, whole, however often it is sent", async () => {
    const shop = createShop(options());
    await sell(shop, "n1");
    responseOf(await shop.pay({ payload: { nonce: "n1" } }));
    const [entry, ...others] = await entriesOf(shop);
    expect(others).toEqual([]);
    expect(entry).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      position: "1",
      settledAtMs: NOW_MS,
      route: "GET /weather",
      resource: "http://shop.example/weather",
      payer: PAYER.toLowerCase(),
      payee: PAY_TO,
      scheme: "exact",
      network: NETWORK,
      asset: ASSET,
      decimals: 6,
      amount: "10000",
      transaction: "0xabc",
      facilitator: "facilitator-1",
      latencyMs: 0,
      attempt: 1,
      status: "settled",
      refunds: [],
    });
    expect(await shop.engine.ledger.get(entry!.id)).toEqual(entry);
    // By the name that events and hooks have for the payment.
    expect(await shop.engine.ledger.get(`${NETWORK}|n1`)).toEqual(entry);
    expect(await shop.engine.ledger.get("unknown")).toBeUndefined();
  });

  test("has no entry for a payment that is refused, cancelled, or whose outcome is unknown", async () => {
    const shop = createShop(options());
    shop.facilitator.settles = { ...SETTLED, success: false, errorReason: "insufficient_funds", transaction: "" };
    await admissionOf(await shop.pay({ payload: { nonce: "n1" } })).complete(HANDLED);
    await admissionOf(await shop.pay({ payload: { nonce: "n2" } })).cancel();
    shop.facilitator.settles = new Error("lost");
    await admissionOf(await shop.pay({ payload: { nonce: "n3" } })).complete(HANDLED);
    expect(await entriesOf(shop)).toEqual([]);
  });

  test("has the entry of an unknown outcome once it is resolved, with its attempt", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: NOW_MS });
    const shop = createShop(options());
    shop.facilitator.settles = new Error("lost");
    await sell(shop, "n1");
    await shop.passTime(20_000);
    shop.facilitator.settles = SETTLED;
    await shop.passTime(60_000);
    expect(await entriesOf(shop)).toMatchObject([{ attempt: 3, settledAtMs: NOW_MS + 80_000, amount: "10000" }]);
  });

  test("finds entries by time, route, payer, network and status, and by pages", async () => {
    const shop = createShop(options());
    for (let at = 0; at < 250; at++) {
      const [path, payer] = at % 2 === 0 ? ["/weather", PAYER] : ["/news", `0x${"1".repeat(40)}`];
      const amount = path === "/news" ? "20000" : "10000";
      const payment = { payload: { nonce: `n${at}`, payer }, accepted: { amount } };
      shop.facilitator.settles = { ...SETTLED, payer };
      await admissionOf(await shop.pay(payment, { path: path! })).complete(HANDLED);
      shop.clock.ms += 1_000;
    }
    const all = await entriesOf(shop);
    expect(all.map(({ settledAtMs }) => settledAtMs)).toEqual(
      Array.from({ length: 250 }, (_, at) => NOW_MS + at * 1000),
    );
    expect(await entriesOf(shop, { route: "GET /news" })).toEqual(all.filter((_, at) => at % 2 === 1));
    expect(await entriesOf(shop, { payer: PAYER.toUpperCase().replace("0X", "0x") })).toEqual(
      all.filter((_, at) => at % 2 === 0),
    );
    expect(await entriesOf(shop, { network: "eip155:1" })).toEqual([]);
    expect(await entriesOf(shop, { status: "refunded" })).toEqual([]);
    const [since, until] = [new Date(NOW_MS + 10_000), new Date(NOW_MS + 20_000).toISOString()];
    expect(await entriesOf(shop, { since, until })).toEqual(all.slice(10, 20));
    const first = await entriesOf(shop, { limit: 230 });
    expect([...first, ...(await entriesOf(shop, { after: first.at(-1)!.position }))]).toEqual(all);
  });

  test("counts what was refused and what was not charged, by day, route and reason", async () => {
    const shop = createShop(options());
    await sell(shop, "n1");
    await shop.ask({ paymentSignature: "junk" });
    await shop.pay({ payload: { nonce: "n1" } });
    await shop.pay({ payload: { nonce: "n2", expiresAtSeconds: 1 } });
    await admissionOf(await shop.pay({ payload: { nonce: "n3" } }, { path: "/weather" })).cancel();
    shop.clock.ms += 24 * 3_600_000;
    await shop.ask({ paymentSignature: "junk" });
    const counts = await shop.engine.ledger.counts();
    expect(counts).toMatchObject([
      { day: DAY, kind: "refused", reason: "invalid_exact_evm_payload_authorization_valid_before", count: 1 },
      { day: DAY, kind: "refused", reason: "invalid_payload", count: 1 },
      { day: DAY, kind: "refused", reason: "payment_already_used", count: 1 },
      { day: DAY, kind: "uncharged", reason: "client_gone", count: 1 },
      { day: expect.not.stringMatching(DAY), kind: "refused", reason: "invalid_payload", count: 1 },
    ]);
    expect(await shop.engine.ledger.counts({ since: NOW_MS + 24 * 3_600_000 })).toEqual(counts.slice(4));
    expect(await shop.engine.ledger.counts({ until: "2027-01-15T23:59:59Z" })).toEqual(counts.slice(0, 4));
  });
});

describe("markRefunded", () => {
  test("marks parts until all is given back, each transaction once", async () => {
    const shop = createShop();
    await sell(shop, "n1");
    const { ledger } = shop.engine;
    const id = `${NETWORK}|n1`;
    const first = await ledger.markRefunded(id, { transaction: "0x1", amount: "4000", at: "2027-02-01" });
    expect(first).toMatchObject({
      status: "settled",
      refunds: [{ transaction: "0x1", amount: "4000", atMs: Date.UTC(2027, 1, 1) }],
    });
    expect(await ledger.markRefunded(id, { transaction: "0x1", amount: "4000" })).toEqual(first);
    expect(await ledger.markRefunded(id, { transaction: "0x1" })).toEqual(first);
    await expect(ledger.markRefunded(id, { transaction: "0x2", amount: "6001" })).rejects.toMatchObject({
      code: "ERR_FAREBOX_LEDGER",
      problem: "amount",
      message: "6000 of 10000 can still be given back, not 6001",
    });
    await expect(ledger.markRefunded(id, { transaction: "0x1", amount: "1" })).rejects.toMatchObject({
      problem: "conflict",
    });
    const second = await ledger.markRefunded(id, { transaction: "0x2" });
    expect(second).toMatchObject({
      status: "refunded",
      refunds: [{ amount: "4000" }, { amount: "6000", atMs: NOW_MS }],
    });
    expect(await ledger.get(id)).toEqual(second);
    expect(await entriesOf(shop, { status: "refunded" })).toEqual([second]);
    await expect(ledger.markRefunded(id, { transaction: "0x3" })).rejects.toMatchObject({ problem: "amount" });
    await expect(ledger.markRefunded("unknown", { transaction: "0x3" })).rejects.toMatchObject({ problem: "unknown" });
  });

  test("takes its arguments as they are at the call", async () => {
    const shop = createShop();
    await sell(shop, "n1");
    const refund = { transaction: "0x1", amount: "4000" };
    const marked = shop.engine.ledger.markRefunded(`${NETWORK}|n1`, refund);
    Object.assign(refund, { transaction: "0x2", amount: "6000" });
    expect(await marked).toMatchObject({ refunds: [{ transaction: "0x1", amount: "4000" }] });
  });

  test("of many at once, none takes the sum above what was paid", async () => {
    const shop = createShop();
    await sell(shop, "n1");
    const { ledger } = shop.engine;
    const id = `${NETWORK}|n1`;
    const marked = await Promise.allSettled(
      Array.from({ length: 20 }, (_, at) => ledger.markRefunded(id, { transaction: `0x${at}`, amount: "3000" })),
    );
    expect(marked.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    const { refunds = [] } = (await ledger.get(id)) ?? {};
    expect(refunds.map(({ amount }) => amount)).toEqual(["3000", "3000", "3000"]);
  });

  test.each<[string, unknown]>([
    ["refund: expected an object", undefined],
    ["refund.transaction", {}],
    ["refund.transaction", { transaction: "" }],
    ["refund.transaction", { transaction: "0x\n" }],
    ["refund.amount", { transaction: "0x1", amount: "0" }],
    ["refund.amount", { transaction: "0x1", amount: "-1" }],
    ["refund.amount", { transaction: "0x1", amount: "1.5" }],
    ["refund.amount", { transaction: "0x1", amount: 1 }],
    ["refund.at", { transaction: "0x1", at: "yesterday" }],
    ["refund.amont", { transaction: "0x1", amont: "1" }],
  ])("names %s of a bad refund", async (path, refund) => {
    const { ledger } = createShop().engine;
    await expect(ledger.markRefunded("id", refund as never)).rejects.toThrow(path);
  });
});

describe("payers", () => {
  test("are found and erased by their addresses where they are hashed", async () => {
    const shop = createShop({ ledger: { payers: "hashed", secret: SECRET } });
    await sell(shop, "n1", "n2");
    const [entry] = await entriesOf(shop, { payer: PAYER, limit: 1 });
    expect(entry?.payer).toMatch(/^hmac:[\w-]{43}$/);
    expect(JSON.stringify(entry).toLowerCase()).not.toContain(PAYER.toLowerCase());
    expect(await entriesOf(shop, { payer: "0x1" })).toEqual([]);
    const other = openLedger(shop.store, { payers: "hashed", secret: `${SECRET}.` });
    expect(await other.erase(PAYER)).toBe(0);
    expect(await openLedger(shop.store, { payers: "hashed", secret: SECRET }).erase(PAYER)).toBe(2);
    const [erased] = await entriesOf(shop);
    expect(erased).not.toHaveProperty("payer");
    expect(erased).not.toHaveProperty("resource");
    expect(erased).toMatchObject({ amount: "10000", transaction: "0xabc" });
    expect(await shop.engine.ledger.erase(PAYER)).toBe(0);
  });
});

describe("entries", () => {
  test("are deleted when they are too old, and the counts with them", async () => {
    const shop = createShop({ ledger: { retentionDays: 2 } });
    await sell(shop, "old");
    await shop.ask({ paymentSignature: "junk" });
    shop.clock.ms += 3 * 24 * 3_600_000;
    const late = { expiresAtSeconds: Math.floor(shop.clock.ms / 1000) + 60 };
    await admissionOf(await shop.pay({ payload: { nonce: "new", ...late } })).complete(HANDLED);
    expect((await entriesOf(shop)).map(({ position }) => position)).toEqual(["2"]);
    expect(await shop.engine.ledger.counts()).toEqual([]);
  });

  test("have the fee that the seller knows of; a function that fails leaves it open", async () => {
    const seen: unknown[] = [];
    const fees: readonly (() => unknown)[] = [
      () => "1000",
      () => undefined,
      () => "0.1",
      () => {
        throw new RangeError("secret");
      },
    ];
    const feeOf = (sale: unknown) => {
      seen.push(sale);
      return fees[seen.length - 1]?.() as string;
    };
    const shop = createShop({ ledger: { feeOf } });
    await sell(shop, "n1", "n2", "n3", "n4");
    expect((await entriesOf(shop)).map(({ fee }) => fee)).toEqual(["1000", undefined, undefined, undefined]);
    expect(seen[0]).toMatchObject({ route: "GET /weather", facilitator: "facilitator-1", amount: "10000" });
    expect(shop.log.map(({ event }) => event)).toEqual(["ledger_fee_unknown", "ledger_fee_unknown"]);
    expect(JSON.stringify(shop.log)).not.toContain("secret");
  });

  test.each(["\u0000", "a\ud800", "\u001b[31m", "x".repeat(201)])(
    "are not written for %j, which is no transaction: nobody knows whether the money moved",
    async (transaction) => {
      const shop = createShop();
      shop.facilitator.settles = { ...SETTLED, transaction };
      await sell(shop, "n1");
      expect(await entriesOf(shop)).toEqual([]);
      expect(await shop.store.find(`${NETWORK}|n1`)).toMatchObject({ state: "unknown" });
    },
  );

  test("of a payment for nothing are not written; it is counted", async () => {
    const free = { accepts: { network: NETWORK, scheme: "upto", price: "$0.01", payTo: PAY_TO } } as const;
    const shop = createShop({ routes: { "GET /weather": free }, scheme: upto() });
    const admission = admissionOf(await shop.pay({ accepted: { scheme: "upto" } }));
    admission.payment.settle("0");
    await admission.complete(HANDLED);
    expect(await entriesOf(shop)).toEqual([]);
    expect(await shop.engine.ledger.counts()).toMatchObject([{ kind: "uncharged", reason: "zero", count: 1 }]);
  });

  test("of a scheme that allows less have the amount and the maximum", async () => {
    const some = { accepts: { network: NETWORK, scheme: "upto", price: "$0.01", payTo: PAY_TO } } as const;
    const shop = createShop({ routes: { "GET /weather": some }, scheme: upto() });
    const admission = admissionOf(await shop.pay({ accepted: { scheme: "upto" } }));
    admission.payment.settle("1234");
    await admission.complete(HANDLED);
    expect(await entriesOf(shop)).toMatchObject([{ amount: "1234", maximum: "10000", scheme: "upto" }]);
  });

  test("go with the transition that says that the money moved, in the same call", async () => {
    const memory = createMemoryStore(() => NOW_MS);
    const calls: string[] = [];
    const store: PaymentStore = {
      ...memory,
      transition(change) {
        calls.push(`${change.to}${change.entry === undefined ? "" : ` with ${change.entry.amount}`}`);
        return memory.transition(change);
      },
    };
    await sell(createShop({ store }), "n1");
    expect(calls.slice(0, 2)).toEqual(["settling", "settled with 10000"]);
    expect(calls.filter((call) => call.includes("with"))).toHaveLength(1);
  });
});

test.each<[string, unknown]>([
  ["query: expected an object", null],
  ["query.since", { since: "soon" }],
  ["query.until", { until: -1 }],
  ["query.since", { since: new Date(Number.NaN) }],
  ["query.route", { route: 1 }],
  ["query.payer", { payer: "" }],
  ["query.network", { network: {} }],
  ["query.status", { status: "paid" }],
  ["query.after", { after: 5 }],
  ["query.limit", { limit: Number.NaN }],
  ["query.sinse", { sinse: 1 }],
])("entries() names %s of a bad query, at once", (path, query) => {
  const { ledger } = createShop().engine;
  expect(() => ledger.entries(query as never)).toThrow(path);
});

test.each<[string, object]>([
  ["options.ledger.retentionDays", { retentionDays: 0 }],
  ["options.ledger.retentionDays", { retentionDays: 1.5 }],
  ["options.ledger.payers", { payers: "none" }],
  ["options.ledger.secret", { payers: "hashed" }],
  ["options.ledger.secret", { payers: "hashed", secret: "short" }],
  ["options.ledger.secret", { secret: 5 }],
  ["options.ledger.feeOf", { feeOf: "1000" }],
  ["options.ledger.retention", { retention: 5 }],
])("a bad option %s is an issue, which quotes no secret", (path, ledger) => {
  const error = (() => {
    try {
      createShop({ ledger } as never);
      return undefined;
    } catch (thrown) {
      return thrown as Error;
    }
  })();
  expect(error?.message).toContain(path);
  expect(error?.message).not.toContain('short"');
});

test("openLedger refuses a store that keeps none", () => {
  const { claim, find, transition, release, unfinished } = createMemoryStore();
  expect(() => openLedger({ claim, find, transition, release, unfinished })).toThrow(/a store that keeps a ledger/);
  expect(() => openLedger(undefined as never)).toThrow(/a store that keeps a ledger/);
});

function upto(): ReturnType<typeof createTestScheme> {
  return createTestScheme({ scheme: "upto", allowsLess: true });
}
