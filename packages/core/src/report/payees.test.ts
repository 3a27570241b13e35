import { describe, expect, test } from "vitest";
import { createPaymentsEngine } from "../engine.js";
import type { LogFields } from "../events/logger.js";
import { createFakeFacilitator, createTestScheme, NETWORK, PAY_TO } from "../gate/shop.fixture.js";
import type { PaymentsOptions } from "../options.js";
import { viewOf } from "../route/router-view.fixture.js";
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
  message: `Nobody can pay ${PAY_TO} in USDC on ${NETWORK}, for it has no purse`,
  remedy: "Buy one: purse buy 1",
};

const way = (network: `eip155:${number}` = NETWORK, more: object = {}) => ({
  accepts: { network, price: "$0.01" as const, payTo: PAY_TO, ...more },
});

/** A seller whose scheme says what it is told about payees. */
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
  };
  const engine = createPaymentsEngine({ ...given, ...options }, { schemes: [scheme] });
  const check = async () => {
    await engine.ready();
    return engine.check(viewOf([])).findings.filter(({ code }) => code === "FAREBOX_PAYEE_UNPAYABLE");
  };
  const told = (event: string) => log.filter(([own]) => own === event).map(([, fields]) => fields);
  return { engine, asked, timers, check, told };
}

test("a payee who cannot be paid is a finding with what helps, told once, and gone when it is done", async () => {
  let said: PayeeCheck = UNPAYABLE;
  const { engine, check, told, timers } = createSeller(() => said);
  engine.charge(way());
  expect(engine.report().findings).toEqual([]);
  expect(await check()).toEqual([FINDING]);
  expect(await check()).toEqual([FINDING]);
  expect(engine.report().findings).toEqual([FINDING]);
  expect(told("FAREBOX_PAYEE_UNPAYABLE")).toHaveLength(1);
  said = { kind: "payable" };
  expect(await check()).toEqual([]);
  expect(timers.size).toBe(0);
  engine.close();
});

test("with strict it is an error", async () => {
  const { engine, check } = createSeller(() => UNPAYABLE, { strict: true });
  engine.charge(way());
  await expect(check()).rejects.toThrow("FAREBOX_PAYEE_UNPAYABLE: Nobody can pay");
  engine.close();
});

describe("is asked about", () => {
  test("once for each network, asset and payee, of tables and of routes that charge by themselves", async () => {
    const { engine, check, asked } = createSeller(() => ({ kind: "payable" }));
    engine.routes({ "GET /a": way(), "GET /b": way(), "GET /c": way(NETWORK, { payTo: `${PAY_TO.slice(0, -1)}d` }) });
    engine.charge(way());
    await check();
    expect(asked.map(({ network, payTo }) => [network, payTo])).toHaveLength(2);
    engine.close();
  });

  test("only where the seller names a node, and who is paid is no matter of the request", async () => {
    const { engine, check, asked } = createSeller(() => UNPAYABLE);
    engine.routes({ "GET /a": way(OTHER), "GET /b": way(NETWORK, { payTo: () => PAY_TO }) });
    expect(await check()).toEqual([]);
    expect(asked).toEqual([]);
    engine.close();
  });
});

describe("is only a note, when", () => {
  const fail = () => {
    throw new RangeError("https://node.example/secret");
  };
  test.each<[what: string, said: (query: PayeeQuery) => unknown, problem: string]>([
    ["the chain does not tell", () => ({ kind: "unclear", problem: "node is silent" }), "node is silent"],
    ["the scheme throws", fail, "its scheme failed to ask"],
    ["the scheme says nothing", () => undefined, "its scheme failed to ask"],
  ])("%s", async (_, said, problem) => {
    const { engine, check, told } = createSeller(said, { strict: true });
    engine.charge(way());
    expect(await check()).toEqual([]);
    expect(told("payee_not_checked")).toEqual([{ network: NETWORK, payTo: PAY_TO, problem }]);
    engine.close();
  });

  test("time is over, whatever the scheme does", async () => {
    const { engine, check, told, timers, asked } = createSeller(() => new Promise(() => {}));
    engine.charge(way());
    const checking = check();
    while (asked.length === 0) await Promise.resolve();
    for (const act of timers) act();
    expect(await checking).toEqual([]);
    expect(asked[0]?.signal?.aborted).toBe(true);
    expect(told("payee_not_checked")).toMatchObject([{ problem: "there was no time left" }]);
    engine.close();
  });
});
