import { describe, expect, test } from "vitest";
import { ConfigError } from "../errors.js";
import type { PaymentOption, PriceParser } from "../options.js";
import type { AssetPrice } from "../price/price.js";
import {
  admissionOf,
  createFakeFacilitator,
  createShop,
  createTestScheme,
  decodeHeader,
  HANDLED,
  NETWORK,
  PAY_TO,
  responseOf,
  SETTLED,
  type ShopOptions,
  stageOf,
} from "../sale/shop.fixture.js";
import type { OfferTerms, Scheme, SupportedOffer } from "../scheme/scheme.js";

const OPTION: PaymentOption = { network: NETWORK, price: "$0.01", payTo: PAY_TO };

interface Offered {
  readonly network: string;
  readonly amount: string;
  readonly asset: string;
  readonly extra: Readonly<Record<string, unknown>>;
}

function sell(accepts: PaymentOption | readonly PaymentOption[], options: ShopOptions = {}) {
  const shop = createShop({ ...options, routes: { "GET /weather": { accepts } } });
  const offers = async () => {
    const { headers } = responseOf(await shop.ask());
    return decodeHeader(headers["payment-required"])["accepts"] as Offered[];
  };
  const payBy = ({ amount, asset, network, extra }: Offered, payload = {}) =>
    shop.pay({ accepted: { amount, asset, network, extra }, payload });
  return { ...shop, offers, payBy };
}

/** Atomic units of an asset with two decimals. */
const cents = (amount: string): AssetPrice => ({ asset: "0xCents", amount: String(BigInt(amount.replace(".", ""))) });

function issuesOf(accepts: PaymentOption, priceParsers: unknown) {
  try {
    sell(accepts, { priceParsers: priceParsers as readonly PriceParser[] });
  } catch (error) {
    return error instanceof ConfigError ? error.issues : error;
  }
  return [];
}

