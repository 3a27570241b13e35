import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PaymentPayload } from "./documents.js";
import { decodePayment, decodePaymentSignature, encodeBase64Json, encodePaymentSignature } from "./headers.js";

/** Any UTF-16 code unit, lone surrogates too. */
const codeUnit = fc.nat(0xffff).map((code) => String.fromCharCode(code));

const FILE = new URL("../../../../test/vectors/exact-evm.json", import.meta.url);
const PAYMENT: PaymentPayload = JSON.parse(readFileSync(FILE, "utf8")).vectors[0].document;
const HEADER = encodePaymentSignature(PAYMENT);

const MALFORMED = { kind: "malformed", reason: "invalid_payload", problem: expect.any(String) };
const WRONG_VERSION = { ...MALFORMED, reason: "invalid_x402_version" };

function encodeText(text: string | Uint8Array): string {
  return Buffer.from(text).toString("base64");
}

describe("decodePaymentSignature", () => {
  test("decodes a client's encoding", () => {
    expect(decodePaymentSignature(HEADER)).toEqual({ kind: "present", payment: PAYMENT });
  });

  test("returns absent for a request without the header", () => {
    expect(decodePaymentSignature(undefined)).toEqual({ kind: "absent" });
  });

  test("reads a header of 16 KiB, and not one character more", () => {
    const padded = (length: number) => encodeText(JSON.stringify(PAYMENT).padEnd(length));
    expect(padded(12 * 1024)).toHaveLength(16 * 1024);
    expect(decodePaymentSignature(padded(12 * 1024)).kind).toBe("present");
    expect(decodePaymentSignature(padded(12 * 1024 + 1))).toEqual({
      ...MALFORMED,
      problem: "longer than 16384 characters",
    });
  });

  test.each<[why: string, header: string]>([
    ["there, but empty", ""],
    ["a space", " "],
    ["the string undefined", "undefined"],
    ["not encoded", "{}"],
    ["not encoded", JSON.stringify(PAYMENT)],
    ["sent twice, and joined by Node", `${HEADER}, ${HEADER}`],
    ["a space behind it", `${HEADER} `],
    ["broken into lines", `${HEADER.slice(0, 76)}\n${HEADER.slice(76)}`],
    ["cut off", HEADER.slice(0, -9)],
    ["base64url", "-_-_"],
    ["null", encodeText("null")],
    ["a boolean", encodeText("true")],
    ["a text", encodeText('"payment"')],
    ["a list", encodeText("[]")],
    ["a payment in a list", encodeText(JSON.stringify([PAYMENT]))],
    ["bytes that are no UTF-8", encodeText(new Uint8Array([0xff, 0xfe, 0xfd]))],
    ["20 KiB", "A".repeat(20 * 1024)],
    ["12,000 arrays, never closed", encodeText("[".repeat(12_000))],
    ["nested 5,000 deep", encodeText(`{"x402Version":2,"accepted":${"[".repeat(5000)}${"]".repeat(5000)}}`)],
  ])("calls a header malformed that is %s", (_why, header) => {
    expect(decodePaymentSignature(header)).toEqual(MALFORMED);
  });

  test.each<[version: unknown, why: string]>([
    [undefined, "missing"],
    [1, "the first version"],
    [3, "an unknown version"],
    [2.5, "between versions"],
    ["2", "a string"],
    [[2], "a list"],
    [null, "null"],
    [true, "a boolean"],
  ])("names the version when x402Version is %j: %s", (x402Version) => {
    expect(decodePaymentSignature(encodeBase64Json({ ...PAYMENT, x402Version }))).toEqual(WRONG_VERSION);
  });

  test("reads 2.0 as 2, as JSON does", () => {
    const text = JSON.stringify(PAYMENT).replace('"x402Version":2', '"x402Version":2.0');
    expect(decodePaymentSignature(encodeText(text)).kind).toBe("present");
  });

  test.each<[fields: object, why: string]>([
    [{ accepted: undefined }, "accepts nothing"],
    [{ accepted: null }, "accepts null"],
    [{ accepted: [PAYMENT.accepted] }, "accepts a list"],
    [{ accepted: { ...PAYMENT.accepted, payTo: undefined } }, "accepts without payTo"],
    [{ accepted: { ...PAYMENT.accepted, amount: 10000 } }, "an amount that is a number"],
    [{ payload: undefined }, "no payload"],
    [{ payload: "0x" }, "a payload that is a string"],
    [{ payload: [] }, "a payload that is a list"],
    [{ extensions: [] }, "extensions that are a list"],
  ])("calls a payment malformed that has %j: %s", (fields) => {
    expect(decodePaymentSignature(encodeBase64Json({ ...PAYMENT, ...fields }))).toEqual(MALFORMED);
  });

  test.each<[fields: object, why: string]>([
    [{ extensions: null }, "null for no extensions"],
    [{ resource: undefined }, "no resource"],
    [{ resource: "anything" }, "any resource, which is ignored"],
    [{ resource: null, unheardOf: [[]] }, "unknown fields"],
    [{ payload: {} }, "any payload, which the scheme checks"],
  ])("reads a payment that has %j: %s", (fields) => {
    expect(decodePaymentSignature(encodeBase64Json({ ...PAYMENT, ...fields })).kind).toBe("present");
  });

  test.each<[header: string, problem: string]>([
    ["!", "not standard base64 of JSON, or nested too deeply"],
    ["e30", "not of x402Version 2, which is a number"],
    ["W10=", "not a JSON object"],
    [encodeBase64Json({ x402Version: 2 }), "not a PaymentPayload: accepted or payload is missing or wrong"],
  ])("says of %j that it is %s", (header, problem) => {
    expect(decodePaymentSignature(header)).toMatchObject({ kind: "malformed", problem });
  });

  test("describes the problem without quoting the header", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: codeUnit }), fc.base64String(), fc.json().map(encodeText)), (header) => {
        const decoded = decodePaymentSignature(header);
        const problems = [
          "longer than 16384 characters",
          "not standard base64 of JSON, or nested too deeply",
          "not a JSON object",
          "not of x402Version 2, which is a number",
          "not a PaymentPayload: accepted or payload is missing or wrong",
        ];
        if (decoded.kind === "malformed") expect(problems).toContain(decoded.problem);
      }),
    );
  });

  test("never throws, for payments with any value in any field", () => {
    const names = fc.constantFrom("x402Version", "accepted", "payload", "resource", "extensions", "__proto__");
    fc.assert(
      fc.property(names, fc.jsonValue(), (name, value) => {
        const text = JSON.stringify({ ...PAYMENT, [name]: undefined }).replace(
          /^\{/,
          () => `{${JSON.stringify(name)}:${JSON.stringify(value)},`,
        );
        expect(decodePaymentSignature(encodeText(text)).kind).toMatch(/^(malformed|present)$/);
      }),
    );
  });
});

