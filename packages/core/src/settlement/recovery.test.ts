import { afterEach, describe, expect, test, vi } from "vitest";
import { FacilitatorError } from "../errors.js";
import type { PaymentEventType } from "../events/events.js";
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
} from "../gate/shop.fixture.js";
import type { ChainFinding } from "../scheme/scheme.js";
import { createMemoryStore } from "../store/memory-store.js";
import type { PaymentStore } from "../store/payment-store.js";

const IDENTITY = `${NETWORK}|n1`;
const LOST = new Error("lost");
const REFUSED = { ...SETTLED, success: false, errorReason: "insufficient_funds", transaction: "" };
const UNSENT = new FacilitatorError("down", {
  code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE",
  operation: "settle",
  outcome: "none",
});

/** A store that is not the memory of one process. */
function createDurableStore(now = () => NOW_SECONDS * 1000): PaymentStore {
  const { claim, find, transition, release, unfinished } = createMemoryStore(now);
  return { claim, find, transition, release, unfinished };
}

function watched(options: ShopOptions = {}) {
  const shop = createShop(options);
  const seen: string[] = [];
  for (const type of ["settled", "rejected", "unknown", "unsent", "unresolved"] as PaymentEventType[]) {
    shop.engine.on(type, () => void seen.push(type));
  }
  const stateOf = async () => (await shop.store.find(IDENTITY))?.state;
  return { ...shop, seen, stateOf };
}

async function unknownShop(options: ShopOptions = {}, answer = HANDLED) {
  const shop = watched(options);
  shop.facilitator.settles = LOST;
  await admissionOf(await shop.pay()).complete(answer);
  expect(await shop.stateOf()).toBe("unknown");
  return shop;
}

const A_WHILE_MS = 20_000;

/** How long a settlement might take. */
const LEASE_MS = 60_000 + A_WHILE_MS;

afterEach(() => void vi.useRealTimers());

