import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { PriceFunction, PriceRequest, RouteConfig } from "../options.js";
import {
  admissionOf,
  createShop,
  decodeHeader,
  HANDLED,
  NETWORK,
  PAY_TO,
  responseOf,
  SETTLED,
  type ShopOptions,
  stageOf,
} from "../sale/shop.fixture.js";
import { createQuotes, type QuotedTerms } from "./dynamic-price.js";

interface Offered {
  readonly amount: string;
  readonly payTo: string;
  readonly extra: { readonly quote: string };
}

/** A shop whose price the test sets. */
function createMarket(options: ShopOptions & { readonly route?: RouteConfig } = {}) {
  const market = { price: "$0.01" as unknown, asked: 0 };
  const price = (() => {
    market.asked++;
    return typeof market.price === "function" ? market.price() : market.price;
  }) as PriceFunction;
  const accepts = { network: NETWORK, price, payTo: PAY_TO } as const;
  const shop = createShop({ ...options, routes: { "GET /weather": { accepts, ...options.route } } });
  const offerNow = async (request = {}) => {
    const { headers } = responseOf(await shop.ask(request));
    return (decodeHeader(headers["payment-required"])["accepts"] as Offered[])[0]!;
  };
  const payBy = (offer: Offered, request = {}) =>
    shop.pay({ accepted: { amount: offer.amount, payTo: offer.payTo, extra: offer.extra } }, request);
  return { ...shop, market, offerNow, payBy };
}

