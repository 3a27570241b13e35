import { describe, expect, test } from "vitest";
import { createMemoryStore } from "../store/memory-store.js";
import type { PaymentState, PaymentStore, Transition } from "../store/payment-store.js";
import type { MaybePromise } from "../store/shared-ledger.js";
import {
  admissionOf,
  createShop,
  createTestScheme,
  HANDLED,
  NETWORK,
  NOW_SECONDS,
  PAYER,
  readResponse,
  responseOf,
  SETTLED,
} from "./shop.fixture.js";

const IDENTITY = `${NETWORK}|n1`;

type Step = "claim" | "find" | "release" | `${PaymentState} to ${PaymentState}`;

/** A memory store that fails at some steps. `after`: it works before it fails. `atOnce`: it throws, not rejects. */
function createFailingStore() {
  const memory = createMemoryStore(() => NOW_SECONDS * 1000);
  const failing = { steps: [] as Step[], after: false, atOnce: false };
  function perform<T>(step: Step, work: () => MaybePromise<T>): MaybePromise<T> {
    if (!failing.steps.includes(step)) return work();
    if (failing.after) work();
    throw new RangeError("the store's own secret");
  }
  function attempt<T>(step: Step, work: () => MaybePromise<T>): MaybePromise<T> {
    return failing.atOnce ? perform(step, work) : (async () => perform(step, work))();
  }
  const store: PaymentStore = {
    claim: (request) => attempt("claim", () => memory.claim(request)),
    find: (identity) => attempt("find", () => memory.find(identity)),
    release: (identity, owner) => attempt("release", () => memory.release(identity, owner)),
    transition: (change: Transition) => attempt(`${change.from} to ${change.to}`, () => memory.transition(change)),
    unfinished: () => memory.unfinished(),
    ledger: memory.ledger,
  };
  return { store, failing, memory };
}

function createFailingShop() {
  const { store, failing, memory } = createFailingStore();
  // No other process works on a payment, so no duplicate waits for one.
  return { ...createShop({ store, copyWaitMs: 0 }), failing, memory };
}

describe.each([
  [false, false],
  [true, false],
  [false, true],
  [true, true],
])("a store that fails (after its work: %s, synchronously: %s)", (after, atOnce) => {
  test("makes the gate answer 503 without a charge or handler when the store fails at the claim", async () => {
    const { pay, facilitator, failing, log } = createFailingShop();
    Object.assign(failing, { steps: ["claim"], after, atOnce });
    const { status, headers, json, text } = responseOf(await pay());
    expect([status, headers["retry-after"], json["error"]]).toEqual([503, "5", "unexpected_verify_error"]);
    expect(headers).not.toHaveProperty("payment-required");
    expect(text).not.toMatch(/secret|not charged/);
    expect([facilitator.count("verify"), facilitator.count("settle")]).toEqual([0, 0]);
    expect(log).toMatchObject([{ event: "decision_failed", fields: { error: "RangeError" } }]);
  });

  test("makes the gate answer 503 without a charge when the store fails to release a refused payment", async () => {
    const { pay, facilitator, failing } = createFailingShop();
    facilitator.verifies = { isValid: false, invalidReason: "insufficient_funds" };
    Object.assign(failing, { steps: ["release"], after, atOnce });
    expect(responseOf(await pay()).status).toBe(503);
    expect(facilitator.count("settle")).toBe(0);
  });

  test.each<[step: Step, status: number]>([
    ["claimed to settling", 200],
    ["release", 500],
  ])(
    "makes the gate answer 503 without the handler's response or a charge when the store fails at %s",
    async (step, status) => {
      const { pay, facilitator, failing } = createFailingShop();
      const admission = admissionOf(await pay());
      Object.assign(failing, { steps: [step], after, atOnce });
      const release = await admission.complete({ ...HANDLED, status });
      const response = readResponse(release.kind === "replace" ? release.response : ({} as never));
      expect([response.status, response.headers["retry-after"]]).toEqual([503, "5"]);
      expect(response.text).not.toMatch(/sunny|secret/);
      expect(facilitator.count("settle")).toBe(0);
    },
  );

  test.each<[settles: unknown, step: Step, kind: string, why: string]>([
    [SETTLED, "settling to settled", "release", "the payer has paid"],
    [
      { ...SETTLED, success: false, errorReason: "insufficient_funds", transaction: "" },
      "settling to rejected",
      "replace",
      "the payer has not",
    ],
    [new Error("lost"), "settling to unknown", "replace", "the outcome is unknown"],
  ])("a failure to record %o at %s is logged and leaves the outcome as it is", async (settles, step, kind) => {
    const { pay, facilitator, failing, log } = createFailingShop();
    const admission = admissionOf(await pay());
    facilitator.settles = settles;
    Object.assign(failing, { steps: [step], after, atOnce });
    expect((await admission.complete(HANDLED)).kind).toBe(kind);
    expect(log.map(({ event }) => event)).toContain("outcome_not_recorded");
    expect(facilitator.count("settle")).toBe(1);
    expect(responseOf(await pay()).status).toBeGreaterThanOrEqual(402);
  });

  test("a failure is logged, and cancel does not reject, when the store fails to release a disconnected client's claim", async () => {
    const { pay, failing, log } = createFailingShop();
    const admission = admissionOf(await pay());
    Object.assign(failing, { steps: ["release"], after, atOnce });
    await expect(admission.cancel()).resolves.toBeUndefined();
    expect(log).toMatchObject([{ event: "claim_not_released" }]);
    expect(JSON.stringify(log)).not.toContain("secret");
  });

  test("a failure is logged, and undelivered does not reject, when the store fails to keep a paid response", async () => {
    const { pay, failing, log } = createFailingShop();
    const admission = admissionOf(await pay());
    await admission.complete(HANDLED);
    Object.assign(failing, { steps: ["settled to settled"], after, atOnce });
    await expect(admission.undelivered(HANDLED)).resolves.toBeUndefined();
    expect(log).toMatchObject([{ event: "answer_not_kept" }]);
  });

  test.each<[step: Step, more: object]>([
    ["unknown to settling", {}],
    ["find", { payload: { expiresAtSeconds: NOW_SECONDS - 1 } }],
  ])(
    "makes the gate answer 503 without a statement on the charge when the store fails at %s of a payment in doubt",
    async (step, more) => {
      const { pay, facilitator, failing } = createFailingShop();
      const admission = admissionOf(await pay());
      facilitator.settles = new Error("lost");
      await admission.complete(HANDLED);
      Object.assign(failing, { steps: [step], after, atOnce });
      const { status, text } = responseOf(await pay(more));
      expect(status).toBe(503);
      expect(text).not.toContain("not charged");
      expect(text).toContain("do not sign a new payment");
      expect(facilitator.count("settle")).toBe(1);
    },
  );
});

