import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createPaymentsEngine, createPaymentsGate } from "./engine.js";
import { ConfigError } from "./errors.js";
import type { LogFields } from "./events/logger.js";
import type { PaymentsOptions, RoutesConfig } from "./options.js";
import { route, viewOf } from "./route/router-view.fixture.js";
import { createFakeFacilitator, createTestScheme, NETWORK, PAY_TO, REQUEST, responseOf } from "./sale/shop.fixture.js";
import { createMemoryStore } from "./store/memory-store.js";

const PRICED = { accepts: { network: NETWORK, price: "$0.01", payTo: PAY_TO } } as const;
const LINE = `0.01 USDC on ${NETWORK} to ${PAY_TO}, settled after the response`;

function createSeller(options: Partial<PaymentsOptions> = {}) {
  const log: [level: string, event: string, fields: LogFields][] = [];
  const noteAt = (level: string) => (event: string, fields: LogFields) => void log.push([level, event, fields]);
  const logger = { info: noteAt("info"), warn: noteAt("warn"), error: noteAt("error") };
  const engine = createPaymentsEngine(
    { facilitator: createFakeFacilitator(), logger, ...options },
    { schemes: [createTestScheme()] },
  );
  return { engine, log, add: (...keys: readonly string[]) => engine.routes(tableOf(keys)) };
}

function tableOf(keys: readonly string[]): RoutesConfig {
  return Object.fromEntries(keys.map((key) => [key, PRICED]));
}

/** A price that a gate has for a handler. */
function priceOf(gate: object, text = "$1") {
  return { gate, id: text, text };
}

// Findings are warnings of the process as well, unless `strict` is set.
const warnings = vi.spyOn(process, "emitWarning");
beforeEach(() => void warnings.mockReset().mockReturnValue());
afterAll(() => warnings.mockRestore());

/** The ConfigError that a call throws. */
function errorOf(call: () => unknown): ConfigError {
  try {
    call();
  } catch (error) {
    if (error instanceof ConfigError) return error;
  }
  throw new TypeError("no ConfigError");
}

describe("a report", () => {
  test("a report is empty without routes", () => {
    expect(createSeller().engine.report()).toEqual({ routes: [], findings: [] });
  });

  test("a report logs nothing", () => {
    const { engine, log, add } = createSeller();
    add("GET /a{/:b}", "GET /a", "GET /a/:b");
    expect(engine.report(viewOf([])).findings).toHaveLength(2);
    expect(log).toEqual([]);
  });

  test("a report has the table that was given with the options", () => {
    const { engine } = createPaymentsGate(
      tableOf(["GET /a"]),
      { facilitator: createFakeFacilitator(), logger: { info() {}, warn() {}, error() {} } },
      { schemes: [createTestScheme()] },
    );
    expect(engine.report().routes).toMatchObject([{ key: "GET /a" }]);
  });

  test("a report lists findings from requests once, after findings from tables", async () => {
    const { engine, log, add } = createSeller({ allowedHosts: ["shop.test"] });
    const gate = add("GET /weather", "GET /a{/:b}", "GET /a", "GET /a/:b");
    for (let at = 0; at < 3; at++) await gate.decide({ ...REQUEST, isProxyIgnored: true });
    const codes = engine.report().findings.map(({ code }) => code);
    expect(codes).toEqual(["FAREBOX_KEY_SHADOWED", "FAREBOX_PROXY_IGNORED", "FAREBOX_HOST_NOT_ALLOWED"]);
    expect(log.map(([level, event]) => [level, event])).toEqual([
      ["warn", "FAREBOX_PROXY_IGNORED"],
      ["warn", "FAREBOX_HOST_NOT_ALLOWED"],
    ]);
  });

  test("a report lists a finding once even if several paths of a key lead to it", () => {
    const { engine, add } = createSeller();
    const gate = add("GET /a{/:b}");
    const early = [route("GET /a"), route("GET /a/:b"), { gate, mount: "" }];
    expect(engine.report(viewOf(early)).findings.map(({ code }) => code)).toEqual(["FAREBOX_TABLE_TOO_LATE"]);
    const served = [{ gate, mount: "" }, route("GET /a"), route("GET /a/:b")];
    const prices = () => ["GET /a", "GET /a"].map((where) => ({ where, prices: [priceOf(gate), priceOf({})] }));
    const twice = { ...viewOf(served), prices };
    expect(engine.report(twice).findings.map(({ code }) => code)).toEqual(["FAREBOX_PRICED_TWICE"]);
  });
});

