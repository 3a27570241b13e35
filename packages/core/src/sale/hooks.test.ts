import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { type PaymentHooks, type PricedRequest, parseHooks } from "../events/hooks.js";
import { createIssues } from "../issues.js";
import type { Decision } from "./decision.js";
import { buy, createHookedShop, FACTS, type Hook, IDENTITY, INVALID_RESULTS, SETTLE_BEFORE } from "./hooks.fixture.js";
import { createProcesses } from "./processes.fixture.js";
import {
  admissionOf,
  createShop,
  createTestScheme,
  HANDLED,
  PAY_TO,
  paymentOf,
  ROUTES,
  responseOf,
  SETTLED,
  stageOf,
} from "./shop.fixture.js";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** How far a payment gets before a hook denies it. */
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
  const routes = settle === "before" ? SETTLE_BEFORE : ROUTES;
  const admits = before.includes("admitted");

  test.each(INVALID_RESULTS)("denies with 403 and leaves no record when the hook %s", async (_how, junk) => {
    const shop = createHookedShop({ [hook]: junk }, routes);
    const got = await buy(shop);
    expect(got).toMatchObject({
      status: 403,
      headers: { "cache-control": "no-store" },
      json: { error: "denied", message: "This request was refused." },
    });
    expect(got).not.toMatchObject({ headers: { "payment-required": expect.anything() } });
    expect([shop.facilitator.count("verify"), shop.facilitator.count("settle")]).toEqual([verified, 0]);
    expect(shop.events).toEqual([...before, `denied by ${hook}`, ...(admits ? ["cancelled"] : [])]);
    expect(await shop.store.find(IDENTITY)).toBeUndefined();
    expect(shop.log).toMatchObject([{ event: "hook_failed", fields: { hook } }]);
    expect(JSON.stringify([shop.log, got])).not.toContain("secret");
  });

  test("denies with the message and status of the hook", async () => {
    const shop = createHookedShop(
      { [hook]: async () => ({ deny: "Not\r\nX-Evil: 1\u2028 you", status: 451 }) },
      routes,
    );
    const got = await buy(shop);
    expect(got).toMatchObject({ status: 451, json: { error: "denied", message: "Not\r\nX-Evil: 1\u2028 you" } });
    expect(got).not.toMatchObject({ headers: { "x-evil": "1" } });
    expect(shop.log).toEqual([]);
    const denial = shop.notified.map((call) => (call as unknown[])[0]);
    expect(denial).toEqual(admits ? ["onCancel"] : []);
  });

  test("reads the hook's result only once", async () => {
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

  test("cuts a very long message to 1000 characters", async () => {
    const shop = createHookedShop({ [hook]: () => ({ deny: "x".repeat(1_000_000) }) }, routes);
    expect(await buy(shop)).toMatchObject({ status: 403, json: { message: "x".repeat(1000) } });
  });

  test("lets the payment continue when the hook returns undefined", async () => {
    const shop = createHookedShop({ [hook]: async () => undefined }, routes);
    expect(await buy(shop)).toBe(settle === "before" ? "prepaid" : "served");
    expect(shop.notified).toMatchObject([["afterSettle", FACTS, { success: true }]]);
  });

  test("a hook accepts a payment that it denied before", async () => {
    let isOpen = false;
    const shop = createHookedShop({ [hook]: () => (isOpen ? undefined : { deny: true }) }, routes);
    expect(await buy(shop)).toMatchObject({ status: 403 });
    isOpen = true;
    expect(await buy(shop)).toBe(settle === "before" ? "prepaid" : "served");
    expect(shop.facilitator.count("settle")).toBe(1);
  });
});

