import { describe, expect, test } from "vitest";
import { createGrants } from "./rpc-approvals.js";

const HOUR_MS = 60 * 60 * 1000;
const LIMITS = { maxGrantWei: 100n, maxGrantWeiPerHour: 250n };
const COST = { given: 90n, fees: 10n };

function open() {
  const clock = { ms: 1_000_000 };
  return { clock, grants: createGrants(LIMITS, () => clock.ms) };
}

describe("grants for gas", () => {
  test("a grant to one payer is limited, without the fees for giving it", () => {
    const { grants } = open();
    expect(grants.findFault("a", { given: 100n, fees: 90n })).toBeUndefined();
    expect(grants.findFault("a", { given: 101n, fees: 0n })).toContain("lacks 101 wei");
  });

  test("one payer gets one grant an hour", () => {
    const { clock, grants } = open();
    grants.note("a", COST);
    clock.ms += HOUR_MS - 1;
    expect(grants.findFault("a", { given: 1n, fees: 0n })).toContain("within the last hour");
    clock.ms += 1;
    expect(grants.findFault("a", COST)).toBeUndefined();
  });

  test("the grants of one hour are limited in sum, with the fees for giving them", () => {
    const { clock, grants } = open();
    grants.note("a", COST);
    clock.ms += 1_000;
    grants.note("b", COST);
    expect(grants.findFault("c", { given: 40n, fees: 10n })).toBeUndefined();
    expect(grants.findFault("c", { given: 40n, fees: 11n })).toContain("used up");
    clock.ms += HOUR_MS - 1_000;
    expect(grants.findFault("c", { given: 90n, fees: 60n })).toBeUndefined();
  });

  test("a grant that was taken back does not count", () => {
    const { grants } = open();
    const takeBack = grants.note("a", COST);
    takeBack();
    expect(grants.findFault("a", COST)).toBeUndefined();
    grants.note("a", COST);
    takeBack();
    expect(grants.findFault("a", COST)).toContain("within the last hour");
  });

  test("the number of remembered grants is limited, even if they cost nothing", () => {
    const { grants } = open();
    for (let at = 0; at < 10_000; at++) grants.note(`payer ${at}`, { given: 0n, fees: 0n });
    expect(grants.findFault("another", { given: 0n, fees: 0n })).toContain("used up");
  });
});
