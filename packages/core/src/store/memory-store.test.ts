import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import type { PaymentRequirements } from "../protocol/documents.js";
import { ANSWER, bring, CLAIM, createClock, move, RECEIPT, STATES, storeIn } from "./memory-store.fixture.js";
import { type PaymentState, type PaymentStore, RELEASABLE, TRANSITIONS, type Transition } from "./payment-store.js";

const REQUIREMENTS: PaymentRequirements = {
  scheme: "upto",
  network: "eip155:84532",
  amount: "0",
  asset: "0x036C",
  payTo: "0x2096",
  maxTimeoutSeconds: 60,
  extra: {},
};

describe("claim", () => {
  test("gives a payment to one of a thousand concurrent claims, and the record to the others", async () => {
    const { store } = createClock();
    const owners = Array.from({ length: 1000 }, (_, at) => `run ${at}`);
    const claims = await Promise.all(owners.map((owner) => store.claim({ ...CLAIM, owner })));
    const winners = owners.filter((_, at) => claims[at]?.kind === "claimed");
    expect(winners).toHaveLength(1);
    const taken = claims.flatMap((claim) => (claim.kind === "taken" ? [claim.record] : []));
    expect(taken).toHaveLength(999);
    for (const record of taken) expect(record).toEqual({ ...CLAIM, owner: winners[0], state: "claimed" });
  });

  test("tells payments apart by their identity alone", async () => {
    const { store } = createClock();
    expect(await store.claim(CLAIM)).toEqual({ kind: "claimed" });
    expect(await store.claim({ ...CLAIM, identity: "q" })).toEqual({ kind: "claimed" });
    expect((await store.claim({ ...CLAIM, binding: "GET /other" })).kind).toBe("taken");
    expect((await store.find("p"))?.binding).toBe("GET /");
    expect(await store.find("__proto__")).toBeUndefined();
  });

  test("hands out frozen records", async () => {
    const { store } = createClock();
    await store.claim(CLAIM);
    expect(Object.isFrozen(await store.find("p"))).toBe(true);
  });

  test("takes nothing from a claim that changes later", async () => {
    const { store } = createClock();
    const request = { ...CLAIM };
    await store.claim(request);
    Object.assign(request, { owner: "other", binding: "GET /other" });
    expect(await store.find("p")).toEqual({ ...CLAIM, state: "claimed" });
  });

  test("leaves a record that was handed out as it was, however the payment goes on", async () => {
    const { store } = createClock({ maxAnswerBytes: 1 });
    await store.claim(CLAIM);
    const change = { identity: "p", owner: "run", receipt: RECEIPT } as const;
    const taken = await store.claim(CLAIM);
    await move(store, {
      ...change,
      from: "claimed",
      to: "settling",
      answer: ANSWER,
      mark: "unproven",
      leaseUntilMs: 5,
    });
    const settling = await store.find("p");
    await move(store, {
      ...change,
      from: "settling",
      to: "settled",
      newOwner: "other",
      mark: null,
      leaseUntilMs: null,
    });
    const settled = await store.find("p");
    await bring(store, "settling", { identity: "q" });
    // The response of the first makes room for that of the second.
    await move(store, { identity: "q", owner: "run", from: "settling", to: "settled", answer: ANSWER });

    const claimed = { ...CLAIM, state: "claimed" } as const;
    const later = { ...claimed, receipt: RECEIPT };
    expect(taken).toEqual({ kind: "taken", record: claimed });
    expect(settling).toEqual({ ...later, state: "settling", answer: ANSWER, mark: "unproven", leaseUntilMs: 5 });
    expect(settled).toEqual({ ...later, state: "settled", owner: "other", answer: ANSWER });
    expect(await store.find("p")).toEqual({ ...later, state: "settled", owner: "other" });
  });
});

