import { describe, expect, test } from "vitest";
import { createProcesses, type ProcessesOptions } from "./processes.fixture.js";
import {
  admissionOf,
  createFakeFacilitator,
  createTestScheme,
  decodeHeader,
  HANDLED,
  isPrepaid,
  NETWORK,
  PAY_TO,
  ROUTES,
  readResponse,
  responseOf,
  SETTLED,
  type ShopOptions,
  stageOf,
} from "./shop.fixture.js";

const BEFORE = { routes: { "GET /weather": { ...ROUTES["GET /weather"], settle: "before" as const } } };
const LARGE = { ...HANDLED, body: undefined };
const settle = () => new Promise(setImmediate);

/** Within this time, a death is noticed. */
const NOTICED_MS = 10_000;

function prepaidOf(decision: Parameters<typeof isPrepaid>[0]) {
  if (!isPrepaid(decision)) throw new TypeError(`expected a prepaid run, got ${stageOf(decision)}`);
  return decision.admission;
}

/** Lets the facilitator accept a payment only when the result is called. */
function holdVerify(facilitator: ReturnType<typeof createProcesses>["facilitator"]): () => void {
  let accept = () => {};
  facilitator.verifies = () =>
    new Promise((resolve) => {
      accept = () => resolve({ isValid: true });
    });
  return () => accept();
}

/** Two processes, of which the first has a payment. */
function createTwo(options: ShopOptions = {}, given: ProcessesOptions = {}) {
  const world = createProcesses(given);
  return { ...world, first: world.open(options), second: world.open(options) };
}

describe("a process that was stopped for longer than its lease, before its handler ran", () => {
  test("runs no handler, and its client gets 409, when another process has served the payment", async () => {
    const { first, second, facilitator, passTime } = createTwo();
    const verified = holdVerify(facilitator);
    const overtaken = first.pay();
    await settle();
    first.stop();
    await passTime(NOTICED_MS);
    facilitator.verifies = { isValid: true };
    await admissionOf(await second.pay()).complete(HANDLED);
    first.wake();
    verified();
    expect(responseOf(await overtaken).status).toBe(409);
    expect(facilitator.count("settle")).toBe(1);
  });

  test("runs no prepaid handler when another process runs it", async () => {
    const { store, open, facilitator, passTime } = createProcesses();
    const [first, second] = [open(BEFORE), open(BEFORE)];
    const { transition } = store;
    store.transition = (change) => {
      if (change.to === "settled" && change.newOwner === undefined) first.stop();
      return transition(change);
    };
    const overtaken = first.pay();
    await settle();
    Object.assign(store, { transition });
    await passTime(NOTICED_MS);
    const served = await second.pay();
    prepaidOf(served).done();
    first.wake();
    expect(responseOf(await overtaken).status).toBe(409);
    expect(facilitator.count("settle")).toBe(1);
  });

  test("runs its handler when no other process has asked meanwhile", async () => {
    const { first, facilitator, passTime } = createTwo();
    const verified = holdVerify(facilitator);
    const paying = first.pay();
    await settle();
    first.stop();
    await passTime(NOTICED_MS);
    first.wake();
    verified();
    await admissionOf(await paying).complete(HANDLED);
    expect(facilitator.count("settle")).toBe(1);
  });
});

/** Two processes, whose first calls that record a settlement fail. `isDone`: they take effect all the same. */
function createFailing({ failures, isDone }: { readonly failures: number; readonly isDone: boolean }) {
  const world = createProcesses();
  const { transition } = world.store;
  let left = failures;
  world.store.transition = async (change) => {
    const fails = change.from === "settling" && change.to === "settled" && left-- > 0;
    const changed = fails && !isDone ? false : await transition(change);
    if (fails) throw new Error("the connection broke");
    return changed;
  };
  return { world, first: world.open(BEFORE), second: world.open(BEFORE) };
}

