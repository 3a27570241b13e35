import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ParsedJson, parseJson } from "../protocol/json.js";
import { Echoes } from "./echoes.js";

const SEED = Number(process.env["FAREBOX_SEED"] ?? Date.now() % 2 ** 31);

const WEATHER = { route: "GET /weather" };
const NEWS = { route: "GET /news" };
const OURS = {
  resource: { url: "https://api.example.com/weather" },
  accepted: { scheme: "exact", extra: { name: "USDC" } },
};

const written = (payload: unknown, others: object = OURS) => JSON.stringify({ x402Version: 2, payload, ...others });

/** Echoes that have learnt from enough documents, of which `text` is the last. */
function learntFrom(text: string, place: object = WEATHER): Echoes {
  const echoes = new Echoes();
  for (let at = 0; at < 16; at++) echoes.parse(text, place);
  return echoes;
}

/** What was parsed but the payload, if it is what was parsed before. */
function sharedBy(echoes: Echoes, texts: readonly string[], place: object = WEATHER): boolean {
  const accepted = texts.map((text) => fieldsOf(echoes.parse(text, place))["accepted"]);
  return accepted.every((one) => one === accepted[0]);
}

function fieldsOf(parsed: ParsedJson): Record<string, unknown> {
  if (!parsed.ok) throw new Error("not JSON");
  return parsed.value as Record<string, unknown>;
}

describe("documents that differ in their payload", () => {
  test("are parsed as ever, and share what they have in common, frozen", () => {
    const echoes = learntFrom(written({ nonce: "0" }));
    const texts = [written({ nonce: "1" }), written({ nonce: "22", more: [{}] }), written("text"), written(null)];
    expect(texts.map((text) => echoes.parse(text, WEATHER))).toEqual(texts.map((text) => parseJson(text)));
    expect(sharedBy(echoes, texts)).toBe(true);
    const { accepted, payload } = fieldsOf(echoes.parse(written({ nonce: "1" }), WEATHER));
    expect([Object.isFrozen(accepted), Object.isFrozen((accepted as typeof OURS.accepted).extra)]).toEqual([
      true,
      true,
    ]);
    expect(Object.isFrozen(payload)).toBe(false);
  });

  test("are known at the place where they came before, and only there", () => {
    const echoes = learntFrom(written({}));
    expect(sharedBy(echoes, [written({ a: 1 }), written({ a: 2 })], WEATHER)).toBe(true);
    expect(sharedBy(echoes, [written({ a: 1 }), written({ a: 2 })], NEWS)).toBe(false);
  });

  test("are learnt from one in sixteen", () => {
    const echoes = new Echoes();
    for (let at = 0; at < 15; at++) echoes.parse(written({ at }), WEATHER);
    expect(sharedBy(echoes, [written({ a: 1 })])).toBe(true);
    expect(sharedBy(echoes, [written({ a: 1 }), written({ a: 2 })])).toBe(true);
  });

  test("are forgotten at the place that was learnt first, where there are too many", () => {
    const echoes = new Echoes();
    const places = Array.from({ length: 257 }, (_, at) => ({ at }));
    for (const place of places) for (let at = 0; at < 16; at++) echoes.parse(written({ at }), place);
    const known = places.map((place) => sharedBy(echoes, [written({ a: 1 }), written({ a: 2 })], place));
    expect(known.indexOf(true)).toBe(1);
    expect(known.lastIndexOf(false)).toBe(0);
  });

  test("are not kept where they are long", () => {
    const others = { ...OURS, description: "x".repeat(4096) };
    const echoes = learntFrom(written({}, others));
    expect(sharedBy(echoes, [written({ a: 1 }, others), written({ a: 2 }, others)])).toBe(false);
  });
});