describe("onRequest", () => {
  test("onRequest is called first for every request at a priced route, and for no other request", async () => {
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
  ])("onRequest grants a request with %s without a claim or a facilitator call", async (_what, sent) => {
    const shop = createHookedShop({ onRequest: () => ({ grant: true }) });
    const decision = sent === "payment" ? await shop.pay() : await shop.ask({ paymentSignature: sent });
    expect(decision).toEqual({ kind: "pass", isGranted: true });
    expect([shop.facilitator.calls, shop.events]).toEqual([[], ["granted"]]);
    expect(await shop.store.find(IDENTITY)).toBeUndefined();
  });

  test.each(["beforeVerify", "afterVerify", "beforeSettle"])(
    "%s denies with 403 when it grants, because only onRequest may",
    async (hook) => {
      const shop = createHookedShop({ [hook]: () => ({ grant: true }) });
      expect(await buy(shop)).toMatchObject({ status: 403 });
      expect(shop.facilitator.count("settle")).toBe(0);
    },
  );
});

describe("hooks of a payment", () => {
  test("hooks of a payment are called once each, in order, with frozen facts", async () => {
    const asked: unknown[] = [];
    const ask = (name: string) => (facts: object) => {
      asked.push([name, facts, Object.isFrozen(facts)]);
    };
    const names = ["beforeVerify", "afterVerify", "beforeSettle"];
    const shop = createHookedShop(Object.fromEntries(names.map((name) => [name, ask(name)])));
    await buy(shop);
    const context = {
      ...{ ...FACTS, asset: "0xASSET", amount: "10000" },
      payload: paymentOf(),
      requirements: expect.objectContaining({ payTo: PAY_TO, amount: "10000" }),
      request: expect.objectContaining({ method: "GET", path: "/weather", hasPayment: true }),
    };
    const settling = {
      ...context,
      response: expect.objectContaining({ status: 200, body: new Uint8Array(HANDLED.body!) }),
    };
    expect(asked).toEqual(names.map((name) => [name, name === "beforeSettle" ? settling : context, true]));
    await buy(shop);
    expect(asked).toHaveLength(3);
  });

  test("a duplicate of a denied payment gets the same denial", async () => {
    for (const hook of ["beforeVerify", "afterVerify", "beforeSettle"] as const) {
      const shop = createHookedShop({ [hook]: () => ({ deny: "no", status: 451 }) });
      const [first, duplicate] = [buy(shop), shop.pay()];
      expect(await first).toMatchObject({ status: 451 });
      expect(responseOf(await duplicate)).toMatchObject({ status: 451, headers: { "cache-control": "no-store" } });
    }
  });

  test("a duplicate gets 409 after copyWaitMs while a hook never returns", async () => {
    const shop = createHookedShop({ beforeVerify: () => new Promise(() => {}) });
    void shop.pay();
    const duplicate = shop.pay();
    await shop.passTime(0);
    await shop.passTime(10_000);
    expect(responseOf(await duplicate)).toMatchObject({ status: 409, json: { error: "payment_in_progress" } });
    expect(shop.facilitator.calls).toEqual([]);
  });

  test("beforeSettle is not called for a response that is not charged", async () => {
    let asked = 0;
    const shop = createHookedShop({ beforeSettle: () => void asked++ });
    const release = await admissionOf(await shop.pay()).complete({ ...HANDLED, status: 404 });
    expect(release.kind).toBe("release");
    expect(shop.notified).toMatchObject([["onCancel", FACTS, "not_chargeable"]]);
    expect(asked).toBe(0);
    expect(await buy(shop)).toBe("served");
    expect(asked).toBe(1);
  });

  test("a request gets 504 without a charge when beforeSettle takes too long", async () => {
    const shop = createHookedShop({
      beforeSettle() {
        shop.clock.ms += 295_000;
      },
    });
    expect(await buy(shop)).toMatchObject({ status: 504 });
    expect(shop.notified).toMatchObject([["onCancel", FACTS, "expired"]]);
    expect(shop.facilitator.count("settle")).toBe(0);
  });

  test("a repeated settlement is not denied, because the money may have moved", async () => {
    let asked = 0;
    const shop = createHookedShop({ beforeSettle: () => (asked++ === 0 ? undefined : { deny: "no" }) });
    shop.facilitator.settles = new Error("lost");
    expect(await buy(shop)).toMatchObject({ status: 503 });
    shop.facilitator.settles = SETTLED;
    expect(await buy(shop)).toMatchObject({ status: 200, text: "sunny" });
    expect(asked).toBe(1);
    const names = shop.notified.map((call) => (call as unknown[])[0]);
    expect(names).toEqual(["onSettleUnknown", "afterSettle"]);
  });
});

