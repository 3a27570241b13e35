import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Extensions, PaymentRequired } from "../protocol/documents.js";
import { decodePaymentRequired } from "../protocol/headers.js";
import { createTestScheme, NETWORK, PAY_TO } from "../sale/shop.fixture.js";
import { createOffer, type Offer } from "../scheme/offer.js";
import { type ChallengeSubject, compileChallenge, HEADER_BUDGET, HEADER_LIMIT } from "./challenge.js";

/** Any UTF-16 code unit but NUL, which is rejected; lone surrogates too. */
const codeUnit = fc.integer({ min: 1, max: 0xffff }).map((code) => String.fromCharCode(code));

const OCCASION = {
  url: "https://shop.example/weather",
  method: "GET",
  error: "Payment required",
  locate: () => ({ routeTemplate: "/weather", pathParams: {} }),
};

function offer(network: string = NETWORK, amount = 10_000n): Offer {
  const asset = {
    id: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    symbol: "USDC",
    decimals: 6,
    extra: { name: "USDC" },
  };
  return createOffer(
    createTestScheme(),
    { asset, amount, payTo: PAY_TO, isInDollars: true },
    { network, maxTimeoutSeconds: 60, extra: {} },
  );
}

function write(offers: readonly Offer[], more: { description?: string; extensions?: Extensions } = {}, occasion = {}) {
  const { description = "Weather", extensions } = more;
  const writeChallenge = compileChallenge(subject(offers, { description, extensions }));
  const { header, body, leftOut } = writeChallenge({ ...OCCASION, ...occasion });
  const challenge = decodePaymentRequired(header) as PaymentRequired;
  const whole = JSON.parse(body) as PaymentRequired;
  // Header and body differ in what is said to be left out, and in nothing else.
  expect(whole).not.toHaveProperty("extensions.farebox");
  if (leftOut.length === 0) expect(challenge).toEqual(whole);
  else expect(challenge.extensions?.["farebox"]).toEqual({ truncated: leftOut, info: {}, schema: {} });
  expect({ ...challenge, accepts: [], extensions: {} }).toEqual({ ...whole, accepts: [], extensions: {} });
  for (const [at, offer] of whole.accepts.entries()) {
    expect(Object.keys(offer)).toEqual(expect.arrayContaining(FULL));
    const { outputSchema = offer.outputSchema, ...kept } = challenge.accepts[at] ?? {};
    expect({ ...offer, outputSchema }).toMatchObject(kept);
    expect(FULL.filter((name) => !Object.hasOwn(challenge.accepts[at] ?? {}, name))).toEqual(
      FULL.filter((name) => leftOut.some((part) => part === name)),
    );
  }
  return { header, body: whole, leftOut, challenge };
}

/** The fields of an offer for older clients. */
const FULL = ["maxAmountRequired", "resource", "description", "mimeType", "outputSchema"];

function subject(
  offers: readonly Offer[],
  { description = "Weather", ...more }: { readonly description?: string; readonly extensions?: Extensions | undefined },
): ChallengeSubject {
  return {
    ...{ offers, description, mimeType: "application/json", service: {}, headerBudget: HEADER_BUDGET },
    declareAt: () => more.extensions,
    forCatalogs: new Map(),
    outline: () => undefined,
  };
}

const CANONICAL = {
  scheme: "exact",
  network: NETWORK,
  amount: "10000",
  asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  payTo: PAY_TO,
  maxTimeoutSeconds: 60,
  extra: { name: "USDC" },
};

describe("a challenge", () => {
  test("a challenge has the protocol's fields and those of older clients", () => {
    expect(write([offer()]).challenge).toEqual({
      x402Version: 2,
      error: "Payment required",
      resource: { url: OCCASION.url, description: "Weather", mimeType: "application/json" },
      accepts: [
        {
          ...CANONICAL,
          maxAmountRequired: "10000",
          resource: OCCASION.url,
          description: "Weather",
          mimeType: "application/json",
          outputSchema: { input: { type: "http", method: "GET", resource: OCCASION.url }, output: null },
        },
      ],
    });
  });

  test("a challenge has its fields in the order of @x402/express", () => {
    const { challenge } = write([offer()], { extensions: { x: { info: {}, schema: {} } } });
    expect(Object.keys(challenge)).toEqual(["x402Version", "error", "resource", "accepts", "extensions"]);
    expect(Object.keys(challenge.accepts[0]!).slice(0, 7)).toEqual(Object.keys(CANONICAL));
  });

  test("a challenge has the declared extensions, and no such field without them", () => {
    const extensions = { bazaar: { info: { a: 1 }, schema: {}, routeTemplate: "/weather" } };
    expect(write([offer()], { extensions }).challenge.extensions).toEqual(extensions);
    expect(write([offer()]).challenge).not.toHaveProperty("extensions");
  });

  test("a challenge keeps the order of the offers", () => {
    const networks = ["eip155:1", "eip155:8453", "eip155:137"];
    const { challenge } = write(networks.map((network) => offer(network)));
    expect(challenge.accepts.map(({ network }) => network)).toEqual(networks);
  });
});

