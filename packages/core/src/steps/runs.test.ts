import { describe, expect, test } from "vitest";
import type { RpcNode } from "../http/rpc-node.js";
import { PendingWrites } from "../sale/delivery.js";
import type { PaidRequest } from "../sale/request.js";
import {
  admissionOf,
  createShop,
  createTestScheme,
  HANDLED,
  NETWORK,
  NOW_SECONDS,
  responseOf,
  stageOf,
} from "../sale/shop.fixture.js";
import type { BalanceReading } from "../scheme/scheme.js";
import { Run, Runs } from "./runs.js";

const START_MS = NOW_SECONDS * 1000;

/** Counts the runs of a test, by a clock that it moves. */
function openCounts(maxPerPayer = 2) {
  const clock = { ms: START_MS };
  const node: { balance: BalanceReading | Promise<BalanceReading> | Error; asked: number } = {
    balance: { kind: "known", amount: 0n },
    asked: 0,
  };
  const readBalance = async () => {
    node.asked += 1;
    if (node.balance instanceof Error) throw node.balance;
    return node.balance;
  };
  const warned: string[] = [];
  const logger = { info() {}, warn: (event: string) => void warned.push(event), error() {} };
  const rpc = new Map([[NETWORK, {} as RpcNode]]);
  const runs = new Runs({ maxPerPayer, rpc, logger, now: () => clock.ms, writes: new PendingWrites() });
  const paid = (identity: string, { payer = "payer", amount = 10n, seconds = 300, asset = "USDC" } = {}) =>
    ({
      claim: { identity, expiresAtMs: START_MS + seconds * 1000 },
      payer,
      offer: {
        scheme: createTestScheme({ readBalance }),
        amount,
        requirements: { network: NETWORK, asset, maxTimeoutSeconds: 300 },
        assetKey: `${NETWORK}|${asset}`,
      },
      facilitatorRequest: { paymentPayload: { payload: {} } },
    }) as unknown as PaidRequest;
  const begin = async (...payment: Parameters<typeof paid>) => {
    const run = await runs.begin(paid(...payment));
    if (!(run instanceof Run)) throw new TypeError(`refused by ${run.by}`);
    return run;
  };
  return { clock, node, runs, paid, begin, warned };
}

/** Enough for everything. */
const RICH = { kind: "known", amount: 1_000n } as const;

describe("the number of a payer's runs", () => {
  test("is limited, and a run that ends makes room", async () => {
    const { runs, paid, begin, node } = openCounts(2);
    node.balance = RICH;
    const first = await begin("p1");
    await begin("p2");
    expect(await runs.begin(paid("p3"))).toEqual({ by: "maxRunsPerPayer", retryAfterSeconds: 1 });
    expect(await begin("p3", { payer: "another" })).toBeInstanceOf(Run);
    first.end();
    first.end();
    await begin("p3");
    expect(await runs.begin(paid("p4"))).toMatchObject({ by: "maxRunsPerPayer" });
  });

  test("has abandoned runs until the first of their payments has expired, and says when", async () => {
    const { runs, paid, begin, node, clock } = openCounts(2);
    node.balance = RICH;
    const first = await begin("p1", { seconds: 400 });
    clock.ms += 10_000;
    const second = await begin("p2", { seconds: 20 });
    for (const run of [first, second]) run.abandon();
    for (const run of [first, second]) run.handlerEnded();
    // The second was signed for a shorter time than the seller asks, and counts for that.
    expect(await runs.begin(paid("p3"))).toEqual({ by: "maxRunsPerPayer", retryAfterSeconds: 300 });
    clock.ms += 300_000;
    await begin("p3");
    expect(await runs.begin(paid("p4"))).toMatchObject({ by: "maxRunsPerPayer" });
  });

  test("has no run that broke off by itself, and none whose payment has settled and whose handler has ended", async () => {
    const { runs, begin, paid } = openCounts(1);
    const broken = await begin("p1");
    broken.handlerEnded();
    broken.abandon();
    const left = await begin("p2");
    left.abandon();
    runs.settled(paid("p2"));
    expect(await runs.begin(paid("p3"))).toMatchObject({ by: "maxRunsPerPayer" });
    left.handlerEnded();
    expect(await begin("p3")).toBeInstanceOf(Run);
  });
});