describe("calls of the store that fail", () => {
  test.each([
    ["takes no effect", false],
    ["takes effect", true],
  ])(
    "a prepaid handler runs once for two processes when the call that records the settlement fails and %s",
    async (_, isDone) => {
      const { world, first, second } = createFailing({ failures: 1, isDone });
      const { done } = prepaidOf(await first.pay());
      done();
      const retried = second.pay();
      await world.passTime(NOTICED_MS);
      expect(responseOf(await retried)).toMatchObject({ status: 402, json: { error: "payment_already_used" } });
      expect(world.facilitator.count("settle")).toBe(1);
      expect(first.log).toEqual([]);
    },
  );

  test.each([
    ["take no effect", false],
    ["take effect", true],
  ])(
    "a prepaid handler runs once for two processes when all calls that record the settlement fail and %s",
    async (_, isDone) => {
      const { world, first, second } = createFailing({ failures: 2, isDone });
      const told = responseOf(await first.pay());
      expect([told.status, told.json["error"]]).toEqual([503, "settlement_pending"]);
      expect(first.log.map(({ event }) => event)).toEqual(["outcome_not_recorded"]);
      await world.passTime(NOTICED_MS);
      prepaidOf(await second.pay()).done();
      await settle();
      await world.passTime(NOTICED_MS);
      expect(responseOf(await first.pay())).toMatchObject({ status: 402, json: { error: "payment_already_used" } });
    },
  );

  test("a prepaid handler runs once for two processes when the call that records its delivery fails", async () => {
    const world = createProcesses();
    const { transition } = world.store;
    let failures = 1;
    world.store.transition = (change) => {
      if (change.from === "settled" && failures-- > 0) throw new Error("the connection broke");
      return transition(change);
    };
    const first = world.open(BEFORE);
    const second = world.open(BEFORE);
    prepaidOf(await first.pay()).done();
    await settle();
    await world.passTime(NOTICED_MS);
    expect(responseOf(await second.pay())).toMatchObject({ status: 402, json: { error: "payment_already_used" } });
  });
});

