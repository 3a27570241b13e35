import { describe, expect, test } from "vitest";
import { ConfigError } from "../errors.js";
import type { PaymentsOptions, RouteConfig } from "../options.js";
import { createProcesses, IDENTITY } from "../sale/processes.fixture.js";
import {
  admissionOf,
  createShop,
  createTestScheme,
  HANDLED,
  NETWORK,
  PAY_TO,
  PAYER,
  readResponse,
  responseOf,
  SETTLED,
  type ShopOptions,
} from "../sale/shop.fixture.js";
import { MemoryExposure } from "../store/memory-exposure.js";
import type { Metering } from "./metering.js";

const METERED: RouteConfig = { accepts: { network: NETWORK, price: "$0.01", payTo: PAY_TO }, settle: "metered" };
const SHOP: ShopOptions = { routes: { "GET /weather": METERED }, scheme: createTestScheme({ allowsLess: true }) };
const HEAD = { ...HANDLED, body: undefined };

/** A facilitator that settles what it is asked for. */
type Settles = () => object;

type Shop = ReturnType<typeof createShop>;

function settlesAsAsked(shop: Pick<Shop, "facilitator">): Settles {
  return () => ({ ...SETTLED, amount: shop.facilitator.calls.at(-1)?.request.paymentRequirements.amount });
}

async function startStream(shop: Pick<Shop, "pay" | "facilitator">) {
  shop.facilitator.settles = settlesAsAsked(shop);
  const admission = admissionOf(await shop.pay());
  const { metering, payment } = admission;
  if (metering === undefined) throw new TypeError("not metered");
  const release = await metering.start(HEAD);
  return { admission, metering, payment, release };
}

function amountsSettled({ facilitator }: Pick<Shop, "facilitator">): readonly string[] {
  const settles = facilitator.calls.filter(({ operation }) => operation === "settle");
  return settles.map(({ request }) => request.paymentRequirements.amount);
}

/** As an adapter writes: it passes on what may go out, and it arrives. */
function deliver(metering: Metering): void {
  expect(metering.mayWrite(metering.charged)).toBeUndefined();
  metering.delivered(metering.charged);
}

/** The same, where more has to be counted or recorded first. */
async function deliverSoon(metering: Metering): Promise<void> {
  for (let room = metering.mayWrite(metering.charged); room !== undefined; room = metering.mayWrite(metering.charged)) {
    await room;
  }
  metering.delivered(metering.charged);
}

test("a metered payment that the facilitator verifies is checked here no more often than others", async () => {
  let checks = 0;
  const checkSignature = () => {
    checks += 1;
    return { kind: "signed" } as const;
  };
  const scheme = createTestScheme({ allowsLess: true, checkSignature });
  const shop = createShop({ ...SHOP, scheme, maxRunsPerPayer: 1000, exposure: { perPayer: "$100", total: "$100" } });
  for (let at = 0; at < 70; at++) admissionOf(await shop.pay({ payload: { nonce: `n${at}` } }));
  expect(checks).toBe(64);
});

