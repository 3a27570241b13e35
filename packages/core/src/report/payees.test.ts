import { describe, expect, test } from "vitest";
import { createPaymentsEngine } from "../engine.js";
import type { LogFields } from "../events/logger.js";
import type { PaymentsOptions } from "../options.js";
import { viewOf } from "../route/router-view.fixture.js";
import { createFakeFacilitator, createTestScheme, NETWORK, PAY_TO } from "../sale/shop.fixture.js";
import type { PayeeCheck, PayeeQuery } from "../scheme/scheme.js";

const OTHER = "eip155:1";
const SUPPORTED = {
  kinds: [NETWORK, OTHER].map((network) => ({ x402Version: 2, scheme: "exact", network })),
  extensions: [],
  signers: {},
};
const UNPAYABLE: PayeeCheck = { kind: "unpayable", problem: "it has no purse", remedy: "Buy one: purse buy 1" };
const FINDING = {
  code: "FAREBOX_PAYEE_UNPAYABLE",
  route: undefined,
  message: `${PAY_TO} cannot be paid in USDC on ${NETWORK}: it has no purse`,
  remedy: "Buy one: purse buy 1",
};

const priced = (network: `eip155:${number}` = NETWORK, more: object = {}) => ({
  accepts: { network, price: "$0.01" as const, payTo: PAY_TO, ...more },
});

/** A seller whose scheme answers questions about payees with `checkPayee`. */
function createSeller(checkPayee: (query: PayeeQuery) => unknown, options: Partial<PaymentsOptions> = {}) {
  const log: [event: string, fields: LogFields][] = [];
  const note = (event: string, fields: LogFields) => void log.push([event, fields]);
  const asked: PayeeQuery[] = [];
  const timers = new Set<() => void>();
  const timer: PaymentsOptions["timer"] = (act) => {
    timers.add(act);
    return () => timers.delete(act);
  };
  const scheme = createTestScheme({
    async checkPayee(query) {
      asked.push(query);
      return (await checkPayee(query)) as PayeeCheck;
    },
  });
  const facilitator = Object.assign(createFakeFacilitator(), { supports: SUPPORTED });
  const given = {
    facilitator,
    timer,
    rpc: { [NETWORK]: "http://127.0.0.1:1" },
    logger: { info: note, warn: note, error: note },
    // No table is in an app here.
    strict: false,
  };
  const engine = createPaymentsEngine({ ...given, ...options }, { schemes: [scheme] });
  const check = async () => {
    await engine.ready();
    return engine.check(viewOf([])).findings.filter(({ code }) => code === "FAREBOX_PAYEE_UNPAYABLE");
  };
  const logged = (event: string) => log.filter(([own]) => own === event).map(([, fields]) => fields);
  return { engine, asked, timers, check, logged };
}

test("an unpayable payee is a finding with a remedy, logged once, until it is payable", async () => {
  let result: PayeeCheck = UNPAYABLE;
  const { engine, check, logged, timers } = createSeller(() => result);
  engine.charge(priced());
  expect(engine.report().findings).toEqual([]);
  expect(await check()).toEqual([FINDING]);
  expect(await check()).toEqual([FINDING]);
  expect(engine.report().findings).toEqual([FINDING]);
  expect(logged("FAREBOX_PAYEE_UNPAYABLE")).toHaveLength(1);
  result = { kind: "payable" };
  expect(await check()).toEqual([]);
  expect(timers.size).toBe(0);
  engine.close();
});

test("an unpayable payee is an error with strict", async () => {
  const { engine, check } = createSeller(() => UNPAYABLE, { strict: true });
  engine.charge(priced());
  await expect(check()).rejects.toThrow("FAREBOX_PAYEE_UNPAYABLE: 0x");
  engine.close();
});

describe("a scheme", () => {
  test("a scheme is asked once for each network, asset and payee of all tables and charged routes", async () => {
    const { engine, check, asked } = createSeller(() => ({ kind: "payable" }));
    engine.routes({
      "GET /a": priced(),
      "GET /b": priced(),
      "GET /c": priced(NETWORK, { payTo: `${PAY_TO.slice(0, -1)}d` }),
    });
    engine.charge(priced());
    await check();
    expect(asked.map(({ network, payTo }) => [network, payTo])).toHaveLength(2);
    engine.close();
  });

  test("a scheme is not asked about a network without a node or about a dynamic payTo", async () => {
    const { engine, check, asked } = createSeller(() => UNPAYABLE);
    engine.routes({ "GET /a": priced(OTHER), "GET /b": priced(NETWORK, { payTo: () => PAY_TO }) });
    expect(await check()).toEqual([]);
    expect(asked).toEqual([]);
    engine.close();
  });
});

describe("an unchecked payee", () => {
  const fail = () => {
    throw new RangeError("https://node.example/secret");
  };
  test.each<[what: string, checkPayee: (query: PayeeQuery) => unknown, problem: string]>([
    ["the chain gives no result", () => ({ kind: "unclear", problem: "node is silent" }), "node is silent"],
    ["the scheme throws", fail, "the check of its scheme failed"],
    ["the scheme returns undefined", () => undefined, "the check of its scheme failed"],
  ])("an unchecked payee is logged without a finding when %s", async (_, checkPayee, problem) => {
    const { engine, check, logged } = createSeller(checkPayee, { strict: true });
    engine.charge(priced());
    expect(await check()).toEqual([]);
    expect(logged("payee_not_checked")).toEqual([{ network: NETWORK, payTo: PAY_TO, problem }]);
    engine.close();
  });

  test("an unchecked payee is logged without a finding when the scheme never responds", async () => {
    const { engine, check, logged, timers, asked } = createSeller(() => new Promise(() => {}));
    engine.charge(priced());
    const checking = check();
    while (asked.length === 0) await Promise.resolve();
    for (const act of timers) act();
    expect(await checking).toEqual([]);
    expect(asked[0]?.signal?.aborted).toBe(true);
    expect(logged("payee_not_checked")).toMatchObject([{ problem: "the check timed out" }]);
    engine.close();
  });
});
