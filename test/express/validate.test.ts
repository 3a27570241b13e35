/**
 * The input of a paid request is checked before it is charged. An unpaid request gets the price, with any input.
 *
 * @module
 */
import type { BazaarForm, InputValidator, PaymentsOptions, RouteConfig } from "@farebox/express";
import { ConfigError, createPayments } from "@farebox/express";
import { createTestFacilitator, type PayOptions } from "@farebox/testing";
import express5, { type RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { NEWEST, openShop, PRICED, VERSIONS } from "./shop.js";

const SILENT = { info() {}, warn() {}, error() {} };

const QUERY: BazaarForm = {
  inputSchema: {
    queryParams: {
      city: { type: "string", required: true },
      days: { type: "integer", minimum: 1 },
      detailed: { type: "boolean" },
      tags: { type: "array", items: { type: "string" } },
    },
  },
};

const BODY: BazaarForm = {
  input: { city: "Paris" },
  inputSchema: { properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city"] },
};

const FORM: BazaarForm = { ...BODY, bodyType: "form-data" };

function checked(form: BazaarForm, more: Partial<RouteConfig> = {}): RouteConfig {
  return { ...PRICED, extensions: { bazaar: form }, validate: true, ...more };
}

const runs: unknown[] = [];
const handler: RequestHandler = (req, res) => {
  runs.push(req.query);
  res.json({ query: req.query, body: req.body });
};

async function open(
  express: (typeof VERSIONS)[number][1],
  route: RouteConfig,
  { key = "GET /paid", before = [] as RequestHandler[], options = {} as Partial<PaymentsOptions> } = {},
) {
  runs.length = 0;
  return openShop(express, { routes: { [key]: route }, before, handler, options });
}

describe.each(VERSIONS)("on %s, a paid request", (_name, express) => {
  const INVALID: readonly (readonly [search: string, problem: object])[] = [
    ["", { in: "query", at: "", message: "must have required property 'city'" }],
    ["?city=Paris&days=many", { in: "query", at: "/days", message: "must be integer" }],
    ["?city=Paris&days=0", { in: "query", at: "/days", message: "must be >= 1" }],
    ["?city=Paris&detailed=perhaps", { in: "query", at: "/detailed", message: "must be boolean" }],
    ["?city=Paris&city=Rome", { in: "query", at: "/city", message: "must be string" }],
  ];
  test("a paid request with an invalid query gets 400 and is not charged", async () => {
    const shop = await open(express, checked(QUERY));
    const { header } = await shop.sign();
    for (const [search, problem] of INVALID) {
      const response = await shop.ask({ path: `/paid${search}`, payment: header });
      expect(response.status).toBe(400);
      expect(response.json()).toEqual({
        error: "invalid_input",
        message: "The request is invalid. You were not charged.",
        problems: [problem],
      });
      expect(response.headers).not.toHaveProperty("payment-response");
    }
    expect([runs, shop.facilitator.verified, shop.facilitator.settled]).toEqual([[], [], []]);
  });

  test("a paid request with a valid query is served, and sees its query as it came", async () => {
    const shop = await open(express, checked(QUERY));
    for (const search of ["?city=Paris", "?city=7&days=3&detailed=true&tags=a", "?city=a&tags=a&tags=b&other=1"]) {
      runs.length = 0;
      expect(await shop.pay({ path: `/paid${search}` })).toMatchObject({ status: 200 });
      expect(runs).toEqual([
        Object.fromEntries([...new URLSearchParams(search).keys()].map((name) => [name, expect.anything()])),
      ]);
      expect(JSON.stringify(runs)).not.toMatch(/:(?:true|3)/);
    }
  });

  const BAD_BODIES: readonly (readonly [why: string, options: PayOptions, problem: object])[] = [
    ["without a body", {}, { in: "body", at: "", message: "must be object" }],
    ["with an empty one", { body: {} }, { in: "body", at: "", message: "must have required property 'city'" }],
    ["with one of another type", { body: { city: 1 } }, { in: "body", at: "/city", message: "must be string" }],
    [
      "with text",
      { body: "city=Paris", headers: { "content-type": "text/plain" } },
      { in: "body", at: "", message: "must be sent with Content-Type: application/json" },
    ],
  ];
  test("a paid request with a bad body gets 400", async () => {
    const shop = await open(express, checked(BODY), { key: "POST /paid", before: [express.json(), express.text()] });
    const { header } = await shop.sign("/paid", "POST");
    for (const [why, options, problem] of BAD_BODIES) {
      const response = await shop.ask({ method: "POST", ...options, payment: header });
      expect([why, response.status, response.json()]).toMatchObject([why, 400, { problems: [problem] }]);
    }
    expect([runs, shop.facilitator.settled]).toEqual([[], []]);
  });

  test("a paid form is checked by the values that its texts stand for, and the handler sees them as they came", async () => {
    const shop = await open(express, checked(FORM), {
      key: "POST /paid",
      before: [express.urlencoded({ extended: false })],
    });
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const good = await shop.pay({ method: "POST", body: "city=Paris&days=2", headers });
    expect(good.json()).toMatchObject({ body: { city: "Paris", days: "2" } });
    expect((await shop.pay({ method: "POST", body: "city=Paris&days=two", headers })).status).toBe(400);
  });
});

describe.each(NEWEST)("on %s, a paid request", (_name, express) => {
  test("a refused request may be corrected, and paid by the same payment", async () => {
    const shop = await open(express, checked(QUERY));
    const refused = await shop.pay({ path: "/paid" });
    expect(refused.status).toBe(400);
    const mended = await shop.ask({ path: "/paid?city=Paris", payment: refused.payment! });
    expect(mended).toMatchObject({ status: 200, receipt: { success: true } });
    expect(shop.facilitator.settled).toHaveLength(1);
  });

  test("a request without payment is told the price, with any input", async () => {
    const shop = await open(express, checked(BODY), { key: "POST /paid", before: [express.json()] });
    expect(await shop.ask({ method: "POST" })).toMatchObject({ status: 402 });
    expect(await shop.ask({ method: "POST", body: { city: 1 } })).toMatchObject({ status: 402 });
  });

  test("a paid request with a valid body is served", async () => {
    const shop = await open(express, checked(BODY), { key: "POST /paid", before: [express.json()] });
    const response = await shop.pay({ method: "POST", body: { city: "Paris", days: 2 } });
    expect(response.json()).toMatchObject({ body: { city: "Paris", days: 2 } });
  });

  test("a paid request whose body no middleware has read is not served, and the seller is told", async () => {
    const warned: unknown[] = [];
    const logger = {
      info() {},
      error() {},
      warn: (event: string, fields: object) => void warned.push({ event, ...fields }),
    };
    const shop = await open(express, checked(BODY), { key: "POST /paid", options: { logger } });
    const response = await shop.pay({ method: "POST", body: { city: "Paris" } });
    expect(response.status).toBe(500);
    expect([runs, shop.facilitator.verified, shop.facilitator.settled]).toEqual([[], [], []]);
    expect(warned).toContainEqual(expect.objectContaining({ event: "FAREBOX_BODY_NOT_PARSED", route: "POST /paid" }));
  });

  const fails: InputValidator = () => {
    throw new Error("the database");
  };

  test.each<[why: string, validate: InputValidator, status: number, problems?: object]>([
    ["nothing", () => {}, 200],
    ["nothing in a list", () => [], 200],
    ["a text", () => "no such city", 400, [{ message: "no such city" }]],
    ["several, later", async () => ["a", "b"], 400, [{ message: "a" }, { message: "b" }]],
    ["more than fits", () => "x".repeat(500), 400, [{ message: "x".repeat(200) }]],
    ["what it should not", () => false as never, 503],
    ["nothing because it fails", fails, 503],
  ])(
    "a paid request is checked by the seller's own function, which says %s",
    async (_why, validate, status, problems) => {
      const shop = await open(express, { ...PRICED, validate });
      const response = await shop.pay();
      expect(response.status).toBe(status);
      if (problems !== undefined) expect(response.json()).toMatchObject({ problems });
      expect(shop.facilitator.settled).toHaveLength(status === 200 ? 1 : 0);
    },
  );

  test("a refused request hears of at most twenty problems, and nothing of what it sent but names", async () => {
    const strict: BazaarForm = {
      inputSchema: { type: "object", additionalProperties: { type: "integer" } },
      input: {},
    };
    const shop = await open(express, checked(strict));
    const search = Array.from({ length: 50 }, (_, at) => `${"n".repeat(300)}${at}=secret`).join("&");
    const response = await shop.pay({ path: `/paid?${search.slice(0, 6000)}` });
    const { problems } = response.json() as { problems: { at: string }[] };
    expect(problems.length).toBeLessThanOrEqual(20);
    expect(problems.every(({ at }) => at.length <= 200)).toBe(true);
    expect(response.text).not.toContain("secret");
  });
});

describe("validate", () => {
  const create = (route: object) => () =>
    createPayments({ facilitator: createTestFacilitator(), logger: SILENT }).routes({
      "GET /paid": { ...PRICED, ...route },
    });

  test.each<[why: string, route: object]>([
    ["true, and nothing is declared", { validate: true }],
    ["true, and a tool is declared", { validate: true, extensions: { bazaar: { toolName: "a", inputSchema: {} } } }],
    ["a text", { validate: "yes" }],
  ])("validate is refused at start when it is %s", (_why, route) => {
    expect(create(route)).toThrow(ConfigError);
    expect(create(route)).toThrow(/validate/);
  });

  test.each<[why: string, route: object]>([
    ["false", { validate: false }],
    ["true, and the declaration is not for catalogs", checked({ ...QUERY, discoverable: false })],
  ])("validate may be %s", (_why, route) => {
    expect(create(route)).not.toThrow();
  });

  test("validate is not listened to for a payment that was taken before", async () => {
    let said: string | undefined;
    const shop = await openShop(express5, {
      routes: { "GET /paid": { ...PRICED, validate: () => said } },
      handler: (_req, res) => void res.json({}),
    });
    const paid = await shop.pay();
    expect(paid.status).toBe(200);
    said = "sold out";
    expect(await shop.ask({ payment: paid.payment! })).toMatchObject({ status: 402 });
    expect((await shop.pay()).status).toBe(400);
  });
});