describe("a metered response", () => {
  test("settles the sum that was charged, and its record says so", async () => {
    const shop = createShop(SHOP);
    const { metering, payment, release } = await startStream(shop);
    expect(release).toMatchObject({ kind: "release", paid: true });
    expect((await shop.store.find(IDENTITY))?.state).toBe("metering");
    payment.charge({ tokens: 31, price: "$0.000002" });
    deliver(metering);
    expect((await metering.finish(true)).receipt).toMatchObject({ success: true, amount: "62" });
    expect(await shop.store.find(IDENTITY)).toMatchObject({ state: "settled", receipt: { amount: "62" } });
    expect(amountsSettled(shop)).toEqual(["62"]);
  });

  test("settles once, however often it ends", async () => {
    const shop = createShop(SHOP);
    const { metering, payment } = await startStream(shop);
    payment.charge("100");
    deliver(metering);
    const ends = await Promise.all([metering.finish(true), metering.finish(false), metering.finish(true)]);
    expect(new Set(ends).size).toBe(1);
    expect(amountsSettled(shop)).toEqual(["100"]);
  });

  test("settles what was delivered when its client leaves", async () => {
    const shop = createShop(SHOP);
    const { metering, payment } = await startStream(shop);
    payment.charge("100");
    deliver(metering);
    payment.charge("200");
    expect((await metering.finish(false)).receipt?.amount).toBe("100");
  });

  test("charges nothing when nothing was delivered, and the payment can be used again", async () => {
    const shop = createShop(SHOP);
    const { metering } = await startStream(shop);
    const { receipt, proof } = await metering.finish(false);
    expect([receipt, proof]).toMatchObject([{ success: false, errorReason: "not_charged" }, []]);
    expect(amountsSettled(shop)).toEqual([]);
    expect(admissionOf(await shop.pay()).metering).toBeDefined();
  });

  test("ends at the ceiling, before the charge that is too much", async () => {
    const shop = createShop(SHOP);
    const { metering, payment } = await startStream(shop);
    const stops: string[] = [];
    metering.onStop((reason) => stops.push(reason));
    payment.charge("10000");
    deliver(metering);
    expect([payment.signal.aborted, stops]).toEqual([false, []]);
    expect(() => payment.charge("$0.0000001")).toThrow("at most what is left");
    expect([payment.signal.reason.reason, stops, metering.stopped]).toEqual(["limit", ["limit"], "limit"]);
    await metering.finish(false);
    expect(amountsSettled(shop)).toEqual(["10000"]);
  });

  test("ends as it starts if the ceiling was reached before its first byte", async () => {
    const shop = createShop(SHOP);
    shop.facilitator.settles = settlesAsAsked(shop);
    const { metering, payment } = admissionOf(await shop.pay());
    const stops: string[] = [];
    metering?.onStop((reason) => stops.push(reason));
    payment.charge("9000");
    expect(() => payment.charge("2000")).toThrow("at most what is left");
    expect([metering?.stopped, stops]).toEqual([undefined, []]);
    await metering?.start(HEAD);
    expect([metering?.stopped, stops]).toEqual(["limit", ["limit"]]);
    metering?.delivered(metering.charged);
    await metering?.finish(false);
    expect(amountsSettled(shop)).toEqual(["9000"]);
  });

  test("ends in time for its settlement when the payment runs out of time", async () => {
    const shop = createShop(SHOP);
    const { metering, payment } = await startStream(shop);
    const stops: string[] = [];
    metering.onStop((reason) => stops.push(reason));
    payment.charge("100");
    deliver(metering);
    await shop.passTime(294_001);
    expect([stops, payment.signal.reason.reason]).toEqual([["expired"], "expired"]);
    await metering.finish(false);
    expect(amountsSettled(shop)).toEqual(["100"]);
  });

  test("is not sold if it is an error, and its charges do not count", async () => {
    const shop = createShop(SHOP);
    shop.facilitator.settles = settlesAsAsked(shop);
    const { metering, payment } = admissionOf(await shop.pay());
    payment.charge("100");
    const release = await metering?.start({ ...HEAD, status: 500 });
    expect(release).toMatchObject({ kind: "release", paid: false });
    expect(await shop.store.find(IDENTITY)).toBeUndefined();
    expect(amountsSettled(shop)).toEqual([]);
  });

  test("is replaced if a hook denies its settlement", async () => {
    const shop = createShop({ ...SHOP, hooks: { beforeSettle: () => ({ deny: "no" }) } });
    const { release } = await startStream(shop);
    expect(release.kind === "replace" && readResponse(release.response).status).toBe(403);
    expect(await shop.store.find(IDENTITY)).toBeUndefined();
  });

  test("that ends in one piece is settled first, and a refusal is final", async () => {
    const shop = createShop(SHOP);
    shop.facilitator.settles = { ...SETTLED, success: false, errorReason: "insufficient_funds", transaction: "" };
    const admission = admissionOf(await shop.pay());
    admission.payment.charge("100");
    const release = await admission.complete(HANDLED);
    expect(release.kind).toBe("replace");
    expect((await shop.store.find(IDENTITY))?.state).toBe("rejected");
    // Nothing was delivered, so nothing is due.
    expect(admissionOf(await shop.pay({ payload: { nonce: "n2" } }))).toBeDefined();
  });

  test("sees garbage as a charge refused, and still settles what it counted", async () => {
    const shop = createShop(SHOP);
    const { metering, payment } = await startStream(shop);
    payment.charge("100");
    for (const amount of ["a lot", "-1", { tokens: -1, price: "1" }, { tokens: 1.5, price: "1" }, {}, null, 7]) {
      expect(() => payment.charge(amount as string)).toThrow("amount: expected");
    }
    deliver(metering);
    expect((await metering.finish(true)).receipt?.amount).toBe("100");
  });
});

