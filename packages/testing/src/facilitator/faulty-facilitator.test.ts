import { setImmediate } from "node:timers/promises";
import type { Facilitator, FacilitatorRequest } from "@farebox/core";
import { describe, expect, test } from "vitest";
import { createFaultPlan, type Fault, type Operation } from "./faults.js";
import { withFaults } from "./faulty-facilitator.js";

const REQUEST: FacilitatorRequest = {
  x402Version: 2,
  paymentPayload: {
    x402Version: 2,
    payload: {},
    accepted: {
      scheme: "exact",
      network: "eip155:84532",
      amount: "1",
      asset: "0x",
      payTo: "0x",
      maxTimeoutSeconds: 60,
      extra: {},
    },
  },
  paymentRequirements: {
    scheme: "exact",
    network: "eip155:84532",
    amount: "1",
    asset: "0x",
    payTo: "0x",
    maxTimeoutSeconds: 60,
    extra: {},
  },
};

function setUp() {
  const plan = createFaultPlan();
  const worked: Operation[] = [];
  const work = async <T>(operation: Operation, response: T): Promise<T> => {
    worked.push(operation);
    return response;
  };
  const inner: Facilitator = {
    verify: () => work("verify", { isValid: true, payer: "0x1" }),
    settle: () => work("settle", { success: true, transaction: "0x2", network: "eip155:84532" }),
    supported: () => work("supported", { kinds: [], extensions: [], signers: {} }),
  };
  return { facilitator: withFaults(inner, plan), faults: plan.faults, worked };
}

describe("a facilitator with faults", () => {
  test("the facilitator works normally without a planned fault", async () => {
    const { facilitator } = setUp();
    expect(await facilitator.verify(REQUEST)).toEqual({ isValid: true, payer: "0x1" });
    expect(await facilitator.settle(REQUEST)).toMatchObject({ success: true });
    expect(await facilitator.supported()).toMatchObject({ kinds: [] });
  });

  const unreachable = "ERR_FAREBOX_FACILITATOR_UNREACHABLE";
  const response = "ERR_FAREBOX_FACILITATOR_RESPONSE";
  const status = "ERR_FAREBOX_FACILITATOR_STATUS";
  test.each<[string, Operation, Fault, object, boolean]>([
    ["dropped before the work", "settle", { kind: "drop" }, { code: unreachable, outcome: "unknown" }, false],
    [
      "dropped after the work",
      "settle",
      { kind: "drop", when: "after" },
      { code: unreachable, outcome: "unknown" },
      true,
    ],
    ["dropped verify", "verify", { kind: "drop" }, { code: unreachable, outcome: "none" }, false],
    ["garbage", "settle", { kind: "garbage", when: "after" }, { code: response, outcome: "unknown" }, true],
    ["empty supported", "supported", { kind: "empty" }, { code: response, outcome: "none" }, false],
    ["500", "settle", { kind: "status", status: 500 }, { code: status, outcome: "unknown", status: 500 }, false],
    [
      "429 with Retry-After",
      "settle",
      { kind: "status", status: 429, headers: { "Retry-After": "7" } },
      { code: status, outcome: "unknown", status: 429, retryAfterSeconds: 7 },
      false,
    ],
    [
      "503 with a date",
      "verify",
      { kind: "status", status: 503, headers: { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" } },
      { code: status, outcome: "none", status: 503, retryAfterSeconds: undefined },
      false,
    ],
  ])("a call rejects like that of an HTTP client: %s", async (_what, operation, fault, expected, worksFirst) => {
    const { facilitator, faults, worked } = setUp();
    const planned = faults.next(operation, fault);
    const call = operation === "supported" ? facilitator.supported() : facilitator[operation](REQUEST);
    await expect(call).rejects.toMatchObject({ name: "FacilitatorError", operation, ...expected });
    await planned.reached;
    expect(worked).toEqual(worksFirst ? [operation] : []);
  });

  test.each<[Fault, boolean]>([
    [{ kind: "hold" }, false],
    [{ kind: "hold", when: "after" }, true],
    [{ kind: "slow-body" }, true],
  ])("a call waits until it is released: %o", async (fault, worksFirst) => {
    const { facilitator, faults, worked } = setUp();
    const held = faults.next("settle", fault);
    let isAnswered = false;
    const call = facilitator.settle(REQUEST).finally(() => {
      isAnswered = true;
    });
    await held.reached;
    await setImmediate();
    expect(isAnswered).toBe(false);
    expect(worked).toEqual(worksFirst ? ["settle"] : []);
    held.release();
    expect(await call).toMatchObject({ success: true });
    expect(worked).toEqual(["settle"]);
  });

  test("a fault that was released before does not hold a call", async () => {
    const { facilitator, faults } = setUp();
    faults.next("verify", { kind: "hold" }).release();
    expect(await facilitator.verify(REQUEST)).toMatchObject({ isValid: true });
  });

  test.each(["first", "second"] as const)(
    "duplicate runs a call twice, and returns the %s response",
    async (answer) => {
      let calls = 0;
      const plan = createFaultPlan();
      const inner = { settle: async () => ({ success: ++calls === 1, transaction: "", network: "eip155:1" }) };
      plan.faults.next("settle", { kind: "duplicate", answer });
      const settled = await withFaults(inner as never, plan).settle(REQUEST);
      expect([calls, settled.success]).toEqual([2, answer === "first"]);
    },
  );

  test("rewrite replaces a response", async () => {
    const { facilitator, faults } = setUp();
    faults.next("verify", { kind: "rewrite", rewrite: (response) => ({ ...response, isValid: false }) });
    expect(await facilitator.verify(REQUEST)).toEqual({ isValid: false, payer: "0x1" });
  });

  test("each next affects one call in order, and always affects the others", async () => {
    const { facilitator, faults } = setUp();
    const invalid = (invalidReason: string): Fault => ({ kind: "rewrite", rewrite: (a) => ({ ...a, invalidReason }) });
    faults.always("verify", invalid("standing"));
    faults.next("verify", invalid("first"));
    faults.next("verify", invalid("second"));
    const reasons = [];
    for (let call = 0; call < 4; call += 1) reasons.push((await facilitator.verify(REQUEST)).invalidReason);
    expect(reasons).toEqual(["first", "second", "standing", "standing"]);
    faults.clear();
    expect(await facilitator.verify(REQUEST)).toEqual({ isValid: true, payer: "0x1" });
  });

  test("clear releases held calls", async () => {
    const { facilitator, faults } = setUp();
    const held = faults.always("settle", { kind: "hold" });
    const calls = [facilitator.settle(REQUEST), facilitator.settle(REQUEST)];
    await held.reached;
    faults.clear();
    expect(await Promise.all(calls)).toMatchObject([{ success: true }, { success: true }]);
  });
});
