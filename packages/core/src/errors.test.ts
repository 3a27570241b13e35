import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigError, describeValue, FacilitatorError, FareboxError, RpcError, StateError } from "./errors.js";

describe("messages", () => {
  test("a ConfigError has one line for each issue: path, expected, received", () => {
    const error = new ConfigError([
      { path: "options.holdBytes", expected: "a whole number from 0 to 67108864", received: "-1" },
      { path: 'routes["GET /a"].price', expected: 'a dollar price such as "$0.01"', received: '"1"' },
    ]);
    expect(String(error)).toMatchInlineSnapshot(`
      "ConfigError: options.holdBytes: expected a whole number from 0 to 67108864, received -1
      routes["GET /a"].price: expected a dollar price such as "$0.01", received "1""
    `);
    expect(error.code).toBe("ERR_FAREBOX_CONFIG");
  });

  test("a FacilitatorError has a message and the fields of the failure", () => {
    const failure = { code: "ERR_FAREBOX_FACILITATOR_STATUS", operation: "settle", outcome: "unknown" } as const;
    const error = new FacilitatorError("facilitator responded to settle with status 500", { ...failure, status: 500 });
    expect(String(error)).toMatchInlineSnapshot(`"FacilitatorError: facilitator responded to settle with status 500"`);
    expect(error).toMatchObject({ ...failure, status: 500, retryAfterSeconds: undefined });
  });

  test("an RpcError has a message, a problem and a status", () => {
    const error = new RpcError("node responded to eth_call with status 503", "status", 503);
    expect(String(error)).toMatchInlineSnapshot(`"RpcError: node responded to eth_call with status 503"`);
    expect(error).toMatchObject({ code: "ERR_FAREBOX_RPC", problem: "status", status: 503 });
  });

  test("a StateError has a message and a code", () => {
    const error = new StateError("settle was called on a payment that has ended");
    expect(String(error)).toMatchInlineSnapshot(`"StateError: settle was called on a payment that has ended"`);
    expect(error.code).toBe("ERR_FAREBOX_STATE");
  });
});

test.each([
  new ConfigError([], { cause: 1 }),
  new FacilitatorError(
    "m",
    { code: "ERR_FAREBOX_FACILITATOR_TIMEOUT", operation: "verify", outcome: "none" },
    { cause: 1 },
  ),
  new StateError("m", { cause: 1 }),
])("$name is a FareboxError with a code and its cause", (error) => {
  expect(error).toBeInstanceOf(FareboxError);
  expect(error).toBeInstanceOf(Error);
  expect(error.code).toMatch(/^ERR_FAREBOX_[A-Z_]+$/);
  expect(error.cause).toBe(1);
  expect(error.stack).toContain(error.name);
});

describe("describeValue", () => {
  test.each<[value: unknown, text: string]>([
    [undefined, "nothing"],
    [null, "null"],
    ["a", '"a"'],
    ["a\nb", '"a\\nb"'],
    [5, "5"],
    [Number.NaN, "NaN"],
    [10n, "10"],
    [Symbol("s"), "Symbol(s)"],
    [() => {}, "a function"],
    [{ a: [1] }, '{"a":[1]}'],
    [{ a: 1n }, "an object"],
    [{ toJSON: () => undefined }, "an object"],
    ["x".repeat(100), "a text of 100 characters"],
    [{ key: "x".repeat(64), a: 1 }, '{"key":"…","a":1}'],
  ])("writes %o as %s", (value, text) => {
    expect(describeValue(value)).toBe(text);
  });

  test("describes any value on one line of at most 80 characters", () => {
    const objects = { withNullPrototype: true, withBigInt: true, withDate: true, withMap: true, withTypedArray: true };
    fc.assert(
      fc.property(fc.anything(objects), (value) => {
        const text = describeValue(value);
        expect(text.length).toBeLessThanOrEqual(80);
        if (typeof value !== "symbol") expect(text).not.toMatch(/[\n\r]/);
      }),
    );
  });
});
