import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { exposeHeaders } from "./headers.js";

const OURS = "PAYMENT-REQUIRED, PAYMENT-RESPONSE, EXTENSION-RESPONSES";

describe("exposeHeaders", () => {
  test.each<[current: string | undefined, expected: string, why: string]>([
    [undefined, OURS, "none set"],
    ["  ", OURS, "an empty one"],
    ["ETag", `ETag, ${OURS}`, "the app's own stay"],
    [OURS, OURS, "already there"],
    [
      "payment-response,Payment-Required",
      "payment-response,Payment-Required, EXTENSION-RESPONSES",
      "names have no case",
    ],
    [
      "X-A, PAYMENT-REQUIRED",
      "X-A, PAYMENT-REQUIRED, PAYMENT-RESPONSE, EXTENSION-RESPONSES",
      "one of them already there",
    ],
    ["*", `*, ${OURS}`, "a star is a name where the request has credentials"],
    ["X-PAYMENT-REQUIRED", `X-PAYMENT-REQUIRED, ${OURS}`, "a name that ends like ours"],
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