describe("a settlement whose outcome is unknown", () => {
  test("is tried again without anybody asking, and its answer waits for the payer", async () => {
    const { pay, facilitator, passTime, stateOf, seen } = await unknownShop();
    facilitator.settles = SETTLED;
    await passTime(A_WHILE_MS);
    expect([await stateOf(), facilitator.count("settle"), seen]).toEqual(["settled", 2, ["unknown", "settled"]]);
    expect(responseOf(await pay()).text).toBe("sunny");
    expect(responseOf(await pay()).json["error"]).toBe("payment_already_used");
    await passTime(A_WHILE_MS);
    expect(facilitator.count("settle")).toBe(2);
  });

  test("is tried until it is known", async () => {
    const { facilitator, passTime, stateOf } = await unknownShop();
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

  test("is named when it stays unknown after the payment has expired, and not tried any more", async () => {
    const { facilitator, passTime, seen, log } = await unknownShop();
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

  test("owes the payer a run when its answer was too large to keep", async () => {
    const { pay, facilitator, passTime, stateOf } = await unknownShop({}, { ...HANDLED, body: undefined });
    facilitator.settles = SETTLED;
    await passTime(A_WHILE_MS);
    expect(await stateOf()).toBe("owed");
    const decisions = await Promise.all([pay(), pay()]);
    expect(decisions.map(stageOf).sort()).toEqual(["held", "respond"]);
    expect([await stateOf(), facilitator.count("settle")]).toEqual(["settled", 2]);

    // The client leaves before the answer: it is owed one still.
    for (const decision of decisions) if (isHeld(decision)) await decision.admission.cancel();
    expect(await stateOf()).toBe("owed");
    await admissionOf(await pay()).complete(HANDLED);
    expect(responseOf(await pay()).json["error"]).toBe("payment_already_used");
  });

  test("owes the payer a run where the handler runs afterwards", async () => {
    const routes = { "GET /weather": { ...ROUTES["GET /weather"], settle: "before" as const } };
    const { pay, facilitator, passTime, stateOf } = watched({ routes });
    facilitator.settles = LOST;
    expect(responseOf(await pay()).status).toBe(503);
    facilitator.settles = SETTLED;
    await passTime(A_WHILE_MS);
    expect(await stateOf()).toBe("owed");
    expect(stageOf(await pay())).toBe("prepaid");
  });

  test("is not tried behind the back of a payer who asks in the meantime", async () => {
    const { pay, facilitator, passTime } = await unknownShop();
    let resolveSettle: (value: unknown) => void = () => {};
    facilitator.settles = () => new Promise((resolve) => (resolveSettle = resolve));
    const asked = pay();
    await new Promise(setImmediate);
    await passTime(A_WHILE_MS);
    expect(facilitator.count("settle")).toBe(2);
    resolveSettle(SETTLED);
    expect(responseOf(await asked).text).toBe("sunny");
  });

  test("is left to the request that settles it again, also after its lease", async () => {
    const { pay, facilitator, passTime } = await unknownShop();
    let resolveSettle: (value: unknown) => void = () => {};
    facilitator.settles = () => new Promise((resolve) => (resolveSettle = resolve));
    const asked = pay();
    await passTime(LEASE_MS);
    expect(facilitator.count("settle")).toBe(2);
    resolveSettle(SETTLED);
    expect(responseOf(await asked).text).toBe("sunny");
    await passTime(A_WHILE_MS);
    expect(responseOf(await pay()).json["error"]).toBe("payment_already_used");
    expect(facilitator.count("settle")).toBe(2);
  });

  test("makes a payer who asks in the meantime wait for the outcome", async () => {
    const { pay, facilitator, passTime } = await unknownShop();
    let resolveSettle: (value: unknown) => void = () => {};
    facilitator.settles = () => new Promise((resolve) => (resolveSettle = resolve));
    await passTime(A_WHILE_MS);
    const asked = pay();
    await new Promise(setImmediate);
    resolveSettle(SETTLED);
    expect(responseOf(await asked).text).toBe("sunny");
    expect(facilitator.count("settle")).toBe(2);
  });

  test("is left alone once everything is closed", async () => {
    const { engine, facilitator, passTime } = await unknownShop();
    engine.close();
    await passTime(A_WHILE_MS);
    expect(facilitator.count("settle")).toBe(1);
  });
});

test("what was never sent is not sent behind the payer's back", async () => {
  const { pay, facilitator, passTime, stateOf } = watched();
  facilitator.settles = UNSENT;
  await admissionOf(await pay()).complete(HANDLED);
  facilitator.settles = SETTLED;
  await passTime(A_WHILE_MS);
  expect([await stateOf(), facilitator.count("settle")]).toEqual(["unsent", 1]);
});

describe("a node of the chain", () => {
  const rpc = { [NETWORK]: "http://127.0.0.1:9/" };

  function chainShop(findings: readonly ChainFinding[]) {
    const left = [...findings];
    const findPayment = async (): Promise<ChainFinding> => left.shift() ?? { kind: "unclear", problem: "silent" };
    return unknownShop({ rpc, scheme: createTestScheme({ findPayment }) });
  }

  test("that has seen the transfer settles the matter, and the facilitator is not asked", async () => {
    const { pay, facilitator } = await chainShop([{ kind: "moved", transaction: "0xdef" }]);
    const { status, headers, text } = responseOf(await pay());
    expect([status, text, facilitator.count("settle")]).toEqual([200, "sunny", 1]);
    expect(Buffer.from(headers["payment-response"] ?? "", "base64").toString()).toContain("0xdef");
  });

  test("that knows that it never will settles the matter as well: a fresh challenge", async () => {
    const { pay, facilitator, stateOf } = await chainShop([{ kind: "never" }]);
    const { status, headers, json } = responseOf(await pay());
    expect([status, json["error"], facilitator.count("settle")]).toEqual([402, "invalid_transaction_state", 1]);
    expect(headers).toHaveProperty("payment-required");
    expect(await stateOf()).toBe("rejected");
  });

  test.each<[ChainFinding]>([[{ kind: "open" }], [{ kind: "unclear", problem: "p" }]])(
    "that says %j leaves it to the facilitator",
    async (finding) => {
      const { pay, facilitator } = await chainShop([finding]);
      facilitator.settles = REFUSED;
      expect(responseOf(await pay()).status).toBe(503);
      expect(facilitator.count("settle")).toBe(2);
    },
  );

  test.each<[string, readonly ChainFinding[], string]>([
    ["is not believed while the transfer is not there", [{ kind: "open" }, { kind: "open" }], "unknown"],
    ["is believed when it is there", [{ kind: "open" }, { kind: "moved", transaction: "0x1" }], "settled"],
    ["is wrong when it can never be", [{ kind: "open" }, { kind: "never" }], "rejected"],
  ])("a facilitator that says the payment was settled before %s", async (_why, findings, state) => {
    const { pay, facilitator, stateOf } = await chainShop(findings);
    facilitator.settles = { ...REFUSED, errorReason: "payment_already_settled", transaction: "0x1" };
    await pay();
    expect(await stateOf()).toBe(state);
  });

  test("is not asked about a first attempt", async () => {
    const findPayment = vi.fn();
    const { pay } = createShop({ rpc, scheme: createTestScheme({ findPayment }) });
    await admissionOf(await pay()).complete(HANDLED);
    expect(findPayment).not.toHaveBeenCalled();
  });

  test("whose scheme throws changes nothing", async () => {
    const findPayment = () => Promise.reject(new RangeError("secret"));
    const { pay, facilitator, log } = await unknownShop({ rpc, scheme: createTestScheme({ findPayment }) });
    facilitator.settles = SETTLED;
    expect(responseOf(await pay()).text).toBe("sunny");
    expect(log).toContainEqual({ event: "look_up_failed", fields: expect.objectContaining({ error: "RangeError" }) });
  });
});

describe("what a dead process has left", () => {
  /** A seller that dies while it settles: its facilitator never answers, and nothing of it goes on. */
  async function die(store: PaymentStore): Promise<void> {
    const { pay, facilitator } = createShop({ store });
    facilitator.settles = () => new Promise(() => {});
    void admissionOf(await pay()).complete(HANDLED);
    await new Promise(setImmediate);
    expect((await store.find(IDENTITY))?.state).toBe("settling");
  }

  test("is settled once the other cannot be at work any more, and its answer waits for the payer", async () => {
    const store = createDurableStore();
    await die(store);
    const { pay, facilitator, passTime, stateOf } = watched({ store });
    await new Promise(setImmediate);
    expect([await stateOf(), facilitator.count("settle")]).toEqual(["settling", 0]);
    await passTime(LEASE_MS);
    expect([await stateOf(), facilitator.count("settle")]).toEqual(["settled", 1]);
    expect(responseOf(await pay()).text).toBe("sunny");
  });

  test("is settled for a payer who asks before", async () => {
    const store = createDurableStore();
    await die(store);
    const { pay, clock, facilitator } = watched({ store });
    expect(responseOf(await pay()).status).toBe(409);
    clock.ms += LEASE_MS;
    expect([responseOf(await pay()).text, facilitator.count("settle")]).toEqual(["sunny", 1]);
  });

  test.each([
    ["settled", SETTLED, { settled: 1, rejected: 0, unknown: 0 }],
    ["unknown", LOST, { settled: 0, rejected: 0, unknown: 1 }],
    ["refused, which proves nothing", REFUSED, { settled: 0, rejected: 0, unknown: 1 }],
  ])("is counted: %s", async (_how, settles, counts) => {
    const store = createDurableStore();
    await unknownShop({ store });
    const later = watched({ store });
    later.facilitator.settles = settles;
    // It has begun by itself, with the first gate.
    expect(await later.engine.recover()).toEqual(counts);
  });

  test("by many payments is taken up, each once", async () => {
    const store = createDurableStore();
    const { pay, facilitator, engine } = createShop({ store });
    facilitator.settles = LOST;
    for (let at = 0; at < 50; at++) {
      await admissionOf(await pay({ payload: { nonce: `n${at}` } })).complete(HANDLED);
      vi.setSystemTime(Date.now() + 60_000);
    }
    engine.close();
    const later = watched({ store, routes: ROUTES });
    expect(await later.engine.recover()).toEqual({ settled: 50, rejected: 0, unknown: 0 });
    expect(later.facilitator.count("settle")).toBe(50);
    expect(await later.engine.recover()).toEqual({ settled: 0, rejected: 0, unknown: 0 });
  });

  test("is named when its scheme is not there any more", async () => {
    const store = createDurableStore();
    await unknownShop({ store });
    const other = createTestScheme({ scheme: "other" });
    const { engine, log } = createShop({ store, scheme: other, routes: { "GET /weather": offering("other") } });
    expect(await engine.recover()).toEqual({ settled: 0, rejected: 0, unknown: 1 });
    expect(log).toContainEqual({
      event: "settlement_not_recovered",
      fields: expect.objectContaining({ identity: IDENTITY }),
    });
  });

  test("cannot be taken up while the store fails", async () => {
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
  /** Yields what the client of that process gets once its facilitator has said this. */
  async function sleepingSeller(store: PaymentStore, answer = HANDLED, options: ShopOptions = {}) {
    const shop = watched({ ...options, store });
    let resolveSettle: (value: unknown) => void = () => {};
    shop.facilitator.settles = () => new Promise((resolve) => (resolveSettle = resolve));
    const decided = shop.pay();
    const released = options.routes === undefined ? admissionOf(await decided).complete(answer) : undefined;
    await new Promise(setImmediate);
    expect(await shop.stateOf()).toBe("settling");
    const wake = async (said: unknown) => {
      resolveSettle(said);
      const release = await released;
      if (release === undefined) return responseOf(await decided);
      return release.kind === "replace" ? readResponse(release.response) : release;
    };
    return { ...shop, wake };
  }

  const TAKEN = { status: 409, json: { error: "payment_in_progress" } };

  test("leaves the response to the process that took over: the client gets it once", async () => {
    const store = createDurableStore();
    const sleeping = await sleepingSeller(store);
    const { pay, passTime, stateOf } = watched({ store });
    await passTime(LEASE_MS);
    expect(await stateOf()).toBe("settled");
    expect(await sleeping.wake(SETTLED)).toMatchObject(TAKEN);
    expect(sleeping.seen).toEqual([]);
    expect(responseOf(await pay()).text).toBe("sunny");
    expect(responseOf(await pay()).json["error"]).toBe("payment_already_used");
  });

  test("does so while the other is still settling", async () => {
    const store = createDurableStore();
    const sleeping = await sleepingSeller(store);
    const { pay, passTime, facilitator } = watched({ store });
    let resolveSettle: (value: unknown) => void = () => {};
    facilitator.settles = () => new Promise((resolve) => (resolveSettle = resolve));
    await passTime(LEASE_MS);
    expect(await sleeping.wake(SETTLED)).toMatchObject(TAKEN);
    resolveSettle(SETTLED);
    await new Promise(setImmediate);
    expect(responseOf(await pay()).text).toBe("sunny");
    expect(responseOf(await pay()).json["error"]).toBe("payment_already_used");
  });

  test("does so when its response was too large to keep: the handler runs once more", async () => {
    const store = createDurableStore();
    const sleeping = await sleepingSeller(store, { ...HANDLED, body: undefined });
    const { pay, passTime } = watched({ store });
    await passTime(LEASE_MS);
    expect(await sleeping.wake(SETTLED)).toMatchObject(TAKEN);
    await admissionOf(await pay()).complete(HANDLED);
    expect(responseOf(await pay()).json["error"]).toBe("payment_already_used");
  });

  test("does not run the handler that the other process owes the client", async () => {
    const store = createDurableStore();
    const routes = { "GET /weather": { ...ROUTES["GET /weather"], settle: "before" as const } };
    const sleeping = await sleepingSeller(store, HANDLED, { routes });
    const { pay, passTime } = watched({ store, routes });
    await passTime(LEASE_MS);
    expect(await sleeping.wake(SETTLED)).toMatchObject(TAKEN);
    expect(stageOf(await pay())).toBe("prepaid");
    expect(responseOf(await pay()).json["error"]).toBe("payment_already_used");
  });

  test("says nothing about the money when it was refused and the other was not", async () => {
    const store = createDurableStore();
    const sleeping = await sleepingSeller(store);
    const { pay, passTime } = watched({ store });
    await passTime(LEASE_MS);
    expect(await sleeping.wake({ ...REFUSED, errorReason: "payment_already_settled" })).toMatchObject(TAKEN);
    expect(responseOf(await pay()).text).toBe("sunny");
  });

  test("delivers its response when nobody took over", async () => {
    const store = createDurableStore();
    const sleeping = await sleepingSeller(store);
    sleeping.clock.ms += LEASE_MS;
    expect(await sleeping.wake(SETTLED)).toMatchObject({ kind: "release", paid: true });
    expect(responseOf(await sleeping.pay()).json["error"]).toBe("payment_already_used");
  });

  test.each<[string, (store: PaymentStore) => Partial<PaymentStore>]>([
    ["the record is gone", () => ({ transition: () => false, find: () => undefined })],
    [
      "the store repeated a change that it had made",
      ({ transition }) => ({ transition: (change) => !transition(change) }),
    ],
    ["the store fails", () => ({ transition: () => false, find: () => Promise.reject(new Error("down")) })],
  ])("delivers its response when %s", async (_why, failing) => {
    const store = createDurableStore();
    const sleeping = await sleepingSeller(store);
    Object.assign(store, failing({ ...store }));
    expect(await sleeping.wake(SETTLED)).toMatchObject({ kind: "release", paid: true });
    expect(sleeping.log.map(({ event }) => event)).toContain("outcome_not_recorded");
  });
});
