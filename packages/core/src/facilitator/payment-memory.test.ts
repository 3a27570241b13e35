import { beforeEach, expect, test } from "vitest";
import {
  createPaymentMemory,
  createSoleMemory,
  MAX_REMEMBERED,
  type PaymentMemory,
  REMEMBERED_MS,
} from "./payment-memory.js";

let nowMs: number;
let memory: PaymentMemory;

beforeEach(() => {
  nowMs = 0;
  memory = createPaymentMemory({ now: () => nowMs });
});

test("a payment that nobody has seen has nobody", () => {
  expect(memory.find("p")).toBeUndefined();
});

test("who verified a payment is preferred; who was told to settle it has it", () => {
  memory.verified("p", "a");
  expect(memory.find("p")).toEqual({ name: "a", firm: false });
  memory.sent("p", "b");
  expect(memory.find("p")).toEqual({ name: "b", firm: true });
});

test("who was not told after all does not have it", () => {
  memory.verified("p", "a");
  memory.sent("p", "b");
  memory.unsent("p");
  expect(memory.find("p")).toEqual({ name: "a", firm: false });
});

test("who has answered keeps it", () => {
  memory.verified("p", "a");
  memory.sent("p", "b");
  memory.answered("p", "b");
  memory.unsent("p");
  expect(memory.find("p")).toEqual({ name: "b", firm: true });
});

test("a facilitator that is alone has every payment, for good from when it is told until it answers", () => {
  const sole = createSoleMemory("a", { now: () => nowMs });
  const holders = [sole.find("p")];
  sole.verified("p", "a");
  holders.push(sole.find("p"));
  sole.sent("p", "a");
  holders.push(sole.find("p"));
  sole.unsent("p");
  holders.push(sole.find("p"));
  sole.sent("p", "a");
  sole.answered("p", "a");
  holders.push(sole.find("p"), sole.find("q"));
  expect(holders.map((holder) => holder?.name)).toEqual(["a", "a", "a", "a", "a", "a"]);
  expect(holders.map((holder) => holder?.firm)).toEqual([false, false, true, false, false, false]);
});

test("a facilitator that is alone and does not answer has the payment for as long as any other would", () => {
  const sole = createSoleMemory("a", { now: () => nowMs });
  sole.sent("p", "a");
  nowMs = REMEMBERED_MS - 1;
  expect(sole.find("p")).toEqual({ name: "a", firm: true });
  nowMs = REMEMBERED_MS;
  expect(sole.find("p")).toEqual({ name: "a", firm: false });
});

test("all is forgotten once no payment can settle any more", () => {
  memory.verified("v", "a");
  memory.sent("s", "a");
  memory.answered("d", "a");
  nowMs += REMEMBERED_MS - 1;
  expect(["v", "s", "d"].map((payment) => memory.find(payment)?.name)).toEqual(["a", "a", "a"]);
  nowMs += 1;
  expect(["v", "s", "d"].map((payment) => memory.find(payment))).toEqual([undefined, undefined, undefined]);
});

test("of many payments the oldest is forgotten, but for none that went well one that is in doubt", () => {
  memory.sent("in doubt", "a");
  for (let payment = 0; payment <= MAX_REMEMBERED; payment++) {
    memory.verified(`v${payment}`, "a");
    memory.answered(`d${payment}`, "a");
    memory.verified(`v${payment}`, "a");
  }
  const known = ["in doubt", "v0", "d0", "v1", "d1"].map((payment) => memory.find(payment) !== undefined);
  expect(known).toEqual([true, false, false, true, true]);
});

test("what is used again is not the oldest", () => {
  for (let payment = 0; payment < MAX_REMEMBERED; payment++) memory.verified(`v${payment}`, "a");
  memory.verified("v0", "b");
  memory.verified("another", "a");
  expect(memory.find("v0")?.name).toBe("b");
  expect(memory.find("v1")).toBeUndefined();
});

test("what was used again is known by its last facilitator only", () => {
  memory.verified("p", "a");
  memory.verified("q", "a");
  memory.verified("p", "b");
  expect([memory.find("p")?.name, memory.find("q")?.name]).toEqual(["b", "a"]);
  memory.answered("p", "c");
  memory.unsent("p");
  expect(memory.find("p")).toEqual({ name: "c", firm: true });
});
