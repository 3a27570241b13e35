import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeExtensionResponses, encodeBase64Json, encodeExtensionResponses } from "./headers.js";

const read = (value: unknown) => decodeExtensionResponses(encodeBase64Json(value));

describe("EXTENSION-RESPONSES", () => {
  test.each<[why: string, sent: unknown, read: unknown]>([
    ["success", { bazaar: { status: "success" } }, { bazaar: { status: "success" } }],
    ["processing", { bazaar: { status: "processing" } }, { bazaar: { status: "processing" } }],
    [
      "a rejection with its reason",
      { bazaar: { status: "rejected", rejectedReason: "too long" } },
      { bazaar: { status: "rejected", rejectedReason: "too long" } },
    ],
    ["a rejection without a reason", { bazaar: { status: "rejected" } }, { bazaar: { status: "rejected" } }],
    [
      "a reason under another name",
      { bazaar: { status: "rejected", reason: "no" } },
      { bazaar: { status: "rejected", rejectedReason: "no" } },
    ],
    [
      "a success without its reason and unknown fields",
      { bazaar: { status: "success", rejectedReason: "x", secret: 1 } },
      { bazaar: { status: "success" } },
    ],
    [
      "a long reason, shortened and without line breaks",
      { bazaar: { status: "rejected", rejectedReason: `a\r\nb\u0001${"x".repeat(500)}` } },
      { bazaar: { status: "rejected", rejectedReason: `a b ${"x".repeat(196)}` } },
    ],
    ["the valid one of two reports", { a: 1, b: { status: "success" } }, { b: { status: "success" } }],
    ["nothing from an unknown status", { bazaar: { status: "listed" } }, undefined],
    ["nothing from an invalid key", { "a b": { status: "success" } }, undefined],
    ["nothing from a list", [{ status: "success" }], undefined],
    ["nothing from null", null, undefined],
  ])("decodeExtensionResponses reads %s", (_why, sent, expected) => {
    expect(read(sent)).toEqual(expected);
  });

  test("decodes its own encoding", () => {
    const responses = { bazaar: { status: "rejected", rejectedReason: "no" } } as const;
    expect(decodeExtensionResponses(encodeExtensionResponses(responses))).toEqual(responses);
  });

  test.each([[undefined], [null], [""], ["%"], ["e30=, e30="], ["A".repeat(9000)], ["bm90IEpTT04="]])(
    "decodeExtensionResponses returns undefined for %o",
    (value) => {
      expect(decodeExtensionResponses(value)).toBeUndefined();
    },
  );

  test("decodes any text and any JSON without throwing", () => {
    fc.assert(fc.property(fc.string(), (text) => void decodeExtensionResponses(text)));
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const found = read(value);
        for (const outcome of Object.values(found ?? {})) expect(Object.keys(outcome).length).toBeLessThanOrEqual(2);
      }),
    );
  });
});