describe("the death of a process", () => {
  test("a payment that a dead process had claimed is claimed anew within 10 s", async () => {
    const { first, second, facilitator, passTime, record } = createTwo();
    facilitator.verifies = () => new Promise(() => {});
    void first.pay();
    await settle();
    first.kill();
    expect((await record())?.state).toBe("claimed");
    facilitator.verifies = { isValid: true };
    const retried = second.pay();
    await passTime(NOTICED_MS);
    await admissionOf(await retried).complete(HANDLED);
    expect([(await record())?.state, facilitator.count("settle")]).toEqual(["settled", 1]);
  });

  test("a payment whose handler a dead process ran runs the handler anew within 10 s", async () => {
    const { first, second, facilitator, passTime, record } = createTwo();
    admissionOf(await first.pay());
    await passTime(60_000);
    first.kill();
    expect((await record())?.state).toBe("claimed");
    const retried = second.pay();
    await passTime(NOTICED_MS);
    await admissionOf(await retried).complete(HANDLED);
    expect(facilitator.count("settle")).toBe(1);
  });

  test("a claim of a dead process is released for a request whose payment has expired", async () => {
    const { first, second, passTime, record } = createTwo();
    admissionOf(await first.pay());
    await passTime(60_000);
    first.kill();
    await passTime(300_000);
    expect(responseOf(await second.pay())).toMatchObject({ status: 402 });
    expect(await record()).toBeUndefined();
  });

  test("a settlement of a dead process is taken over within 10 s, without a request", async () => {
    const { first, second, facilitator, passTime, record } = createTwo();
    const admission = admissionOf(await first.pay());
    facilitator.settles = () => new Promise(() => {});
    void admission.complete(HANDLED);
    await passTime(5_000);
    first.kill();
    facilitator.settles = SETTLED;
    await passTime(NOTICED_MS);
    expect([(await record())?.state, facilitator.count("settle")]).toEqual(["settled", 2]);
    expect(responseOf(await second.pay()).text).toBe("sunny");
  });

  test("a settlement of a dead process is taken over by a retry within 10 s", async () => {
    const { first, second, facilitator, passTime } = createTwo();
    const admission = admissionOf(await first.pay());
    facilitator.settles = () => new Promise(() => {});
    void admission.complete(HANDLED);
    await settle();
    first.kill();
    facilitator.settles = SETTLED;
    const retried = second.pay();
    await passTime(NOTICED_MS);
    expect(responseOf(await retried).text).toBe("sunny");
    expect(facilitator.count("settle")).toBe(2);
  });

  test("an unknown outcome of a dead process is taken over within 10 s", async () => {
    const { first, facilitator, passTime, record } = createTwo();
    facilitator.settles = new Error("lost");
    await admissionOf(await first.pay()).complete(HANDLED);
    await passTime(40_000);
    first.kill();
    expect((await record())?.state).toBe("unknown");
    facilitator.settles = SETTLED;
    await passTime(NOTICED_MS);
    expect((await record())?.state).toBe("settled");
  });

  test("an unknown outcome is left to the process that has it, until that is closed", async () => {
    const { open, facilitator, passTime, record } = createProcesses();
    const first = open();
    const other = createFakeFacilitator();
    other.settles = SETTLED;
    open({ facilitator: other });
    facilitator.settles = new Error("lost");
    await admissionOf(await first.pay()).complete(HANDLED);
    await passTime(120_000);
    expect([facilitator.count("settle") > 2, other.count("settle")]).toEqual([true, 0]);
    first.engine.close();
    await passTime(NOTICED_MS);
    expect([(await record())?.state, other.count("settle")]).toEqual(["settled", 1]);
  });

  test("a process whose store fails to record an unknown outcome tries again by itself", async () => {
    let isBroken = false;
    const { first, second, facilitator, passTime, record, store } = createTwo();
    second.engine.close();
    const { transition } = store;
    store.transition = (change) => {
      if (isBroken) throw new Error("no connection");
      return transition(change);
    };
    facilitator.settles = () => {
      isBroken = true;
      throw new Error("lost");
    };
    await admissionOf(await first.pay()).complete(HANDLED);
    expect((await record())?.state).toBe("settling");
    isBroken = false;
    facilitator.settles = SETTLED;
    await passTime(NOTICED_MS);
    expect((await record())?.state).toBe("settled");
  });

  test.each<[by: string, request: { retryToken?: string }]>([["without proof", {}]])(
    "a payment whose prepaid handler was killed at work runs it once more, %s",
    async (_by, request) => {
      const { first, second, facilitator, passTime, record } = createTwo(BEFORE);
      expect(stageOf(await first.pay())).toBe("prepaid");
      await passTime(30_000);
      first.kill();
      const retried = second.pay({}, request);
      await passTime(NOTICED_MS);
      const again = await retried;
      expect([stageOf(again), facilitator.count("settle")]).toEqual(["respond", 1]);
      const admission = prepaidOf(await second.pay({}, request));
      expect((await record())?.leaseUntilMs).toBeGreaterThan(0);
      admission.done();
      await settle();
      expect(await record()).not.toHaveProperty("leaseUntilMs");
      expect(responseOf(await second.pay({}, request)).json["error"]).toBe("payment_already_used");
      expect(facilitator.count("settle")).toBe(1);
    },
  );

  test("a payment whose prepaid handler was killed at work runs it once more for the payer's token", async () => {
    const { first, second, facilitator, passTime } = createTwo(BEFORE);
    const admission = prepaidOf(await first.pay());
    const [[, retryToken] = []] = admission.failureHeaders;
    first.kill();
    const early = responseOf(await second.pay({}, { retryToken }));
    expect([early.status, early.json["error"]]).toEqual([409, "payment_in_progress"]);
    await passTime(NOTICED_MS);
    prepaidOf(await second.pay({}, { retryToken })).done();
    await settle();
    expect(responseOf(await second.pay({}, { retryToken })).json["error"]).toBe("answer_not_kept");
    expect(facilitator.count("settle")).toBe(1);
  });

  test("a response that was charged and not delivered by a dead process is given by another", async () => {
    const { first, second, facilitator, passTime, record } = createTwo();
    expect(await admissionOf(await first.pay()).complete(HANDLED)).toMatchObject({ kind: "release", paid: true });
    first.kill();
    expect((await record())?.answer).toBeDefined();
    const retried = second.pay();
    await passTime(NOTICED_MS);
    expect([responseOf(await retried).text, facilitator.count("settle")]).toEqual(["sunny", 1]);
  });

  test("a response too large to keep that a dead process did not deliver is made anew", async () => {
    const { first, second, facilitator, passTime } = createTwo();
    await admissionOf(await first.pay()).complete(LARGE);
    first.kill();
    await passTime(NOTICED_MS);
    await admissionOf(await second.pay()).complete(HANDLED);
    expect(facilitator.count("settle")).toBe(1);
  });

  test("an owed run that a dead process had begun is run by another", async () => {
    const { first, second, facilitator, passTime, record } = createTwo();
    const admission = admissionOf(await first.pay());
    await admission.complete(LARGE);
    await admission.unreleased(LARGE);
    expect((await record())?.state).toBe("owed");
    admissionOf(await first.pay());
    await passTime(30_000);
    first.kill();
    await passTime(NOTICED_MS);
    await admissionOf(await second.pay()).complete(HANDLED);
    expect(facilitator.count("settle")).toBe(1);
  });

  test.each<[when: string]>([["before its handler"], ["in its handler"]])(
    "a store that cannot renew leaves a payment whose process died %s alone until it expires",
    async (when) => {
      const { first, second, facilitator, passTime, record } = createTwo({}, { without: ["renew"] });
      if (when === "before its handler") facilitator.verifies = () => new Promise(() => {});
      void first.pay();
      await settle();
      first.kill();
      expect((await record())?.state).toBe("claimed");
      await passTime(280_000);
      const retried = second.pay();
      await passTime(NOTICED_MS);
      expect(responseOf(await retried).status).toBe(409);
      await passTime(20_000);
      expect(responseOf(await second.pay()).json["error"]).toMatch(/valid_before|payment_expired/);
    },
  );
});

