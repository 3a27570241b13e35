import { describe, expect, test } from "vitest";
import type { PaymentAbortedError } from "../errors.js";
import type { RoutesConfig } from "../options.js";
import type { PaidRequest } from "../sale/request.js";
import {
  admissionOf,
  createShop,
  createTestScheme,
  HANDLED,
  isHeld,
  NETWORK,
  NOW_SECONDS,
  PAY_TO,
  readResponse,
  responseOf,
  type ShopOptions,
  stageOf,
} from "../sale/shop.fixture.js";
import type { DeadlineQuery, DeadlineReading, Scheme } from "../scheme/scheme.js";
import { Deadlines } from "./deadline.js";

const IDENTITY = `${NETWORK}|n1`;

/** Payments are remembered for 300 seconds, and can surely settle for 40. */
const LIFE = 40;

/** What a node says: a reading, what is thrown, or a function that says it. */
type Said = DeadlineReading | Error | "nothing" | (() => Promise<DeadlineReading>);

/** A shop whose payments end early. A node says the given readings, in order, and the last one from then on. */
function openShop(
  said: readonly Said[] = [],
  { life = LIFE, ...options }: ShopOptions & { readonly life?: number } = {},
) {
  const queries: DeadlineQuery[] = [];
  const plain = createTestScheme();
  const readDeadline: Scheme["readDeadline"] = (query) => {
    queries.push(query);
    const now = said[Math.min(queries.length, said.length) - 1];
    if (now === "nothing") return new Promise(() => {});
    if (now instanceof Error) throw now;
    return typeof now === "function" ? now() : Promise.resolve(now as DeadlineReading);
  };
  const scheme = createTestScheme({
    readPayment(payload, requirements, nowSeconds) {
      const reading = plain.readPayment(payload, requirements, nowSeconds);
      return reading.kind === "refused" ? reading : { ...reading, settleBySeconds: nowSeconds + life };
    },
    ...(said.length > 0 && { readDeadline }),
  });
  const rpc = said.length > 0 ? { rpc: { [NETWORK]: "https://node.example" } } : {};
  const shop = createShop({ scheme, ...rpc, ...options });
  const events: string[] = [];
  for (const type of ["denied", "admitted", "cancelled", "settled"] as const) {
    shop.engine.on(type, (event) => void events.push("by" in event ? `${type} ${event.by}` : type));
  }
  const found = () => shop.engine.report().findings.map(({ code, route }) => [code, route]);
  return { ...shop, queries, events, found };
}

const TOO_LONG = ["FAREBOX_HANDLER_TOO_LONG", "GET /weather"];

/** Starts a handler, and says for how many seconds its signal stays silent. */
async function secondsOf(shop: ReturnType<typeof openShop>) {
  const { signal } = admissionOf(await shop.pay()).payment;
  for (let seconds = 0; seconds < 400; seconds++) {
    if (signal.aborted) {
      expect((signal.reason as PaymentAbortedError).reason).toBe("expired");
      return seconds;
    }
    await shop.passTime(1000);
  }
  return Number.POSITIVE_INFINITY;
}

const knownIn = (seconds: number): DeadlineReading => ({ kind: "known", settleBySeconds: NOW_SECONDS + seconds });
const UNCLEAR: DeadlineReading = { kind: "unclear", problem: "the node is tired" };
const BEHIND: DeadlineReading = { kind: "behind", problem: "the node is behind" };