describe("the runs of one payment", () => {
  test("are too many once two were abandoned, until it settles, and then once two more were", async () => {
    const { runs, begin, paid } = openCounts(9);
    const seconds = [];
    for (let time = 0; time < 2; time++) {
      seconds.push(runs.secondsToWait(paid("p")));
      (await begin("p", { amount: 0n })).abandon();
    }
    expect([...seconds, runs.secondsToWait(paid("p")), runs.secondsToWait(paid("q"))]).toEqual([0, 0, 300, 0]);
    runs.settled(paid("p"));
    expect(runs.secondsToWait(paid("p"))).toBe(0);
    for (let time = 0; time < 2; time++) runs.beginSettled(paid("p")).abandon();
    expect(runs.secondsToWait(paid("p"))).toBe(300);
  });
});

describe("what a payer owes", () => {
  test("is compared with the balance once there are several runs of one asset", async () => {
    const { runs, begin, paid, node } = openCounts(9);
    node.balance = { kind: "known", amount: 25n };
    await begin("p1");
    await begin("p2", { asset: "EURC" });
    expect(node.asked).toBe(0);
    const third = await begin("p3");
    expect(await runs.begin(paid("p4"))).toEqual({ by: "balance", retryAfterSeconds: 1 });
    expect(node.asked).toBe(2);
    third.reject();
    await begin("p4");
  });

  test("has the amount of a payment once, however often it was abandoned", async () => {
    const { runs, begin, paid, node } = openCounts(9);
    node.balance = { kind: "known", amount: 20n };
    for (let time = 0; time < 2; time++) (await begin("p1")).abandon();
    await begin("p1");
    expect(node.asked).toBe(0);
    await begin("p2");
    expect(await runs.begin(paid("p3"))).toMatchObject({ by: "balance" });
  });

  test("is asked once for runs that begin at once", async () => {
    const { runs, paid, node } = openCounts(99);
    node.balance = { kind: "known", amount: 30n };
    const begun = await Promise.all(Array.from({ length: 50 }, (_, at) => runs.begin(paid(`p${at}`))));
    expect([begun.filter((run) => run instanceof Run).length, node.asked]).toEqual([3, 1]);
  });

  test("is not compared with a balance that was read before a payment settled", async () => {
    const { runs, begin, paid, node } = openCounts(9);
    let tell = (_: BalanceReading) => {};
    node.balance = new Promise((resolve) => {
      tell = resolve;
    });
    const first = await begin("p1");
    await begin("other", { asset: "EURC" });
    const second = runs.begin(paid("p2"));
    runs.settled(paid("p1"));
    first.end();
    const third = runs.begin(paid("p3"));
    tell({ kind: "known", amount: 20n });
    await Promise.all([second, third]);
    expect(node.asked).toBe(2);
  });

  test("does not include payments that have expired", async () => {
    const { begin, node, clock } = openCounts(9);
    (await begin("p1", { seconds: 20 })).abandon();
    clock.ms += 20_000;
    await begin("p2");
    expect(node.asked).toBe(0);
  });

  test.each<[string, BalanceReading | Error]>([
    ["is unclear", { kind: "unclear", problem: "node did not respond" }],
    ["cannot be read, because the scheme throws", new Error("secret")],
  ])("allows one run at a time while the balance %s", async (_how, balance) => {
    const { runs, begin, paid, node, warned } = openCounts(9);
    node.balance = balance;
    const first = await begin("p1");
    expect(await runs.begin(paid("p2"))).toMatchObject({ by: "balance" });
    first.end();
    await begin("p2");
    expect(warned).toEqual(["balance_unknown"]);
  });
});