describe("a process that lives", () => {
  test("a handler that runs for longer than a lease keeps its payment", async () => {
    const { first, second, facilitator, passTime } = createTwo();
    const admission = admissionOf(await first.pay());
    await passTime(60_000);
    const duplicate = second.pay();
    await passTime(NOTICED_MS);
    expect(responseOf(await duplicate).status).toBe(409);
    expect(await admission.complete(HANDLED)).toMatchObject({ kind: "release", paid: true });
    expect([facilitator.count("verify"), facilitator.count("settle")]).toEqual([1, 1]);
  });

  test("a settlement that takes longer than a lease is not taken over", async () => {
    const { first, facilitator, passTime } = createTwo();
    const admission = admissionOf(await first.pay());
    let resolve: (value: unknown) => void = () => {};
    facilitator.settles = () => new Promise((resolved) => (resolve = resolved));
    const release = admission.complete(HANDLED);
    await passTime(60_000);
    resolve(SETTLED);
    expect(await release).toMatchObject({ kind: "release", paid: true });
    expect(facilitator.count("settle")).toBe(1);
  });

  test("leases are renewed in one call, and only while there is one", async () => {
    const calls: number[] = [];
    const { first, passTime } = createTwo({}, { store: { renew: (owned) => void calls.push(owned.length) } });
    await passTime(10_000);
    expect(calls).toEqual([]);
    const admissions = [];
    for (const nonce of ["a", "b", "c"]) admissions.push(admissionOf(await first.pay({ payload: { nonce } })));
    await passTime(5_250);
    expect(calls).toEqual([3, 3]);
    for (const admission of admissions) await admission.cancel();
    await passTime(10_000);
    expect(calls).toEqual([3, 3]);
  });

  test("a process that was stopped for longer than its lease neither settles nor delivers what another has claimed", async () => {
    const { first, second, facilitator, passTime } = createTwo();
    const admission = admissionOf(await first.pay());
    first.stop();
    await passTime(NOTICED_MS);
    const other = admissionOf(await second.pay());
    const released = admission.complete(HANDLED);
    first.wake();
    const release = await released;
    if (release.kind !== "replace") throw new TypeError("it was delivered");
    expect(readResponse(release.response)).toMatchObject({ status: 409, json: { error: "payment_in_progress" } });
    expect(facilitator.count("settle")).toBe(0);
    expect(await other.complete(HANDLED)).toMatchObject({ kind: "release", paid: true });
    expect(facilitator.count("settle")).toBe(1);
  });

  test("a process that was stopped while it settled does not deliver what another has taken over", async () => {
    const { first, second, facilitator, passTime } = createTwo();
    const admission = admissionOf(await first.pay());
    let resolve: (value: unknown) => void = () => {};
    facilitator.settles = () => new Promise((resolved) => (resolve = resolved));
    const released = admission.complete(HANDLED);
    await settle();
    first.stop();
    facilitator.settles = SETTLED;
    await passTime(NOTICED_MS);
    resolve(SETTLED);
    first.wake();
    const release = await released;
    expect(release.kind === "replace" && readResponse(release.response).status).toBe(409);
    expect(responseOf(await second.pay()).text).toBe("sunny");
  });

  test("a delivered response is forgotten soon, and its record has no lease", async () => {
    const { first, second, passTime, record } = createTwo();
    const admission = admissionOf(await first.pay());
    await admission.complete(HANDLED);
    admission.done();
    await passTime(4_000);
    expect(await record()).toMatchObject({ state: "settled" });
    expect(await record()).not.toHaveProperty("answer");
    expect(await record()).not.toHaveProperty("leaseUntilMs");
    expect(responseOf(await second.pay()).json["error"]).toBe("payment_already_used");
  });

  test("a delivered response is forgotten at once when the engine is closed", async () => {
    const { first, record } = createTwo();
    const admission = admissionOf(await first.pay());
    await admission.complete(HANDLED);
    admission.done();
    await first.engine.close();
    expect(await record()).not.toHaveProperty("answer");
  });

  test("close waits for a slow store, until it has the delivery and the end of the run", async () => {
    const { first, record, runs } = createTwo();
    const admission = admissionOf(await first.pay());
    expect(runs.size).toBe(1);
    await admission.complete(HANDLED);
    first.stop();
    admission.done();
    let isClosed = false;
    const closed = first.engine.close().then(() => {
      isClosed = true;
    });
    await settle();
    expect(isClosed).toBe(false);
    first.wake();
    await closed;
    expect(await record()).not.toHaveProperty("answer");
    expect(runs.size).toBe(0);
  });

  test("a response whose delivery broke off is kept for anyone, as in one process", async () => {
    const { first, second, record } = createTwo();
    const admission = admissionOf(await first.pay());
    await admission.complete(HANDLED);
    await admission.undelivered(HANDLED);
    admission.done();
    expect(await record()).not.toHaveProperty("leaseUntilMs");
    expect(responseOf(await second.pay()).text).toBe("sunny");
  });
});