describe("a store in memory", () => {
  afterEach(() => vi.unstubAllEnvs());

  test("a store in memory is a finding, logged at once, when there are several processes", () => {
    vi.stubEnv("NODE_APP_INSTANCE", "1");
    const { engine, log } = createSeller();
    expect(log).toMatchObject([["warn", "FAREBOX_MEMORY_STORE", { message: expect.stringContaining("PM2") }]]);
    expect(engine.report().findings).toMatchObject([{ code: "FAREBOX_MEMORY_STORE" }]);
    expect(createSeller({ store: createMemoryStore() }).log).toHaveLength(1);
  });

  test("a store in memory is no finding with another store or in a single process", () => {
    expect(createSeller().log).toEqual([]);
    vi.stubEnv("NODE_APP_INSTANCE", "1");
    const { claim, find, transition, release, unfinished, ledger } = createMemoryStore();
    expect(createSeller({ store: { claim, find, transition, release, unfinished, ledger } }).log).toEqual([]);
  });

  test("a store without a ledger is a finding, which a strict seller's check throws", () => {
    const { claim, find, transition, release, unfinished } = createMemoryStore();
    const store = { claim, find, transition, release, unfinished };
    const { engine, log } = createSeller({ store });
    expect(log).toMatchObject([
      ["warn", "FAREBOX_MEMORY_LEDGER", { remedy: expect.stringContaining("Update the store") }],
    ]);
    expect(engine.report().findings).toMatchObject([{ code: "FAREBOX_MEMORY_LEDGER" }]);
    const view = { ...viewOf([]), isCalled: () => true };
    expect(() => engine.check(view)).not.toThrow();
    expect(() => createSeller({ store, strict: true }).engine.check(view)).toThrow(/FAREBOX_MEMORY_LEDGER/);
  });
});

describe("a check", () => {
  test("a check logs priced routes, then findings, and returns both", () => {
    const { engine, log, add } = createSeller({ strict: false });
    const gate = add("GET /a", "GET /b");
    const reported = engine.check(viewOf([{ gate, mount: "/api" }, route("GET /api/a")]));
    expect(reported.routes.map(({ path }) => path)).toEqual(["/api/a", "/api/b"]);
    expect(reported.findings.map(({ code }) => code)).toEqual(["FAREBOX_KEY_UNREACHABLE"]);
    expect(log).toEqual([
      ["info", "priced", { route: `GET /api/a: ${LINE}` }],
      ["info", "priced", { route: `GET /api/b: ${LINE}` }],
      [
        "warn",
        "FAREBOX_KEY_UNREACHABLE",
        {
          route: "GET /b",
          message: "No route that is registered can match it",
          remedy: "Correct the key, or remove it",
        },
      ],
    ]);
  });

  test("a check logs a finding once even if it is found again", () => {
    const { engine, log, add } = createSeller({ strict: false });
    add("GET /a");
    for (let at = 0; at < 3; at++) expect(engine.check(viewOf([])).findings).toHaveLength(1);
    expect(log.filter(([level]) => level === "warn")).toHaveLength(1);
  });

  test.each<[count: number, lines: number, last: string]>([
    [50, 50, `GET /k49: ${LINE}`],
    [51, 51, "and 1 more"],
    [70, 51, "and 20 more"],
  ])("a check of %i routes logs %i lines, the last of them %s", (count, lines, last) => {
    const { engine, log, add } = createSeller();
    const keys = Array.from({ length: count }, (_, at) => `GET /k${at}`);
    const gate = add(...keys);
    engine.check(viewOf([{ gate, mount: "" }, ...keys.map((key) => route(key))]));
    expect(log).toHaveLength(lines);
    expect(log.at(-1)).toEqual(["info", "priced", { route: last }]);
  });

  test("a check inspects only the gates that its filter accepts", () => {
    const { engine, log, add } = createSeller();
    const [wanted] = [add("GET /a"), add("GET /b")];
    const charged = engine.charge(PRICED);
    const only = (gate: object) => gate === wanted;
    expect(engine.check(viewOf([]), only)).toMatchObject({
      routes: [{ key: "GET /a" }],
      findings: [{ route: "GET /a" }],
    });
    expect(log.map(([, event]) => event)).toEqual(["priced", "FAREBOX_TABLE_NOT_FOUND"]);
    expect(engine.check(viewOf([]), (gate) => gate === charged)).toMatchObject({ routes: [{ key: undefined }] });
  });

  test("a check skips the inspection of very many routes during a request, unless strict is set", () => {
    // One more key than routes, and 100,000 lookups at most.
    const keys = Array.from({ length: 316 }, (_, at) => `GET /k${at}`);
    const createLarge = (strict: boolean) => {
      const { engine, log, add } = createSeller({ strict });
      const gate = add(...keys, "GET /nowhere");
      const view = viewOf([{ gate, mount: "" }, ...keys.map((key) => route(key))]);
      return { engine, log, view };
    };
    const { engine, log, view } = createLarge(false);
    expect(engine.check(view, () => true).findings).toEqual([]);
    expect(log).toContainEqual(["info", "routes_not_checked", { remedy: "await payments.ready(app)" }]);
    expect(engine.check(view).findings).toHaveLength(1);
    const strict = createLarge(true);
    expect(() => strict.engine.check(strict.view, () => true)).toThrow("FAREBOX_KEY_UNREACHABLE");
  });
});