describe("a response of afterVerify", () => {
  const hooks: PaymentHooks = { afterVerify: () => ({ respond: { contentType: "text/plain", body: "sold" } }) };
  const onClosedOf = (decision: Decision) => (decision.kind === "respond" ? decision.onClosed : undefined);

  test.each([
    ["forgotten after its delivery", true, undefined],
    ["kept if it was not delivered", false, "sold"],
  ])("the response of afterVerify is shared by processes, and %s", async (_what, isDelivered, left) => {
    const { record, passTime, open, facilitator } = createProcesses();
    const [a, b] = [open({ hooks }), open({ hooks })];
    const decision = await a.pay();
    expect(responseOf(decision)).toMatchObject({ status: 200, text: "sold" });
    expect(responseOf(await b.pay())).toMatchObject({ status: 200, text: "sold" });
    onClosedOf(decision)?.(isDelivered);
    await passTime(4_000);
    const answer = (await record())?.answer;
    expect(answer && Buffer.from(answer.body).toString()).toBe(left);
    expect(responseOf(await b.pay()).status).toBe(left === undefined ? 402 : 200);
    expect(facilitator.count("settle")).toBe(1);
  });

  test("the response of afterVerify is sold in place of the handler's also if the payment was abandoned twice", async () => {
    let isKnown = false;
    const shop = createShop({
      hooks: { afterVerify: () => (isKnown ? { respond: { contentType: "text/plain", body: "sold" } } : undefined) },
    });
    for (let time = 0; time < 2; time++) await admissionOf(await shop.pay()).cancel();
    isKnown = true;
    const decision = await shop.pay();
    expect(responseOf(decision)).toMatchObject({ status: 200, text: "sold" });
    onClosedOf(decision)?.(true);
    expect([shop.facilitator.count("settle"), responseOf(await shop.pay()).status]).toEqual([1, 402]);
  });

  test("the response of afterVerify can be fetched again by its payment-identifier", async () => {
    const shop = createShop({ hooks });
    const extensions = { "payment-identifier": { info: { required: false, id: "0123456789abcdef" } } };
    const decision = await shop.pay({ extensions });
    onClosedOf(decision)?.(true);
    for (const again of [decision, await shop.pay({ extensions })]) {
      expect(responseOf(again)).toMatchObject({ status: 200, text: "sold" });
    }
    expect(shop.facilitator.count("settle")).toBe(1);
  });

  test("an amount that the handler has to set is not set by a hook", async () => {
    const scheme = createTestScheme({ allowsLess: true });
    const routes = { "GET /weather": { ...ROUTES["GET /weather"], unmetered: "error" as const } };
    const shop = createShop({ hooks, scheme, routes });
    expect(responseOf(await shop.pay()).status).toBe(500);
    expect(shop.facilitator.count("settle")).toBe(0);
  });
});

