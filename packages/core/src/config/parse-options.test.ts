import { afterEach, describe, expect, test } from "vitest";
import { createPaymentsEngine, createPaymentsGate } from "../engine.js";
import { ConfigError, type ConfigIssue } from "../errors.js";
import { closeServers, serve } from "../facilitator/http-server.fixture.js";
import type { PaymentsOptions } from "../options.js";
import type { GateRequest } from "../route/request.js";
import {
  createFakeFacilitator,
  createShop,
  createTestScheme,
  NETWORK,
  PAY_TO,
  responseOf,
  stageOf,
} from "../sale/shop.fixture.js";

/** The issues of options, without routes. */
function issuesOf(options: unknown): readonly ConfigIssue[] {
  try {
    createPaymentsEngine(options as PaymentsOptions, { schemes: [createTestScheme()] });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.issues;
    throw error;
  }
}

/** The only issue that these options add to valid ones. */
function issueOf(bad: Readonly<Record<string, unknown>>): ConfigIssue | undefined {
  const issues = issuesOf({ facilitator: "https://x402.org/facilitator", ...bad });
  expect(issues.length).toBeLessThanOrEqual(1);
  return issues[0];
}

/** A facilitator whose methods belong to its class. */
class InheritedFacilitator {
  async verify() {}
  async settle() {}
  async supported() {}
}

const BASE_URL = expect.stringContaining("a base URL");

describe("valid options", () => {
  test.each<[options: object, why: string]>([
    [{}, "the required options"],
    [{ facilitator: "http://localhost:4022/" }, "a facilitator on this machine"],
    [{ facilitator: new URL("https://x402.org/facilitator") }, "a URL object"],
    [{ facilitator: { url: "https://x402.org", headers: { authorization: "Bearer x" } } }, "headers"],
    [{ facilitator: { url: "https://x402.org", headers: () => ({}) } }, "a function for headers"],
    [{ facilitator: createFakeFacilitator() }, "a facilitator in this process"],
    [{ facilitator: new (class extends InheritedFacilitator {})() }, "a facilitator with inherited methods"],
    [{ holdBytes: 0 }, "no response is held"],
    [{ holdBytes: 64 * 1024 * 1024 }, "the largest holdBytes"],
    [{ deadlines: {} }, "no deadlines"],
    [
      { deadlines: { verifyMs: 100, settleMs: 120_000, supportedMs: undefined, hookMs: 100 } },
      "the shortest and the longest",
    ],
    [{ payTo: { "eip155:*": PAY_TO, [NETWORK]: PAY_TO } }, "a pattern and a network"],
    [{ networks: [] }, "no networks"],
    [{ publicUrl: "https://api.example.com/v1/" }, "a path in the public URL"],
    [{ allowedHosts: ["api.example.com", "LOCALHOST:3000", "[::1]:80", "a"] }, "hosts, some with a port"],
    [{ allowedHosts: [`${"a".repeat(254)}`] }, "the longest host"],
    [{ includeQuery: true }, "the query in the URL"],
    [{ includeQuery: false, strict: false }, "the defaults"],
    [{ strict: true }, "strict"],
    [{ schemes: [createTestScheme()] }, "a scheme of the seller's own"],
    [{ schemes: [createTestScheme({ findPayment: async () => ({ kind: "open" }) })] }, "a scheme that asks the chain"],
    [{ rpc: { [NETWORK]: "https://node.example/key?key=1" } }, "an RPC node"],
    [{ logger: console }, "the console"],
    [{ now: () => 0 }, "a clock"],
    [{ timer: () => () => {} }, "a timer"],
    [
      Object.fromEntries(
        [
          "payTo",
          "networks",
          "schemes",
          "rpc",
          "store",
          "logger",
          "now",
          "timer",
          "publicUrl",
          "allowedHosts",
          "includeQuery",
          "strict",
        ].map((key) => [key, undefined]),
      ),
      "undefined for every option",
    ],
  ])("valid options cause no issue: %o, %s", (options) => {
    expect(issueOf(options as Record<string, unknown>)).toBeUndefined();
  });
});