describe("a strict check", () => {
  test("a strict check logs all findings and throws them in one error, with their codes", () => {
    const { engine, log, add } = createSeller({ strict: true });
    const gate = add("GET /a", "GET /b", "GET /c");
    const prices = [priceOf(gate, "$1"), priceOf({}, "$2")];
    const view = {
      ...viewOf([{ gate, mount: "" }, route("GET /a"), route("GET /b", { gates: [{}] })]),
      prices: () => [{ where: "GET /b", prices }],
    };
    const error = errorOf(() => engine.check(view));
    expect(error.code).toBe("ERR_FAREBOX_CONFIG");
    expect(error.issues).toEqual([
      {
        path: "GET /c",
        expected: "Correct the key, or remove it",
        received: "FAREBOX_KEY_UNREACHABLE: No route that is registered can match it",
      },
      {
        path: "GET /b",
        expected: "Price the route in one place",
        received: "FAREBOX_PRICED_TWICE: Its prices are $1 and $2; the one that is nearest to the handler counts",
      },
    ]);
    expect(error.message).toContain("GET /b: expected Price the route in one place");
    expect(error.message).toContain("received FAREBOX_PRICED_TWICE: ");
    expect(log.map(([, event]) => event)).toEqual([
      "priced",
      "priced",
      "priced",
      "FAREBOX_KEY_UNREACHABLE",
      "FAREBOX_PRICED_TWICE",
    ]);
  });

  test("a strict check does not throw findings from requests, because any client can cause them", async () => {
    const { engine, add } = createSeller({ strict: true });
    const gate = add("GET /weather");
    const view = viewOf([{ gate, mount: "" }, route("GET /weather")]);
    expect(engine.check(view).findings).toEqual([]);
    await gate.decide({ ...REQUEST, isProxyIgnored: true });
    expect(engine.check(view).findings).toMatchObject([{ code: "FAREBOX_PROXY_IGNORED" }]);
  });

  test("a check throws when several processes each use the default store, unless strict is false", () => {
    vi.stubEnv("WEB_CONCURRENCY", "4");
    const sellers = [createSeller(), createSeller({ strict: false }), createSeller({ store: createMemoryStore() })];
    vi.unstubAllEnvs();
    const views = sellers.map(({ add }) => viewOf([{ gate: add("GET /weather"), mount: "" }, route("GET /weather")]));
    const [byDefault, lenient, chosen] = sellers.map(
      ({ engine }, at) =>
        () =>
          engine.check(views[at] ?? viewOf([])),
    );
    expect(errorOf(() => byDefault?.()).issues).toMatchObject([
      { path: "the server", received: expect.stringMatching(/^FAREBOX_MEMORY_STORE: .*WEB_CONCURRENCY/) },
    ]);
    for (const check of [lenient, chosen]) expect(check?.().findings).toMatchObject([{ code: "FAREBOX_MEMORY_STORE" }]);
  });

  test("a strict check throws when several processes each use a store in memory", () => {
    vi.stubEnv("pm_id", "0");
    const { engine, add } = createSeller({ strict: true });
    vi.unstubAllEnvs();
    const gate = add("GET /weather");
    const view = viewOf([{ gate, mount: "" }, route("GET /weather")]);
    expect(errorOf(() => engine.check(view)).issues).toMatchObject([
      { path: "the server", received: expect.stringMatching(/^FAREBOX_MEMORY_STORE: /) },
    ]);
  });

  test("a strict check does not throw without findings, and a report never throws", () => {
    const { engine, add } = createSeller({ strict: true });
    const gate = add("GET /a");
    expect(engine.check(viewOf([{ gate, mount: "" }, route("GET /a")])).findings).toEqual([]);
    expect(engine.report(viewOf([])).findings).toHaveLength(1);
  });
});

