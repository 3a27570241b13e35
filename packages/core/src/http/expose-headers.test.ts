import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { exposeHeaders } from "./expose-headers.js";

const BOTH = "PAYMENT-REQUIRED, PAYMENT-RESPONSE";

describe("exposeHeaders", () => {
  test.each<[current: string | undefined, expected: string, why: string]>([
    [undefined, BOTH, "none set"],
    ["  ", BOTH, "an empty one"],
    ["ETag", `ETag, ${BOTH}`, "the app's own stay"],
    [BOTH, BOTH, "already there"],
    ["payment-response,Payment-Required", "payment-response,Payment-Required", "names have no case"],
    ["X-A, PAYMENT-REQUIRED", "X-A, PAYMENT-REQUIRED, PAYMENT-RESPONSE", "one of them already there"],
    ["*", `*, ${BOTH}`, "a star is a name where the request has credentials"],
    ["X-PAYMENT-REQUIRED", `X-PAYMENT-REQUIRED, ${BOTH}`, "a name that ends like ours"],
  ])("makes %j into %j: %s", (current, expected) => {
    expect(exposeHeaders(current)).toBe(expected);
  });

  test("keeps what is there, and never names anything twice", () => {
    fc.assert(
      fc.property(fc.string(), (current) => {
        const once = exposeHeaders(current);
        if (current.trim() !== "") expect(once.startsWith(current)).toBe(true);
        expect(exposeHeaders(once)).toBe(once);
      }),
    );
  });
});