test("a payment without a record is not settled", async () => {
  const { pay, facilitator, memory } = createFailingShop();
  const admission = admissionOf(await pay());
  const { owner } = (await memory.find(IDENTITY))!;
  await memory.release(IDENTITY, owner);
  expect(await admission.complete(HANDLED)).toMatchObject({ kind: "replace", response: { status: 409 } });
  expect(facilitator.count("settle")).toBe(0);
});

describe.each<[string, () => unknown]>([
  [
    "throws",
    () => {
      throw new RangeError("the disk is full");
    },
  ],
  ["rejects", async () => Promise.reject(new RangeError("the disk is full"))],
])("a logger that %s", (_how, error) => {
  const logger = { info: () => {}, warn: () => {}, error: error as () => void };

  test("a failing logger does not change the result of a payment", async () => {
    const { pay, facilitator, store } = createShop({ logger });
    facilitator.verifies = new Error("down");
    expect(responseOf(await pay()).status).toBe(503);
    facilitator.verifies = { isValid: true };
    const admission = admissionOf(await pay());
    facilitator.settles = new Error("lost");
    expect(await admission.complete(HANDLED)).toMatchObject({ kind: "replace", response: { status: 503 } });
    expect((await store.find(IDENTITY))?.state).toBe("unknown");
  });
});

test("a scheme whose late check of a signature throws takes no facilitator's place for good", async () => {
  let isBroken = false;
  const scheme = createTestScheme({
    checkSignature() {
      if (isBroken) throw new Error("broken");
      return { kind: "signed" };
    },
  });
  const shop = createShop({ scheme });
  const pay = (nonce: number) => shop.pay({ payload: { nonce: `n${nonce}`, payer: `0x${nonce}` } });
  // So many good signatures in a row, and none is checked before the facilitator is asked.
  for (let nonce = 0; nonce < 64; nonce++) await pay(nonce);
  isBroken = true;
  shop.facilitator.verifies = { isValid: false, invalidReason: "insufficient_funds", payer: PAYER };
  const statuses = new Set<number>();
  for (let nonce = 64; nonce < 264; nonce++) statuses.add(responseOf(await pay(nonce)).status);
  expect([...statuses]).toEqual([402]);
});