describe("invalid options", () => {
  test.each<[options: Record<string, unknown>, issue: Partial<ConfigIssue>, why: string]>([
    [{ facilitator: undefined }, { path: "options.facilitator", expected: BASE_URL, received: "nothing" }, "missing"],
    [{ facilitator: "x402.org" }, { path: "options.facilitator", received: '"x402.org"' }, "no URL scheme"],
    [
      { facilitator: "ftp://x402.org" },
      { path: "options.facilitator", received: '"ftp://x402.org"' },
      "another scheme",
    ],
    [{ facilitator: 5 }, { path: "options.facilitator", received: "5" }, "a number"],
    [{ facilitator: { headers: {} } }, { path: "options.facilitator", received: "an object with headers" }, "no URL"],
    [{ facilitator: {} }, { path: "options.facilitator", received: "nothing" }, "an empty object"],
    [
      { facilitator: new URL("ftp://x.org") },
      { path: "options.facilitator", received: '"ftp://x.org/"' },
      "a URL object",
    ],
    [{ facilitator: [] }, { path: "options.facilitator", received: "none" }, "an empty list"],
    [{ facilitator: null }, { path: "options.facilitator", received: "null" }, "null"],
    [{ facilitator: { url: "https://x.org", header: {} } }, { path: "options.facilitator.header" }, "an unknown key"],
    [{ facilitator: { url: "https://x.org", headers: [] } }, { path: "options.facilitator.headers" }, "a list"],
    [{ facilitator: { url: "https://x.org", headers: { a: 1 } } }, { path: "options.facilitator.headers" }, "a number"],
    [{ holdBytes: -1 }, { path: "options.holdBytes", received: "-1" }, "a negative number"],
    [{ holdBytes: 64 * 1024 * 1024 + 1 }, { path: "options.holdBytes" }, "too much"],
    [{ holdBytes: 1.5 }, { path: "options.holdBytes" }, "a fraction"],
    [{ holdBytes: Number.NaN }, { path: "options.holdBytes", received: "NaN" }, "not a number"],
    [{ holdBytes: "1mb" }, { path: "options.holdBytes" }, "a text"],
    [{ holdBytes: null }, { path: "options.holdBytes", received: "null" }, "null"],
    [{ deadlines: 5 }, { path: "options.deadlines", received: "5" }, "a number"],
    [{ deadlines: null }, { path: "options.deadlines", received: "null" }, "null"],
    [{ deadlines: { verifyMs: 99 } }, { path: "options.deadlines.verifyMs" }, "too short"],
    [{ deadlines: { hookMs: 120_001 } }, { path: "options.deadlines.hookMs" }, "a hook that may take too long"],
    [{ deadlines: { settleMs: 120_001 } }, { path: "options.deadlines.settleMs" }, "too long"],
    [
      { deadlines: { settleMs: Number.POSITIVE_INFINITY } },
      { path: "options.deadlines.settleMs" },
      "an infinite deadline",
    ],
    [{ deadlines: { verify: 500 } }, { path: "options.deadlines.verify", received: "an unknown key" }, "a typo"],
    [{ payTo: PAY_TO }, { path: "options.payTo" }, "an address without a network"],
    [{ payTo: { base: PAY_TO } }, { path: "options.payTo.base", received: '"base"' }, "no network"],
    [{ payTo: { "*": PAY_TO } }, { path: 'options.payTo["*"]' }, "one address for every network"],
    [{ payTo: { "eip155:*": 5 } }, { path: 'options.payTo["eip155:*"]', received: "5" }, "a number"],
    [{ networks: NETWORK }, { path: "options.networks" }, "a text"],
    [
      { networks: [NETWORK, "base"] },
      { path: "options.networks[1]", expected: '"eip155:8453", as CAIP-2 writes "base"', received: '"base"' },
      "a name",
    ],
    [{ networks: ["eip155:*"] }, { path: "options.networks[0]" }, "a pattern"],
    [{ networks: [undefined] }, { path: "options.networks[0]", received: "nothing" }, "an unset variable"],
    [
      { payTo: { "base-sepolia": PAY_TO } },
      { path: 'options.payTo["base-sepolia"]', expected: '"eip155:84532", as CAIP-2 writes "base-sepolia"' },
      "a recipient by name",
    ],
    [{ publicUrl: "api.example.com" }, { path: "options.publicUrl" }, "no URL scheme"],
    [{ publicUrl: "https://api.example.com/?a=1" }, { path: "options.publicUrl" }, "a query"],
    [{ publicUrl: 5 }, { path: "options.publicUrl", received: "5" }, "a number"],
    [{ schemes: createTestScheme() }, { path: "options.schemes" }, "a scheme without a list"],
    [{ schemes: [{ scheme: "exact", networks: "eip155:*" }] }, { path: "options.schemes" }, "a scheme without methods"],
    [
      { schemes: [{ ...createTestScheme(), findPayment: "0x" }] },
      { path: "options.schemes" },
      "a findPayment that is not a function",
    ],
    [
      { schemes: [{ ...createTestScheme(), readDeadline: 60 }] },
      { path: "options.schemes" },
      "a readDeadline that is not a function",
    ],
    [{ rpc: { base: "https://node.example" } }, { path: "options.rpc.base" }, "a node without a network"],
    [{ schemes: ["exact"] }, { path: "options.schemes" }, "a name"],
    ...[
      [],
      "api.example.com",
      [""],
      [5],
      ["api.example.com", null],
      ["https://api.example.com"],
      ["api.example.com/v1"],
      ["api.example.com:"],
      ["api.example.com:123456"],
      ["a@b.example"],
      ["*.example.com"],
      ["-a.example"],
      ["a.example."],
      ["a b"],
      ["a\n"],
      ["::1"],
      ["[::1"],
      ["[localhost]"],
      ["a".repeat(255)],
    ].map((allowedHosts): [Record<string, unknown>, Partial<ConfigIssue>, string] => [
      { allowedHosts },
      { path: "options.allowedHosts", expected: 'hosts without scheme and path, such as ["api.example.com"]' },
      "invalid hosts",
    ]),
    [{ includeQuery: 1 }, { path: "options.includeQuery", expected: "true or false", received: "1" }, "a number"],
    [{ includeQuery: null }, { path: "options.includeQuery", received: "null" }, "null"],
    [{ strict: "true" }, { path: "options.strict", expected: "true or false", received: '"true"' }, "a text"],
    [{ allowHosts: [] }, { path: "options.allowHosts", received: "an unknown key" }, "a typo"],
    [{ store: null }, { path: "options.store", received: "null" }, "null"],
    [{ store: new Map() }, { path: "options.store", received: expect.stringContaining("transition") }, "a map"],
    [{ store: "redis://" }, { path: "options.store", received: "string" }, "a URL"],
    [
      { logger: { info: () => {} } },
      { path: "options.logger", received: "an object without warn, error" },
      "a logger without warn and error",
    ],
    [{ logger: null }, { path: "options.logger", received: "null" }, "null"],
    [{ now: 5 }, { path: "options.now", received: "5" }, "a number"],
    [{ timer: 5 }, { path: "options.timer", received: "5" }, "a number"],
    [{ payto: {} }, { path: "options.payto", received: "an unknown key" }, "a typo"],
    [{ "x y": 1 }, { path: 'options["x y"]', received: "an unknown key" }, "a key that needs quotes"],
  ])("invalid options cause one issue: %o gives %o (%s)", (options, issue) => {
    expect(issueOf(options)).toMatchObject(issue);
  });

  test.each([undefined, null, 5, "https://x402.org", [], () => {}])(
    "invalid options cause two issues when they are %o",
    (options) => {
      const paths = issuesOf(options).map(({ path }) => path);
      expect(paths).toEqual(["options", "options.facilitator"]);
    },
  );

  test("invalid options cause all issues at once, together with those of the routes", () => {
    const options = { facilitator: "?", holdBytes: -1, logger: 5, now: 5, store: 5, networks: 5, x: 1 };
    const routes = { "GET weather": { price: 1 }, "GET /news": {} };
    expect(() => createPaymentsGate(routes as never, options as never, { schemes: [] })).toThrow(
      expect.objectContaining({
        code: "ERR_FAREBOX_CONFIG",
        issues: [
          "options.x",
          "options.now",
          "options.logger",
          "options.facilitator",
          "options.networks",
          "options.holdBytes",
          "options.store",
          'routes["GET weather"]',
          "options.networks",
          'routes["GET /news"]',
        ].map((path) => expect.objectContaining({ path })),
      }),
    );
  });
});