describe.each([
  ["tells of changes", []],
  ["is asked", ["watch" as const]],
])("a duplicate at another process, with a store that %s", (_how, without) => {
  test("the duplicate gets the response and receipt of the first request", async () => {
    const { first, second, facilitator, passTime } = createTwo({}, { without });
    const admission = admissionOf(await first.pay());
    const duplicate = second.pay();
    await passTime(3_000);
    const released = await admission.complete(HANDLED);
    admission.done();
    await passTime(2_000);
    const { status, text, headers } = responseOf(await duplicate);
    expect([status, text]).toEqual([200, "sunny"]);
    expect(released).toMatchObject({ headers: [["PAYMENT-RESPONSE", headers["payment-response"]]] });
    expect([facilitator.count("verify"), facilitator.count("settle")]).toEqual([1, 1]);
  });

  test("the duplicate runs the handler when the first response is not charged", async () => {
    const { first, second, passTime } = createTwo({}, { without });
    const admission = admissionOf(await first.pay());
    const duplicate = second.pay();
    await passTime(1_000);
    await admission.complete({ ...HANDLED, status: 500 });
    await passTime(2_000);
    expect(stageOf(await duplicate)).toBe("held");
  });

  test("the duplicate gets 402 when it proves nothing and the payment may be seen on chain", async () => {
    const { first, second, facilitator, passTime } = createTwo({}, { without });
    const admission = admissionOf(await first.pay());
    let resolve: (value: unknown) => void = () => {};
    facilitator.settles = () => new Promise((resolved) => (resolve = resolved));
    const released = admission.complete(HANDLED);
    await settle();
    const duplicate = second.pay();
    await passTime(1_000);
    resolve(SETTLED);
    await released;
    admission.done();
    await passTime(4_000);
    expect(responseOf(await duplicate)).toMatchObject({ status: 402, json: { error: "payment_already_used" } });
  });

  test("the duplicate gets 409 after copyWaitMs", async () => {
    const { first, second, passTime } = createTwo({ copyWaitMs: 2_000 }, { without });
    admissionOf(await first.pay());
    const duplicate = second.pay();
    await passTime(2_250);
    expect(responseOf(await duplicate)).toMatchObject({ status: 409, headers: { "retry-after": "1" } });
  });

  test("the seventeenth duplicate does not wait", async () => {
    const { first, second } = createTwo({}, { without });
    admissionOf(await first.pay());
    for (let at = 0; at < 16; at++) void second.pay();
    await settle();
    expect(responseOf(await second.pay()).status).toBe(409);
  });
});

