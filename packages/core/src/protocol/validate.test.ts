import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  isPaymentPayload,
  isPaymentRequired,
  isPaymentRequirements,
  isSettlementResponse,
  isSupportedResponse,
  isVerifyResponse,
} from "./validate.js";

const PREDICATES = {
  PaymentRequired: isPaymentRequired,
  PaymentRequirements: isPaymentRequirements,
  PaymentPayload: isPaymentPayload,
  SettlementResponse: isSettlementResponse,
  VerifyResponse: isVerifyResponse,
  SupportedResponse: isSupportedResponse,
};

type Kind = keyof typeof PREDICATES;
type Fields = Record<string, unknown>;

interface Vector {
  readonly clause: string;
  readonly kind: Kind;
  readonly document: Fields;
}

const VECTORS = ["specification-v2.json", "exact-evm.json"].flatMap((file): readonly Vector[] => {
  const path = new URL(`../../../../test/vectors/${file}`, import.meta.url);
  return JSON.parse(readFileSync(path, "utf8")).vectors;
});

function example(kind: Kind): Fields {
  return structuredClone(VECTORS.find((vector) => vector.kind === kind)!.document);
}

describe("the documents in the specification", () => {
  test("the vectors have a document of every kind", () => {
    expect(new Set(VECTORS.map(({ kind }) => kind))).toEqual(new Set(Object.keys(PREDICATES)));
  });

  test.each(VECTORS)("$clause: $kind is accepted", ({ kind, document }) => {
    expect(PREDICATES[kind](document)).toBe(true);
  });

  test.each(VECTORS)("$clause: $kind is accepted with unknown fields", ({ kind, document }) => {
    expect(PREDICATES[kind]({ ...document, unheardOf: { of: [] } })).toBe(true);
  });
});

/** Invalid values of a field, by its type. */
const WRONG = {
  two: [undefined, null, 1, 3, 2.5, "2", [2]],
  text: [undefined, null, 1, true, [], {}],
  filledText: [undefined, null, 1, true, [], {}, "", "\n"],
  number: [undefined, null, "1", true, [], {}],
  flag: [undefined, null, 0, 1, "true", [], {}],
  object: [undefined, null, 1, "x", [], [{}]],
  list: [undefined, null, 1, "x", {}, [[]], [null]],
} as const;

const REQUIRED: Readonly<Record<Kind, Readonly<Record<string, keyof typeof WRONG>>>> = {
  PaymentRequired: { x402Version: "two", resource: "object", "resource.url": "filledText", accepts: "list" },
  PaymentRequirements: {
    scheme: "filledText",
    network: "filledText",
    amount: "filledText",
    asset: "filledText",
    payTo: "filledText",
    maxTimeoutSeconds: "number",
  },
  PaymentPayload: {
    x402Version: "two",
    accepted: "object",
    payload: "object",
    "accepted.scheme": "text",
    "accepted.network": "text",
    "accepted.asset": "text",
    "accepted.payTo": "text",
    "accepted.amount": "text",
  },
  SettlementResponse: { success: "flag", transaction: "text", network: "text" },
  VerifyResponse: { isValid: "flag" },
  SupportedResponse: {
    kinds: "list",
    "kinds.0.scheme": "text",
    "kinds.0.network": "text",
    "kinds.0.x402Version": "number",
    extensions: "list",
    signers: "object",
  },
};

function withValueAt(document: Fields, path: string, value: unknown): Fields {
  const names = path.split(".");
  const last = names.pop()!;
  const parent = names.reduce((at, name) => at[name] as Fields, document);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return document;
}

describe.each(Object.entries(REQUIRED) as [Kind, Record<string, keyof typeof WRONG>][])("%s", (kind, fields) => {
  test.each(Object.entries(fields))("needs %s, of type %s", (path, type) => {
    for (const wrong of WRONG[type]) {
      expect(PREDICATES[kind](withValueAt(example(kind), path, wrong)), JSON.stringify(wrong)).toBe(false);
    }
  });

  test("never throws, for any value", () => {
    const mutated = fc
      .tuple(fc.constantFrom(...Object.keys(fields)), fc.anything())
      .map(([path, value]) => withValueAt(example(kind), path, value));
    const objects = { withNullPrototype: true, withBigInt: true, withSparseArray: true, withMap: true, withDate: true };
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.anything(objects), mutated), (value) => {
        expect(typeof PREDICATES[kind](value)).toBe("boolean");
      }),
    );
  });
});

test("a challenge without offers, or with an invalid one, is refused", () => {
  const { accepts, ...rest } = example("PaymentRequired") as { accepts: Fields[] };
  expect(isPaymentRequired({ ...rest, accepts: [] })).toBe(false);
  expect(isPaymentRequired({ ...rest, accepts: [...accepts, { ...accepts[0], amount: "1.5" }] })).toBe(false);
});

describe("amounts and networks of a requirement", () => {
  test.each<[fields: Fields, accepted: boolean, why: string]>([
    [{ amount: "0" }, true, "zero"],
    [{ amount: "9".repeat(78) }, true, "as long as 2^256"],
    [{ amount: "9".repeat(79) }, false, "too long"],
    [{ amount: "-1" }, false, "a sign"],
    [{ amount: "1.0" }, false, "a point"],
    [{ amount: "1e3" }, false, "an exponent"],
    [{ amount: "0x10" }, false, "hexadecimal"],
    [{ amount: "١" }, false, "digits of another script"],
    [{ amount: "1\n" }, false, "a trailing line break"],
    [{ amount: 10000 }, false, "a number"],
    [{ network: "base" }, false, "not CAIP-2"],
    [{ network: ":1" }, false, "no namespace"],
    [{ network: "eip155:" }, false, "no reference"],
    [{ maxTimeoutSeconds: 0 }, false, "zero"],
    [{ maxTimeoutSeconds: -1 }, false, "negative"],
    [{ maxTimeoutSeconds: "60" }, false, "a string"],
    [{ extra: null }, true, "clients in Go send null"],
    [{ extra: undefined }, true, "optional"],
    [{ extra: [] }, false, "a list"],
  ])("%j: accepted %s, %s", (fields, accepted) => {
    expect(isPaymentRequirements({ ...example("PaymentRequirements"), ...fields })).toBe(accepted);
  });
});

describe("a payment", () => {
  const { amount, extra, maxTimeoutSeconds, ...rest } = example("PaymentRequirements");

  test.each<[accepted: Fields, ok: boolean, why: string]>([
    [rest, false, "no amount at all"],
    [{ ...rest, amount }, true, "clients drop what they do not know"],
    [{ ...rest, maxAmountRequired: amount }, true, "the amount under its older name"],
    [{ ...rest, maxAmountRequired: 10000 }, false, "but as a text"],
    [{ ...rest, amount, extra: null }, true, "an extra of null"],
    [{ ...rest, amount, extra: "x" }, false, "an invalid extra"],
  ])("that accepts %j: %s (%s)", (accepted, ok) => {
    expect(isPaymentPayload({ ...example("PaymentPayload"), accepted })).toBe(ok);
  });
});

test("the compiled validators are those of the schemas", () => {
  const script = fileURLToPath(new URL("../../scripts/generate-validators.mjs", import.meta.url));
  expect(() => execFileSync(process.execPath, [script, "--check"], { stdio: "pipe" })).not.toThrow();
});