describe("a dynamic price", () => {
  test("a dynamic price is computed for each request, from its method, URL, parameters, headers and body", async () => {
    const seen: unknown[] = [];
    const price: PriceFunction = ({ header, method, path, url, route, hasPayment, search, pathParams, body }) => {
      seen.push([{ method, path, url, route, hasPayment, search, pathParams, body }, header("x-plan")]);
      return search === "?days=7" ? "$0.07" : "$0.01";
    };
    const { ask } = createShop({ routes: { "GET /:city": { accepts: { network: NETWORK, price, payTo: PAY_TO } } } });
    const request = {
      path: "/a%20b",
      search: "?days=7",
      body: { c: 1 },
      header: (name: string) => (name === "x-plan" ? "gold" : undefined),
    };
    const [offer] = decodeHeader(responseOf(await ask(request)).headers["payment-required"])["accepts"] as Offered[];
    expect(offer?.amount).toBe("70000");
    expect(seen).toEqual([
      [
        {
          method: "GET",
          path: "/a%20b",
          url: "http://shop.example/a%20b",
          route: "GET /:city",
          hasPayment: false,
          search: "?days=7",
          pathParams: { city: "a b" },
          body: { c: 1 },
        },
        "gold",
      ],
    ]);
  });

  test("a dynamic price may name a ticker, and an unknown ticker answers 503", async () => {
    const { market, offerNow, ask } = createMarket();
    market.price = "0.02 usdc";
    expect((await offerNow()).amount).toBe("20000");
    market.price = "0.02 EURC";
    expect(responseOf(await ask()).status).toBe(503);
  });

  test("a dynamic price holds for a client that was quoted it, even after it changed", async () => {
    const { market, offerNow, payBy, facilitator } = createMarket();
    const offer = await offerNow();
    market.price = "$5";
    const admission = admissionOf(await payBy(offer));
    expect([admission.payment.amount, market.asked]).toEqual(["10000", 1]);
    expect(facilitator.calls[0]?.request.paymentRequirements).toMatchObject({ amount: "10000", extra: offer.extra });
    await admission.complete(HANDLED);
    expect((await offerNow()).amount).toBe("5000000");
  });

  test("a dynamic price is rejected after its quote expired, with the current price in the challenge", async () => {
    const { market, clock, offerNow, payBy, facilitator } = createMarket();
    const offer = await offerNow();
    clock.ms += 301_000;
    market.price = "$5";
    const { status, json } = responseOf(await payBy(offer));
    expect([status, json["error"], facilitator.calls.length]).toEqual([402, "invalid_payment_requirements", 0]);
    expect(json["accepts"]).toMatchObject([{ amount: "5000000" }]);
  });

  test("a dynamic price causes no new challenge when its quote expires while the settlement is unknown", async () => {
    const { market, clock, offerNow, payBy, facilitator } = createMarket();
    const offer = await offerNow();
    facilitator.settles = new Error("lost");
    await admissionOf(await payBy(offer)).complete(HANDLED);
    clock.ms += 301_000;
    market.price = "$5";
    const { status, headers } = responseOf(await payBy(offer));
    expect([status, headers["payment-required"]]).toEqual([503, undefined]);
    facilitator.settles = SETTLED;
    expect(responseOf(await payBy(offer)).text).toBe("sunny");
  });

  test.each<[what: string, request: object]>([
    ["another query", { search: "?a=1" }],
    ["another method", { method: "HEAD" }],
    ["another path", { path: "/Weather", fullPath: "/Weather" }],
  ])("a dynamic price does not hold for another request: %s", async (_what, request) => {
    const { market, offerNow, payBy } = createMarket();
    const offer = await offerNow();
    market.price = "$5";
    const { status, json } = responseOf(await payBy(offer, request));
    expect([status, json["error"]]).toEqual([402, "invalid_payment_requirements: amount is not as offered"]);
  });

  test.each<[what: string, change: Partial<Offered>]>([
    ["a lower amount", { amount: "1" }],
    ["another recipient", { payTo: "0xmine" }],
    ["a forged quote", { extra: { quote: `1900000000.${"a".repeat(43)}` } }],
    ["a quote of another time", { extra: { quote: "9" } }],
    ["no quote", { extra: {} as never }],
  ])("a dynamic price does not hold when the client changes the offer: %s", async (_what, change) => {
    const { market, offerNow, payBy, facilitator } = createMarket();
    const offer = { ...(await offerNow()), ...change };
    market.price = "$5";
    expect([responseOf(await payBy(offer)).status, facilitator.calls.length]).toEqual([402, 0]);
  });

  test("a dynamic price holds for a client that drops the quote while the price is the same", async () => {
    const { offerNow, payBy } = createMarket();
    const offer = await offerNow();
    expect(stageOf(await payBy({ ...offer, extra: {} as never }))).toBe("held");
  });

  test("a dynamic price is computed once for several offers that share it", async () => {
    const market = { asked: 0 };
    const price: PriceFunction = async () => {
      market.asked++;
      return "$0.01" as const;
    };
    const accepts = ["eip155:1", "eip155:2"].map((network) => ({ network, payTo: PAY_TO }) as never);
    const { ask } = createShop({ routes: { "GET /weather": { price, accepts } } });
    const challenge = decodeHeader(responseOf(await ask()).headers["payment-required"]);
    expect([(challenge["accepts"] as unknown[]).length, market.asked]).toEqual([2, 1]);
  });

  test.each<[what: string, price: unknown]>([
    ["undefined", undefined],
    ["a number", 0.01],
    ["an invalid price", "1 dollar"],
    ["zero", "$0"],
    ["more decimals than the asset has", "$0.0000001"],
    ["a rejection", () => Promise.reject(new RangeError("secret"))],
    ["an asset without an amount", { asset: "0xA" }],
  ])("a dynamic price answers 503 with or without a payment when its function returns %s", async (_what, price) => {
    const { market, ask, pay, facilitator, log } = createMarket();
    market.price = price;
    for (const decision of [await ask(), await pay()]) {
      const { status, headers, text } = responseOf(decision);
      expect([status, headers["payment-required"]]).toEqual([503, undefined]);
      expect(text).not.toContain("secret");
    }
    expect(facilitator.calls).toEqual([]);
    expect(log.map(({ event }) => event)).toEqual(["price_failed", "price_failed"]);
  });

  test("a dynamic price does not wait for a body that its function does not read", async () => {
    const { ask, market } = createMarket();
    expect(responseOf(await ask({ hasBody: true, digestBody: () => new Promise(() => {}) })).status).toBe(402);
    expect(market.asked).toBe(1);
  });

  test("a dynamic price is asked again when its function reads more names than a quote can hold", async () => {
    const market = { price: "$0.01" };
    const price: PriceFunction = ({ header }) => {
      header("x".repeat(600));
      return market.price as "$0.01";
    };
    const shop = createShop({ routes: { "GET /weather": { accepts: { network: NETWORK, price, payTo: PAY_TO } } } });
    const challenge = decodeHeader(responseOf(await shop.ask()).headers["payment-required"]);
    const [accepted] = challenge["accepts"] as Offered[];
    expect(accepted?.extra).not.toHaveProperty("quote");
    market.price = "$5";
    expect(responseOf(await shop.pay({ accepted: accepted as never })).status).toBe(402);
    market.price = "$0.01";
    expect(stageOf(await shop.pay({ accepted: accepted as never }))).toBe("held");
  });
});

