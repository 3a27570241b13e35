import { describe, expect, test } from "vitest";
import { type PricedRequest, parseHooks } from "../events/hooks.js";
import { createIssues } from "../issues.js";
import { buy, createHookedShop, FACTS, type Hook, IDENTITY, JUNK, UPFRONT } from "./hooks.fixture.js";
import { admissionOf, answerOf, createShop, HANDLED, ROUTES, SETTLED, stageOf } from "./shop.fixture.js";

/** How far a payment gets that is denied at a hook. */
const POINTS: readonly (readonly [
  hook: Hook,
  settle: "after" | "before",
  verified: number,
  events: readonly string[],
])[] = [
  ["onRequest", "after", 0, []],
  ["onRequest", "before", 0, []],
  ["beforeVerify", "after", 0, ["claimed"]],
  ["beforeVerify", "before", 0, ["claimed"]],
  ["afterVerify", "after", 1, ["claimed", "verified"]],
  ["beforeSettle", "after", 1, ["claimed", "verified", "admitted"]],
  ["beforeSettle", "before", 0, ["claimed"]],
];

describe.each(POINTS)("%s of a route that settles %s the handler", (hook, settle, verified, before) => {
  const routes = settle === "before" ? UPFRONT : ROUTES;
  const admits = before.includes("admitted");

  test.each(JUNK)("denies when it %s, and leaves nothing behind", async (_how, junk) => {
    const shop = createHookedShop({ [hook]: junk }, routes);
    const got = await buy(shop);
    expect(got).toMatchObject({
      status: 403,
      headers: { "cache-control": "no-store" },
      json: { error: "denied", message: "This request was refused. You were not charged." },
    });
    expect(got).not.toMatchObject({ headers: { "payment-required": expect.anything() } });
    expect([shop.till.count("verify"), shop.till.count("settle")]).toEqual([verified, 0]);
    expect(shop.events).toEqual([...before, `denied by ${hook}`, ...(admits ? ["cancelled"] : [])]);
    expect(await shop.store.find(IDENTITY)).toBeUndefined();
    expect(shop.log).toMatchObject([{ event: "hook_failed", fields: { hook } }]);
    expect(JSON.stringify([shop.log, got])).not.toContain("secret");
  });

  test("denies as it says", async () => {
    const shop = createHookedShop(
      { [hook]: async () => ({ deny: "Not\r\nX-Evil: 1\u2028 you", status: 451 }) },
      routes,
    );
    const got = await buy(shop);
    expect(got).toMatchObject({ status: 451, json: { error: "denied", message: "Not\r\nX-Evil: 1\u2028 you" } });
    expect(got).not.toMatchObject({ headers: { "x-evil": "1" } });
    expect(shop.log).toEqual([]);
    const denial = shop.told.map((call) => (call as unknown[])[0]);
    expect(denial).toEqual(admits ? ["onCancel"] : []);
  });

  test("denies by what it said when it was read first", async () => {
    const values = [403, 200];
    const shifty = {
      deny: "no",
      get status() {
        return values.shift();
      },
    };
    const shop = createHookedShop({ [hook]: () => shifty }, routes);
    expect(await buy(shop)).toMatchObject({ status: 403, json: { message: "no" } });
  });

  test("denies with the beginning of a text that is very long", async () => {
    const shop = createHookedShop({ [hook]: () => ({ deny: "x".repeat(1_000_000) }) }, routes);
    expect(await buy(shop)).toMatchObject({ status: 403, json: { message: "x".repeat(1000) } });
  });

  test("has nothing to say: the payment takes its course", async () => {
    const shop = createHookedShop({ [hook]: async () => undefined }, routes);
    expect(await buy(shop)).toBe(settle === "before" ? "prepaid" : "served");
    expect(shop.told).toMatchObject([["afterSettle", FACTS, { success: true }]]);
  });

  test("denies once: the same payment is good when it is let through later", async () => {
    let isOpen = false;
    const shop = createHookedShop({ [hook]: () => (isOpen ? undefined : { deny: true }) }, routes);
    expect(await buy(shop)).toMatchObject({ status: 403 });
    isOpen = true;
    expect(await buy(shop)).toBe(settle === "before" ? "prepaid" : "served");
    expect(shop.till.count("settle")).toBe(1);
  });
});

describe("onRequest", () => {
  test("is asked of every request at a priced route, before anything else, and of no other", async () => {
    const asked: unknown[] = [];
    const shop = createHookedShop({
      onRequest({ header, ...request }: PricedRequest) {
        asked.push({ ...request, key: header("X-API-Key"), own: header("constructor") });
      },
    });
    const header = (name: string) => (name === "constructor" ? (Object as never) : name.toLowerCase());
    await shop.ask({ header, path: "/free" });
    await shop.ask({ header, mountPath: "" });
    await shop.ask({ paymentSignature: "junk" });
    const about = { method: "GET", path: "/weather", url: "http://shop.example/weather", route: "GET /weather" };
    expect(asked).toEqual([
      { ...about, hasPayment: false, key: "x-api-key", own: undefined },
      { ...about, hasPayment: true, key: undefined, own: undefined },
    ]);
  });

  test.each([
    ["nothing", undefined],
    ["junk", "junk"],
    ["a payment", "payment"],
  ])("grants a request that carries %s: nobody is asked, nothing is claimed", async (_what, sent) => {
    const shop = createHookedShop({ onRequest: () => ({ grant: true }) });
    const decision = sent === "payment" ? await shop.pay() : await shop.ask({ paymentSignature: sent });
    expect(decision).toEqual({ kind: "pass", isGranted: true });
    expect([shop.till.calls, shop.events]).toEqual([[], ["granted"]]);
    expect(await shop.store.find(IDENTITY)).toBeUndefined();
  });

  test.each(["beforeVerify", "afterVerify", "beforeSettle"])(
    "is the only one that may grant; %s denies then",
    async (hook) => {
      const shop = createHookedShop({ [hook]: () => ({ grant: true }) });
      expect(await buy(shop)).toMatchObject({ status: 403 });
      expect(shop.till.count("settle")).toBe(0);
    },
  );
});