describe("a price parser", () => {
  test("a price parser gets the decimal of each price in dollars, and its result is an offer without a quote", async () => {
    const seen: unknown[] = [];
    const parse: PriceParser["parse"] = (...args) => {
      seen.push(args);
      return cents(args[0]);
    };
    const prices = ["$0.01", "0.02", "0.03 USD", "$0.04 usd", "0.05 USDC", { asset: "0xOwn", amount: "6" }, "$7"];
    const accepts = prices.map((price) => ({ ...OPTION, price }));
    const { offers } = sell(accepts, { priceParsers: [{ parse }] });
    const made = await offers();
    expect(made.map(({ amount }) => amount)).toEqual(["1", "2", "3", "4", "50000", "6", "7"]);
    expect(made.map(({ extra }) => extra["quote"])).toEqual(prices.map(() => undefined));
    expect(seen).toEqual(["0.01", "0.02", "0.03", "0.04", "7"].map((amount) => [amount, NETWORK]));
    await offers();
    expect(seen).toHaveLength(5);
  });

  test.each<[parsers: readonly PriceParser[], amount: string, why: string]>([
    [[{ network: "eip155:1", parse: () => ({ asset: "0xA", amount: "1" }) }], "10000", "of another network"],
    [[{ network: "eip155:*", parse: () => ({ asset: "0xA", amount: "1" }) }], "1", "of a pattern"],
    [[{ scheme: "upto", parse: () => ({ asset: "0xA", amount: "1" }) }], "10000", "of another scheme"],
    [[{ scheme: "exact", network: NETWORK, parse: () => ({ asset: "0xA", amount: "1" }) }], "1", "of both"],
    [
      [{ parse: () => undefined }, { parse: () => ({ asset: "0xA", amount: "2" }) }],
      "2",
      "behind one that knows nothing",
    ],
    [
      [{ parse: () => ({ asset: "0xA", amount: "1" }) }, { parse: () => ({ asset: "0xA", amount: "2" }) }],
      "1",
      "first",
    ],
    [[{ parse: () => undefined }], "10000", "that knows nothing"],
    [[{ parse: () => null as never }], "10000", "that returns null"],
  ])("a price parser %j gives the amount %s: %s", async (priceParsers, amount) => {
    expect((await sell(OPTION, { priceParsers }).offers()).map((one) => one.amount)).toEqual([amount]);
  });

  test("a price parser reads what a price function returns, and the quote holds", async () => {
    let price = "$0.01";
    const { offers, payBy } = sell({ ...OPTION, price: () => price }, { priceParsers: [{ parse: cents }] });
    const [offer] = await offers();
    expect([offer?.amount, typeof offer?.extra["quote"]]).toEqual(["1", "string"]);
    price = "$0.02";
    expect(admissionOf(await payBy(offer!)).payment.amount).toBe("1");
  });

  test("a price parser that returns a promise reads what a price function returns, and the quote holds", async () => {
    let amount = "5";
    const parse = async () => ({ asset: "0xA", amount });
    const { offers, payBy } = sell({ ...OPTION, price: () => "$0.01" }, { priceParsers: [{ parse }] });
    const [offer] = await offers();
    amount = "6";
    expect(admissionOf(await payBy(offer!)).payment.amount).toBe("5");
  });

  test("a price parser that returns a promise prices each request, without a quote, and a new price gets 402", async () => {
    let amount = "5";
    const parse = async () => ({ asset: "0xA", amount });
    const { offers, payBy, facilitator, engine } = sell([OPTION, { ...OPTION, network: "eip155:1" }], {
      priceParsers: [{ network: NETWORK, parse }],
    });
    const [first, fixed] = await offers();
    expect([first?.amount, first?.extra, fixed?.amount, fixed?.extra]).toEqual([
      "5",
      { name: "USDC", version: "2" },
      "10000",
      { name: "USDC", version: "2" },
    ]);
    amount = "6";
    const refused = responseOf(await payBy(first!));
    expect([refused.status, refused.json["error"]]).toEqual([402, "invalid_payment_requirements"]);
    expect(refused.json["accepts"]).toMatchObject([{ amount: "6" }, { amount: "10000" }]);
    expect(facilitator.calls).toEqual([]);
    amount = "5";
    expect(stageOf(await payBy(first!))).toBe("held");
    expect(stageOf(await payBy(fixed!, { nonce: "n2" }))).toBe("held");
    expect(engine.report().routes[0]?.offers).toMatchObject([{ price: "0.01 USDC" }, { price: "$0.01" }]);
  });

  test.each<[ending: "unknown" | "delivered"]>([["unknown"], ["delivered"]])(
    "a payment without a quote whose outcome is %s is not asked to pay a price that has changed",
    async (ending) => {
      let amount = "5";
      const { offers, payBy, facilitator } = sell(OPTION, {
        priceParsers: [{ parse: async () => ({ asset: "0xA", amount }) }],
      });
      const [offer] = await offers();
      if (ending === "unknown") facilitator.settles = new Error("lost");
      await admissionOf(await payBy(offer!)).complete(HANDLED);
      amount = "6";
      const again = responseOf(await payBy(offer!));
      const error = ending === "unknown" ? "settlement_pending" : "payment_already_used";
      expect([again.status, again.json["error"]]).toEqual([ending === "unknown" ? 503 : 402, error]);
      facilitator.settles = SETTLED;
      if (ending === "unknown") expect(responseOf(await payBy(offer!)).text).toBe("sunny");
      expect(facilitator.count("verify")).toBe(1);
    },
  );

  test("a payment that claims a lower price than any is refused, and no facilitator is asked", async () => {
    const parse = async () => ({ asset: "0xA", amount: "5" });
    const { offers, payBy, facilitator, store } = sell(OPTION, { priceParsers: [{ parse }] });
    const [offer] = await offers();
    const refused = responseOf(await payBy({ ...offer!, amount: "1" }));
    expect([refused.status, refused.json["error"]]).toEqual([402, "invalid_payment_requirements"]);
    expect([facilitator.calls, await store.find(`${NETWORK}|n1`)]).toEqual([[], undefined]);
  });

  test.each<[what: string, result: unknown]>([
    ["a text", "$1"],
    ["a number", 1],
    ["an asset without an amount", { asset: "0xA" }],
    ["an amount of zero", { asset: "0xA", amount: "0" }],
    ["an extra that is no object", { asset: "0xA", amount: "1", extra: "x" }],
    ["what throws", new RangeError("no rate")],
  ])("a price parser that returns %s is an issue at start, or 503 with a request", async (_what, result) => {
    const parse = () => {
      if (result instanceof Error) throw result;
      return result as AssetPrice;
    };
    const found = issuesOf(OPTION, [{ parse }]) as readonly { readonly path: string }[];
    expect(found.map(({ path }) => path)).toEqual(['routes["GET /weather"].accepts.price']);
    const { ask, pay, facilitator, log } = sell(OPTION, { priceParsers: [{ parse: async () => parse() }] });
    for (const decision of [await ask(), await pay()]) expect(responseOf(decision).status).toBe(503);
    expect([facilitator.calls, log.map(({ event }) => event)]).toEqual([[], ["price_failed", "price_failed"]]);
  });

  test("a price parser that does not return within 5 seconds gets 503", async () => {
    const { ask, passTime } = sell(OPTION, { priceParsers: [{ parse: () => new Promise(() => {}) }] });
    const decision = ask();
    await passTime(5_000);
    expect(responseOf(await decision).status).toBe(503);
  });

  test("a price parser is not asked about a price that a float has made, or about a free route", () => {
    const seen: string[] = [];
    const parse = (amount: string) => {
      seen.push(amount);
      return undefined;
    };
    expect(issuesOf({ ...OPTION, price: `$${3 * 0.1}` }, [{ parse }])).toHaveLength(1);
    createShop({
      routes: { "GET /weather": { accepts: { ...OPTION, price: "$0" }, free: true } },
      priceParsers: [{ parse }],
    });
    expect(seen).toEqual([]);
  });

  test.each<[parsers: unknown, paths: readonly string[]]>([
    ["x", ["options.priceParsers"]],
    [[5], ["options.priceParsers[0]"]],
    [[{}], ["options.priceParsers[0].parse"]],
    [[{ parse: cents, networks: NETWORK }], ["options.priceParsers[0].networks"]],
    [[{ parse: cents, network: "base" }], ["options.priceParsers[0].network"]],
    [
      [{ parse: cents }, { parse: 1, scheme: 2, network: 3 }],
      ["scheme", "network", "parse"].map((key) => `options.priceParsers[1].${key}`),
    ],
  ])("price parsers %j cause issues", (parsers, paths) => {
    expect(issuesOf(OPTION, parsers)).toEqual(paths.map((path) => expect.objectContaining({ path })));
  });
});

