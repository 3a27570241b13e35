import { afterEach, describe, expect, test, vi } from "vitest";
import { FacilitatorError } from "../errors.js";
import type { PaymentEventType } from "../events/events.js";
import type { ChainFinding } from "../scheme/scheme.js";
import { createMemoryStore } from "../store/memory-store.js";
import type { PaymentStore } from "../store/payment-store.js";
import {
  admissionOf,
  createShop,
  createTestScheme,
  HANDLED,
  isHeld,
  NETWORK,
  NOW_SECONDS,
  ROUTES,
  readResponse,
  responseOf,
  SETTLED,
  type ShopOptions,
  stageOf,
} from "./shop.fixture.js";

const IDENTITY = `${NETWORK}|n1`;
const LOST = new Error("lost");
const REFUSED = { ...SETTLED, success: false, errorReason: "insufficient_funds", transaction: "" };
const UNSENT = new FacilitatorError("down", {
  code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE",
  operation: "settle",
  outcome: "none",
});

/** A store that several processes share. */
function createDurableStore(now = () => NOW_SECONDS * 1000): PaymentStore {
  const { claim, find, transition, release, unfinished } = createMemoryStore(now);
  return { claim, find, transition, release, unfinished };
}

function createWatchedShop(options: ShopOptions = {}) {
  const shop = createShop(options);
  const seen: string[] = [];
  for (const type of ["settled", "rejected", "unknown", "unsent", "unresolved"] as PaymentEventType[]) {
    shop.engine.on(type, () => void seen.push(type));
  }
  const stateOf = async () => (await shop.store.find(IDENTITY))?.state;
  return { ...shop, seen, stateOf };
}

async function createUnknownShop(options: ShopOptions = {}, response = HANDLED) {
  const shop = createWatchedShop(options);
  shop.facilitator.settles = LOST;
  await admissionOf(await shop.pay()).complete(response);
  expect(await shop.stateOf()).toBe("unknown");
  return shop;
}

const RETRY_MS = 20_000;

/** After this time, another process takes over a settlement. */
const LEASE_MS = 60_000 + RETRY_MS;

afterEach(() => void vi.useRealTimers());

