import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { problemOfInstance } from "./schema-check.js";

const SEED = Number(process.env["FAREBOX_SEED"]);
console.info(`schemas: seed ${SEED}`);

const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });
const names = fc.constantFrom("a", "b", "c");
const small = fc.integer({ min: 0, max: 3 });
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, false, 0, 1, 2, 2.5, "", "a", "ab", "😀"),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(names, tie("any"), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any;

const schema = fc.letrec((tie) => {
  const sub = tie("schema");
  const list = fc.array(sub, { minLength: 1, maxLength: 2 });
  const keywords = {
    type: fc.oneof(
      fc.constantFrom("null", "boolean", "number", "integer", "string", "array", "object"),
      fc.constant(["string", "number"]),
    ),
    enum: fc.array(value, { minLength: 1, maxLength: 3 }),
    const: value,
    minimum: small,
    maximum: small,
    exclusiveMinimum: small,
    exclusiveMaximum: small,
    multipleOf: fc.integer({ min: 1, max: 3 }),
    minLength: small,
    maxLength: small,
    minItems: small,
    maxItems: small,
    minProperties: small,
    maxProperties: small,
    uniqueItems: fc.boolean(),
    required: fc.uniqueArray(names, { maxLength: 2 }),
    properties: fc.dictionary(names, sub, { maxKeys: 2, noNullPrototype: true }),
    additionalProperties: sub,
    propertyNames: sub,
    items: sub,
    prefixItems: list,
    contains: sub,
    dependentRequired: fc.dictionary(names, fc.uniqueArray(names, { maxLength: 2 }), {
      maxKeys: 1,
      noNullPrototype: true,
    }),
    dependentSchemas: fc.dictionary(names, sub, { maxKeys: 1, noNullPrototype: true }),
    allOf: list,
    anyOf: list,
    oneOf: list,
    not: sub,
    if: sub,
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    then: sub,
    else: sub,
    title: fc.string(),
  };
  const parts = Object.entries(keywords).map(([key, arbitrary]) => arbitrary.map((argument) => ({ [key]: argument })));
  const object = fc
    .array(fc.oneof(...parts), { minLength: 1, maxLength: 3 })
    .map((some) => withoutBoth(Object.assign({}, ...some)));
  return { schema: fc.oneof({ maxDepth: 4 }, fc.boolean(), object) };
}).schema;

test("the verdict is that of a compiler for every evaluated keyword", () => {
  let matching = 0;
  fc.assert(
    fc.property(
      schema.filter((some) => typeof some === "object"),
      value,
      (some, instance) => {
        const expected = ajv.validate(some as object, instance);
        ajv.removeSchema(some as object);
        if (expected) matching += 1;
        expect(problemOfInstance(some as never, instance, "it") === undefined).toBe(expected);
      },
    ),
    { seed: SEED, numRuns: 300 },
  );
  expect(matching).toBeGreaterThan(20);
});

describe("keywords that are not evaluated", () => {
  const CASES: readonly (readonly [why: string, schema: object, instance: unknown])[] = [
    ["a pattern", { pattern: "^b$" }, "a"],
    ["the opposite of a pattern", { not: { pattern: "^a$" } }, "a"],
    ["one of two patterns", { oneOf: [{ pattern: "a" }, { pattern: "b" }] }, "a"],
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    ["a condition on a pattern", { if: { pattern: "a" }, then: false, else: false }, "a"],
    ["fields by pattern", { patternProperties: { "^x": false }, additionalProperties: false }, { x: 1 }],
    ["items with a pattern", { contains: { pattern: "b" } }, ["a"]],
    ["unevaluated fields", { unevaluatedProperties: false }, { a: 1 }],
  ];
  test.each(CASES)("an unknown verdict counts as a match: %s", (_why, some, instance) => {
    expect(problemOfInstance(some as never, instance, "it")).toBeUndefined();
  });

  test("a keyword that is not evaluated does not hide the others", () => {
    expect(problemOfInstance({ pattern: "a", type: "number" }, "a", "it")).toBe("it must be number");
    expect(problemOfInstance({ patternProperties: { a: true }, required: ["b"] }, { a: 1 }, "it")).toMatch(/field b/);
  });
});

/** Beside `prefixItems`, the compiler forgets that `contains` asks an empty list for an item. */
function withoutBoth({ contains, ...some }: Record<string, unknown>): object {
  return contains === undefined || "prefixItems" in some ? some : { ...some, contains };
}