describe("decodePayment", () => {
  test("reads a payment from a value, as a copy", () => {
    const decoded = decodePayment(PAYMENT);
    expect(decoded).toEqual({ kind: "present", payment: PAYMENT });
    expect(decoded).not.toHaveProperty(
      "payment",
      expect.toSatisfy((copy) => copy === PAYMENT),
    );
  });

  test("returns absent for undefined", () => {
    expect(decodePayment(undefined)).toEqual({ kind: "absent" });
  });

  test("reads as many bytes as fit into a header, and not one more", () => {
    const room = 12 * 1024 - JSON.stringify({ ...PAYMENT, resource: "" }).length;
    expect(decodePayment({ ...PAYMENT, resource: "x".repeat(room) }).kind).toBe("present");
    expect(decodePayment({ ...PAYMENT, resource: "x".repeat(room + 1) })).toEqual({
      ...MALFORMED,
      problem: "longer than 12288 bytes",
    });
  });

  const deep = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels));
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;

  test.each<[what: string, value: unknown]>([
    ["null", null],
    ["a header's text", HEADER],
    ["a function", () => PAYMENT],
    ["a circle", circle],
    ["a bigint", { ...PAYMENT, resource: 1n }],
    ["33 levels", { ...PAYMENT, resource: deep(32) }],
    ["a million levels", { ...PAYMENT, resource: deep(1e6) }],
    ["a NUL", { ...PAYMENT, resource: "\0" }],
  ])("%s is no payment", (_what, value) => {
    expect(decodePayment(value)).toMatchObject(MALFORMED);
  });

  test("decodePayment agrees with decodePaymentSignature on any JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const [one, other] = [decodePayment(value), decodePaymentSignature(encodeBase64Json(value))];
        expect([one.kind, "reason" in one && one.reason]).toEqual([other.kind, "reason" in other && other.reason]);
      }),
    );
  });
});