test.each([
  ["a payload further down that says the same", '{"a":{"payload":{"n":1}},"payload":{"n":1}}'],
  ["a payload that comes twice", '{"payload":{"n":1},"payload":{"n":1}}'],
  ["a payload that comes twice, and counts", '{"payload":{"n":2},"payload":{"n":1}}'],
  ["a payload behind a text that looks like one", '{"a":"\\"payload\\":{\\"n\\":1}","payload":{"n":1}}'],
  ["a payload with blanks", '{ "payload" : { "n" : 1 } }'],
  ["a payload that is no object", '{"payload":1.0}'],
  ["a payload in a list", '[{"payload":{"n":1}}]'],
  ["no payload", '{"a":1}'],
  ["a field that sets the prototype elsewhere", '{"__proto__":{"payload":{"n":1}},"payload":{"n":1}}'],
  ["a payload that sets the prototype elsewhere", '{"payload":{"__proto__":{"n":1}},"a":1}'],
])("%s is parsed as ever, also when it comes again and when it is changed", (_what, text) => {
  const echoes = learntFrom(text);
  const changed = [text, text.replaceAll('"n":1', '"n":7'), text.replace('"n":1', '"n":7'), text.replace("1", "7")];
  const cut = Array.from({ length: text.length }, (_, at) => text.slice(0, at) + text.slice(at + 1));
  for (const one of [...changed, ...cut]) expect(echoes.parse(one, WEATHER), one).toEqual(parseJson(one));
});

test.each([
  ["malformed", written({}).replace("{}", "{]")],
  ["missing", written({}).replace("{}", "")],
  ["two values", written({}).replace("{}", "{},{}")],
  ["more fields", written({}).replace("{}", '{},"accepted":{}')],
  ["an end before the end", written({}).replace("{}", "{}}")],
  ["a NUL", written({ text: "\u0000" })],
])("a payload that is %s is what it is", (_what, text) => {
  expect(learntFrom(written({})).parse(text, WEATHER)).toEqual(parseJson(text));
});

test("a payload may be nested as deep as in any document, and no deeper", () => {
  const nested = (depth: number) => written({}).replace("{}", "[".repeat(depth) + "]".repeat(depth));
  const echoes = learntFrom(written({}));
  const depths = [1, 30, 31, 32, 33, 100_000];
  expect(depths.map((depth) => echoes.parse(nested(depth), WEATHER).ok)).toEqual(depths.map((depth) => depth <= 31));
  expect(depths.map((depth) => parseJson(nested(depth)).ok)).toEqual(depths.map((depth) => depth <= 31));
});

/** Few names and few values, so that most documents are like others. */
const NAME = fc.constantFrom("payload", "accepted", "__proto__", "a");
const { document } = fc.letrec<{ document: unknown }>((tie) => ({
  document: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(0, 1, "a", '"payload":{}', {}),
    fc.array(tie("document"), { maxLength: 2 }),
    fc.array(fc.tuple(NAME, tie("document")), { maxLength: 4 }).map((fields) => Object.fromEntries(fields)),
  ),
}));

/** As it is; or something is cut out, or put twice, or has another name. */
const TEXT = fc
  .tuple(document, fc.integer({ min: 0, max: 7 }), fc.nat(), fc.nat())
  .map(([value, how, one, other]) => mangle(JSON.stringify(value), how, [one, other]));

function mangle(text: string, how: number, places: readonly number[]): string {
  const [from = 0, to = 0] = places.map((place) => place % (text.length + 1)).sort((a, b) => a - b);
  if (how === 0) return text.slice(0, from) + text.slice(to);
  if (how === 1) return text.slice(0, to) + text.slice(from);
  return how === 2 ? text.replaceAll('"a"', '"payload"') : text;
}

test(`whatever is written is parsed as ever (seed ${SEED})`, () => {
  const check = fc.property(fc.array(TEXT, { minLength: 20, maxLength: 60 }), (texts) => {
    const echoes = new Echoes();
    for (const text of texts) {
      echoes.parse(text, WEATHER);
      for (const like of [text, text.replace("0", "1"), text.replace("{}", '{"a":1}')]) {
        expect(echoes.parse(like, WEATHER), like).toEqual(parseJson(like));
      }
    }
  });
  fc.assert(check, { seed: SEED, numRuns: 300 });
});