test("payers who never come back are forgotten when their payments have expired", async () => {
  const { runs, begin, clock } = openCounts(2);
  for (let at = 0; at < 10_000; at++) (await begin(`p${at}`, { payer: `payer${at}` })).abandon();
  expect(runs.size).toBe(10_000);
  clock.ms += 300_000;
  for (let at = 0; at < 10_000; at++) (await begin(`q${at}`, { payer: `other${at}` })).abandon();
  expect(runs.size).toBeLessThanOrEqual(10_000);
});

test("a run leaves nothing behind when it ends", async () => {
  const { runs, begin } = openCounts(2);
  (await begin("p")).end();
  expect(runs.size).toBe(0);
});

describe("a payment that was abandoned twice", () => {
  async function abandonTwice(options: Parameters<typeof createShop>[0] = {}) {
    const shop = createShop(options);
    for (let time = 0; time < 2; time++) await admissionOf(await shop.pay()).cancel();
    return shop;
  }

  test("is verified, asked about and settled before its handler runs", async () => {
    const asked: string[] = [];
    const hooks = {
      afterVerify: () => void asked.push("afterVerify"),
      beforeSettle: () => void asked.push("beforeSettle"),
    };
    const shop = await abandonTwice({ hooks });
    const admission = admissionOf(await shop.pay());
    expect([asked.slice(2), shop.facilitator.count("verify"), shop.facilitator.count("settle")]).toEqual([
      ["afterVerify", "beforeSettle"],
      3,
      1,
    ]);
    expect(await admission.complete(HANDLED)).toMatchObject({ kind: "release", paid: true });
    expect(responseOf(await shop.pay()).status).toBe(402);
  });

  test("gets 402 without a run when it does not settle, and 503 when that is unknown", async () => {
    const shop = await abandonTwice();
    shop.facilitator.settles = new Error("lost");
    expect(responseOf(await shop.pay()).status).toBe(503);
    shop.facilitator.settles = { success: false, errorReason: "insufficient_funds", transaction: "", network: NETWORK };
    const other = await abandonTwice();
    other.facilitator.settles = shop.facilitator.settles;
    expect(responseOf(await other.pay()).status).toBe(402);
  });

  test("gets 429 when its scheme cannot settle before the handler runs, and another payment is served", async () => {
    const scheme = createTestScheme({ allowsLess: true });
    const shop = await abandonTwice({ scheme });
    const denied: string[] = [];
    shop.engine.on("denied", ({ by }) => denied.push(by));
    const { status, headers, json } = responseOf(await shop.pay());
    expect([status, headers["retry-after"], json["error"], denied]).toEqual([
      429,
      undefined,
      "too_many_payments",
      ["abandonedRuns"],
    ]);
    expect(json["message"]).toContain("sign a new payment");
    expect(stageOf(await shop.pay({ payload: { nonce: "n2" } }))).toBe("held");
  });
});

test("a payment that was abandoned once is settled first when its payer has too many runs", async () => {
  const shop = createShop({ maxRunsPerPayer: 1 });
  await admissionOf(await shop.pay()).cancel();
  expect(responseOf(await shop.pay({ payload: { nonce: "n2" } })).status).toBe(429);
  await admissionOf(await shop.pay()).complete(HANDLED);
  expect(shop.facilitator.count("settle")).toBe(1);
});

test("runs whose payments expire under the handler count against maxRunsPerPayer", async () => {
  const shop = createShop({ maxRunsPerPayer: 2 });
  const stages = [];
  for (let at = 0; at < 5; at++) {
    const seconds = shop.clock.ms / 1000 + 16;
    stages.push(stageOf(await shop.pay({ payload: { nonce: `n${at}`, expiresAtSeconds: seconds } })));
    await shop.passTime(17_000);
  }
  expect(stages).toEqual(["held", "held", "respond", "respond", "respond"]);
  expect(shop.facilitator.count("settle")).toBe(0);
});