describe("a dynamic payTo", () => {
  test("a dynamic payTo holds for a client that was quoted it", async () => {
    const tenant = { name: "a" };
    const payTo = async () => `0x${tenant.name.repeat(40)}`;
    const shop = createShop({
      routes: { "GET /weather": { accepts: { network: NETWORK, price: "$0.01", payTo } as never } },
    });
    const challenge = decodeHeader(responseOf(await shop.ask()).headers["payment-required"]);
    const [offer] = challenge["accepts"] as Offered[];
    expect(offer?.payTo).toBe(`0x${"a".repeat(40)}`);
    tenant.name = "b";
    await admissionOf(await shop.pay({ accepted: { ...offer } as never })).complete(HANDLED);
    expect(shop.facilitator.calls.map(({ request }) => request.paymentRequirements.payTo)).toEqual([
      offer?.payTo,
      offer?.payTo,
    ]);
  });
});

describe("the report of a dynamic price", () => {
  test("the report of a dynamic price has no amount and says that the request decides", () => {
    const { engine } = createMarket();
    expect(engine.report().routes[0]?.offers).toEqual([
      {
        scheme: "exact",
        network: NETWORK,
        price: "a price by request",
        amount: undefined,
        asset: undefined,
        payTo: PAY_TO,
        settle: "after",
      },
    ]);
  });
});

describe("quotes", () => {
  const TERMS: QuotedTerms = {
    request: ["GET /a", "GET", "/a", ""],
    scheme: "exact",
    network: NETWORK,
    asset: "0xA",
    payTo: "0xB",
    amount: "1",
    extra: "e",
  };
  const quotes = createQuotes(() => Buffer.from("s".repeat(32)));
  const quote = quotes.sign(TERMS, { reads: [":body", "x-a"], atSeconds: 1_000 })!;

  test("quotes are good until they expire", () => {
    expect([0, 1_000, 1_001, 9e9].map((now) => quotes.check(quote, TERMS, now))).toEqual([
      "good",
      "good",
      "lapsed",
      "lapsed",
    ]);
  });

  test.each<[keyof QuotedTerms, unknown]>([
    ["request", ["GET /a", "GET", "/a?b", ""]],
    ["request", ["GET /a", "GET", "/a"]],
    ["scheme", "upto"],
    ["network", "eip155:1"],
    ["asset", "0xC"],
    ["payTo", "0xC"],
    ["amount", "2"],
    ["extra", "f"],
  ])("quotes are void for another %s", (field, value) => {
    expect(quotes.check(quote, { ...TERMS, [field]: value } as QuotedTerms, 0)).toBe("void");
  });

  test.each<[unknown]>([
    [undefined],
    [5],
    [""],
    ["1000"],
    [`1001${quote.slice(4)}`],
    [quote.replace(/\..*\./, "..")],
    [quote.replace(/\..*\./, `.${Buffer.from("x-a").toString("base64url")}.`)],
    [`01000${quote.slice(4)}`],
    [`${quote}a`],
    [quote.slice(0, -1)],
    [`${quote.slice(0, -1)}\n`],
    [`1000.${"é".repeat(43)}`],
    [`${"9".repeat(400)}.${"a".repeat(43)}`],
  ])("quotes are void when the text is %j", (text) => {
    expect(quotes.check(text, TERMS, 0)).toBe("void");
  });

  test("quotes name what was read, unless that is too much", () => {
    expect(quotes.readsOf(quote)).toEqual([":body", "x-a"]);
    expect(quotes.readsOf(quotes.sign(TERMS, { reads: [], atSeconds: 1 }))).toEqual([]);
    expect(quotes.readsOf("1000.a")).toBeUndefined();
    expect(quotes.sign(TERMS, { reads: ["x".repeat(513)], atSeconds: 1 })).toBeUndefined();
  });

  test("quotes are void with another secret", () => {
    expect(createQuotes(() => Buffer.from("t".repeat(32))).check(quote, TERMS, 0)).toBe("void");
  });

  test.each([["short"], [5], [null], ["x".repeat(31)]])(
    "quotes throw at startup for the secret %j without quoting it",
    (quoteSecret) => {
      expect(() => createShop({ quoteSecret: quoteSecret as never })).toThrow(
        /options.quoteSecret: expected a text of at least 32/,
      );
      try {
        createShop({ quoteSecret: quoteSecret as never });
      } catch (error) {
        expect(String(error)).not.toContain("xxxx");
      }
    },
  );

  test("quotes hold in every process that shares the secret", async () => {
    const quoteSecret = "between the processes of one seller";
    const one = createMarket({ quoteSecret });
    const other = createMarket({ quoteSecret });
    const stranger = createMarket();
    const offer = await one.offerNow();
    for (const { market } of [other, stranger]) market.price = "$5";
    expect(stageOf(await other.payBy(offer))).toBe("held");
    expect(responseOf(await stranger.payBy(offer)).status).toBe(402);
  });
});