describe("a challenge for another request", () => {
  const extensions = { bazaar: { info: {}, schema: {} } };
  const writeChallenge = compileChallenge(subject([offer()], { extensions }));

  test("a challenge is the same object when nothing differs, and a new one otherwise", () => {
    const first = writeChallenge(OCCASION);
    expect(writeChallenge({ ...OCCASION })).toBe(first);
    for (const change of [{ url: "https://a.example/" }, { method: "HEAD" }, { error: "other" }]) {
      const other = writeChallenge({ ...OCCASION, ...change });
      expect(other).not.toBe(first);
      expect(JSON.parse(other.body)).toMatchObject({ error: change.error ?? OCCASION.error });
    }
    expect(writeChallenge(OCCASION)).toEqual(first);
  });

  test("a challenge is written again when the declaration differs", () => {
    let declared = extensions;
    const anew = compileChallenge({ ...subject([offer()], {}), declareAt: () => declared });
    const first = anew(OCCASION);
    declared = { bazaar: { info: { a: 1 }, schema: {} } } as never;
    expect(JSON.parse(anew(OCCASION).body).extensions).toEqual(declared);
    expect(first.body).not.toContain('"a":1');
  });
});

describe("a challenge too long for common proxies", () => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => offer(`eip155:${at + 1}`));

  const REPEATED = ["description", "mimeType", "resource", "outputSchema", "maxAmountRequired"];

  test.each<[count: number, left: string[]]>([
    [1, []],
    [13, []],
    [14, REPEATED.slice(0, 2)],
    [16, REPEATED.slice(0, 3)],
    [24, REPEATED.slice(0, 4)],
    [40, REPEATED],
  ])("with %i offers its header leaves out %j", (count, left) => {
    const { header, leftOut, challenge } = write(many(count));
    expect(leftOut).toEqual(left);
    expect(challenge.accepts).toHaveLength(count);
    if (count < 40) expect(header.length).toBeLessThanOrEqual(HEADER_LIMIT);
  });

  /** A declaration as of `bazaar`, and how its examples leave it. */
  const declared = (length: number) => ({
    info: { input: { type: "http", example: "e".repeat(length) } },
    schema: { text: "s".repeat(length) },
    routeTemplate: "/w",
  });
  const bare = { info: { input: { type: "http" } } };
  const output = { type: "object", properties: { celsius: { type: "number", description: "d".repeat(100) } } };
  const catalogued = (offers: number, length: number): ChallengeSubject => ({
    ...subject(many(offers), { extensions: { bazaar: declared(length), other: { info: {}, schema: {} } } }),
    forCatalogs: new Map([["bazaar", (declaration) => ({ ...declaration, ...bare })]]),
    outline: (extensions, url) => {
      const { input = {} } = (extensions?.["bazaar"]?.info ?? {}) as { input?: object };
      return { input: { ...input, resource: url }, output };
    },
  });

  test("a header leaves out one part after the other, names them, and keeps every field of its offers up to 8192 characters", () => {
    const writeChallenge = compileChallenge(catalogued(2, 200));
    const ways = new Map<string, { readonly shortest: string; readonly longest: string }>();
    for (let length = 0; length < 6_300; length += 3) {
      const { header, body, leftOut } = writeChallenge({ ...OCCASION, error: "e".repeat(length) });
      expect(JSON.parse(body)).not.toHaveProperty("extensions.farebox");
      const named = decodePaymentRequired(header)?.extensions?.["farebox"];
      expect(named?.["truncated"] ?? []).toEqual(leftOut);
      const way = leftOut.join();
      ways.set(way, { shortest: ways.get(way)?.shortest ?? header, longest: header });
    }
    const order = [
      "extensions.bazaar.schema",
      "examples",
      "extensions.bazaar",
      "description",
      "mimeType",
      "resource",
      "outputSchema.output",
      "outputSchema",
      "maxAmountRequired",
    ];
    expect([...ways.keys()]).toEqual(Array.from({ length: 10 }, (_, at) => order.slice(0, at).join()));
    const lengths = [...ways.values()].map(({ longest }) => longest.length);
    // Each way is taken as long as it fits.
    expect(lengths).toEqual([4096, 4096, ...Array(7).fill(8192), expect.any(Number)]);
    const offers = [...ways.values()].map(({ shortest }) => decodePaymentRequired(shortest)?.accepts[1] ?? {});
    const input = { type: "http", resource: OCCASION.url };
    for (const offer of offers.slice(0, 4)) expect(Object.keys(offer)).toEqual([...Object.keys(CANONICAL), ...FULL]);
    expect(offers[1]).toHaveProperty("outputSchema", { input: { ...input, example: "e".repeat(200) }, output });
    expect(offers[2]).toHaveProperty("outputSchema", { input, output });
    expect(offers[3]).toHaveProperty("outputSchema", { input, output });
    expect(offers[6]).toHaveProperty("outputSchema", { input, output });
    expect(offers[7]).toHaveProperty("outputSchema", { input });
    expect(Object.keys(offers[7] ?? {})).toEqual([...Object.keys(CANONICAL), "maxAmountRequired", "outputSchema"]);
    expect(Object.keys(offers[9] ?? {})).toEqual(Object.keys(CANONICAL));
    const declarations = [...ways.values()].map(({ shortest }) => decodePaymentRequired(shortest)?.extensions);
    const { schema, ...unchecked } = declared(200);
    expect(declarations.slice(0, 4).map((all) => all?.["bazaar"])).toEqual([
      { ...unchecked, schema },
      unchecked,
      { ...unchecked, ...bare },
      undefined,
    ]);
    for (const all of declarations) expect(all?.["other"]).toEqual({ info: {}, schema: {} });
  });

  test("a header that has no room for a long schema keeps its examples", () => {
    const { leftOut, header } = compileChallenge(catalogued(2, 450))(OCCASION);
    expect(leftOut).toEqual(["extensions.bazaar.schema"]);
    expect(header.length).toBeLessThanOrEqual(HEADER_BUDGET);
  });

  test("a header keeps what is shorter than its name in the list", () => {
    const empty = { ...subject(many(1), { description: "" }), mimeType: "" };
    const { leftOut, header } = compileChallenge(empty)({ ...OCCASION, error: "e".repeat(8_000) });
    expect(leftOut).toEqual(["outputSchema", "maxAmountRequired"]);
    expect(decodePaymentRequired(header)?.accepts[0]).toMatchObject({ description: "", mimeType: "" });
  });

  test.each([
    ["the body is the seller's", HEADER_LIMIT, ["extensions.bazaar.schema"]],
    ["it is no header", Number.POSITIVE_INFINITY, []],
  ] as const)("a challenge has everything, where %s", (_why, headerBudget, left) => {
    expect(compileChallenge({ ...catalogued(2, 600), headerBudget })(OCCASION).leftOut).toEqual([]);
    expect(compileChallenge({ ...catalogued(2, 1400), headerBudget })(OCCASION).leftOut).toEqual(left);
  });

  test("a seller's own extension of the same name stays", () => {
    const farebox = { info: { mine: true }, schema: {} };
    const own = subject(many(40), { extensions: { farebox } });
    expect(decodePaymentRequired(compileChallenge(own)(OCCASION).header)?.extensions).toEqual({ farebox });
  });

  test("a challenge has all fields of its offers up to 8192 characters of header", () => {
    const lengths = Array.from({ length: 400 }, (_, at) => write([offer()], {}, { error: "e".repeat(5_170 + at) }));
    const longestFull = lengths.findLastIndex(({ leftOut }) => leftOut.length === 0);
    expect(lengths[longestFull]?.header.length).toBe(8192);
    expect(lengths.findIndex(({ leftOut }) => leftOut.length > 0)).toBe(longestFull + 1);
  });

  test("a challenge is valid and equal in header and body, with equal amounts, for any offers and texts", () => {
    const text = fc.string({ unit: codeUnit, maxLength: 500 });
    const amounts = fc.array(fc.bigInt({ min: 1n, max: 2n ** 256n - 1n }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(amounts, text, text, text, (all, description, path, error) => {
        const offers = all.map((amount) => offer(NETWORK, amount));
        const { challenge } = write(offers, { description }, { url: `https://shop.example/${path}`, error });
        expect(challenge).toMatchObject({ error, resource: { url: `https://shop.example/${path}`, description } });
        challenge.accepts.forEach(({ amount, maxAmountRequired = amount }, at) => {
          expect([amount, maxAmountRequired]).toEqual([String(all[at]), String(all[at])]);
        });
      }),
    );
  });
});
