import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createTestScheme, NETWORK, PAY_TO } from "../gate/shop.fixture.js";
import type { Extensions, PaymentRequired } from "../protocol/documents.js";
import { decodePaymentRequired } from "../protocol/headers.js";
import { createOffer, type Offer } from "../scheme/offer.js";
import { type ChallengeSubject, compileChallenge } from "./challenge.js";

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
  const challenge = decodePaymentRequired(header);
  const whole = JSON.parse(body) as PaymentRequired;
  // Header and body differ in what is said to be left out, and in nothing else.
  if (leftOut.length === 0) expect(challenge).toEqual(whole);
  expect({ ...challenge, accepts: [] }).toEqual({ ...whole, accepts: [] });
  for (const [at, offer] of whole.accepts.entries()) {
    expect(Object.keys(offer)).toEqual(expect.arrayContaining(FULL));
    const { outputSchema = offer.outputSchema, ...kept } = challenge?.accepts[at] ?? {};
    expect({ ...offer, outputSchema }).toMatchObject(kept);
    expect(FULL.filter((name) => !Object.hasOwn(challenge?.accepts[at] ?? {}, name))).toEqual(
      FULL.filter((name) => leftOut.some((part) => part === name)),
    );
  }
  return { header, body: whole, leftOut, challenge: challenge as PaymentRequired };
}

/** The fields of an offer for older clients. */
const FULL = ["maxAmountRequired", "resource", "description", "mimeType", "outputSchema"];

function subject(
  offers: readonly Offer[],
  { description = "Weather", ...more }: { readonly description?: string; readonly extensions?: Extensions | undefined },
): ChallengeSubject {
  const declareAt = () => more.extensions;
  const outline = () => undefined;
  return { offers, description, mimeType: "application/json", service: {}, declareAt, forCatalogs: [], outline };
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
  const levelOf = ({ accepts }: PaymentRequired) => Object.keys(accepts[0]!).filter((name) => FULL.includes(name));

  test.each<[count: number, level: string[], why: string]>([
    [1, FULL, "everything"],
    [4, FULL, "everything still fits"],
    [8, ["maxAmountRequired", "outputSchema"], "repetitions of the resource are left out"],
    [10, ["maxAmountRequired"], "outputSchema is left out last of them"],
    [13, [], "maxAmountRequired is left out"],
    [40, [], "nothing more can be left out"],
  ])("a challenge with %i offers has %j besides the protocol's fields: %s", (count, level) => {
    const { header, challenge } = write(many(count));
    expect(levelOf(challenge)).toEqual(level);
    expect(challenge.accepts).toHaveLength(count);
    if (count < 40) expect(header.length).toBeLessThanOrEqual(4096);
  });

  test("a challenge of any length has every field in its body, and leaves out one part of the header after the other", () => {
    const output = { type: "object", properties: { celsius: { type: "number" } } };
    const outline = (_: unknown, url: string) => ({
      input: { type: "http", method: "GET", q: "Paris", resource: url },
      output,
    });
    const writeChallenge = compileChallenge({ ...subject(many(3), {}), outline });
    const lengths = Array.from({ length: 700 }, (_, at) =>
      writeChallenge({ ...OCCASION, error: "e".repeat(1_000 + at * 3) }),
    );
    const ways = new Map(lengths.map(({ leftOut, header, body }) => [leftOut.at(-1), { header, body }]));
    expect([...ways.keys()]).toEqual([
      undefined,
      "outputSchema.output",
      "outputSchema.input",
      "description",
      "mimeType",
      "resource",
      "outputSchema",
      "maxAmountRequired",
    ]);
    const whole = outline(undefined, OCCASION.url);
    const { q: _, ...short } = whole.input;
    for (const [way, { header, body }] of ways) {
      const { accepts } = decodePaymentRequired(header) as PaymentRequired;
      for (const offer of (JSON.parse(body) as PaymentRequired).accepts) {
        expect(Object.keys(offer)).toEqual([...Object.keys(CANONICAL), ...FULL]);
        expect(offer.outputSchema).toEqual(whole);
      }
      const left = [...ways.keys()].slice(3, [...ways.keys()].indexOf(way) + 1);
      expect(levelOf({ accepts } as PaymentRequired)).toEqual(FULL.filter((name) => !left.some((one) => one === name)));
      if (way === "outputSchema.output") expect(accepts[2]?.outputSchema).toEqual({ ...whole, output: null });
      if (way === "resource") expect(accepts[2]?.outputSchema).toEqual({ input: short, output: null });
    }
  });

  test.each<[properties: number, offers: number, left: string[], kept: object | undefined]>([
    [20, 1, [], { bazaar: "whole", other: "whole" }],
    [45, 1, ["maxAmountRequired", "extensions.bazaar.schema"], { bazaar: "without schema", other: "whole" }],
    [45, 12, ["extensions.bazaar.schema", "extensions.bazaar"], { other: "whole" }],
    [300, 1, ["maxAmountRequired", "extensions.bazaar.schema"], { bazaar: "without schema", other: "whole" }],
  ])(
    "a declaration for catalogs of %i fields with %i offers leaves the header last: %j",
    (properties, offers, left, kept) => {
      const fields = Object.fromEntries(
        Array.from({ length: properties }, (_, at) => [`field${at}`, { type: "string", description: "What it is" }]),
      );
      const bazaar = { info: { input: { type: "http", text: "x".repeat(900) } }, schema: fields, routeTemplate: "/w" };
      const extensions = { bazaar, other: { info: {}, schema: {} } };
      const writeChallenge = compileChallenge({ ...subject(many(offers), { extensions }), forCatalogs: ["bazaar"] });
      const { header, body, leftOut } = writeChallenge(OCCASION);
      expect(header.length).toBeLessThanOrEqual(4096);
      expect(leftOut.slice(left.length === 0 ? 0 : -left.length)).toEqual(left);
      expect(JSON.parse(body).extensions).toEqual(extensions);
      const { schema: _, ...short } = bazaar;
      const forms = { whole: { bazaar, other: extensions.other }, "without schema": { bazaar: short } };
      const expected = Object.entries(kept ?? {}).map(([key, form]) => [key, Object(forms)[form][key]]);
      expect(decodePaymentRequired(header)?.extensions).toEqual(Object.fromEntries(expected));
    },
  );

  test("a challenge has all fields up to 4096 characters of header", () => {
    const lengths = Array.from({ length: 400 }, (_, at) => write([offer()], {}, { error: "e".repeat(2100 + at) }));
    const longestFull = lengths.findLastIndex(({ leftOut }) => leftOut.length === 0);
    expect(lengths[longestFull]?.header.length).toBe(4096);
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