describe("without a node, a payment that ends early", () => {
  test("gives its handler the time that its payload tells, less six seconds", async () => {
    expect(await secondsOf(openShop())).toBe(LIFE - 6 + 1);
  });

  test("is released when its handler is too late: 504, nothing charged, and a finding", async () => {
    const shop = openShop();
    const admission = admissionOf(await shop.pay());
    const instead = new Promise<ReturnType<typeof readResponse>>((resolve) => {
      admission.onExpired((response) => void response.then(readResponse).then(resolve));
    });
    await shop.passTime(35_000);
    expect(await instead).toMatchObject({ status: 504, json: { error: "payment_expired" } });
    expect(await shop.store.find(IDENTITY)).toBeUndefined();
    expect(shop.facilitator.count("settle")).toBe(0);
    expect(shop.events).toEqual(["admitted", "cancelled"]);
    expect(shop.found()).toEqual([TOO_LONG]);
  });

  test("is not settled when its handler responds too late, even if no timer has fired", async () => {
    const shop = openShop();
    const admission = admissionOf(await shop.pay());
    shop.clock.ms += 35_000;
    expect(await admission.complete(HANDLED)).toMatchObject({ kind: "replace", response: { status: 504 } });
    expect(shop.facilitator.count("settle")).toBe(0);
  });

  test("counts from its first verification when it is sent again", async () => {
    const shop = openShop();
    await admissionOf(await shop.pay()).release();
    await shop.passTime(10_000);
    const admission = admissionOf(await shop.pay());
    await shop.passTime(24_000);
    expect(admission.payment.signal.aborted).toBe(false);
    await shop.passTime(1_000);
    expect(admission.payment.signal.aborted).toBe(true);
    expect(responseOf(await shop.pay())).toMatchObject({ status: 402, json: { error: "payment_expired" } });
    expect(shop.events.at(-1)).toBe("denied deadline");
    expect(await shop.store.find(IDENTITY)).toBeUndefined();
    expect(isHeld(await shop.pay({ payload: { nonce: "n2" } }))).toBe(true);
  });

  test("is asked for less time if it has less from the start", async () => {
    expect(await secondsOf(openShop([], { life: 20 }))).toBe(15);
  });

  test("has its full time under a scheme that says nothing else", async () => {
    const shop = openShop([], { scheme: createTestScheme() });
    expect(await secondsOf(shop)).toBe(295);
    expect(shop.found()).toEqual([]);
  });

  test("gets 503 from a scheme that breaks its promise", async () => {
    expect(responseOf(await openShop([], { life: Number.NaN }).pay()).status).toBe(503);
  });
});

describe("with a node, a payment", () => {
  test("gives its handler the time that the node knows", async () => {
    const shop = openShop([knownIn(58)]);
    expect(await secondsOf(shop)).toBe(53);
    expect(shop.queries).toHaveLength(1);
    expect(shop.queries[0]).toMatchObject({
      nowSeconds: NOW_SECONDS,
      madeBeforeSeconds: NOW_SECONDS,
      payload: { nonce: "n1" },
      requirements: { network: NETWORK },
    });
  });

  test("never has more time than it is remembered for", async () => {
    expect(await secondsOf(openShop([knownIn(10_000)]))).toBe(295);
  });

  test.each<[string, DeadlineReading]>([
    ["can no longer settle", { kind: "dead" }],
    ["is too old for handler and settlement", knownIn(15)],
    ["ended long ago", knownIn(-10_000)],
  ])("that %s is refused before its handler runs, and nothing is charged", async (_, said) => {
    const shop = openShop([said]);
    const response = responseOf(await shop.pay());
    expect(response).toMatchObject({ status: 402, json: { error: "payment_expired" } });
    expect(response.headers).toHaveProperty("payment-required");
    expect(shop.events).toEqual(["denied deadline"]);
    expect(await shop.store.find(IDENTITY)).toBeUndefined();
    expect(shop.facilitator.count("settle")).toBe(0);
    expect(shop.found()).toEqual([]);
  });

  test.each<[string, Said]>([
    ["does not tell", UNCLEAR],
    ["throws", new TypeError("broken")],
    ["rejects", () => Promise.reject(new TypeError("broken"))],
    ["says no time", { kind: "known", settleBySeconds: Number.NaN }],
    ["says nothing that is a reading", () => Promise.resolve(undefined as unknown as DeadlineReading)],
  ])("whose node %s has the time that its payload tells", async (_, said) => {
    const shop = openShop([said]);
    expect(await secondsOf(shop)).toBe(LIFE - 6 + 1);
    expect(shop.log.filter(({ event }) => event === "deadline_unknown")).toHaveLength(1);
  });

  test.each<[string, Said]>([
    ["never responds", "nothing"],
    ["stays behind", BEHIND],
  ])("whose node %s waits for three seconds, and has the time that its payload tells", async (_, said) => {
    const shop = openShop([said]);
    const paying = shop.pay();
    for (let time = 0; time < 6; time++) await shop.passTime(500);
    const { signal } = admissionOf(await paying).payment;
    expect(shop.queries[0]?.signal?.aborted).toBe(true);
    await shop.passTime(31_000);
    expect(signal.aborted).toBe(false);
    await shop.passTime(1_000);
    expect(signal.aborted).toBe(true);
  });

  test("is asked about again while the node is behind", async () => {
    const shop = openShop([BEHIND, BEHIND, knownIn(58)]);
    shop.clock.ms += 1;
    const paying = shop.pay();
    await shop.passTime(500);
    await shop.passTime(499);
    expect(shop.queries).toHaveLength(2);
    await shop.passTime(1);
    expect(isHeld(await paying)).toBe(true);
    const times = shop.queries.map(({ nowSeconds, madeBeforeSeconds }) => [nowSeconds, madeBeforeSeconds]);
    expect(times).toEqual([0, 0, 1].map((seconds) => [NOW_SECONDS + seconds, NOW_SECONDS + 1]));
    expect(shop.log.map(({ event }) => event)).not.toContain("deadline_unknown");
  });

  test("is logged once whose node does not tell, and again after the node has told", async () => {
    const shop = openShop([UNCLEAR, UNCLEAR, knownIn(58), UNCLEAR]);
    for (const nonce of ["a", "b", "c", "d"]) await shop.pay({ payload: { nonce } });
    const logged = shop.log.filter(({ event }) => event === "deadline_unknown");
    expect(logged.map(({ fields }) => fields)).toEqual(
      Array(2).fill({ network: NETWORK, problem: "the node is tired" }),
    );
  });

  test("is not asked about if its offer settles before the handler", async () => {
    const accepts = { network: NETWORK, price: "$0.01", payTo: PAY_TO } as const;
    const routes: RoutesConfig = { "GET /weather": { accepts: { ...accepts, settle: "before" } } };
    const shop = openShop([{ kind: "dead" }], { routes });
    expect(stageOf(await shop.pay())).toBe("prepaid");
    expect(shop.queries).toEqual([]);
  });

  test("is not asked about if the facilitator refuses it", async () => {
    const shop = openShop([knownIn(58)]);
    shop.facilitator.verifies = { isValid: false, invalidReason: "insufficient_funds" };
    expect(responseOf(await shop.pay()).status).toBe(402);
    expect(shop.queries).toEqual([]);
  });
});

