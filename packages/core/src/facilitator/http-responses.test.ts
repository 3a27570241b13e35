import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isSettlementResponse, isSupportedResponse, isVerifyResponse } from "../protocol/validate.js";
import { readSettlementResponse, readSupportedResponse, readVerifyResponse } from "./http-responses.js";

const NETWORK = "eip155:84532";

const { vectors } = JSON.parse(
  readFileSync(new URL("../../../../test/vectors/specification-v2.json", import.meta.url), "utf8"),
) as { readonly vectors: readonly { readonly kind: string; readonly clause: string; readonly document: object }[] };

const JUNK: readonly unknown[] = [undefined, null, true, 0, "", "ok", [], [{}], {}, { error: "no" }, () => {}];

describe("readVerifyResponse", () => {
  test.each(vectors.filter(({ kind }) => kind === "VerifyResponse"))("reads $clause unchanged", ({ document }) => {
    expect(readVerifyResponse(document)).toEqual(document);
  });

  test.each<[body: object, read: object | undefined, why: string]>([
    [{ isValid: true }, { isValid: true }, "only the required field"],
    [
      { is_valid: false, invalid_reason: "insufficient_funds", invalid_message: "no money" },
      { isValid: false, invalidReason: "insufficient_funds", invalidMessage: "no money" },
      "snake_case",
    ],
    [{ isValid: true, invalidReason: null, payer: null }, { isValid: true }, "null counts as missing"],
    [{ isValid: null, is_valid: true }, { isValid: true }, "null counts as missing, under both names"],
    [{ isValid: true, extra: 1, payer: "0x1" }, { isValid: true, payer: "0x1" }, "only known fields"],
    [{ isValid: false, invalidReason: { a: 1 } }, { isValid: false }, "a reason that is not a string is dropped"],
    [{ isValid: "true" }, undefined, "a string is not a boolean"],
    [{ isValid: 1 }, undefined, "a number is not a boolean"],
    [{ invalidReason: "insufficient_funds" }, undefined, "a reason alone decides nothing"],
    [{ success: true }, undefined, "a response to another call"],
  ])("reads %j as %j: %s", (body, read) => {
    expect(readVerifyResponse(body)).toStrictEqual(read);
  });
});

describe("readSettlementResponse", () => {
  test.each(vectors.filter(({ kind }) => kind === "SettlementResponse"))("reads $clause unchanged", ({ document }) => {
    expect(readSettlementResponse(document, NETWORK)).toEqual(document);
  });

  test.each<[body: object, read: object | undefined, why: string]>([
    [{ success: true }, { success: true, transaction: "", network: NETWORK }, "only the required field"],
    [
      { success: false, error_reason: "insufficient_funds", network: "eip155:1" },
      { success: false, errorReason: "insufficient_funds", transaction: "", network: "eip155:1" },
      "snake_case, no transaction, and its own network",
    ],
    [{ success: true, network: "" }, { success: true, transaction: "", network: NETWORK }, "an empty network"],
    [
      { success: true, transaction: null, network: null, errorReason: null, amount: null },
      { success: true, transaction: "", network: NETWORK },
      "null counts as missing",
    ],
    [
      { success: true, extra: { note: "kept", deep: [1, { a: null }] } },
      { success: true, transaction: "", network: NETWORK, extra: { note: "kept", deep: [1, { a: null }] } },
      "an object in extra is kept",
    ],
    [
      { success: true, extra: ["a"] },
      { success: true, transaction: "", network: NETWORK },
      "a list in extra is dropped",
    ],
    [{ success: true, extra: {} }, { success: true, transaction: "", network: NETWORK }, "an empty extra is dropped"],
    [
      { success: true, extra: { long: "x".repeat(2038) } },
      { success: true, transaction: "", network: NETWORK },
      "a large extra is dropped",
    ],
    [
      { success: false, extra: { note: "lost" } },
      { success: false, transaction: "", network: NETWORK },
      "extra of a failure is dropped",
    ],
    [
      { success: true, amount: 5 },
      { success: true, transaction: "", network: NETWORK, amount: "5" },
      "some write amounts as numbers",
    ],
    [{ success: true, amount: 0.5 }, { success: true, transaction: "", network: NETWORK }, "an amount must be whole"],
    [
      { success: false, errorReason: "a", transaction: { hash: "0x1" } },
      { success: false, errorReason: "a", transaction: "no text: object", network: NETWORK },
      "something was broadcast",
    ],
    [
      { success: true, transaction: "0x1", amount: "5", payer: "0x2", secret: "s" },
      { success: true, transaction: "0x1", network: NETWORK, amount: "5", payer: "0x2" },
      "only known fields",
    ],
    [{ success: "true", transaction: "0x1" }, undefined, "a string is not a boolean"],
    [{ success: 1, transaction: "0x1" }, undefined, "a number is not a boolean"],
    [{ transaction: "0x1", network: NETWORK }, undefined, "a transaction alone does not say how it ended"],
    [{ errorReason: "insufficient_funds" }, undefined, "a reason alone does not say how it ended"],
  ])("reads %j as %j: %s", (body, read) => {
    expect(readSettlementResponse(body, NETWORK)).toStrictEqual(read);
  });
});

