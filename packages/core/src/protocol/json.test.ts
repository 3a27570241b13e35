import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { copyJsonObject, isJsonObject, parseJson } from "./json.js";

/** Any UTF-16 code unit, lone surrogates too. */
const codeUnit = fc.nat(0xffff).map((code) => String.fromCharCode(code));

const REFUSED = { ok: false };

function nested(open: string, close: string, depth: number): string {
  return `${open.repeat(depth)}0${close.repeat(depth)}`;
}

/** The depth of a parsed value, counted independently of the code. */
function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

describe("parseJson bounds the depth", () => {
  test.each<[why: string, ok: boolean, text: string]>([
    ["32 arrays are the limit", true, nested("[", "]", 32)],
    ["33 are more", false, nested("[", "]", 33)],
    ["32 objects", true, nested('{"a":', "}", 32)],
    ["33 objects", false, nested('{"a":', "}", 33)],
    ["both together", true, nested('[{"a":', "}]", 16)],
    ["both together, too deep", false, nested('[{"a":', "}]", 17)],
    ["many, but beside each other", true, `[${"[],".repeat(5000)}0]`],
    ["brackets in a string do not count", true, `"${"[".repeat(5000)}"`],
    ["an escaped quote does not end the string", true, `"\\"${"[".repeat(5000)}"`],
    ["an escaped backslash before the closing quote does not hide it", false, `["\\\\",${nested("[", "]", 32)}]`],
    ["nor do brackets in a key count", true, `{"${"{".repeat(40)}":1}`],
    ["escapes of a bracket and a quote", true, `"\\u005b\\u0022"`],
    ["what fills a header", false, "[".repeat(16 * 1024)],
    ["5,000 deep", false, nested("[", "]", 5_000)],
    ["deep enough to end any recursion", false, "[".repeat(20_000_000)],
  ])("%s: accepted %s", (_why, ok, text) => {
    expect(parseJson(text).ok).toBe(ok);
  });

  test("parseJson accepts values of depth 32 and less, and no others", () => {
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 40, depthSize: "max", withCrossShrink: true },
        fc.constantFrom(0, "[", '"', "\\", null),
        fc.array(tie("value"), { minLength: 1, maxLength: 2 }),
        fc.dictionary(fc.constantFrom("a", "}", '"]'), tie("value"), { minKeys: 1, maxKeys: 2 }),
      ),
    }));
    const chains = fc.nat(40).map((depth) => JSON.parse(nested("[", "]", depth)) as unknown);
    fc.assert(
      fc.property(fc.oneof(value, chains), (given) => {
        const text = JSON.stringify(given);
        expect(parseJson(text)).toEqual(depthOf(given) <= 32 ? { ok: true, value: given } : REFUSED);
      }),
    );
  });
});

describe("parseJson", () => {
  test.each<[text: string, why: string]>([
    ["", "empty"],
    [" ", "blank"],
    ["{", "open"],
    ["]]]][[[[", "closed before opened"],
    ["[}", "closed by the wrong bracket"],
    ['"abc', "an unclosed string"],
    ['"\\', "an incomplete escape"],
    ["{a:1}", "no quotes"],
    ["{'a':1}", "single quotes"],
    ["[1,]", "a trailing comma"],
    ["01", "a leading zero"],
    ["NaN", "not a number"],
    ["undefined", "not JSON"],
    ["1 2", "two values"],
    ["{}\u0000", "a trailing NUL"],
    ["\ufeff{}", "a byte order mark"],
  ])("refuses %j: %s", (text) => {
    expect(parseJson(text)).toEqual(REFUSED);
  });

  test("parses null as a value", () => {
    expect(parseJson("null")).toEqual({ ok: true, value: null });
  });

  test.each(['"\\u0000"', '{"a":"b\\u0000c"}', '{"\\u0000":1}', '"\\\\u0000"'])("refuses a NUL: %s", (text) => {
    expect(parseJson(text)).toEqual(REFUSED);
  });

  test("parses __proto__ as an ordinary field", () => {
    const parsed = parseJson('{"__proto__":{"polluted":true}}');
    expect(parsed.ok && Object.hasOwn(parsed.value as object, "__proto__")).toBe(true);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("never throws, and agrees with JSON.parse on shallow documents", () => {
    const pieces = fc.constantFrom("{", "}", "[", "]", '"', "\\", ":", ",", "1", "a", "null", " ");
    const texts = fc.oneof(
      fc.string({ unit: codeUnit }),
      fc.json(),
      fc.array(pieces, { maxLength: 30 }).map((some) => some.join("")),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const parsed = parseJson(text);
        if (parsed.ok) expect(parsed.value).toEqual(JSON.parse(text));
        else if (!text.includes("[[[") && !text.includes("\\u0000"))
          expect(() => JSON.parse(text)).toThrow(SyntaxError);
      }),
    );
  });

  test.each(["[", "]", '"', "\\", '\\"', '"\\', "{}", '"[', " "])(
    "reads each character of many %j a few times at most, however many there are",
    (unit) => {
      const charCodeAt = vi.spyOn(String.prototype, "charCodeAt");
      const readsOf = (count: number) => {
        charCodeAt.mockClear();
        parseJson(unit.repeat(count));
        return charCodeAt.mock.calls.length;
      };
      const reads = [500, 5_000].map(readsOf);
      charCodeAt.mockRestore();
      expect(reads[1]).toBeLessThanOrEqual(10 * (reads[0] ?? 0) + 100);
      expect(reads[1]).toBeLessThanOrEqual(3 * 5_000 * unit.length);
    },
  );
});

test("isJsonObject tells objects from everything else", () => {
  for (const other of [null, undefined, [], "a", 1, true, () => {}]) expect(isJsonObject(other)).toBe(false);
  for (const object of [{}, { a: 1 }, Object.create(null)]) expect(isJsonObject(object)).toBe(true);
});

describe("copyJsonObject", () => {
  test("makes a deep copy by way of JSON", () => {
    const given = { a: { b: [1, null] }, dropped: undefined, date: new Date(0) };
    const copy = copyJsonObject(given);
    expect(copy).toEqual({ a: { b: [1, null] }, date: "1970-01-01T00:00:00.000Z" });
    expect(copy?.["a"]).not.toBe(given.a);
  });

  const circle: Record<string, unknown> = {};
  circle["self"] = circle;

  test.each<[given: unknown, why: string]>([
    [{ a: 1n }, "a bigint"],
    [circle, "a circular object"],
    [{ toJSON: () => "text" }, "a toJSON that returns a string"],
    [[1], "a list"],
    [null, "null"],
    [undefined, "undefined"],
    [() => {}, "a function"],
    ["{}", "a string"],
  ])("has no copy of %o: %s", (given) => {
    expect(copyJsonObject(given)).toBeUndefined();
  });
});