describe("a settlement whose outcome is unknown", () => {
  test("an unknown settlement is retried in the background, and its stored response waits for the payer", async () => {
    const { pay, facilitator, passTime, stateOf, seen } = await createUnknownShop();
    facilitator.settles = SETTLED;
    await passTime(RETRY_MS);
    expect([await stateOf(), facilitator.count("settle"), seen]).toEqual(["settled", 2, ["unknown", "settled"]]);
    expect(responseOf(await pay()).text).toBe("sunny");
    expect(responseOf(await pay()).text).toBe("sunny");
    await passTime(RETRY_MS);
    expect(facilitator.count("settle")).toBe(2);
  });

  test("an unknown settlement is retried until the outcome is known", async () => {
    const { facilitator, passTime, stateOf } = await createUnknownShop();
    for (let times = 0; times < 3; times++) {
      vi.setSystemTime(Date.now() + 120_000);
      await passTime(75_000);
    }
    expect([await stateOf(), facilitator.count("settle")]).toEqual(["unknown", 4]);
    facilitator.settles = SETTLED;
    vi.setSystemTime(Date.now() + 120_000);
    await passTime(75_000);
    expect(await stateOf()).toBe("settled");
  });

  test("an unknown settlement is logged as unresolved and not retried after the payment has expired", async () => {
    const { facilitator, passTime, seen, log } = await createUnknownShop();
    for (let times = 0; times < 12; times++) {
      vi.setSystemTime(Date.now() + 120_000);
      await passTime(75_000);
    }
    const settles = facilitator.count("settle");
    expect([seen.at(-1), seen.filter((type) => type === "unresolved").length]).toEqual(["unresolved", 1]);
    expect(log.filter(({ event }) => event === "settlement_unresolved")).toMatchObject([
      { fields: { identity: IDENTITY, network: NETWORK } },
    ]);
    await passTime(75_000);
    expect(facilitator.count("settle")).toBe(settles);
  });

  test("an unknown settlement owes the payer a handler when the response was too large to store", async () => {
    const { pay, facilitator, passTime, stateOf } = await createUnknownShop({}, { ...HANDLED, body: undefined });
    facilitator.settles = SETTLED;
    await passTime(RETRY_MS);
    expect(await stateOf()).toBe("owed");
    const decisions = await Promise.all([pay(), pay()]);
    expect(decisions.map(stageOf).sort()).toEqual(["held", "respond"]);
    expect([await stateOf(), facilitator.count("settle")]).toEqual(["settled", 2]);

    // The client disconnects before the response, so the handler is still owed.
    for (const decision of decisions) if (isHeld(decision)) await decision.admission.cancel();
    expect(await stateOf()).toBe("owed");
    await admissionOf(await pay()).complete(HANDLED);
    expect(responseOf(await pay()).text).toBe("sunny");
  });

  test("an unknown settlement owes the payer a handler when the route settles before it", async () => {
    const routes = { "GET /weather": { ...ROUTES["GET /weather"], settle: "before" as const } };
    const { pay, facilitator, passTime, stateOf } = createWatchedShop({ routes });
    facilitator.settles = LOST;
    expect(responseOf(await pay()).status).toBe(503);
    facilitator.settles = SETTLED;
    await passTime(RETRY_MS);
    expect(await stateOf()).toBe("owed");
    expect(stageOf(await pay())).toBe("prepaid");
  });

  test("an unknown settlement is not retried in the background while a replay settles it", async () => {
    const { pay, facilitator, passTime } = await createUnknownShop();
    let resolveSettle: (value: unknown) => void = () => {};
    facilitator.settles = () => new Promise((resolve) => (resolveSettle = resolve));
    const asked = pay();
    await new Promise(setImmediate);
    await passTime(RETRY_MS);
    expect(facilitator.count("settle")).toBe(2);
    resolveSettle(SETTLED);
    expect(responseOf(await asked).text).toBe("sunny");
  });

  test("an unknown settlement is left to the replay that settles it, even after the lease", async () => {
    const { pay, facilitator, passTime } = await createUnknownShop();
    let resolveSettle: (value: unknown) => void = () => {};
    facilitator.settles = () => new Promise((resolve) => (resolveSettle = resolve));
    const asked = pay();
    await passTime(LEASE_MS);
    expect(facilitator.count("settle")).toBe(2);
    resolveSettle(SETTLED);
    expect(responseOf(await asked).text).toBe("sunny");
    await passTime(RETRY_MS);
    expect(responseOf(await pay()).text).toBe("sunny");
    expect(facilitator.count("settle")).toBe(2);
  });

  test("an unknown settlement makes a replay wait for the background retry", async () => {
    const { pay, facilitator, passTime } = await createUnknownShop();
    let resolveSettle: (value: unknown) => void = () => {};
    facilitator.settles = () => new Promise((resolve) => (resolveSettle = resolve));
    await passTime(RETRY_MS);
    const asked = pay();
    await new Promise(setImmediate);
    resolveSettle(SETTLED);
    expect(responseOf(await asked).text).toBe("sunny");
    expect(facilitator.count("settle")).toBe(2);
  });

  test("an unknown settlement is not retried after the engine is closed", async () => {
    const { engine, facilitator, passTime } = await createUnknownShop();
    engine.close();
    await passTime(RETRY_MS);
    expect(facilitator.count("settle")).toBe(1);
  });
});

test("an unsent settlement is not sent in the background", async () => {
  const { pay, facilitator, passTime, stateOf } = createWatchedShop();
  facilitator.settles = UNSENT;
  await admissionOf(await pay()).complete(HANDLED);
  facilitator.settles = SETTLED;
  await passTime(RETRY_MS);
  expect([await stateOf(), facilitator.count("settle")]).toEqual(["unsent", 1]);
});