describe("options.hooks", () => {
  const parse = (hooks: unknown) => {
    const issues = createIssues();
    const parsed = parseHooks(hooks, issues);
    issues.throwIfAny();
    return parsed;
  };

  test.each<[string, unknown, string]>([
    ["a function", () => {}, "options.hooks"],
    ["null", null, "options.hooks"],
    ["an unknown name", { onrequest: () => {} }, "options.hooks.onrequest"],
    ["a text as a hook", { onRequest: "GET" }, "options.hooks.onRequest"],
    ["null as a hook", { afterSettle: null }, "options.hooks.afterSettle"],
  ])("options.hooks with %s is an issue", (_what, hooks, path) => {
    expect(() => parse(hooks)).toThrow(path);
  });

  test("hooks may be methods of a class and keep their this", async () => {
    class Guard {
      readonly #keys = ["good"];
      onRequest({ header }: PricedRequest) {
        return this.#keys.includes(header("x-api-key") ?? "") ? { grant: true as const } : { deny: true as const };
      }
    }
    const shop = createShop({ hooks: new Guard() });
    expect(stageOf(await shop.ask({ header: () => "good" }))).toBe("granted");
    expect(responseOf(await shop.ask({ header: () => "bad" })).status).toBe(403);
  });

  test("hooks that are set after the start are ignored", async () => {
    const hooks: { onRequest?: () => { deny: true } } = {};
    const shop = createShop({ hooks });
    hooks.onRequest = () => ({ deny: true });
    expect(responseOf(await shop.ask()).status).toBe(402);
  });
});

describe("a notification hook", () => {
  test.each(INVALID_RESULTS)("a client gets its paid response when a notification hook %s", async (_how, junk) => {
    const shop = createHookedShop({ afterSettle: junk, onCancel: junk, onSettleUnknown: junk });
    expect(await buy(shop)).toBe("served");
    await new Promise(setImmediate);
    expect((await shop.store.find(IDENTITY))?.state).toBe("settled");
    expect(JSON.stringify(shop.log)).not.toContain("secret");
  });

  test("afterSettle cannot change the receipt", async () => {
    const shop = createHookedShop({
      afterSettle(_facts: unknown, receipt: { transaction: string }) {
        receipt.transaction = "0xevil";
      },
    });
    const release = await admissionOf(await shop.pay()).complete(HANDLED);
    const [, header] = release.kind === "release" ? release.headers[0]! : [];
    expect(Buffer.from(header!, "base64").toString()).toContain('"0xabc"');
    expect(shop.log).toMatchObject([{ event: "hook_failed", fields: { hook: "afterSettle", error: "TypeError" } }]);
  });

  test.each<[string, unknown, readonly unknown[]]>([
    ["settled", SETTLED, ["afterSettle", FACTS, { success: true, transaction: "0xabc" }]],
    [
      "rejected",
      { ...SETTLED, success: false, transaction: "", errorReason: "insufficient_funds" },
      ["afterSettle", FACTS, { success: false, errorReason: "insufficient_funds" }],
    ],
    ["unknown", new Error("lost"), ["onSettleUnknown", FACTS]],
  ])("notification hooks are called for a settlement that is %s", async (_how, settles, call) => {
    const shop = createHookedShop({});
    shop.facilitator.settles = settles;
    await buy(shop);
    expect(shop.notified).toMatchObject([call]);
  });

  test("onSettleUnknown is called once, and afterSettle when the background settlement succeeds", async () => {
    const shop = createHookedShop({});
    shop.facilitator.settles = new Error("lost");
    await buy(shop);
    await shop.passTime(60_000);
    shop.facilitator.settles = SETTLED;
    await shop.passTime(60_000);
    const { payload } = paymentOf();
    expect(shop.notified).toMatchObject([
      ["onSettleUnknown", { ...FACTS, payload: { payload }, request: { path: "/weather" } }],
      ["afterSettle", { ...FACTS, payload: { payload }, request: undefined }, { success: true }],
    ]);
  });

  test("no request stays in memory with a payment that is settled in the background", async () => {
    const shop = createHookedShop({});
    shop.facilitator.settles = new Error("lost");
    const sell = async () => {
      const native = {};
      await admissionOf(await shop.pay({}, { native })).complete(HANDLED);
      return new WeakRef(native);
    };
    const sold = await sell();
    shop.notified.length = 0;
    // A reference that was read stays until the next turn.
    await new Promise(setImmediate);
    collectGarbage();
    expect(sold.deref()).toBeUndefined();
    shop.facilitator.settles = SETTLED;
    await shop.passTime(60_000);
    expect(shop.notified).toMatchObject([["afterSettle", FACTS, { success: true }]]);
  });
});