describe("facilitators of an engine", () => {
  afterEach(() => void vi.useRealTimers());

  const SUPPORTED = { kinds: [{ x402Version: 2, scheme: "exact", network: NETWORK }], extensions: [], signers: {} };

  test("facilitators are asked what they support from the first valid route until the engine closes", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const facilitator = Object.assign(createFakeFacilitator(), { supports: SUPPORTED });
    const { engine, add } = createSeller({ facilitator });
    expect(() => engine.charge({})).toThrow(ConfigError);
    expect(vi.getTimerCount()).toBe(0);
    add("GET /a");
    await engine.ready();
    expect((await engine.health()).facilitators).toMatchObject([{ name: "facilitator-1", state: "up" }]);
    // One timer repeats the question; deadlines may have others.
    const timers = vi.getTimerCount();
    expect(timers).toBeGreaterThan(0);
    engine.close();
    expect(vi.getTimerCount()).toBe(timers - 1);
  });

  test("facilitators are not asked when the configuration throws", () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const options = { facilitator: createFakeFacilitator() };
    expect(() => createPaymentsGate({ "GET /a": {} }, options, { schemes: [createTestScheme()] })).toThrow(ConfigError);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("facilitators that never respond do not block ready() and make no offer unsupported", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const { engine, add } = createSeller();
    add("GET /a");
    const ready = engine.ready();
    vi.advanceTimersByTime(5_000);
    await expect(ready).resolves.toBeUndefined();
    expect((await engine.health()).facilitators).toMatchObject([
      { state: "down", lastErrorCode: "ERR_FAREBOX_FACILITATOR_TIMEOUT" },
    ]);
    expect(engine.report().findings.map(({ code }) => code)).toEqual(["FAREBOX_FACILITATOR_DOWN"]);
    engine.close();
  });

  test("facilitators that stop supporting an offer cause a finding, logged once, until they support it again", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const facilitator = createFakeFacilitator();
    facilitator.supports = { ...SUPPORTED, kinds: [] };
    const { engine, log, add } = createSeller({ facilitator, strict: true });
    const gate = add("GET /a", "GET /b");
    const charge = engine.charge(PRICED);
    const keys = () => engine.report().findings.map(({ code, route: key }) => [code, key]);
    expect(keys()).toEqual([]);
    await engine.ready();
    expect(keys()).toEqual(["GET /a", "GET /b", "payments.charge"].map((key) => ["FAREBOX_OFFER_UNSUPPORTED", key]));

    const view = viewOf([{ gate, mount: "" }, route("GET /a"), route("GET /b"), route("GET /c", { gates: [charge] })]);
    for (const _again of [1, 2]) expect(engine.check(view).findings).toHaveLength(3);
    expect(responseOf(await gate.decide({ ...REQUEST, path: "/a" }))).toMatchObject({ status: 503 });
    expect(log.filter(([level]) => level === "warn")).toHaveLength(3);
    expect(engine.check(view, (one) => one === charge).findings).toHaveLength(1);

    facilitator.supports = SUPPORTED;
    await vi.advanceTimersByTimeAsync(5 * 60_000);
    expect(keys()).toEqual([]);
    expect(responseOf(await gate.decide({ ...REQUEST, path: "/a" }))).toMatchObject({ status: 402 });
    engine.close();
  });
});