describe("an RPC node", () => {
  const rpc = { [NETWORK]: "http://127.0.0.1:9/" };

  function createShopWithFindings(findings: readonly ChainFinding[]) {
    const left = [...findings];
    const findPayment = async (): Promise<ChainFinding> => left.shift() ?? { kind: "unclear", problem: "silent" };
    return createUnknownShop({ rpc, scheme: createTestScheme({ findPayment }) });
  }

  test("an RPC node settles the payment without the facilitator when it finds the transfer", async () => {
    const { pay, facilitator } = await createShopWithFindings([{ kind: "moved", transaction: "0xdef" }]);
    const { status, headers, text } = responseOf(await pay());
    expect([status, text, facilitator.count("settle")]).toEqual([200, "sunny", 1]);
    expect(Buffer.from(headers["payment-response"] ?? "", "base64").toString()).toContain("0xdef");
  });

  test("an RPC node shows that one transaction has paid for two: both are settled", async () => {
    const shop = createShop({
      rpc,
      scheme: createTestScheme({ findPayment: async () => ({ kind: "moved", transaction: "0xABC" }) }),
    });
    shop.facilitator.settles = () => SETTLED;
    const buy = async (nonce: string) => (await shop.pay({ payload: { nonce } })) as never;
    expect(await admissionOf(await buy("n1")).complete(HANDLED)).toMatchObject({ paid: true });
    expect(await admissionOf(await buy("n2")).complete(HANDLED)).toMatchObject({ kind: "replace" });
    expect(await shop.store.find(`${NETWORK}|n2`)).toMatchObject({ state: "unknown" });
    expect(responseOf(await buy("n2"))).toMatchObject({ status: 200, text: "sunny" });
    expect(await shop.store.find(`${NETWORK}|n2`)).toMatchObject({
      state: "settled",
      receipt: { transaction: "0xABC" },
    });
    expect(shop.engine.report().findings.map(({ code }) => code)).toContain("FAREBOX_TRANSACTION_REPEATED");
  });

  test("an RPC node rejects the payment with a challenge when the transfer can never happen", async () => {
    const { pay, facilitator, stateOf } = await createShopWithFindings([{ kind: "never" }]);
    const { status, headers, json } = responseOf(await pay());
    expect([status, json["error"], facilitator.count("settle")]).toEqual([402, "invalid_transaction_state", 1]);
    expect(headers).toHaveProperty("payment-required");
    expect(await stateOf()).toBe("rejected");
  });

  test.each<[ChainFinding]>([[{ kind: "open" }], [{ kind: "unclear", problem: "p" }]])(
    "an RPC node leaves the payment to the facilitator when it finds %j",
    async (finding) => {
      const { pay, facilitator } = await createShopWithFindings([finding]);
      facilitator.settles = REFUSED;
      expect(responseOf(await pay()).status).toBe(503);
      expect(facilitator.count("settle")).toBe(2);
    },
  );

  test.each<[string, readonly ChainFinding[], string]>([
    ["no transfer", [{ kind: "open" }, { kind: "open" }], "unknown"],
    ["the transfer", [{ kind: "open" }, { kind: "moved", transaction: "0x1" }], "settled"],
    ["that the transfer can never happen", [{ kind: "open" }, { kind: "never" }], "rejected"],
  ])("an RPC node checks a facilitator's payment_already_settled: it finds %s", async (_why, findings, state) => {
    const { pay, facilitator, stateOf } = await createShopWithFindings(findings);
    facilitator.settles = { ...REFUSED, errorReason: "payment_already_settled", transaction: "0x1" };
    await pay();
    expect(await stateOf()).toBe(state);
  });

  test("an RPC node is not asked about a first attempt", async () => {
    const findPayment = vi.fn();
    const { pay } = createShop({ rpc, scheme: createTestScheme({ findPayment }) });
    await admissionOf(await pay()).complete(HANDLED);
    expect(findPayment).not.toHaveBeenCalled();
  });

  test("an RPC node changes nothing when the scheme throws", async () => {
    const findPayment = () => Promise.reject(new RangeError("secret"));
    const { pay, facilitator, log } = await createUnknownShop({ rpc, scheme: createTestScheme({ findPayment }) });
    facilitator.settles = SETTLED;
    expect(responseOf(await pay()).text).toBe("sunny");
    expect(log).toContainEqual({ event: "look_up_failed", fields: expect.objectContaining({ error: "RangeError" }) });
  });
});

