import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EXPOSED_HEADERS, exposeHeaders } from "./headers.js";

const OURS = "PAYMENT-REQUIRED, PAYMENT-RESPONSE, EXTENSION-RESPONSES, PAYMENT-RETRY-TOKEN";

test("where none are exposed, ours are", () => {
  expect(EXPOSED_HEADERS).toBe(OURS);
});

describe("exposeHeaders", () => {
  test.each<[current: string, expected: string, why: string]>([
    ["  ", OURS, "an empty one"],
    ["ETag", `ETag, ${OURS}`, "the app's headers stay"],
    [OURS, OURS, "already there"],
    [
      "payment-response,Payment-Required",
      "payment-response,Payment-Required, EXTENSION-RESPONSES, PAYMENT-RETRY-TOKEN",
      "names have no case",
    ],
    [
      "X-A, PAYMENT-REQUIRED",
      "X-A, PAYMENT-REQUIRED, PAYMENT-RESPONSE, EXTENSION-RESPONSES, PAYMENT-RETRY-TOKEN",
      "one of them already there",
    ],
    ["*", `*, ${OURS}`, "a star is literal in requests with credentials"],
    ["X-PAYMENT-REQUIRED", `X-PAYMENT-REQUIRED, ${OURS}`, "a name that ends like one of ours"],
  ])("makes %j into %j: %s", (current, expected) => {
    expect(exposeHeaders(current)).toBe(expected);
  });

  test("keeps the given names, and repeats none", () => {
    fc.assert(
      fc.property(fc.string(), (current) => {
        const once = exposeHeaders(current);
        if (current.trim() !== "") expect(once.startsWith(current)).toBe(true);
        expect(exposeHeaders(once)).toBe(once);
      }),
    );
  });
});