describe("transition", () => {
  test("keeps the facilitator that was told to settle, until a change removes it", async () => {
    const { store } = await storeIn("claimed");
    const change = { identity: "p", owner: "run" };
    const facilitator = async () => (await store.find("p"))?.facilitator;
    await store.transition({ ...change, from: "claimed", to: "settling", facilitator: "a.example" });
    expect(await facilitator()).toBe("a.example");
    await store.transition({ ...change, from: "settling", to: "unknown" });
    await store.transition({ ...change, from: "unknown", to: "settling", facilitator: "b.example" });
    expect(await facilitator()).toBe("b.example");
    await store.transition({ ...change, from: "settling", to: "unsent", facilitator: null });
    expect(await store.find("p")).toEqual({ ...CLAIM, state: "unsent" });
  });

  test.each(STATES.flatMap((from) => STATES.map((to) => [from, to] as const)))("%s to %s", async (from, to) => {
    const { store } = await storeIn(from);
    const allowed = TRANSITIONS[from].includes(to);
    expect(await store.transition({ identity: "p", from, to, owner: "run" })).toBe(allowed);
    expect((await store.find("p"))?.state).toBe(allowed ? to : from);
  });

  test.each<[change: Partial<Transition>, why: string]>([
    [{ owner: "other" }, "another run"],
    [{ from: "unsent" }, "a state that it is not in"],
    [{ identity: "q" }, "a payment that was not claimed"],
  ])("changes nothing for %j, which names %s", async (change) => {
    const { store } = createClock();
    await store.claim(CLAIM);
    const { from, to, owner } = { from: "claimed", to: "settling", owner: "run" } as const;
    expect(await store.transition({ identity: "p", from, to, owner, answer: ANSWER, ...change })).toBe(false);
    expect(await store.find("p")).toEqual({ ...CLAIM, state: "claimed" });
  });

  test("lets one of several runs take over a payment whose outcome is unknown", async () => {
    const { store } = await storeIn("unknown");
    const takeOver = (newOwner: string) =>
      store.transition({ identity: "p", from: "unknown", to: "settling", owner: "run", newOwner });
    const taken = await Promise.all(["a", "b", "c"].map(takeOver));
    expect(taken.filter(Boolean)).toHaveLength(1);
    const owner = ["a", "b", "c"][taken.indexOf(true)]!;
    expect(await store.transition({ identity: "p", from: "settling", to: "settled", owner: "run" })).toBe(false);
    expect(await store.transition({ identity: "p", from: "settling", to: "settled", owner })).toBe(true);
  });

  test("keeps the request with the amount that was counted last while a response is metered", async () => {
    const { store } = await storeIn("claimed");
    const counted = (amount: string): FacilitatorRequest => ({
      x402Version: 2,
      paymentPayload: { x402Version: 2, accepted: { ...REQUIREMENTS, amount }, payload: {} },
      paymentRequirements: { ...REQUIREMENTS, amount },
    });
    const change = { identity: "p", owner: "run", to: "metering" } as const;
    await move(store, { ...change, from: "claimed", request: counted("1"), leaseUntilMs: 1 });
    await move(store, { ...change, from: "metering", request: counted("2") });
    expect(await store.find("p")).toEqual({ ...CLAIM, state: "metering", request: counted("2"), leaseUntilMs: 1 });
    expect(await store.transition({ ...change, from: "metering", owner: "other" })).toBe(false);
  });

  test("keeps a response until a change removes it, and a receipt for good", async () => {
    const { store } = await storeIn("claimed");
    const change = { identity: "p", owner: "run" } as const;
    await store.transition({ ...change, from: "claimed", to: "settling", answer: ANSWER });
    await store.transition({ ...change, from: "settling", to: "unknown" });
    expect(await store.find("p")).toMatchObject({ answer: ANSWER });
    await store.transition({ ...change, from: "unknown", to: "settling" });
    await store.transition({ ...change, from: "settling", to: "settled", answer: null, receipt: RECEIPT });
    const record = await store.find("p");
    expect(record).not.toHaveProperty("answer");
    expect(record).toMatchObject({ receipt: RECEIPT });
    await store.transition({ ...change, from: "settled", to: "settled", answer: ANSWER });
    expect(await store.find("p")).toMatchObject({ answer: ANSWER, receipt: RECEIPT, state: "settled" });
  });
});

describe("release", () => {
  test.each(STATES)("forgets a payment that is %s only if that state is releasable", async (state) => {
    const { store } = await storeIn(state);
    await store.release("p", "run");
    const forgotten = RELEASABLE.includes(state);
    expect((await store.find("p")) === undefined).toBe(forgotten);
    expect((await store.claim({ ...CLAIM, owner: "next" })).kind).toBe(forgotten ? "claimed" : "taken");
  });

  test("does nothing for another owner", async () => {
    const { store } = await storeIn("claimed");
    await store.release("p", "other");
    await store.release("q", "run");
    expect((await store.find("p"))?.state).toBe("claimed");
  });

  test("leaves nothing behind, so that refused payments cannot fill the memory", async () => {
    setFlagsFromString("--expose-gc");
    const collect: () => void = runInNewContext("gc");
    const { store } = createClock();
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let at = 0; at < 3_000; at++) {
      const identity = Buffer.alloc(20_000, `payment ${at} `).toString("latin1");
      await store.claim({ ...CLAIM, identity });
      await store.release(identity, "run");
    }
    collect();
    expect(store.size).toBe(0);
    // The identities come to 60 MB.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000);
  });
});

test("a settlement is taken over by one of several runs, and its previous owner can no longer change it", async () => {
  const { store } = createClock();
  await bring(store, "settling");
  const takeOver = { identity: "p", from: "settling", to: "settling", owner: "run" } as const;
  const runs = ["a", "b", "c"];
  const taken = await Promise.all(
    runs.map((newOwner) => store.transition({ ...takeOver, newOwner, leaseUntilMs: 90_000 })),
  );
  expect(taken).toEqual([true, false, false]);
  for (const to of STATES) expect(await store.transition({ ...takeOver, to })).toBe(false);
  await store.release("p", "run");
  expect(await store.find("p")).toEqual({ ...CLAIM, owner: "a", state: "settling", leaseUntilMs: 90_000 });
});

test("a payment moves only as TRANSITIONS allow, for any sequence of calls", async () => {
  const owner = fc.constantFrom("a", "b");
  const state = fc.constantFrom(...STATES);
  const change = fc.record({ identity: fc.constant("p"), owner, from: state, to: state, newOwner: owner });
  const step = fc.oneof(
    owner.map((name) => (store: PaymentStore) => store.claim({ ...CLAIM, owner: name })),
    owner.map((name) => (store: PaymentStore) => store.release("p", name)),
    change.map((some) => (store: PaymentStore) => store.transition(some)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { store } = createClock();
      let before: PaymentState | "none" = "none";
      for (const ask of steps) {
        await ask(store);
        const after: PaymentState | "none" = (await store.find("p"))?.state ?? "none";
        expect(followers(before)).toContain(after);
        before = after;
      }
    }),
  );
});

function followers(state: PaymentState | "none"): readonly (PaymentState | "none")[] {
  if (state === "none") return ["none", "claimed"];
  const released = RELEASABLE.includes(state) ? (["none"] as const) : [];
  return [state, ...TRANSITIONS[state], ...released];
}