describe("a settlement of a dead process", () => {
  /** A process that dies while it settles: its facilitator never responds. */
  async function die(store: PaymentStore): Promise<void> {
    const { pay, facilitator } = createShop({ store });
    facilitator.settles = () => new Promise(() => {});
    void admissionOf(await pay()).complete(HANDLED);
    await new Promise(setImmediate);
    expect((await store.find(IDENTITY))?.state).toBe("settling");
  }

  test("a settlement of a dead process is completed after the lease, and its stored response waits for the payer", async () => {
    const store = createDurableStore();
    await die(store);
    const { pay, facilitator, passTime, stateOf } = createWatchedShop({ store });
    await new Promise(setImmediate);
    expect([await stateOf(), facilitator.count("settle")]).toEqual(["settling", 0]);
    await passTime(LEASE_MS);
    expect([await stateOf(), facilitator.count("settle")]).toEqual(["settled", 1]);
    expect(responseOf(await pay()).text).toBe("sunny");
  });

  test("a settlement of a dead process is completed for a replay after the lease", async () => {
    const store = createDurableStore();
    await die(store);
    const { pay, clock, facilitator } = createWatchedShop({ store, copyWaitMs: 0 });
    expect(responseOf(await pay()).status).toBe(409);
    clock.ms += LEASE_MS;
    expect([responseOf(await pay()).text, facilitator.count("settle")]).toEqual(["sunny", 1]);
  });

  test.each([
    ["settled", SETTLED, { settled: 1, rejected: 0, unknown: 0 }],
    ["unknown", LOST, { settled: 0, rejected: 0, unknown: 1 }],
    ["refused, which is no proof", REFUSED, { settled: 0, rejected: 0, unknown: 1 }],
  ])("a settlement of a dead process is counted by recover(): %s", async (_how, settles, counts) => {
    const store = createDurableStore();
    await createUnknownShop({ store });
    const later = createWatchedShop({ store });
    later.facilitator.settles = settles;
    // Recovery starts by itself with the first gate.
    expect(await later.engine.recover()).toEqual(counts);
  });

  test("settlements of a dead process are recovered once each", async () => {
    const store = createDurableStore();
    const { pay, facilitator, engine } = createShop({ store });
    facilitator.settles = LOST;
    for (let at = 0; at < 50; at++) {
      await admissionOf(await pay({ payload: { nonce: `n${at}` } })).complete(HANDLED);
      vi.setSystemTime(Date.now() + 60_000);
    }
    engine.close();
    const later = createWatchedShop({ store, routes: ROUTES });
    expect(await later.engine.recover()).toEqual({ settled: 50, rejected: 0, unknown: 0 });
    expect(later.facilitator.count("settle")).toBe(50);
    expect(await later.engine.recover()).toEqual({ settled: 0, rejected: 0, unknown: 0 });
  });

  test("a settlement of a dead process is logged when its scheme is no longer configured", async () => {
    const store = createDurableStore();
    await createUnknownShop({ store });
    const other = createTestScheme({ scheme: "other" });
    const { engine, log } = createShop({ store, scheme: other, routes: { "GET /weather": offering("other") } });
    expect(await engine.recover()).toEqual({ settled: 0, rejected: 0, unknown: 1 });
    expect(log).toContainEqual({
      event: "settlement_not_recovered",
      fields: expect.objectContaining({ identity: IDENTITY }),
    });
  });

  test("recover() rejects while the store fails", async () => {
    const store: PaymentStore = {
      ...createDurableStore(),
      // biome-ignore lint/correctness/useYield: it fails before it yields anything
      async *unfinished() {
        throw new RangeError("secret");
      },
    };
    const { engine, log } = createShop({ store });
    await expect(engine.recover()).rejects.toThrow(RangeError);
    expect(log).toContainEqual({ event: "settlements_not_recovered", fields: { error: "the store failed" } });
  });

  function offering(scheme: string) {
    return { accepts: { scheme, network: NETWORK, price: "$0.01" as const, payTo: `0x${"11".repeat(20)}` as const } };
  }
});