describe("a facilitator behind HTTP", () => {
  afterEach(closeServers);

  test.each<[why: string, facilitatorAt: (url: string) => PaymentsOptions["facilitator"], key: string | undefined]>([
    ["as a text", (url) => url, undefined],
    ["as a URL", (url) => new URL(url), undefined],
    ["with headers", (url) => ({ url, headers: { "x-key": "k" } }), "k"],
    ["with a function for headers", (url) => ({ url: new URL(url), headers: (call) => ({ "x-key": call }) }), "verify"],
  ])("a facilitator behind HTTP is called when it is given %s", async (_why, facilitatorAt, key) => {
    const calls: unknown[] = [];
    const url = await serve((request, response) => {
      if (request.url !== "/base/supported") calls.push([request.url, request.headers["x-key"]]);
      response.end('{"isValid":true}');
    });
    const shop = createShop({ facilitator: facilitatorAt(`${url}/base/`) });
    expect(stageOf(await shop.pay())).toBe("held");
    expect(calls).toEqual([["/base/verify", key]]);
  });

  test("a facilitator behind HTTP has the deadlines of the options", async () => {
    const url = await serve(() => {});
    const { pay, log } = createShop({ facilitator: url, deadlines: { verifyMs: 100 } });
    expect(stageOf(await pay())).toBe("respond");
    expect(log).toMatchObject([{ fields: { code: "ERR_FAREBOX_FACILITATOR_TIMEOUT" } }]);
  });
});