describe("runs of one payer in several processes", () => {
  const nonce = (name: string) => ({ payload: { nonce: name } });

  test("maxRunsPerPayer counts the runs of all processes", async () => {
    const { first, second, facilitator, runs } = createTwo({ maxRunsPerPayer: 3 });
    const admissions = [
      admissionOf(await first.pay(nonce("a"))),
      admissionOf(await second.pay(nonce("b"))),
      admissionOf(await first.pay(nonce("c"))),
    ];
    expect(responseOf(await second.pay(nonce("d")))).toMatchObject({
      status: 429,
      json: { error: "too_many_payments" },
    });
    expect(runs.size).toBe(3);
    for (const admission of admissions) await admission.complete(HANDLED);
    await settle();
    expect(runs.size).toBe(0);
    expect(stageOf(await second.pay(nonce("d")))).toBe("held");
    expect(facilitator.count("settle")).toBe(3);
  });

  test("of many requests at once, no more than maxRunsPerPayer run", async () => {
    const { first, second } = createTwo({ maxRunsPerPayer: 5 });
    const decisions = await Promise.all(
      Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? first : second).pay(nonce(`n${at}`))),
    );
    expect(decisions.filter((decision) => stageOf(decision) === "held").length).toBeLessThanOrEqual(5);
  });

  test("the runs are asked for while the facilitator verifies", async () => {
    const order: string[] = [];
    const world = createProcesses();
    const { put, remove } = world.store.runs ?? {};
    if (put === undefined || remove === undefined) throw new TypeError("no runs");
    Object.assign(world.store, {
      runs: {
        remove,
        put: (...args: Parameters<typeof put>) => {
          order.push("put");
          return put(...args);
        },
      },
    });
    world.facilitator.verifies = async () => {
      await settle();
      order.push("verified");
      return { isValid: true };
    };
    expect(stageOf(await world.open().pay())).toBe("held");
    expect(order).toEqual(["put", "verified"]);
  });

  test("a payment that is refused does not count", async () => {
    const { first, second, facilitator, runs } = createTwo({ maxRunsPerPayer: 1 });
    facilitator.verifies = { isValid: false, invalidReason: "insufficient_funds" };
    expect(responseOf(await first.pay(nonce("a"))).status).toBe(402);
    await settle();
    expect(runs.size).toBe(0);
    facilitator.verifies = { isValid: true };
    expect(stageOf(await second.pay(nonce("b")))).toBe("held");
  });

  test("a payment that was abandoned in two processes settles before its handler runs again", async () => {
    const { first, second, facilitator } = createTwo();
    await admissionOf(await first.pay()).cancel();
    await admissionOf(await second.pay()).cancel();
    expect(facilitator.count("settle")).toBe(0);
    expect(stageOf(await first.pay())).toBe("held");
    expect(facilitator.count("settle")).toBe(1);
  });

  test("runs that were abandoned in several processes no longer count once their payment has settled", async () => {
    const { first, second, facilitator, runs } = createTwo();
    await admissionOf(await first.pay()).cancel();
    await admissionOf(await second.pay()).cancel();
    const admission = admissionOf(await first.pay());
    await settle();
    expect(facilitator.count("settle")).toBe(1);
    expect([...runs.values()].filter(({ isAbandoned }) => isAbandoned)).toEqual([]);
    await admission.cancel();
    // It is owed, and has been abandoned once since it was paid for.
    await admissionOf(await second.pay()).complete(HANDLED);
    await settle();
    expect(facilitator.count("settle")).toBe(1);
  });

  test("a run of a dead process does not keep its own payment from running", async () => {
    const { first, second, passTime } = createTwo({ maxRunsPerPayer: 1 });
    admissionOf(await first.pay());
    await passTime(1_000);
    first.kill();
    await passTime(NOTICED_MS);
    expect(stageOf(await second.pay())).toBe("held");
  });

  test("the balance has to suffice for the runs of all processes", async () => {
    const scheme = createTestScheme({ readBalance: async () => ({ kind: "known", amount: 15_000n }) });
    const { first, second } = createTwo({ scheme, rpc: { [NETWORK]: "http://localhost:1" } });
    expect(stageOf(await first.pay(nonce("a")))).toBe("held");
    expect(responseOf(await second.pay(nonce("b"))).status).toBe(429);
  });

  test("the client gets 503, uncharged, when the runs cannot be counted", async () => {
    const runs = { put: () => Promise.reject(new Error("down")), remove: () => {} };
    const { first, facilitator, record } = createTwo({}, { store: { runs } });
    expect(responseOf(await first.pay()).status).toBe(503);
    expect([facilitator.count("settle"), await record()]).toEqual([0, undefined]);
  });
});