describe("readSupportedResponse", () => {
  test.each(vectors.filter(({ kind }) => kind === "SupportedResponse"))("reads $clause unchanged", ({ document }) => {
    expect(readSupportedResponse(document)).toEqual(document);
  });

  const kind = { x402Version: 2, scheme: "exact", network: NETWORK };
  const none = { kinds: [], extensions: [], signers: {} };

  test.each<[body: object, read: object | undefined, why: string]>([
    [{ kinds: [] }, none, "only the required field"],
    [{ kinds: [], extensions: null, signers: null }, none, "null counts as missing"],
    [
      { kinds: [kind, null, [], "exact", { ...kind, network: 5 }] },
      { ...none, kinds: [kind] },
      "bad kinds are left out",
    ],
    [{ kinds: [{ ...kind, scheme: null }, { ...kind, x402Version: "2" }, {}] }, none, "each of the three is needed"],
    [{ kinds: [{ ...kind, extra: null }] }, { ...none, kinds: [kind] }, "an extra of null counts as missing"],
    [{ kinds: [{ ...kind, extra: { a: 1 } }] }, { ...none, kinds: [{ ...kind, extra: { a: 1 } }] }, "an extra"],
    [{ kinds: [], extensions: ["bazaar", 5, null] }, { ...none, extensions: ["bazaar"] }, "identifiers are strings"],
    [
      { kinds: [], signers: { "eip155:*": ["0x1", 5], "solana:*": "0x1" } },
      { ...none, signers: { "eip155:*": ["0x1"], "solana:*": [] } },
      "addresses are strings in a list",
    ],
    [{ kinds: {} }, undefined, "kinds are a list"],
    [{ kinds: null }, undefined, "kinds are a list"],
  ])("reads %j as %j: %s", (body, read) => {
    expect(readSupportedResponse(body)).toStrictEqual(read);
  });

  test("does not set the prototype from a signer named __proto__", () => {
    const read = readSupportedResponse(JSON.parse('{"kinds":[],"signers":{"__proto__":["0x1"]}}'));
    expect(Object.getPrototypeOf(read?.signers)).toBe(Object.prototype);
  });
});

test.each(JUNK)("%j is not a valid response to any call", (junk) => {
  expect(readVerifyResponse(junk)).toBeUndefined();
  expect(readSettlementResponse(junk, NETWORK)).toBeUndefined();
  expect(readSupportedResponse(junk)).toBeUndefined();
});

test("reading never throws, and its results are valid documents of the protocol", () => {
  const names = fc.constantFrom(
    "isValid",
    "success",
    "transaction",
    "network",
    "kinds",
    "extensions",
    "signers",
    "payer",
  );
  const values = fc.oneof(fc.jsonValue(), fc.boolean(), fc.string());
  fc.assert(
    fc.property(fc.oneof(fc.anything(), fc.dictionary(names, values)), (value) => {
      expect(isVerifyResponse(readVerifyResponse(value) ?? { isValid: true })).toBe(true);
      expect(isSupportedResponse(readSupportedResponse(value) ?? { kinds: [], extensions: [], signers: {} })).toBe(
        true,
      );
      const read = readSettlementResponse(value, NETWORK);
      expect(isSettlementResponse(read ?? { success: true, transaction: "", network: NETWORK })).toBe(true);
    }),
  );
});

test("readSettlementResponse drops an extra that cannot be written", () => {
  const toJSON = () => {
    throw new TypeError("hostile");
  };
  const read = readSettlementResponse({ success: true, extra: { toJSON } }, NETWORK);
  expect(read).toStrictEqual({ success: true, transaction: "", network: NETWORK });
});