describe("hooks about a payment", () => {
  test("are told who pays what, in order, each once; what they are told cannot be changed", async () => {
    const asked: unknown[] = [];
    const ask = (name: string) => (facts: object) => {
      asked.push([name, facts, Object.isFrozen(facts)]);
    };
    const names = ["beforeVerify", "afterVerify", "beforeSettle"];
    const shop = createHookedShop(Object.fromEntries(names.map((name) => [name, ask(name)])));
    await buy(shop);
    const facts = { ...FACTS, asset: "0xASSET", amount: "10000" };
    expect(asked).toEqual(names.map((name) => [name, facts, true]));
    await buy(shop);
    expect(asked).toHaveLength(3);
  });

  test("a copy of a payment that is denied gets the denial", async () => {
    for (const hook of ["beforeVerify", "afterVerify", "beforeSettle"] as const) {
      const shop = createHookedShop({ [hook]: () => ({ deny: "no", status: 451 }) });
      const [first, copy] = [buy(shop), shop.pay()];
      expect(await first).toMatchObject({ status: 451 });
      expect(answerOf(await copy)).toMatchObject({ status: 451, headers: { "cache-control": "no-store" } });
    }
  });

  test("the request waits for one that never answers; a copy does not wait for longer than copies do", async () => {
    const shop = createHookedShop({ beforeVerify: () => new Promise(() => {}) });
    void shop.pay();
    const copy = shop.pay();
    await shop.passTime(0);
    await shop.passTime(10_000);
    expect(answerOf(await copy)).toMatchObject({ status: 409, json: { error: "payment_in_progress" } });
    expect(shop.till.calls).toEqual([]);
  });

  test("beforeSettle is not asked about an answer that is not charged", async () => {
    const shop = createHookedShop({ beforeSettle: () => ({ deny: "no" }) });
    const release = await admissionOf(await shop.pay()).complete({ ...HANDLED, status: 404 });
    expect(release.kind).toBe("release");
    expect(shop.told).toMatchObject([["onCancel", FACTS, "not_chargeable"]]);
  });

  test("beforeSettle that takes too long ends in 504; nothing is charged", async () => {
    const shop = createHookedShop({
      beforeSettle() {
        shop.clock.ms += 295_000;
      },
    });
    expect(await buy(shop)).toMatchObject({ status: 504 });
    expect(shop.told).toMatchObject([["onCancel", FACTS, "expired"]]);
    expect(shop.till.count("settle")).toBe(0);
  });

  test("a settlement that is repeated is not denied: the money may have moved", async () => {
    let asked = 0;
    const shop = createHookedShop({ beforeSettle: () => (asked++ === 0 ? undefined : { deny: "no" }) });
    shop.till.settles = new Error("lost");
    expect(await buy(shop)).toMatchObject({ status: 503 });
    shop.till.settles = SETTLED;
    expect(await buy(shop)).toMatchObject({ status: 200, text: "sunny" });
    expect(asked).toBe(1);
    const names = shop.told.map((call) => (call as unknown[])[0]);
    expect(names).toEqual(["onSettleUnknown", "afterSettle"]);
  });
});

describe("hooks in the options", () => {
  const parse = (hooks: unknown) => {
    const issues = createIssues();
    const parsed = parseHooks(hooks, issues);
    issues.throwIfAny();
    return parsed;
  };

  test.each<[string, unknown, string]>([
    ["no object", () => {}, "options.hooks"],
    ["null", null, "options.hooks"],
    ["an unknown name", { onrequest: () => {} }, "options.hooks.onrequest"],
    ["no function", { onRequest: "GET" }, "options.hooks.onRequest"],
    ["null for a function", { afterSettle: null }, "options.hooks.afterSettle"],
  ])("%s is an issue", (_what, hooks, path) => {
    expect(() => parse(hooks)).toThrow(path);
  });

  test("may be the methods of an object of a class, and keep their this", async () => {
    class Guard {
      readonly #keys = ["good"];
      onRequest({ header }: PricedRequest) {
        return this.#keys.includes(header("x-api-key") ?? "") ? { grant: true as const } : { deny: true as const };
      }
    }
    const shop = createShop({ hooks: new Guard() });
    expect(stageOf(await shop.ask({ header: () => "good" }))).toBe("granted");
    expect(answerOf(await shop.ask({ header: () => "bad" })).status).toBe(403);
  });

  test("count as they were at the start", async () => {
    const hooks: { onRequest?: () => { deny: true } } = {};
    const shop = createShop({ hooks });
    hooks.onRequest = () => ({ deny: true });
    expect(answerOf(await shop.ask()).status).toBe(402);
  });
});