describe("a store with a server", () => {
  test("the secret of retry tokens is kept in the store, so that a token counts at each process", async () => {
    const { first, second, facilitator, record } = createTwo();
    facilitator.settles = new Error("lost");
    const release = await admissionOf(await first.pay()).complete(LARGE);
    const { headers } = readResponse(release.kind === "replace" ? release.response : ({} as never));
    facilitator.settles = SETTLED;
    const settled = await second.pay({}, { retryToken: headers["payment-retry-token"] });
    expect(stageOf(settled)).toBe("held");
    // The run of a request without proof has another owner.
    expect((await record())?.owner).not.toMatch(/^unproven/);
  });

  test("a secret that differs between processes is a finding", async () => {
    const { open } = createProcesses();
    const [first, second, third] = ["a", "b", "a"].map((letter) => open({ quoteSecret: letter.repeat(32) }));
    for (const shop of [first, second, third]) await shop?.engine.ready();
    const codesOf = (shop = first) => shop?.engine.report().findings.map(({ code }) => code);
    expect([codesOf(first), codesOf(second), codesOf(third)]).toEqual([[], ["FAREBOX_QUOTE_SECRET_DIFFERS"], []]);
  });

  test("a store that was emptied gets a secret that all processes take within a minute, and is a finding", async () => {
    const { open, kept, passTime } = createProcesses();
    let dollars = 1;
    const price = () => `$${dollars++}`;
    const priced = { routes: { "GET /weather": { accepts: { network: NETWORK, price, payTo: PAY_TO } } } };
    const first = open(priced);
    await first.ask();
    kept.clear();
    const second = open(priced);
    const { headers } = responseOf(await second.ask());
    const [accepted] = decodeHeader(headers["payment-required"])["accepts"] as Record<string, string>[];
    const payment = { accepted: accepted ?? {} };
    expect(responseOf(await first.pay(payment)).status).toBe(402);
    await passTime(60_000);
    await first.ask();
    await settle();
    expect(first.engine.report().findings).toMatchObject([
      { code: "FAREBOX_QUOTE_SECRET_DIFFERS", message: expect.stringContaining("emptied") },
    ]);
    expect(stageOf(await first.pay(payment))).toBe("held");
  });

  test("a store that can no longer be used stops sales within a minute, until it can be used again", async () => {
    let isThere = true;
    const ready = () => (isThere ? [] : Promise.reject(new RangeError("the file was replaced")));
    const nonce = (name: string) => ({ payload: { nonce: name } });
    const { first, passTime } = createTwo({}, { store: { ready } });
    expect(stageOf(await first.pay())).toBe("held");
    isThere = false;
    await passTime(60_000);
    expect(stageOf(await first.pay(nonce("a")))).toBe("held");
    expect(responseOf(await first.pay(nonce("b"))).status).toBe(503);
    isThere = true;
    expect(stageOf(await first.pay(nonce("b")))).toBe("held");
  });

  test("its problems are findings after ready(), and after the first payment", async () => {
    const problem = { kind: "EVICTION", detail: "maxmemory-policy is allkeys-lru" } as const;
    const { first, second } = createTwo({}, { store: { ready: () => [problem] } });
    await first.engine.ready();
    await second.pay();
    for (const { engine } of [first, second]) {
      expect(engine.report().findings).toMatchObject([
        { code: "FAREBOX_STORE_EVICTION", message: expect.stringContaining("allkeys-lru") },
      ]);
    }
  });

  test("its error is thrown by ready(), and payments get 503 until it is mended", async () => {
    let isMended = false;
    const ready = () => (isMended ? [] : Promise.reject(new RangeError("no table farebox_payments")));
    const { first, facilitator } = createTwo({ quoteSecret: "s".repeat(32) }, { store: { ready } });
    await expect(first.engine.ready()).rejects.toThrow("no table farebox_payments");
    expect(responseOf(await first.ask()).status).toBe(402);
    expect(responseOf(await first.pay())).toMatchObject({ status: 503, headers: { "retry-after": "5" } });
    expect(facilitator.count("verify")).toBe(0);
    isMended = true;
    expect(stageOf(await first.pay())).toBe("held");
  });

  test("it is asked once for many payments at once", async () => {
    let asked = 0;
    const ready = async () => {
      asked++;
      return [];
    };
    const { first } = createTwo({}, { store: { ready } });
    await Promise.all(["a", "b", "c"].map((name) => first.pay({ payload: { nonce: name } })));
    await first.engine.ready();
    expect(asked).toBe(1);
  });
});