describe("the finding about a handler", () => {
  test.each([
    [27, []],
    [28, [TOO_LONG]],
    [34, [TOO_LONG]],
  ])("that responds after %i of 34 seconds: %j", async (seconds, findings) => {
    const shop = openShop();
    const admission = admissionOf(await shop.pay());
    await shop.passTime(seconds * 1000);
    expect(await admission.complete(HANDLED)).toMatchObject({ kind: "release", paid: true });
    expect(shop.found()).toEqual(findings);
  });

  test("is made once for a route, and names the remedy", async () => {
    const shop = openShop();
    for (const [nonce, path] of [
      ["a", "/weather"],
      ["b", "/weather"],
      ["c", "/news"],
    ] as const) {
      const accepted = path === "/news" ? { amount: "20000" } : {};
      const admission = admissionOf(await shop.pay({ payload: { nonce }, accepted }, { path }));
      await shop.passTime(34_000);
      await admission.complete(HANDLED);
    }
    expect(shop.found()).toEqual([TOO_LONG, ["FAREBOX_HANDLER_TOO_LONG", "GET /news"]]);
    const [finding] = shop.engine.report().findings;
    expect(finding?.message).toContain(NETWORK);
    expect(finding?.remedy).toContain('settle: "before"');
  });

  test("is not made when the client left", async () => {
    const shop = openShop();
    const admission = admissionOf(await shop.pay());
    await shop.passTime(34_000);
    await admission.cancel();
    expect(shop.found()).toEqual([]);
  });
});

test("a flood of payments takes a limited memory: the first ones are forgotten", async () => {
  const nothing = () => {};
  const logger = { info: nothing, warn: nothing, error: nothing };
  let nowMs = 0;
  const deps = { rpc: new Map(), findings: { add: nothing }, logger, now: () => nowMs, timer: () => nothing };
  const deadlines = new Deadlines(deps);
  const read = async (identity: string) => {
    const requirements = { network: NETWORK, maxTimeoutSeconds: 300 };
    const times = { settleByMs: nowMs + 40_000, claim: { identity, expiresAtMs: nowMs + 300_000 } };
    const paid = { offer: { scheme: {}, requirements }, ...times } as unknown as PaidRequest;
    return (await deadlines.read(paid)) ? paid.settleByMs : undefined;
  };
  for (let nth = 0; nth < 10_000; nth++) await read(`p${nth}`);
  nowMs = 1_000;
  expect(await read("p9999")).toBe(40_000);
  expect(await read("p10000")).toBe(41_000);
  expect(await read("p0")).toBe(41_000);
  nowMs = 290_000;
  expect(await read("p9999")).toBeUndefined();
  nowMs = 300_000;
  expect(await read("p9999")).toBe(340_000);
});