describe("what a price function reads of a request", () => {
  const HEADERS = { "x-key": "a", referer: "b", host: "shop.example" };

  /** Frameworks have two names for this one header. */
  const header = (headers: Readonly<Record<string, string>>) => (name: string) =>
    name.toLowerCase() === "referer" ? (headers["referrer"] ?? headers["referer"]) : headers[name.toLowerCase()];

  const asked = (headers: Readonly<Record<string, string>>) => ({
    headers,
    header: header(headers),
    native: { ip: 1 },
  });

  /** Gets an offer for a request, and pays it with another. The price has risen meanwhile. */
  async function payElsewhere(read: (request: PriceRequest) => unknown, other: Readonly<Record<string, string>>) {
    let risen = "$0.01";
    const price = (request: PriceRequest) => {
      read(request);
      return risen as "$0.01";
    };
    const shop = createShop({ routes: { "GET /weather": { accepts: { network: NETWORK, price, payTo: PAY_TO } } } });
    const [offer] = decodeHeader(responseOf(await shop.ask(asked(HEADERS))).headers["payment-required"])[
      "accepts"
    ] as Offered[];
    risen = "$5";
    const decision = await shop.pay({ accepted: offer! }, asked(other));
    return { isQuoted: "quote" in (offer!.extra ?? {}), isSold: stageOf(decision) === "held" };
  }

  test.each<[what: string, read: (request: PriceRequest) => unknown]>([
    ["one header of headers", ({ headers }) => headers["x-key"]],
    ["whether headers has one", ({ headers }) => "x-key" in headers],
    ["a header of headers that was not sent", ({ headers }) => headers["x-none"]],
    ["the descriptor of a header", ({ headers }) => Object.hasOwn(headers, "x-key")],
    ["the picture of headers", ({ headers }) => expect(inspect(headers, { showProxy: false })).not.toContain("shop")],
    ["the picture of the request", (request) => expect(inspect(request, { depth: 9 })).not.toContain("x-key")],
    ["nothing", () => {}],
  ])("a price that reads %s is quoted, for the same request", async (_what, read) => {
    expect(await payElsewhere(read, HEADERS)).toEqual({ isQuoted: true, isSold: true });
  });

  test.each<[what: string, read: (request: PriceRequest) => unknown, other: Readonly<Record<string, string>>]>([
    ["a header of headers", ({ headers }) => headers["x-key"], { ...HEADERS, "x-key": "b" }],
    ["a header that was not sent", ({ headers }) => headers["x-none"], { ...HEADERS, "x-none": "" }],
    ["whether there is one", ({ headers }) => "x-none" in headers, { ...HEADERS, "x-none": "" }],
    ["its descriptor", ({ headers }) => Object.hasOwn(headers, "x-none"), { ...HEADERS, "x-none": "" }],
    ["a header with two names", ({ headers }) => headers["referer"], { ...HEADERS, referer: "z", referrer: "b" }],
    ["both", ({ headers, header }) => [headers["x-key"], header("referer")], { ...HEADERS, referrer: "z" }],
  ])("a quote does not hold for another request: %s", async (_what, read, other) => {
    expect(await payElsewhere(read, other)).toEqual({ isQuoted: true, isSold: false });
  });

  test.each<[what: string, read: (request: PriceRequest) => unknown]>([
    ["all names of headers", ({ headers }) => Object.keys(headers)],
    ["a copy of headers", ({ headers }) => expect({ ...headers }).toEqual(HEADERS)],
    ["headers in a loop", ({ headers }) => [...Object.entries(headers)]],
    ["headers as JSON", ({ headers }) => expect(JSON.parse(JSON.stringify(headers))).toEqual(HEADERS)],
    ["the payment", ({ payment }) => payment],
    ["the framework's request", ({ native }) => native],
    ["the request as JSON", (request) => expect(JSON.stringify(request)).toContain('"x-key":"a"')],
  ])("a price that reads %s is not quoted: it is asked again with the payment", async (_what, read) => {
    expect(await payElsewhere(read, HEADERS)).toEqual({ isQuoted: false, isSold: false });
  });

  test("a price function cannot change the headers that others see", async () => {
    const read = ({ headers }: PriceRequest) => {
      expect(() => Object.assign(headers, { "x-key": "b" })).toThrow(TypeError);
      expect(() => Object.setPrototypeOf(headers, { "x-key": "b" })).toThrow(TypeError);
      expect(() => Object.preventExtensions(headers)).toThrow(TypeError);
      expect(Reflect.deleteProperty(headers, "x-key")).toBe(false);
      expect(headers["x-key"]).toBe("a");
    };
    expect(await payElsewhere(read, HEADERS)).toEqual({ isQuoted: true, isSold: true });
  });
});