describe("a price function", () => {
  test("a price function on one option leaves the other one fixed, without a quote, and both can be paid", async () => {
    const { offers, payBy } = sell([
      { ...OPTION, price: () => "$0.02" },
      { ...OPTION, network: "eip155:1" },
    ]);
    const [dynamic, fixed] = await offers();
    expect([dynamic?.amount, fixed?.amount]).toEqual(["20000", "10000"]);
    expect([typeof dynamic?.extra["quote"], fixed?.extra["quote"]]).toEqual(["string", undefined]);
    expect(stageOf(await payBy(dynamic!))).toBe("held");
    expect(stageOf(await payBy(fixed!, { nonce: "n2" }))).toBe("held");
  });

  test("a price function's scheme gets the option's extra", async () => {
    const seen: unknown[] = [];
    const plain = createTestScheme();
    const compileTerms: Scheme["compileTerms"] = (terms) => {
      seen.push(terms.extra);
      return plain.compileTerms(terms);
    };
    const extra = { assetTransferMethod: "own" };
    const options = { scheme: createTestScheme({ compileTerms }) };
    const { offers, payBy } = sell({ ...OPTION, price: () => "$0.02", extra }, options);
    const [offer] = await offers();
    expect(stageOf(await payBy(offer!))).toBe("held");
    expect(seen).toEqual([extra, extra, extra]);
  });
});

