/**
 * A price by request cannot be undercut: a quote holds for all that the price function read, and for nothing else.
 */
import { encodePaymentSignature } from "@farebox/core/protocol";
import type { PriceFunction } from "@farebox/express";
import type { RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { openShop, PAY_TO, type Shop, VERSIONS } from "./shop.js";

const NETWORK = "eip155:84532";
const JSON_TYPE = { "Content-Type": "application/json" };
const FORM_TYPE = { "Content-Type": "application/x-www-form-urlencoded" };

interface Sent {
  readonly path?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Signs for the price of one request, and sends the payment with another. */
async function payElsewhere(shop: Shop, quoted: Sent, sent: Sent) {
  const header = await signFor(shop, quoted);
  return shop.ask({ method: "POST", ...sent, payment: header });
}

async function signFor(shop: Shop, quoted: Sent) {
  const { challenge } = await shop.ask({ method: "POST", ...quoted });
  return shop.payer.signExact(challenge!.accepts[0]!, { challenge: challenge! });
}

/** Reads the body and leaves nothing of it, as a parser of files does. */
const readAway: RequestHandler = async (req, _res, next) => {
  for await (const _chunk of req);
  next();
};

describe.each(VERSIONS)("on %s", (_, express) => {
  const sell = (price: PriceFunction, before: readonly RequestHandler[] = [express.json()], more = {}) =>
    openShop(express, {
      routes: { "POST /paid": { accepts: { price, network: NETWORK, payTo: PAY_TO } } },
      before,
      behind: [express.json({ limit: "10mb" }), express.text({ type: "text/*" })],
      handler: (req, res) => void res.json({ got: req.body }),
      ...more,
    });

  const byItems: PriceFunction = ({ body }) => {
    const items = (body as { items?: unknown[] } | undefined)?.items ?? [0];
    return `$${(items.length * 0.01).toFixed(2)}` as "$0.01";
  };

  test("a body that is nested too deeply has no price, with or without a payment", async () => {
    const shop = await sell(byItems);
    const deep = `${"[".repeat(300)}${"]".repeat(300)}`;
    const bodyOf = (count: number) => `{"deep":${deep},"items":[${Array.from({ length: count }, () => 1)}]}`;
    const asked = await shop.ask({ method: "POST", body: bodyOf(1), headers: JSON_TYPE });
    expect([asked.status, asked.json()]).toMatchObject([400, { error: "invalid_input" }]);
    const sold = await payElsewhere(shop, { body: { items: [1] } }, { body: bodyOf(20_000), headers: JSON_TYPE });
    expect([sold.status, shop.facilitator.settled.length]).toEqual([400, 0]);
  });

  test.each<[what: string, quoted: string, sent: string]>([
    ["more items", '{"items":[1]}', '{"items":[1,2,3]}'],
    ["another type of body", "{}", '{"items":[1,2,3]}'],
    ["a number that JSON has no text for", '{"items":[null]}', '{"items":[1e999]}'],
  ])("a quote does not hold for a body with %s", async (_what, quoted, sent) => {
    const raw = express.json({ verify: (req, _res, bytes) => Object.assign(req, { rawBody: bytes }) });
    const shop = await sell(byItems, [raw]);
    // Priced again: two of the three now cost more than was signed, and the third is for its own price.
    const result = await payElsewhere(shop, { body: quoted, headers: JSON_TYPE }, { body: sent, headers: JSON_TYPE });
    expect(result.status).toBe(sent.includes("1e999") ? 200 : 402);
  });

  class Order {
    readonly #count: number;
    readonly name = "order";
    constructor(count: number) {
      this.#count = count;
    }
    count() {
      return this.#count;
    }
  }
  class Counted extends Array<number> {
    count = () => 0;
  }
  class CountedMap extends Map<string, number> {
    count = () => 0;
  }
  const counted = (count: () => number) => ({ count });

  const COUNT = Symbol("count");

  /** Bodies that look alike, and of which a price function reads `count`. */
  const OPAQUE: Readonly<Record<string, (count: number) => object>> = {
    "a private field": (count) => new Order(count),
    "a private field deep inside": (count) => ({ list: [{ order: new Order(count) }] }),
    "an inherited field": (count) => Object.assign(Object.create(counted(() => count)), { name: "order" }),
    "a field of a prototype without one": (count) =>
      Object.assign(
        Object.create(
          Object.assign(
            Object.create(null),
            counted(() => count),
          ),
        ),
        { name: "order" },
      ),
    "a hidden field": (count) => Object.defineProperty({ name: "order" }, "count", { value: () => count }),
    "a getter": (count) => {
      let reads = 0;
      return Object.defineProperty({ name: "order" }, "n", {
        enumerable: true,
        get: () => (reads++ === 0 ? 1 : count),
      });
    },
    "a proxy": (count) =>
      new Proxy({ name: "order" }, { get: (of, key) => (key === "count" ? () => count : Reflect.get(of, key)) }),
    "a proxy of a list": (count) =>
      new Proxy([1], { get: (of, key) => (key === "count" ? () => count : Reflect.get(of, key)) }),
    "a subclass of a list": (count) => {
      const list = Counted.of(1) as Counted;
      Object.defineProperty(list, "count", { value: () => count, enumerable: false });
      return list;
    },
    "a symbol of a list": (count) => Object.assign([1], { [COUNT]: () => count }),
    "a subclass of a map": (count) =>
      Object.assign(
        new CountedMap(),
        counted(() => count),
      ),
    "a map with a field": (count) =>
      Object.assign(
        new Map(),
        counted(() => count),
      ),
    "a date with a field": (count) =>
      Object.assign(
        new Date(0),
        counted(() => count),
      ),
    "bytes with a field": (count) =>
      Object.assign(
        Buffer.from("order"),
        counted(() => count),
      ),
    "many bytes with a field": (count) =>
      Object.assign(
        Buffer.alloc(100_000),
        counted(() => count),
      ),
  };

  const countIn = (body: unknown): number => {
    const read = body as { list?: { order: Order }[]; count(): number; n?: number; [COUNT]?(): number };
    return read[COUNT]?.() ?? read.list?.[0]?.order.count() ?? read.n ?? read.count();
  };

  test.each(Object.entries(OPAQUE))(
    "%s of a body is in no quote: the price is asked for again",
    async (_what, make) => {
      const parse: RequestHandler = (req, _res, next) => {
        req.body = make(Number(req.get("X-Count")));
        next();
      };
      const price: PriceFunction = ({ body }) => `$${(countIn(body) * 0.01).toFixed(2)}` as "$0.01";
      const shop = await sell(price, [express.raw(), parse]);
      const of = (count: number) => ({ body: "order", headers: { "X-Count": String(count) } });
      const asked = await shop.ask({ method: "POST", ...of(1) });
      expect(asked.challenge?.accepts[0]?.extra).not.toHaveProperty("quote");
      const cheap = await payElsewhere(shop, of(1), of(100));
      expect([cheap.status, cheap.challenge?.accepts[0]?.amount]).toEqual([402, "1000000"]);
      expect((await payElsewhere(shop, of(2), of(2))).status).toBe(200);
    },
  );

  test.each([
    ["JSON", express.json(), '{"count":[1,{"a":null}]}', JSON_TYPE],
    ["a form", express.urlencoded({ extended: false }), "count=1&count=2", FORM_TYPE],
    ["a form with lists", express.urlencoded({ extended: true }), "count[a]=1&count[b]=2", FORM_TYPE],
    ["bytes", express.raw({ type: "*/*" }), "bytes", FORM_TYPE],
    ["a text", express.text({ type: "*/*" }), "text", FORM_TYPE],
  ])("%s as Express parses it is in a quote", async (_what, parser, body, headers) => {
    const shop = await sell(({ body: read }) => (read === undefined ? "$5" : "$0.01"), [parser]);
    const asked = await shop.ask({ method: "POST", body, headers });
    expect(asked.challenge?.accepts[0]?.extra).toHaveProperty("quote");
    expect((await payElsewhere(shop, { body, headers }, { body, headers })).status).toBe(200);
  });

  test("a quote does not hold for the same bytes that are parsed as another type", async () => {
    const keep = (req: object, _res: unknown, bytes: Buffer) => void Object.assign(req, { rawBody: bytes });
    const parsers = [express.json({ verify: keep }), express.urlencoded({ extended: false, verify: keep })];
    const shop = await sell(byItems, parsers);
    const body = '{"items":[1,2,3]}';
    const form = { "Content-Type": "application/x-www-form-urlencoded" };
    const result = await payElsewhere(shop, { body, headers: form }, { body, headers: JSON_TYPE });
    expect([result.status, result.challenge?.accepts[0]?.amount]).toEqual([402, "30000"]);
  });

  test("a quote does not hold with another header that the price depends on, and holds with others", async () => {
    const price: PriceFunction = async ({ header }) => {
      await Promise.resolve();
      return header("X-Model") === "large" ? "$10" : "$0.01";
    };
    const shop = await sell(price);
    for (const [quoted, sent] of [
      [{ "x-model": "small" }, { "x-model": "large" }],
      [{}, { "x-model": "large" }],
    ] as const) {
      const result = await payElsewhere(shop, { body: {}, headers: quoted }, { body: {}, headers: sent });
      expect([result.status, result.challenge?.accepts[0]?.amount]).toEqual([402, "10000000"]);
    }
    const same = { "x-model": "small" };
    const sold = await payElsewhere(
      shop,
      { body: {}, headers: same },
      { body: {}, headers: { ...same, "x-more": "1" } },
    );
    expect([sold.status, shop.facilitator.settled.length]).toEqual([200, 1]);
  });

  test("a quote does not hold on another host that the price depends on", async () => {
    const price: PriceFunction = ({ url }) => (url.includes("//gold.") ? "$10" : "$0.01");
    const shop = await sell(price);
    const result = await payElsewhere(shop, { body: {} }, { body: {}, headers: { Host: "gold.example" } });
    expect([result.status, result.challenge?.accepts[0]?.amount]).toEqual([402, "10000000"]);
  });

  test("a quote counts a body of more than a megabyte to its last byte", async () => {
    const price: PriceFunction = ({ body }) => `$${(String(body).split("!").length * 0.01).toFixed(2)}` as "$0.01";
    const shop = await sell(price, [express.text({ type: "*/*", limit: "5mb" })]);
    const bodyOf = (end: string) => `${"x".repeat(1_200_000)}${end}`;
    const headers = { "Content-Type": "text/plain" };
    const result = await payElsewhere(shop, { body: bodyOf("aaaa"), headers }, { body: bodyOf("!!!!"), headers });
    expect([result.status, result.challenge?.accepts[0]?.amount]).toEqual([402, "50000"]);
  });

  test("a price by Content-Length is that of the body that is paid for, even if middleware has read it", async () => {
    const price: PriceFunction = ({ header }) => (Number(header("content-length")) > 100 ? "$500" : "$0.01");
    const shop = await sell(price, [readAway]);
    const result = await payElsewhere(shop, { body: "alpha" }, { body: "x".repeat(500) });
    expect([result.status, result.challenge?.accepts[0]?.amount]).toEqual([402, "500000000"]);
  });

  test("a payment does not buy a body that middleware has read and not kept", async () => {
    const found: string[] = [];
    const logger = { info() {}, error() {}, warn: (event: string) => void found.push(event) };
    const shop = await sell(() => "$0.01", [readAway], { options: { logger } });
    const payment = await signFor(shop, { body: "alpha" });
    for (const body of ["alpha", "beta"]) {
      const result = await shop.ask({ method: "POST", body, payment });
      expect([result.status, result.json()]).toMatchObject([400, { error: "invalid_input" }]);
    }
    expect([shop.facilitator.settled.length, found.filter((event) => event === "FAREBOX_BODY_NOT_KEPT")]).toEqual([
      0,
      ["FAREBOX_BODY_NOT_KEPT"],
    ]);
  });

  test("a payment does not buy a body of more than 16 MiB that no parser has read", async () => {
    const shop = await sell(() => "$0.01", []);
    const payment = await signFor(shop, {});
    const head = `POST /paid HTTP/1.1\r\nHost: a\r\nPAYMENT-SIGNATURE: ${encodePaymentSignature(payment)}\r\n`;
    const line = await shop.connect(`${head}Content-Length: 16777217\r\n\r\nx`);
    expect(await line.until("invalid_input")).toMatch(/^HTTP\/1.1 413 /);
    expect(shop.facilitator.settled).toHaveLength(0);
  });

  test("a duplicate with another end of a large body does not get the response", async () => {
    const headers = { "Content-Type": "text/plain" };
    const bodyOf = (end: string) => `${"x".repeat(1_200_000)}${end}`;
    const shop = await openShop(express, {
      routes: { "POST /paid": { accepts: { price: "$0.01", network: NETWORK, payTo: PAY_TO } } },
      behind: [express.text({ limit: "5mb" })],
      handler: (req, res) => void res.send(String(req.body).slice(-5)),
    });
    const payment = await signFor(shop, { body: "", headers });
    shop.facilitator.failNext("unknown");
    const send = (end: string) => shop.ask({ method: "POST", headers, body: bodyOf(end), payment });
    expect((await send("alpha")).status).toBe(503);
    expect((await send("betaa")).status).toBe(409);
    expect((await send("alpha")).text).toBe("alpha");
  });

  describe.each([
    ["", byItems],
    [
      " and catches the error",
      (request) => {
        try {
          return byItems(request);
        } catch {
          return "$0.01";
        }
      },
    ],
  ] satisfies [string, PriceFunction][])("a price function that reads a body%s", (_how, price) => {
    test("a price function that reads a body gets the client 500, uncharged, if nobody has parsed it", async () => {
      const logged: unknown[] = [];
      const error = (event: string, fields: object) => void logged.push({ event, ...fields });
      const logger = { info() {}, warn() {}, error };
      const shop = await sell(price, [], { options: { logger } });
      const result = await shop.ask({ method: "POST", body: { items: [1, 2, 3] } });
      expect([result.status, result.json()]).toMatchObject([500, { error: "unexpected_verify_error" }]);
      expect(logged).toMatchObject([{ event: "decision_failed", code: "ERR_FAREBOX_BODY_NOT_PARSED" }]);
    });

    test("a price function that reads a body is not paid by a quote for no body", async () => {
      const shop = await sell(price, [express.json()]);
      const headers = { "Content-Type": "text/plain" };
      const result = await payElsewhere(shop, {}, { body: '{"items":[1,2,3]}', headers });
      expect([result.status, shop.facilitator.settled.length]).toEqual([500, 0]);
    });
  });

  test("a price function that reads no body does not wait for one", async () => {
    const shop = await sell(() => "$0.01", []);
    const line = await shop.connect("POST /paid HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf");
    expect(await line.until("\r\n\r\n")).toMatch(/^HTTP\/1.1 402 /);
  });

  test("a quote holds only for the offer as it was made, with its transfer method and domain", async () => {
    const asset = "0x1111111111111111111111111111111111111111";
    const price: PriceFunction = () => ({ asset, amount: "10000", extra: { name: "Token", version: "1" } });
    const shop = await sell(price);
    const { challenge } = await shop.ask({ method: "POST", body: {} });
    const offer = challenge!.accepts[0]!;
    const extra = { ...(offer.extra as object), name: "Other", version: "9", assetTransferMethod: "permit2" };
    const payment = await shop.payer.signExact(offer, { challenge: challenge! });
    await shop.ask({
      method: "POST",
      body: {},
      payment: { ...payment, accepted: { ...payment.accepted, extra } } as never,
    });
    const told = shop.facilitator.verified.at(-1) as unknown as
      | { paymentRequirements?: { extra?: object } }
      | undefined;
    expect(JSON.stringify(told ?? {})).not.toMatch(/Other|permit2/);
  });
});
