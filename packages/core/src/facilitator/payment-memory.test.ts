import { beforeEach, expect, test } from "vitest";
import { createPaymentMemory, MAX_REMEMBERED, type PaymentMemory, REMEMBERED_MS } from "./payment-memory.js";

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

test("all is forgotten once no payment can settle any more", () => {
  memory.verified("v", "a");
  memory.sent("s", "a");
  memory.answered("d", "a");
  nowMs += REMEMBERED_MS - 1;
  expect(["v", "s", "d"].map((payment) => memory.find(payment)?.name)).toEqual(["a", "a", "a"]);
  nowMs += 1;
  expect(["v", "s", "d"].map((payment) => memory.find(payment))).toEqual([undefined, undefined, undefined]);
});

test("of many payments the older half is forgotten, but for none that went well one that is in doubt", () => {
  memory.sent("in doubt", "a");
  for (let payment = 0; payment < MAX_REMEMBERED; payment++) {
    memory.verified(`v${payment}`, "a");
    memory.answered(`d${payment}`, "a");
    memory.verified(`v${payment}`, "a");
  }
  const know = (payments: readonly string[]) => payments.map((payment) => memory.find(payment) !== undefined);
  expect(know(["in doubt", "v0", "d0"])).toEqual([true, true, true]);
  memory.verified("v", "a");
  memory.answered("d", "a");
  const [last, next] = [MAX_REMEMBERED / 2 - 1, MAX_REMEMBERED / 2];
  expect(know(["in doubt", `v${last}`, `d${last}`])).toEqual([true, false, false]);
  expect(know([`v${next}`, `d${next}`, "v", "d"])).toEqual([true, true, true, true]);
});

test("what is used again is not old", () => {
  for (let payment = 0; payment < MAX_REMEMBERED; payment++) memory.verified(`v${payment}`, "a");
  memory.verified("v0", "b");
  memory.verified("another", "a");
  expect(memory.find("v0")?.name).toBe("b");
  expect(memory.find("v1")).toBeUndefined();
});

test("what was used again is known by its last facilitator only", () => {
  memory.verified("p", "a");
  for (let payment = 0; payment < MAX_REMEMBERED / 2; payment++) memory.verified(`v${payment}`, "a");
  memory.verified("p", "b");
  expect(memory.find("p")?.name).toBe("b");
  memory.answered("p", "c");
  memory.unsent("p");
  expect(memory.find("p")).toEqual({ name: "c", firm: true });
});
