import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PaymentPayload, PaymentRequired, SettlementResponse } from "./documents.js";
import {
  decodeBase64Json,
  decodePaymentRequired,
  decodePaymentResponse,
  decodePaymentSignature,
  encodeBase64Json,
  encodePaymentRequired,
  encodePaymentResponse,
  encodePaymentSignature,
  PAYMENT_REQUIRED,
  PAYMENT_RESPONSE,
  PAYMENT_SIGNATURE,
} from "./headers.js";
import { parseJson } from "./json.js";

/** Any UTF-16 code unit, lone surrogates too. */
// A NUL is refused.
const codeUnit = fc.integer({ min: 1, max: 0xffff }).map((code) => String.fromCharCode(code));

interface Vector {
  readonly clause: string;
  readonly header: string;
  readonly value: string;
  readonly document: unknown;
}

const { vectors }: { readonly vectors: readonly Vector[] } = JSON.parse(
  readFileSync(new URL("../../../../test/vectors/http-transport-v2.json", import.meta.url), "utf8"),
);

function documentOf(header: string): unknown {
  return vectors.find((vector) => vector.header === header)?.document;
}

const challenge = documentOf(PAYMENT_REQUIRED) as PaymentRequired;
const payment = documentOf(PAYMENT_SIGNATURE) as PaymentPayload;
const receipt = documentOf(PAYMENT_RESPONSE) as SettlementResponse;

describe("the examples of the HTTP transport", () => {
  const codecs: Record<string, { encode: (document: never) => string; decode: (value: string) => unknown }> = {
    [PAYMENT_REQUIRED]: { encode: encodePaymentRequired, decode: decodePaymentRequired },
    [PAYMENT_RESPONSE]: { encode: encodePaymentResponse, decode: decodePaymentResponse },
    [PAYMENT_SIGNATURE]: {
      encode: encodePaymentSignature,
      decode: (value) => {
        const decoded = decodePaymentSignature(value);
        return decoded.kind === "present" ? decoded.payment : decoded;
      },
    },
  };

  test.each(vectors)("$clause: $header decodes and encodes as printed", ({ header, value, document }) => {
    expect(codecs[header]?.decode(value)).toEqual(document);
    expect(codecs[header]?.encode(document as never)).toBe(value);
  });
});

describe("base64 of JSON", () => {
  test("decodes its own encoding, which is standard base64 on one line", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6, stringUnit: codeUnit }), (value) => {
        const text = encodeBase64Json(value);
        // Clients test a header with this pattern before they decode it.
        expect(text).toMatch(/^[A-Za-z0-9+/]*={0,2}$/);
        expect(text.length % 4).toBe(0);
        expect(decodeBase64Json(text)).toEqual({ ok: true, value: JSON.parse(JSON.stringify(value)) });
      }),
    );
  });

  test.each<[text: string, why: string]>([
    ["", "empty"],
    ["e30", "missing padding is allowed"],
  ])("%j: %s", (text) => {
    expect(decodeBase64Json(text).ok).toBe(text !== "");
  });

  test.each<[text: string, why: string]>([
    ["eyJhIjoiPz8_In0=", "base64url"],
    ["eyJhIjoi\nYiJ9", "a line break"],
    ["eyJhIjoiYiJ9\n", "a trailing line break"],
    [" e30=", "a leading space"],
    ["e30=, e30=", "two headers joined by Node"],
    ["e30=e30=", "two headers without a separator"],
    ["e===", "padding that is too long"],
    ["====", "only padding"],
    ["{}", "JSON that is not encoded"],
    ["AAAA", "not JSON"],
    ["/////w==", "not UTF-8"],
    [Buffer.from("[".repeat(33) + "]".repeat(33)).toString("base64"), "nested too deeply"],
  ])("refuses %j: %s", (text) => {
    expect(decodeBase64Json(text)).toEqual({ ok: false });
  });
});

test("a text is decoded exactly if encoding its bytes gives it back, with or without padding", () => {
  const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_ ";
  let decoded = 0;
  for (const start of ["", "M", "MT", "MTI", "MTIz", "MTIzN", "MTIzND", "MTIzNDU"]) {
    for (const last of characters) {
      for (const padding of ["", "=", "==", "==="]) {
        const text = start + last + padding;
        const bytes = Buffer.from(text, "base64");
        const again = bytes.toString("base64");
        const isStandard = text === again || text === again.replace(/=+$/, "");
        expect(decodeBase64Json(text), text).toEqual(isStandard ? parseJson(bytes.toString()) : { ok: false });
        if (decodeBase64Json(text).ok) decoded += 1;
      }
    }
  }
  expect(decoded).toBeGreaterThan(50);
});

describe("a challenge and a receipt", () => {
  test.each<[what: string, decoded: unknown]>([
    ["a receipt as a challenge", decodePaymentRequired(encodePaymentResponse(receipt))],
    ["a challenge as a receipt", decodePaymentResponse(encodePaymentRequired(challenge))],
    ["a challenge of version 1", decodePaymentRequired(encodeBase64Json({ ...challenge, x402Version: 1 }))],
    ["a challenge without offers", decodePaymentRequired(encodeBase64Json({ ...challenge, accepts: [] }))],
    ["null as a challenge", decodePaymentRequired(encodeBase64Json(null))],
    ["a list as a receipt", decodePaymentResponse(encodeBase64Json([receipt]))],
    ["prose as a receipt", decodePaymentResponse("no receipt")],
  ])("does not decode %s", (_what, decoded) => {
    expect(decoded).toBeUndefined();
  });

  test("decoding a challenge or a receipt never throws", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: codeUnit }), fc.base64String(), fc.jsonValue().map(encodeBase64Json)),
        (value) => {
          decodePaymentRequired(value);
          decodePaymentResponse(value);
        },
      ),
    );
  });
});

test("the payment in the vectors is the one that other tests use", () => {
  expect(decodePaymentSignature(encodePaymentSignature(payment))).toEqual({ kind: "present", payment });
});