test("an extension cannot have the name under which headers say what they leave out", () => {
  const extension = { key: "farebox", compile: () => undefined };
  expect(() => createShop({ extensions: [extension] })).toThrow(
    /options\.extensions\[0\]\.key: expected another name: headers say under "farebox" what they leave out, received "farebox"/,
  );
});

describe("checked options", () => {
  test("checked options do not change when the seller's objects do", async () => {
    const info = { a: 1 };
    const accepts = { network: NETWORK, price: "$0.01" as const, extra: { deep: { a: 1 } } };
    const payTo: { "eip155:*": `0x${string}` } = { "eip155:*": PAY_TO };
    const weather = { accepts, extensions: { "x-y": { info, schema: {} } } };
    const { ask } = createShop({ payTo, routes: { "GET /weather": weather } });
    const before = await ask();
    Object.assign(accepts, { price: "$0.0001", payTo: "0xEvil" });
    accepts.extra.deep.a = 2;
    info.a = 2;
    payTo["eip155:*"] = "0xEvil";
    expect(await ask()).toEqual(before);
  });

  test("checked options use the seller's schemes before the built-in ones", async () => {
    const own = createTestScheme({
      compileTerms: ({ payTo }) => ({
        ok: true,
        asset: { id: "0xOwn", symbol: "OWN", decimals: undefined, extra: {} },
        amount: 7n,
        payTo,
      }),
    });
    const { pay } = createShop({ schemes: [own] });
    expect(stageOf(await pay({ accepted: { asset: "0xOwn", amount: "7" } }))).toBe("held");
  });

  test.each<[options: Partial<PaymentsOptions>, request: Partial<GateRequest>, url: string, why: string]>([
    [{ allowedHosts: ["SHOP.Example"] }, {}, "http://shop.example/weather", "hosts are compared without case"],
    [{ allowedHosts: ["a.example", "b.example"] }, {}, "http://a.example/weather", "the first host replaces another"],
    [{}, { search: "?a=1" }, "http://shop.example/weather", "without the query"],
    [{ includeQuery: true }, { search: "?a=1" }, "http://shop.example/weather?a=1", "with the query"],
  ])("checked options of %j give the request %j the URL %s: %s", async (options, request, url) => {
    expect(responseOf(await createShop(options).ask(request)).json).toMatchObject({ resource: { url } });
  });

  test("checked options keep their hosts when the seller's list changes", async () => {
    const allowedHosts = ["shop.example"];
    const { ask } = createShop({ allowedHosts });
    const before = await ask();
    allowedHosts[0] = "evil.example";
    expect(await ask()).toEqual(before);
  });
});