describe("a payment whose metered response was delivered", () => {
  test("gets no second one: the payer learns what was settled, others are refused", async () => {
    const shop = createShop(SHOP);
    const { metering, payment } = await startStream(shop);
    const meanwhile = responseOf(await shop.pay());
    expect([meanwhile.status, meanwhile.json["error"]]).toEqual([409, "payment_in_progress"]);
    payment.charge("100");
    deliver(metering);
    await metering.finish(true);
    expect(responseOf(await shop.pay()).status).toBe(402);
    expect(amountsSettled(shop)).toEqual(["100"]);
  });

  test.each<[kind: string, settles: unknown]>([
    ["is refused", { ...SETTLED, success: false, errorReason: "insufficient_funds", transaction: "" }],
    ["is not sent", new Error("down")],
  ])(
    "is due when its settlement %s, is settled in the background, and its payer streams nothing until then",
    async (kind, settles) => {
      const shop = createShop(SHOP);
      const { metering, payment } = await startStream(shop);
      payment.charge("100");
      deliver(metering);
      shop.facilitator.settles = settles;
      const end = await metering.finish(true);
      expect((await shop.store.find(IDENTITY))?.state).toBe(kind === "is refused" ? "due" : "unknown");
      if (kind === "is refused") {
        expect(end.receipt).toMatchObject({ success: false, errorReason: "insufficient_funds" });
        const refused = responseOf(await shop.pay({ payload: { nonce: "n2" } }));
        expect([refused.status, refused.json["error"]]).toEqual([402, "payment_due"]);
        expect(admissionOf(await shop.pay({ payload: { nonce: "n3", payer: "0xOther" } }))).toBeDefined();
      }
      shop.facilitator.settles = settlesAsAsked(shop);
      await shop.passTime(30_000);
      expect((await shop.store.find(IDENTITY))?.state).toBe("settled");
      expect(admissionOf(await shop.pay({ payload: { nonce: "n4" } }))).toBeDefined();
    },
  );

  test("can be paid by the same payment sent again, which gets no response but the receipt", async () => {
    const shop = createShop(SHOP);
    const { metering, payment } = await startStream(shop);
    payment.charge("100");
    deliver(metering);
    shop.facilitator.settles = { ...SETTLED, success: false, errorReason: "insufficient_funds", transaction: "" };
    await metering.finish(true);
    expect(responseOf(await shop.pay()).status).toBe(402);
    shop.facilitator.settles = settlesAsAsked(shop);
    expect(responseOf(await shop.pay()).json["error"]).toBe("answer_not_kept");
    expect((await shop.store.find(IDENTITY))?.state).toBe("settled");
    expect(amountsSettled(shop).every((amount) => amount === "100")).toBe(true);
  });

  test("is written off when its time is over, and its payer stays known until it is forgiven", async () => {
    const shop = createShop({ ...SHOP, exposure: { perPayer: "$0.01", total: "$0.01" } });
    const { metering, payment } = await startStream(shop);
    payment.charge("100");
    deliver(metering);
    shop.facilitator.settles = { ...SETTLED, success: false, errorReason: "insufficient_funds", transaction: "" };
    await metering.finish(true);
    expect(responseOf(await shop.pay({ payload: { nonce: "n4", payer: "0xOther" } })).status).toBe(503);
    for (let at = 0; at < 12; at++) await shop.passTime(60_000);
    expect(shop.log.map(({ event }) => event)).toContain("metered_response_unpaid");
    const later = { nonce: "n2", expiresAtSeconds: 1_800_002_000 };
    expect(responseOf(await shop.pay({ payload: later })).json["error"]).toBe("payment_due");
    // What is lost no longer counts: others are served.
    await admissionOf(await shop.pay({ payload: { ...later, nonce: "n3", payer: "0xOther" } })).cancel();
    expect(await shop.engine.forgive(PAYER.toUpperCase())).toBe(1);
    expect(admissionOf(await shop.pay({ payload: later }))).toBeDefined();
  });
});

