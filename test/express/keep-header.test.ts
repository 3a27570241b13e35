/**
 * The payment's header in a handler: removed, with a finding for who looks for it, or kept where the seller says so.
 */
import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import type { PaymentsOptions, RouteConfig, RoutesConfig } from "@farebox/express";
import { AxiosHeaders } from "axios";
import type { Request, RequestHandler } from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { openObservedShop } from "./observed-shop.js";
import { PRICED, VERSIONS } from "./shop.js";

const NAME = "payment-signature";
const CODE = "FAREBOX_PAYMENT_HEADER_READ";

/** Every way to copy or list headers. */
function copiesOf(req: Request): string {
  const listed: string[] = [];
  for (const name in req.headers) listed.push(name);
  const copies = [req.headers, { ...req.headers }, Object.keys(req.headers), Object.entries(req.headers), listed];
  const others = [
    [...new Headers(req.headers as Record<string, string>)],
    Object.getOwnPropertyNames(req.headers),
    structuredClone(req.headers),
    AxiosHeaders.from(req.headers as Record<string, string>),
    inspect(req.headers, { showHidden: true }),
  ];
  return JSON.stringify([copies, others, req.rawHeaders, req.headersDistinct]).toLowerCase();
}

describe.each(VERSIONS)("on %s", (_, express) => {
  /** A shop whose handler looks at its request, and what it found. */
  async function open<T>(
    look: (req: Request) => T,
    {
      routes,
      options,
      before = [],
      behind = [],
    }: {
      routes?: RoutesConfig;
      options?: Partial<PaymentsOptions>;
      before?: RequestHandler[];
      behind?: RequestHandler[];
    } = {},
  ) {
    const found: T[] = [];
    const shop = await openObservedShop(express, {
      ...(routes === undefined ? {} : { routes }),
      ...(options === undefined ? {} : { options }),
      before,
      handler(req, res) {
        found.push(look(req));
        res.send("goods");
      },
      also: (app) => void behind.map((middleware) => app.use(middleware)),
    });
    const findings = () =>
      shop.payments
        .report()
        .findings.filter(({ code }) => code === CODE)
        .map(({ route }) => route);
    return { shop, found, findings };
  }

  test("no copy of a paid request's headers has the payment or its token, and copying is no finding", async () => {
    const { shop, found, findings } = await open(copiesOf);
    const paid = await shop.pay({ headers: { "PAYMENT-RETRY-TOKEN": "secret-token", "X-Other": "kept" } });
    expect(paid.status).toBe(200);
    expect(found[0]?.split('"x-other":"kept"')).toHaveLength(5);
    expect(found[0]).not.toMatch(/payment-signature|payment-retry-token|secret-token/);
    expect(findings()).toEqual([]);
  });

  test("headers that middleware in front has kept lose the payment and its token, too", async () => {
    const kept: Request["headers"][] = [];
    const keep: RequestHandler = (req, _res, next) => {
      kept.push(req.headers);
      next();
    };
    const { shop } = await open(() => kept.push({ ...kept.at(-1) }), { before: [keep] });
    await shop.pay({ headers: { "PAYMENT-RETRY-TOKEN": "secret-token", "X-Other": "kept" } });
    const seen = kept.at(-1) ?? {};
    expect(seen).toHaveProperty("x-other", "kept");
    expect(Object.keys(seen).filter((name) => name.startsWith("payment-"))).toEqual([]);
  });

  test("a proxy that forwards the headers of a paid request does not forward the payment", async () => {
    const got: IncomingHttpHeaders[] = [];
    const upstream = createServer((req, res) => {
      got.push(req.headers);
      res.end();
    }).listen(0, "127.0.0.1");
    await once(upstream, "listening");
    onTestFinished(() => void upstream.close());
    const { port } = upstream.address() as AddressInfo;
    const forward = (headers: Request["headers"]) =>
      new Promise((resolve) => httpRequest({ port, headers, agent: false }, resolve).end());
    const { shop, found } = await open((req) => forward(req.headers));
    await shop.pay({ headers: { "X-Other": "kept" } });
    await found[0];
    expect(got[0]).toHaveProperty("x-other", "kept");
    expect(got[0]).not.toHaveProperty(NAME);
  });

  test.each<[string, (req: Request) => unknown]>([
    ["req.headers", (req) => req.headers[NAME]],
    ["req.get", (req) => req.get("PAYMENT-SIGNATURE")],
    ["req.header", (req) => req.header("Payment-Signature")],
  ])("the first read of a removed header by %s is one finding for each route, with the remedy", async (_how, look) => {
    const { shop, found, findings } = await open((req) => [look(req), look(req)]);
    await shop.pay();
    await shop.pay();
    expect(findings()).toEqual(["/paid"]);
    await shop.pay({ path: "/upfront" });
    expect(findings()).toEqual(["/paid", "GET /upfront"]);
    expect(found).toEqual(Array.from({ length: 3 }, () => [undefined, undefined]));
    const lines = JSON.stringify(shop.log.filter((line) => (line as { event: string }).event === CODE));
    expect(lines).toMatch(/req\.payment.*keepPaymentHeader/);
    expect(JSON.parse(lines)).toHaveLength(2);
  });

  test("a read of the header without a payment, and by the payments themselves, is no finding", async () => {
    const { shop, found, findings } = await open((req) => req.get(NAME), {
      options: { hooks: { onRequest: ({ header }) => (header("x-key") === undefined ? undefined : { grant: true }) } },
    });
    await shop.ask({ headers: { "x-key": "a" } });
    expect(found).toEqual([undefined]);
    expect(findings()).toEqual([]);
    // With a payment that is not used, the header is removed, too.
    const { header } = await shop.sign();
    await shop.ask({ payment: header, headers: { "x-key": "a" } });
    expect(findings()).toEqual(["/paid"]);
  });

  test("a paid request that middleware sends on to another price is refused without a finding about the header", async () => {
    const { shop, found, findings } = await open(() => "ran", {
      behind: [
        (req, _res, next) => {
          if (req.path === "/paid") req.url = "/upfront";
          next();
        },
      ],
    });
    expect((await shop.pay()).status).toBe(404);
    expect([found, findings()]).toEqual([[], []]);
  });

  test.each<[string, RouteConfig, Partial<PaymentsOptions>, isKept: boolean]>([
    ["the route says so", { ...PRICED, keepPaymentHeader: true }, {}, true],
    ["the options say so", PRICED, { keepPaymentHeader: true }, true],
    [
      "the options say so and the route does not",
      { ...PRICED, keepPaymentHeader: false },
      { keepPaymentHeader: true },
      false,
    ],
    ["the route settles first and says so", { ...PRICED, settle: "before", keepPaymentHeader: true }, {}, true],
  ])(
    "a handler finds the payment as it was sent, and never its token, if %s",
    async (_when, route, options, isKept) => {
      const look = ({ headers, rawHeaders, headersDistinct, ...req }: Request) => [
        headers[NAME],
        rawHeaders.some((name) => name.toLowerCase() === NAME),
        headersDistinct[NAME]?.[0],
        headers["payment-retry-token"],
        req.payment?.payer,
      ];
      const { shop, found, findings } = await open(look, { routes: { "/paid": route }, options });
      const { header } = await shop.sign();
      const token = { "PAYMENT-RETRY-TOKEN": "secret-token" };
      expect((await shop.ask({ payment: header, headers: token })).status).toBe(200);
      const sent = isKept ? header : undefined;
      expect(found).toEqual([[sent, isKept, sent, undefined, shop.payer.address]]);
      expect(findings()).toEqual(isKept ? [] : ["/paid"]);
    },
  );

  test("middleware that sets or deletes a removed header gets what it wants", async () => {
    const { shop, found } = await open((req) => {
      req.headers[NAME] = "mine";
      const set = { ...req.headers }[NAME];
      delete req.headers[NAME];
      return [set, Object.hasOwn(req.headers, NAME)];
    });
    await shop.pay();
    expect(found).toEqual([["mine", false]]);
  });

  test("keepPaymentHeader must be true or false", async () => {
    const wrong = "yes" as unknown as boolean;
    await expect(open(() => {}, { options: { keepPaymentHeader: wrong } })).rejects.toThrow(
      "options.keepPaymentHeader: expected true or false",
    );
    await expect(open(() => {}, { routes: { "/paid": { ...PRICED, keepPaymentHeader: wrong } } })).rejects.toThrow(
      'routes["/paid"].keepPaymentHeader: expected true or false',
    );
  });
});
