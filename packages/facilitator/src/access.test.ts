import { describe, expect, test } from "vitest";
import { type Caller, createAccess } from "./access.js";

const from = (address: string): Caller => ({ authorization: undefined, apiKey: undefined, address });

function openAccess(requestsPerMinute: number) {
  let now = 0;
  const admit = createAccess({ sellers: undefined, requestsPerMinute }, () => now);
  return {
    admit: (address: string) => admit(from(address)).ok,
    advance: (ms: number) => {
      now += ms;
    },
  };
}

describe("the rate of addresses", () => {
  test("a source has its requests again in the next minute", () => {
    const access = openAccess(2);
    expect([1, 2, 3].map(() => access.admit("192.0.2.1"))).toEqual([true, true, false]);
    expect(access.admit("192.0.2.2")).toBe(true);
    access.advance(59_999);
    expect(access.admit("192.0.2.1")).toBe(false);
    access.advance(1);
    expect(access.admit("192.0.2.1")).toBe(true);
  });

  test("a network of IPv6 is one source, however its addresses are written", () => {
    const access = openAccess(3);
    const addresses = ["2001:db8:0:7::1", "2001:db8:0:7:aaaa:bbbb:cccc:dddd", "2001:db8:0:7::", "2001:db8:0:7:1::"];
    expect(addresses.map(access.admit)).toEqual([true, true, true, false]);
    expect(access.admit("2001:db8:0:8::1")).toBe(true);
    expect([..."1234"].map(() => access.admit("::ffff:192.0.2.9"))).toEqual([true, true, true, false]);
    expect(access.admit("::ffff:192.0.2.8")).toBe(true);
  });

  test("sources beyond ten thousand share one count, and those that were counted keep theirs", () => {
    const access = openAccess(2);
    const flood = Array.from({ length: 100_000 }, (_, at) =>
      access.admit(`10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`),
    );
    expect(flood.filter(Boolean)).toHaveLength(10_000 + 2);
    expect(access.admit("10.0.0.1")).toBe(true);
    expect(access.admit("10.0.0.1")).toBe(false);
  });
});