describe("what metered responses may cost", () => {
  const pays = (shop: Shop, nonce: string, payer = PAYER) => shop.pay({ payload: { nonce, payer } });

  test("one payer is limited by perPayer, with the maximum of each response until it has settled", async () => {
    const shop = createShop({ ...SHOP, exposure: { perPayer: "$0.02" } });
    const { metering, payment } = await startStream(shop);
    admissionOf(await pays(shop, "n2"));
    const refused = responseOf(await pays(shop, "n3"));
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"]);
    payment.charge("100");
    deliver(metering);
    await metering.finish(true);
    admissionOf(await pays(shop, "n3"));
  });

  test("all payers are limited by total", async () => {
    const shop = createShop({ ...SHOP, exposure: { perPayer: "$0.01", total: "$0.02" } });
    admissionOf(await pays(shop, "n1", "0xA"));
    const second = admissionOf(await pays(shop, "n2", "0xB"));
    expect(responseOf(await pays(shop, "n3", "0xC")).status).toBe(503);
    await second.cancel();
    admissionOf(await pays(shop, "n3", "0xC"));
  });

  test.each<[end: string, act: (admission: ReturnType<typeof admissionOf>) => Promise<unknown>]>([
    ["is cancelled", (admission) => admission.cancel()],
    ["is released", (admission) => admission.release()],
    ["is an error", (admission) => admission.complete({ ...HANDLED, status: 500 })],
    ["is settled in one piece", (admission) => admission.complete(HANDLED)],
  ])("a response that %s no longer counts", async (_end, act) => {
    const shop = createShop({ ...SHOP, exposure: { perPayer: "$0.01" } });
    shop.facilitator.settles = settlesAsAsked(shop);
    await act(admissionOf(await pays(shop, "n1")));
    admissionOf(await pays(shop, "n2"));
  });

  test.each<[option: string, exposure: NonNullable<PaymentsOptions["exposure"]>, path: string]>([
    ["a price above perPayer", { perPayer: "$0.009" }, "options.exposure.perPayer"],
    ["a total below perPayer", { perPayer: "$1", total: "$0.5" }, "options.exposure.total"],
    ["no dollars", { perPayer: "0.5" }, "options.exposure.perPayer"],
    ["zero", { unrecorded: "$0" }, "options.exposure.unrecorded"],
    ["more than a store can add", { total: "$1000000000" }, "options.exposure.total"],
    ["an unknown limit", { perpayer: "$1" } as never, "options.exposure.perpayer"],
  ])("%s is an issue at start", (_option, exposure, path) => {
    let issues: readonly { readonly path: string }[] = [];
    try {
      createShop({ ...SHOP, exposure });
    } catch (error) {
      if (error instanceof ConfigError) issues = error.issues;
    }
    expect(issues.map((issue) => issue.path)).toContain(path);
  });

  test.each<[what: string, balance: bigint, allowance: bigint, isAdmitted: boolean]>([
    ["enough of both", 10_000n, 10_000n, true],
    ["too little money", 9_999n, 10_000n, false],
    ["too little allowance", 10_000n, 9_999n, false],
  ])(
    "a payer with %s, by the node, is admitted or refused before the handler runs",
    async (_what, balance, allowance, isAdmitted) => {
      const scheme = createTestScheme({
        allowsLess: true,
        readBalance: async () => ({ kind: "known", amount: balance }),
        readAllowance: async () => ({ kind: "known", amount: allowance }),
      });
      const shop = createShop({ ...SHOP, scheme, rpc: { [NETWORK]: "https://node.example" } });
      const decision = await shop.pay();
      if (isAdmitted) admissionOf(decision);
      else expect(responseOf(decision).json["error"]).toBe("insufficient_funds");
    },
  );

  test("a node that does not tell changes nothing", async () => {
    const scheme = createTestScheme({
      allowsLess: true,
      readBalance: () => Promise.reject(new Error("down")),
      readAllowance: async () => ({ kind: "unclear", problem: "it is behind" }),
    });
    const shop = createShop({ ...SHOP, scheme, rpc: { [NETWORK]: "https://node.example" } });
    admissionOf(await shop.pay());
  });
});