describe("a process that sleeps for longer than its lease while it settles", () => {
  /** `wake` returns what the client of that process gets after this response of its facilitator. */
  async function createSleepingProcess(store: PaymentStore, response = HANDLED, options: ShopOptions = {}) {
    const shop = createWatchedShop({ ...options, store });
    let resolveSettle: (value: unknown) => void = () => {};
    shop.facilitator.settles = () => new Promise((resolve) => (resolveSettle = resolve));
    const decided = shop.pay();
    const released = options.routes === undefined ? admissionOf(await decided).complete(response) : undefined;
    await new Promise(setImmediate);
    expect(await shop.stateOf()).toBe("settling");
    const wake = async (result: unknown) => {
      resolveSettle(result);
      const release = await released;
      if (release === undefined) return responseOf(await decided);
      return release.kind === "replace" ? readResponse(release.response) : release;
    };
    return { ...shop, wake };
  }

  const TAKEN_OVER = { status: 409, json: { error: "payment_in_progress" } };

  test("a process past its lease answers 409, and the process that took over delivers the response", async () => {
    const store = createDurableStore();
    const sleeping = await createSleepingProcess(store);
    const { pay, passTime, stateOf } = createWatchedShop({ store });
    await passTime(LEASE_MS);
    expect(await stateOf()).toBe("settled");
    expect(await sleeping.wake(SETTLED)).toMatchObject(TAKEN_OVER);
    expect(sleeping.seen).toEqual([]);
    expect(responseOf(await pay()).text).toBe("sunny");
    expect(responseOf(await pay()).text).toBe("sunny");
  });

  test("a process past its lease answers 409 while the other process is still settling", async () => {
    const store = createDurableStore();
    const sleeping = await createSleepingProcess(store);
    const { pay, passTime, facilitator } = createWatchedShop({ store });
    let resolveSettle: (value: unknown) => void = () => {};
    facilitator.settles = () => new Promise((resolve) => (resolveSettle = resolve));
    await passTime(LEASE_MS);
    expect(await sleeping.wake(SETTLED)).toMatchObject(TAKEN_OVER);
    resolveSettle(SETTLED);
    await new Promise(setImmediate);
    expect(responseOf(await pay()).text).toBe("sunny");
    expect(responseOf(await pay()).text).toBe("sunny");
  });

  test("a process past its lease answers 409 for a response too large to store, and the other process runs the handler again", async () => {
    const store = createDurableStore();
    const sleeping = await createSleepingProcess(store, { ...HANDLED, body: undefined });
    const { pay, passTime } = createWatchedShop({ store });
    await passTime(LEASE_MS);
    expect(await sleeping.wake(SETTLED)).toMatchObject(TAKEN_OVER);
    await admissionOf(await pay()).complete(HANDLED);
    expect(responseOf(await pay()).text).toBe("sunny");
  });

  test("a process past its lease answers 409 without running a handler that the other process owes", async () => {
    const store = createDurableStore();
    const routes = { "GET /weather": { ...ROUTES["GET /weather"], settle: "before" as const } };
    const sleeping = await createSleepingProcess(store, HANDLED, { routes });
    const { pay, passTime } = createWatchedShop({ store, routes });
    await passTime(LEASE_MS);
    expect(await sleeping.wake(SETTLED)).toMatchObject(TAKEN_OVER);
    expect(stageOf(await pay())).toBe("prepaid");
    expect(responseOf(await pay()).json["error"]).toBe("payment_in_progress");
  });

  test("a process past its lease answers 409 without a statement on the charge when only its own settlement was refused", async () => {
    const store = createDurableStore();
    const sleeping = await createSleepingProcess(store);
    const { pay, passTime } = createWatchedShop({ store });
    await passTime(LEASE_MS);
    expect(await sleeping.wake({ ...REFUSED, errorReason: "payment_already_settled" })).toMatchObject(TAKEN_OVER);
    expect(responseOf(await pay()).text).toBe("sunny");
  });

  test("a process past its lease delivers its response when no other process took over", async () => {
    const store = createDurableStore();
    const sleeping = await createSleepingProcess(store);
    sleeping.clock.ms += LEASE_MS;
    expect(await sleeping.wake(SETTLED)).toMatchObject({ kind: "release", paid: true });
    expect(responseOf(await sleeping.pay()).json["error"]).toBe("payment_already_used");
  });

  test.each<[string, (store: PaymentStore) => Partial<PaymentStore>]>([
    ["the record is gone", () => ({ transition: () => false, find: () => undefined })],
    [
      "the store reports false for a change that it made",
      ({ transition }) => ({ transition: (change) => !transition(change) }),
    ],
    ["the store fails", () => ({ transition: () => false, find: () => Promise.reject(new Error("down")) })],
  ])("a process past its lease delivers its response when %s", async (_why, failing) => {
    const store = createDurableStore();
    const sleeping = await createSleepingProcess(store);
    Object.assign(store, failing({ ...store }));
    expect(await sleeping.wake(SETTLED)).toMatchObject({ kind: "release", paid: true });
    expect(sleeping.log.map(({ event }) => event)).toContain("outcome_not_recorded");
  });
});
