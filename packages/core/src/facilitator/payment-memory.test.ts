import { beforeEach, expect, test } from "vitest";
import {
  createPaymentMemory,
  MAX_REMEMBERED,
  type PaymentMemory,
  REMEMBERED_MS,
  SoleMemory,
} from "./payment-memory.js";

let nowMs: number;
let memory: PaymentMemory;

beforeEach(() => {
  nowMs = 0;
  memory = createPaymentMemory({ now: () => nowMs });
});

test("an unknown payment has no facilitator", () => {
  expect(memory.find("p")).toBeUndefined();
});

test("a payment prefers the facilitator that verified it, and belongs to the one that was told to settle it", () => {
  memory.verified("p", "a");
  expect(memory.find("p")).toEqual({ name: "a", firm: false });
  memory.sent("p", "b");
  expect(memory.find("p")).toEqual({ name: "b", firm: true });
});

test("a payment does not belong to a facilitator that the settlement never reached", () => {
  memory.verified("p", "a");
  memory.sent("p", "b");
  memory.unsent("p");
  expect(memory.find("p")).toEqual({ name: "a", firm: false });
});

test("a payment stays with the facilitator that responded to its settlement", () => {
  memory.verified("p", "a");
  memory.sent("p", "b");
  memory.responded("p", "b");
  memory.unsent("p");
  expect(memory.find("p")).toEqual({ name: "b", firm: true });
});

/** A settlement that a test ends. */
const SETTLEMENT = Promise.resolve({ success: true, transaction: "0x1", network: "eip155:1" } as const);

test("a sole facilitator has a payment firmly between the settlement and its response", () => {
  const sole = new SoleMemory({ now: () => nowMs }, new Map());
  const isFirm = [sole.begin("p", SETTLEMENT), sole.begin("p", SETTLEMENT)];
  sole.end("p", false);
  isFirm.push(sole.begin("p", SETTLEMENT));
  sole.end("p", true);
  isFirm.push(sole.begin("p", SETTLEMENT), sole.begin("q", SETTLEMENT));
  expect(isFirm).toEqual([false, true, false, true, false]);
});

test("a sole facilitator that does not respond holds the payment as long as any other would", () => {
  const sole = new SoleMemory({ now: () => nowMs }, new Map());
  for (const payment of ["p", "q"]) {
    sole.begin(payment, SETTLEMENT);
    sole.end(payment, true);
  }
  nowMs = REMEMBERED_MS - 1;
  expect(sole.begin("p", SETTLEMENT)).toBe(true);
  nowMs = REMEMBERED_MS;
  expect(sole.begin("q", SETTLEMENT)).toBe(false);
});

test("a settlement of a sole facilitator is under way until it has ended, whatever its end", () => {
  const underWay = new Map();
  const sole = new SoleMemory({ now: () => nowMs }, underWay);
  for (const isInDoubt of [true, false]) {
    sole.begin("p", SETTLEMENT);
    expect(underWay.get("p")).toBe(SETTLEMENT);
    sole.end("p", isInDoubt);
    expect(underWay.size).toBe(0);
  }
});

test("a sole facilitator's oldest payments in doubt are forgotten first", () => {
  const sole = new SoleMemory({ now: () => nowMs }, new Map());
  for (let payment = 0; payment <= MAX_REMEMBERED; payment++) {
    sole.begin(`${payment}`, SETTLEMENT);
    sole.end(`${payment}`, true);
  }
  expect([sole.begin("1", SETTLEMENT), sole.begin("0", SETTLEMENT)]).toEqual([true, false]);
});

test("every payment is forgotten after REMEMBERED_MS", () => {
  memory.verified("v", "a");
  memory.sent("s", "a");
  memory.responded("d", "a");
  nowMs += REMEMBERED_MS - 1;
  expect(["v", "s", "d"].map((payment) => memory.find(payment)?.name)).toEqual(["a", "a", "a"]);
  nowMs += 1;
  expect(["v", "s", "d"].map((payment) => memory.find(payment))).toEqual([undefined, undefined, undefined]);
});

test("the oldest payments are forgotten first, and payments that went well never push out one in doubt", () => {
  memory.sent("in doubt", "a");
  for (let payment = 0; payment <= MAX_REMEMBERED; payment++) {
    memory.verified(`v${payment}`, "a");
    memory.responded(`d${payment}`, "a");
    memory.verified(`v${payment}`, "a");
  }
  const known = ["in doubt", "v0", "d0", "v1", "d1"].map((payment) => memory.find(payment) !== undefined);
  expect(known).toEqual([true, false, false, true, true]);
});

test("a payment that is verified again is no longer the oldest", () => {
  for (let payment = 0; payment < MAX_REMEMBERED; payment++) memory.verified(`v${payment}`, "a");
  memory.verified("v0", "b");
  memory.verified("another", "a");
  expect(memory.find("v0")?.name).toBe("b");
  expect(memory.find("v1")).toBeUndefined();
});

test("a payment that is verified again prefers only its last facilitator", () => {
  memory.verified("p", "a");
  memory.verified("q", "a");
  memory.verified("p", "b");
  expect([memory.find("p")?.name, memory.find("q")?.name]).toEqual(["b", "a"]);
  memory.responded("p", "c");
  memory.unsent("p");
  expect(memory.find("p")).toEqual({ name: "c", firm: true });
});