describe("a scheme that has to wait to price", () => {
  const ASSET = { id: "0xA", symbol: "A", decimals: undefined, extra: { name: "A" } };
  const MADE = { ok: true, asset: ASSET, amount: 5n, payTo: PAY_TO };
  const CYCLE: { self?: unknown } = {};
  CYCLE.self = CYCLE;
  const sellBy = (offer: Scheme["offer"], accepts: PaymentOption = OPTION) => {
    const facilitator = createFakeFacilitator();
    const kinds = [{ x402Version: 2, scheme: "exact", network: NETWORK }];
    facilitator.supports = { kinds, extensions: [], signers: {} };
    return sell(accepts, { scheme: createTestScheme(offer === undefined ? {} : { offer }), facilitator });
  };

  test.each<[what: string, made: unknown]>([
    ["nothing", undefined],
    ["no issues", { ok: false }],
    ["an amount above 2 ** 256", { ...MADE, amount: 2n ** 256n }],
    ["an amount of text", { ...MADE, amount: "5" }],
    ["a number as payTo", { ...MADE, payTo: 5 }],
    ["no payTo", { ...MADE, payTo: undefined }],
    ["a number as asset", { ...MADE, asset: { ...ASSET, id: 5 } }],
    ["an extra with a cycle", { ...MADE, asset: { ...ASSET, extra: CYCLE } }],
    ["an extra with a bigint", { ...MADE, asset: { ...ASSET, extra: { n: 1n } } }],
  ])("gets 503 for %s", async (_what, made) => {
    const { ask, log } = sellBy(async () => made as never);
    expect(responseOf(await ask()).status).toBe(503);
    expect(log).toMatchObject([{ event: "price_failed", fields: { error: "PriceError" } }]);
  });

  test("does not say when the money moves, and cannot change the seller's extra", async () => {
    const extra = { tier: "a" };
    const offer = async ({ extra: given }: OfferTerms) => {
      Object.assign(given ?? {}, { tier: "b" });
      return { ...MADE, asset: { ...ASSET, extra: { ...ASSET.extra, paymentFlow: "upfront" } } } as never;
    };
    const { offers } = sellBy(offer, { ...OPTION, extra });
    for (let asked = 0; asked < 2; asked++)
      expect((await offers())[0]).toMatchObject({ amount: "5", extra: { name: "A", tier: "a" } });
    expect((await offers())[0]?.extra).not.toHaveProperty("paymentFlow");
  });
});

test("a payment by an expired quote keeps its record, if its scheme reads what the facilitator added to the offer", async () => {
  const plain = createTestScheme();
  const scheme = createTestScheme({
    completeExtra: ({ bank }) => (typeof bank === "string" ? { bank } : undefined),
    readPayment: (payload, requirements, nowSeconds) =>
      requirements.extra["bank"] === "b1"
        ? plain.readPayment(payload, requirements, nowSeconds)
        : { kind: "refused", reason: "invalid_payload" },
  });
  const facilitator = createFakeFacilitator();
  const kinds = [{ x402Version: 2, scheme: "exact", network: NETWORK, extra: { bank: "b1" } }];
  facilitator.supports = { kinds, extensions: [], signers: {} };
  let price = "$0.02";
  const { offers, payBy, clock } = sell({ ...OPTION, price: () => price }, { scheme, facilitator });
  const [offer] = await offers();
  facilitator.settles = new Error("lost");
  await admissionOf(await payBy(offer!)).complete(HANDLED);
  clock.ms += 301_000;
  price = "$0.03";
  expect(responseOf(await payBy(offer!)).json["error"]).toBe("settlement_pending");
});