describe("with a durable store", () => {
  /** The first cent's hundredth may be delivered unrecorded: 100 units. */
  const DURABLE: ShopOptions = { ...SHOP, exposure: { unrecorded: "$0.0001" } };
  const open = () => createProcesses({ store: { exposure: new MemoryExposure() } });
  const turn = () => new Promise(setImmediate);
  const recordedIn = async (processes: ReturnType<typeof open>) =>
    (await processes.record())?.request?.paymentRequirements.amount;

  test("what was delivered is recorded, and no more goes out unrecorded than the seller allows", async () => {
    const processes = open();
    const shop = processes.open(DURABLE);
    const { metering, payment } = await startStream({ ...shop, facilitator: processes.facilitator });
    payment.charge("60");
    deliver(metering);
    await turn();
    expect(await recordedIn(processes)).toBe("60");
    payment.charge("100");
    await deliverSoon(metering);
    payment.charge("1");
    const room = metering.mayWrite(metering.charged);
    expect(room).toBeDefined();
    await room;
    expect(await recordedIn(processes)).toBe("160");
    expect(metering.mayWrite(metering.charged)).toBeUndefined();
  });

  test("a charge above that limit goes out alone", async () => {
    const processes = open();
    const shop = processes.open(DURABLE);
    const { metering, payment } = await startStream({ ...shop, facilitator: processes.facilitator });
    payment.charge("500");
    await deliverSoon(metering);
    payment.charge("500");
    await deliverSoon(metering);
  });

  test("a little is recorded within a second", async () => {
    const processes = open();
    const shop = processes.open(DURABLE);
    const { metering, payment } = await startStream({ ...shop, facilitator: processes.facilitator });
    payment.charge("1");
    deliver(metering);
    await turn();
    expect(await recordedIn(processes)).toBe("0");
    await processes.passTime(1_000);
    expect(await recordedIn(processes)).toBe("1");
  });

  test("another process settles what a dead one has recorded, once", async () => {
    const processes = open();
    const [first, second] = [processes.open(DURABLE), processes.open(DURABLE)];
    const { metering, payment } = await startStream({ ...first, facilitator: processes.facilitator });
    payment.charge("60");
    deliver(metering);
    await turn();
    first.kill();
    processes.facilitator.settles = settlesAsAsked(processes);
    await processes.passTime(20_000);
    expect(amountsSettled(processes)).toEqual(["60"]);
    expect((await processes.record())?.state).toBe("settled");
    expect(responseOf(await second.pay()).status).toBe(402);
  });

  test("a payment whose process died before anything was recorded is free again", async () => {
    const processes = open();
    const [first, second] = [processes.open(DURABLE), processes.open(DURABLE)];
    await startStream({ ...first, facilitator: processes.facilitator });
    first.kill();
    await processes.passTime(20_000);
    expect(await processes.record()).toBeUndefined();
    expect(amountsSettled(processes)).toEqual([]);
    admissionOf(await second.pay());
  });

  test("the same payment at another process gets 409, and after a death settles what was recorded", async () => {
    const processes = open();
    const [first, second] = [processes.open(DURABLE), processes.open(DURABLE)];
    const { metering, payment } = await startStream({ ...first, facilitator: processes.facilitator });
    payment.charge("60");
    deliver(metering);
    await turn();
    expect(responseOf(await second.pay()).json["error"]).toBe("payment_in_progress");
    first.kill();
    processes.clock.ms += 9_000;
    processes.facilitator.settles = settlesAsAsked(processes);
    expect(responseOf(await second.pay()).json["error"]).toBe("answer_not_kept");
    expect(amountsSettled(processes)).toEqual(["60"]);
  });

  test("a process that was stopped for longer than its lease delivers nothing more, and settles nothing", async () => {
    const processes = open();
    const first = processes.open(DURABLE);
    processes.open(DURABLE);
    const { metering, payment } = await startStream({ ...first, facilitator: processes.facilitator });
    const stops: string[] = [];
    metering.onStop((reason) => stops.push(reason));
    payment.charge("60");
    deliver(metering);
    await turn();
    first.stop();
    processes.facilitator.settles = settlesAsAsked(processes);
    await processes.passTime(20_000);
    first.wake();
    payment.charge("60");
    metering.delivered(metering.charged);
    await processes.passTime(1_000);
    expect(stops).toEqual(["unrecorded"]);
    expect(await metering.finish(false)).toMatchObject({
      receipt: undefined,
      proof: [["PAYMENT-RETRY-TOKEN", expect.any(String)]],
    });
    expect(amountsSettled(processes)).toEqual(["60"]);
  });

  test("a store that fails for seconds ends the response", async () => {
    let isDown = false;
    const processes = open();
    const { transition } = processes.store;
    processes.store.transition = (change) => {
      if (isDown) throw new Error("down");
      return transition(change);
    };
    const shop = processes.open(DURABLE);
    const { metering, payment } = await startStream({ ...shop, facilitator: processes.facilitator });
    const stops: string[] = [];
    metering.onStop((reason) => stops.push(reason));
    isDown = true;
    payment.charge("60");
    deliver(metering);
    await processes.passTime(10_000);
    expect(stops).toEqual(["unrecorded"]);
    isDown = false;
    await metering.finish(false);
    expect(amountsSettled(processes)).toEqual(["60"]);
  });

  test("exposure counts in all processes, and ends with the settlement of a dead one", async () => {
    const processes = open();
    const limited = { ...DURABLE, exposure: { perPayer: "$0.01" } };
    const [first, second] = [processes.open(limited), processes.open(limited)];
    const { metering, payment } = await startStream({ ...first, facilitator: processes.facilitator });
    expect(responseOf(await second.pay({ payload: { nonce: "n2" } })).status).toBe(429);
    payment.charge("100");
    deliver(metering);
    await processes.passTime(2_000);
    first.kill();
    processes.facilitator.settles = settlesAsAsked(processes);
    await processes.passTime(20_000);
    admissionOf(await second.pay({ payload: { nonce: "n2" } }));
  });

  test("exposure ends with the settlement of a dead one by a request without proof, if its response was in one piece", async () => {
    const processes = open();
    const limited = { ...DURABLE, exposure: { perPayer: "$0.01" } };
    const [first, second] = [processes.open(limited), processes.open(limited)];
    processes.facilitator.settles = () => new Promise(() => {});
    const admission = admissionOf(await first.pay());
    admission.payment.charge("60");
    void admission.complete(HANDLED);
    await turn();
    expect(await processes.record()).toMatchObject({ state: "settling", mode: "metered" });
    first.kill();
    processes.clock.ms += 9_000;
    processes.facilitator.settles = settlesAsAsked(processes);
    expect(responseOf(await second.pay()).text).toBe("sunny");
    expect((await processes.record())?.mark).toBe("unproven");
    await turn();
    admissionOf(await second.pay({ payload: { nonce: "n2" } }));
  });

  test("a stream that grows leaves less for those of another process, which end where the limit is", async () => {
    const processes = open();
    const limited = { ...SHOP, exposure: { perPayer: "$0.01", unrecorded: "$0.001" } };
    const [first, second] = [processes.open(limited), processes.open(limited)];
    const one = await startStream({ ...first, facilitator: processes.facilitator });
    const pay = () => second.pay({ payload: { nonce: "n2" } });
    const other = await startStream({ pay, facilitator: processes.facilitator });
    one.payment.charge("6000");
    await deliverSoon(one.metering);
    other.payment.charge("5000");
    await other.metering.mayWrite(other.metering.charged);
    expect([one.metering.stopped, other.metering.stopped]).toEqual([undefined, "exposure"]);
    expect(other.payment.signal.reason).toMatchObject({ reason: "exposure" });
    expect((await other.metering.finish(false)).receipt).toMatchObject({ errorReason: "not_charged" });
    expect((await one.metering.finish(true)).receipt).toMatchObject({ success: true, amount: "6000" });
  });
});
