import { describe, expect, test } from "vitest";
import { createGasBudget } from "./gas-budget.js";

const MINUTE = 60_000;

function openBudget(perHour: bigint) {
  let now = 0;
  const alarms: string[] = [];
  const budget = createGasBudget(
    perHour,
    (event, booked) => alarms.push(`${event} ${booked}`),
    () => now,
  );
  return {
    ...budget,
    alarms,
    advance: (ms: number) => {
      now += ms;
    },
  };
}

describe("a gas budget", () => {
  test("the most is booked first, and corrected once the cost is known", () => {
    const budget = openBudget(100n);
    const correct = budget.book(60n)!;
    expect(budget.book(41n)).toBeUndefined();
    correct(20n);
    correct(0n);
    expect(budget.left()).toBe(80n);
    expect(budget.book(80n)).toBeDefined();
    expect(budget.left()).toBe(0n);
  });

  test("a booking is free again after an hour, also if it was never corrected", () => {
    const budget = openBudget(100n);
    const correct = budget.book(70n)!;
    budget.advance(30 * MINUTE);
    budget.book(30n);
    expect(budget.exhaustedForSeconds()).toBe(31 * 60);
    budget.advance(31 * MINUTE);
    expect([budget.left(), budget.exhaustedForSeconds()]).toEqual([70n, undefined]);
    // Its minute is over.
    correct(0n);
    expect(budget.left()).toBe(70n);
  });

  test("no hour has more bookings than the budget, wherever in a minute it begins", () => {
    const budget = openBudget(100n);
    budget.advance(MINUTE - 1);
    budget.book(100n);
    budget.advance(59 * MINUTE + 2);
    expect(budget.book(1n)).toBeUndefined();
    budget.advance(MINUTE);
    expect(budget.book(100n)).toBeDefined();
  });

  test("a transaction without a fee says nothing about the others", () => {
    const budget = openBudget(100n);
    budget.book(0n);
    budget.book(60n);
    expect(budget.book(60n)).toBeUndefined();
    expect(budget.exhaustedForSeconds()).toBe(3660);
    expect(budget.book(0n)).toBeDefined();
  });

  test("a cost above what was booked counts in full", () => {
    const budget = openBudget(100n);
    budget.book(50n)!(150n);
    expect([budget.left(), budget.book(1n)]).toEqual([0n, undefined]);
  });

  test("one expensive request does not close the budget to the usual ones", () => {
    const budget = openBudget(100n);
    budget.book(10n);
    expect(budget.book(95n)).toBeUndefined();
    expect(budget.exhaustedForSeconds()).toBeUndefined();
    expect(budget.book(90n)).toBeDefined();
    expect(budget.exhaustedForSeconds()).toBe(3660);
  });

  test("each alarm is told once an hour", () => {
    const budget = openBudget(100n);
    budget.book(79n);
    expect(budget.alarms).toEqual([]);
    budget.book(1n);
    budget.book(10n);
    budget.book(20n);
    budget.book(20n);
    expect(budget.alarms).toEqual(["gas_budget_low 80", "gas_budget_used_up 90"]);
    budget.advance(61 * MINUTE);
    budget.book(90n);
    budget.book(20n);
    expect(budget.alarms.slice(2)).toEqual(["gas_budget_low 90", "gas_budget_used_up 90"]);
  });

  test("requests that ask for too much do not fill the log", () => {
    const budget = openBudget(100n);
    for (let count = 0; count < 100; count++) budget.book(200n);
    expect(budget.alarms).toEqual(["gas_budget_used_up 0"]);
  });
});