describe("a scheme that has to wait", () => {
  const KIND = { x402Version: 2, scheme: "exact", network: NETWORK, extra: { bank: "b1" } };

  function open(offer: Scheme["offer"], { kinds = [KIND] as unknown, accepts = OPTION } = {}) {
    const compiled: unknown[] = [];
    const compileTerms: Scheme["compileTerms"] = (terms) => {
      compiled.push(terms);
      return { ok: false, issues: [{ term: "price", expected: "never" }] };
    };
    const facilitator = createFakeFacilitator();
    facilitator.supports = kinds instanceof Promise ? kinds : { kinds, extensions: ["gas"], signers: {} };
    const scheme = createTestScheme({ compileTerms, ...(offer === undefined ? {} : { offer }) });
    return { ...sell(accepts, { scheme, facilitator }), facilitator, compiled };
  }

  const made = (amount: bigint, extra: Readonly<Record<string, unknown>> = {}) => ({
    ok: true as const,
    asset: { id: "0xA", symbol: "A", decimals: 0, extra },
    amount,
    payTo: PAY_TO,
  });

  test("a scheme that has to wait makes its offers per request, from the terms and what the facilitator supports", async () => {
    const seen: [OfferTerms, SupportedOffer][] = [];
    const extra = { memo: "m" };
    const { offers, payBy, facilitator, compiled } = open(
      async (...args) => {
        seen.push(args);
        return made(7n, { bank: args[1].extra["bank"] });
      },
      { accepts: { ...OPTION, extra, settle: "before" } },
    );
    const [offer] = await offers();
    const terms = { network: NETWORK, price: "$0.01", payTo: PAY_TO, extra: { memo: "m", paymentFlow: "upfront" } };
    expect(seen).toEqual([[terms, { extra: { bank: "b1" }, extensions: ["gas"] }]]);
    expect(offer).toMatchObject({
      amount: "7",
      asset: "0xA",
      extra: { bank: "b1", memo: "m", paymentFlow: "upfront" },
    });
    expect(stageOf(await payBy(offer!))).toBe("prepaid");
    expect(facilitator.calls).toMatchObject([
      { request: { paymentRequirements: { amount: "7", extra: { bank: "b1" } } } },
    ]);
    expect(compiled).toEqual([]);
  });

  test("a scheme that has to wait is asked again with the payment, and another price gets 402", async () => {
    let amount = 7n;
    const { offers, payBy, facilitator } = open(async () => made(amount));
    const [offer] = await offers();
    amount = 8n;
    const { status, json } = responseOf(await payBy(offer!));
    expect([status, json["accepts"], facilitator.calls]).toMatchObject([402, [{ amount: "8" }], []]);
    amount = 7n;
    await admissionOf(await payBy(offer!)).complete(HANDLED);
    amount = 8n;
    expect(responseOf(await payBy(offer!)).json["error"]).toBe("payment_already_used");
  });

  test("a scheme that has to wait is asked once the facilitator has said what it supports", async () => {
    let say = (_: unknown) => {};
    const kinds = new Promise((resolve) => {
      say = resolve;
    });
    let asked = 0;
    const { offers, passTime } = open(
      async () => {
        asked++;
        return made(7n);
      },
      { kinds },
    );
    const pending = offers();
    await passTime(0);
    expect(asked).toBe(0);
    say({ kinds: [KIND], extensions: [], signers: {} });
    expect([(await pending).length, asked]).toEqual([1, 1]);
  });

  test("a scheme that has to wait is left out where no facilitator supports it", async () => {
    const { ask, pay } = open(() => Promise.reject(new TypeError("not to be asked")), { kinds: [] });
    expect([responseOf(await ask()).status, responseOf(await pay()).status]).toEqual([503, 503]);
    const mixed = { ...KIND, network: "eip155:1" };
    const accepts = [OPTION, { ...OPTION, network: "eip155:1" }] as never;
    const { offers } = open(async () => made(7n), { kinds: [mixed], accepts });
    expect((await offers()).map(({ network }) => network)).toEqual(["eip155:1"]);
  });

  test.each<[what: string, offer: NonNullable<Scheme["offer"]>]>([
    ["rejects", () => Promise.reject(new RangeError("secret"))],
    [
      "throws",
      () => {
        throw new RangeError("secret");
      },
    ],
    ["lists issues", async () => ({ ok: false, issues: [{ term: "price", expected: "another" }] })],
    ["asks for nothing", async () => made(0n)],
    ["asks for a number", async () => ({ ...made(1n), amount: 5 as never })],
    ["returns nothing", async () => undefined as never],
  ])("a scheme that has to wait and %s gets 503", async (_what, offer) => {
    const { ask, pay, facilitator } = open(offer);
    for (const decision of [await ask(), await pay()]) {
      const { status, text } = responseOf(decision);
      expect([status, text.includes("secret")]).toEqual([503, false]);
    }
    expect(facilitator.calls).toEqual([]);
  });

  test("a scheme that has to wait has 5 seconds", async () => {
    const { ask, passTime } = open(() => new Promise(() => {}));
    const decision = ask();
    await passTime(4_999);
    await passTime(1);
    expect(responseOf(await decision).status).toBe(503);
  });

  test("a scheme that has to wait and has no method for it is refused at start", () => {
    expect(() => createShop({ schemes: [createTestScheme({ offer: 5 as never })] })).toThrow(/options.schemes/);
  });
});
