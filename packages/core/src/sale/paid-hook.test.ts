/**
 * `onPaid`: once per settled payment, after the record and before the response.
 */
import { describe, expect, test } from "vitest";
import type { SettledContext } from "../events/hooks.js";
import { createMemoryStore } from "../store/memory-store.js";
import type { PaymentStore } from "../store/payment-store.js";
import { FACTS, IDENTITY, SETTLE_BEFORE } from "./hooks.fixture.js";
import { createProcesses } from "./processes.fixture.js";
import {
  admissionOf,
  createShop,
  HANDLED,
  isHeld,
  paymentOf,
  ROUTES,
  responseOf,
  SETTLED,
  type ShopOptions,
} from "./shop.fixture.js";

/** A shop that notes what its hook is told. */
function createToldShop(
  onPaid: (context: SettledContext) => void | Promise<void> = () => {},
  options: ShopOptions = {},
) {
  const told: SettledContext[] = [];
  const hook = (context: SettledContext) => {
    told.push(context);
    return onPaid(context);
  };
  return { ...createShop({ ...options, hooks: { onPaid: hook } }), told };
}

async function buy(shop: ReturnType<typeof createToldShop>, response = HANDLED) {
  const decision = await shop.pay();
  if (!isHeld(decision)) return decision.kind === "respond" ? responseOf(decision) : "prepaid";
  const release = await decision.admission.complete(response);
  return release.kind === "release" ? "served" : responseOf({ kind: "respond", response: release.response });
}

const CLIENT = { client: "203.0.113.9" };

const RESPONSE = { status: 200, headers: { "content-type": "text/plain" }, body: Buffer.from("sunny") };

describe("onPaid", () => {
  test("onPaid gets payment, receipt, request and response, and the store has recorded the settlement", async () => {
    const states: unknown[] = [];
    const shop = createToldShop(async () => {
      states.push((await shop.store.find(IDENTITY))?.state);
    });
    expect(await buy(shop)).toBe("served");
    expect(shop.told).toMatchObject([
      {
        ...{ ...FACTS, payload: paymentOf(), requirements: { amount: "10000" }, request: { path: "/weather" } },
        receipt: { success: true, transaction: "0xabc" },
      },
    ]);
    expect({ ...shop.told[0]!.response, body: Buffer.from(shop.told[0]!.response!.body!) }).toEqual(RESPONSE);
    expect(states).toEqual(["settled"]);
  });

  test("onPaid of a route that settles first is called before the handler, without a response", async () => {
    const shop = createToldShop(undefined, { routes: SETTLE_BEFORE });
    expect(await buy(shop)).toBe("prepaid");
    expect(shop.told.map(({ response, receipt }) => [response, receipt.transaction])).toEqual([[undefined, "0xabc"]]);
  });

  test("onPaid sees the head of a response that is too large to be held", async () => {
    const shop = createToldShop();
    await buy(shop, { ...HANDLED, headers: [...HANDLED.headers, ["X-Two", ["1", "2"]]], body: undefined });
    const { response } = shop.told[0]!;
    expect({ ...response }).toEqual({
      ...{ status: 200, headers: { "content-type": "text/plain", "x-two": "1, 2" }, body: undefined },
    });
  });

  test.each([
    ["text", Buffer.from("sunny"), "sunny"],
    ["bytes", Buffer.from([0xff, 0xfe]), "[2 bytes]"],
    ["nothing held", undefined, undefined],
  ])("a response of %s can be written as JSON", async (_what, body, written) => {
    const shop = createToldShop();
    await buy(shop, { ...HANDLED, body });
    const { response, receipt } = JSON.parse(JSON.stringify(shop.told[0], null, 2));
    expect([response.status, response.body, receipt.success]).toEqual([200, written, true]);
  });

  test("a hook that changes what it gets changes nothing of the sale", async () => {
    const shop = createToldShop(({ receipt, response }) => {
      response!.body!.fill(0);
      (receipt as { transaction: string }).transaction = "0xevil";
    });
    const decision = await shop.pay();
    const release = await admissionOf(decision).complete(HANDLED);
    const [, header] = release.kind === "release" ? release.headers[0]! : [];
    expect(Buffer.from(header!, "base64").toString()).toContain('"0xabc"');
    expect(HANDLED.body?.toString()).toBe("sunny");
    expect(shop.log).toMatchObject([{ event: "hook_failed", fields: { hook: "onPaid", error: "TypeError" } }]);
  });

  test("the response waits for onPaid, and so does a duplicate of the same client", async () => {
    let finish = () => {};
    const shop = createToldShop(
      () =>
        new Promise((resolve) => {
          finish = resolve;
        }),
    );
    const order: string[] = [];
    const first = shop.pay({}, CLIENT).then(async (decision) => {
      const release = await admissionOf(decision).complete(HANDLED);
      order.push(release.kind);
    });
    await shop.passTime(0);
    const duplicate = shop.pay({}, CLIENT).then((decision) => order.push(responseOf(decision).text));
    await shop.passTime(4_999);
    expect([order, (await shop.store.find(IDENTITY))?.state]).toEqual([[], "settled"]);
    finish();
    await Promise.all([first, duplicate]);
    expect(order.sort()).toEqual(["release", "sunny"]);
    expect([shop.told.length, shop.log]).toEqual([1, []]);
  });

  test("a header that onPaid adds after its time is not on the response, and does not fail", async () => {
    let goOn = () => {};
    const late = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const events: string[] = [];
    const shop = createShop({
      deadlines: { hookMs: 200 },
      hooks: {
        async onPaid(_payment, { response }) {
          response!.setHeader("X-Early", "1");
          await late;
          response!.setHeader("X-Late", "1");
        },
      },
    });
    shop.engine.on("hook_failed", ({ hook }) => events.push(hook));
    const held = admissionOf(await shop.pay());
    const released = held.complete(HANDLED);
    await shop.passTime(200);
    const release = await released;
    goOn();
    await shop.passTime(0);
    const names = release.kind === "release" ? release.headers.map(([name]) => name) : [];
    expect(names).toEqual(["X-Early", "PAYMENT-RESPONSE"]);
    expect(events).toEqual(["onPaid"]);
  });

  test("a response that was not delivered keeps the headers that onPaid has added", async () => {
    const shop = createShop({ hooks: { onPaid: (_payment, { response }) => response!.setHeader("X-Order", "1042") } });
    const held = admissionOf(await shop.pay());
    await held.complete(HANDLED);
    await held.undelivered(HANDLED);
    const { headers } = responseOf(await shop.pay());
    expect(headers).toMatchObject({ "x-order": "1042" });
  });

  test("a response waits for onPaid no longer than deadlines.hookMs", async () => {
    let fail = (_error: Error) => {};
    const pending = new Promise<void>((_resolve, reject) => {
      fail = reject;
    });
    const shop = createToldShop(() => pending, { deadlines: { hookMs: 200 } });
    const bought = buy(shop);
    await shop.passTime(199);
    expect(shop.log).toEqual([]);
    await shop.passTime(1);
    expect(await bought).toBe("served");
    const late = { event: "hook_failed", fields: { hook: "onPaid", error: expect.stringContaining("200 ms") } };
    expect(shop.log).toEqual([late]);
    // It may still fail, and no process ends by that.
    fail(new RangeError("the seller's secret"));
    await shop.passTime(0);
    expect(shop.log).toEqual([late, { event: "hook_failed", fields: { hook: "onPaid", error: "RangeError" } }]);
  });

  test.each<[string, () => never | Promise<never>]>([
    [
      "throws",
      () => {
        throw new TypeError("the seller's secret");
      },
    ],
    ["rejects", () => Promise.reject(new TypeError("the seller's secret"))],
  ])("the sale stands when onPaid %s", async (_how, hook) => {
    for (const routes of [ROUTES, SETTLE_BEFORE]) {
      const shop = createToldShop(hook, { routes });
      expect(await buy(shop)).toBe(routes === ROUTES ? "served" : "prepaid");
      expect(shop.log).toEqual([{ event: "hook_failed", fields: { hook: "onPaid", error: "TypeError" } }]);
      expect((await shop.store.find(IDENTITY))?.state).toBe("settled");
    }
  });

  test("onPaid is called once for a settlement that a repeated request finishes, with the kept response", async () => {
    const shop = createToldShop();
    shop.facilitator.settles = new Error("lost");
    expect(await buy(shop)).toMatchObject({ status: 503 });
    expect(shop.told).toEqual([]);
    shop.facilitator.settles = SETTLED;
    expect(await buy(shop)).toMatchObject({ status: 200, text: "sunny" });
    expect(await buy(shop)).toMatchObject({ status: 200, text: "sunny" });
    expect(shop.told.map(({ request, response }) => [request?.path, response?.status])).toEqual([["/weather", 200]]);
  });

  test("onPaid is called once for a settlement in the background, without a request", async () => {
    const shop = createToldShop();
    shop.facilitator.settles = new Error("lost");
    await buy(shop);
    shop.facilitator.settles = SETTLED;
    await shop.passTime(60_000);
    await shop.passTime(60_000);
    expect(shop.told).toMatchObject([{ ...FACTS, request: undefined, receipt: { success: true } }]);
    expect({ ...shop.told[0]!.response, body: Buffer.from(shop.told[0]!.response!.body!) }).toEqual(RESPONSE);
    expect(JSON.parse(JSON.stringify(shop.told[0])).payload.payload).toEqual(paymentOf().payload);
    expect(await buy(shop)).toMatchObject({ status: 200 });
    expect(shop.told).toHaveLength(1);
  });

  test.each([
    ["rejected", { ...SETTLED, success: false, transaction: "", errorReason: "insufficient_funds" }],
    ["unknown", new Error("lost")],
  ])("onPaid is not called for a settlement that is %s", async (_how, settles) => {
    const shop = createToldShop();
    shop.facilitator.settles = settles;
    await buy(shop);
    expect(shop.told).toEqual([]);
  });

  test("a settlement that the store does not record is told once it is recorded, in the background", async () => {
    const memory = createMemoryStore(() => shop.clock.ms);
    let isBroken = true;
    const store: PaymentStore = {
      claim: (request) => memory.claim(request),
      find: (identity) => memory.find(identity),
      release: (identity, owner) => memory.release(identity, owner),
      unfinished: () => memory.unfinished(),
      transition(change) {
        if (isBroken && change.to === "settled") throw new Error("the store failed");
        return memory.transition(change);
      },
    };
    const shop = createToldShop(undefined, { store });
    expect(await buy(shop)).toBe("served");
    expect(shop.told).toEqual([]);
    isBroken = false;
    shop.clock.ms += 120_000;
    expect(await shop.engine.recover()).toMatchObject({ settled: 1 });
    expect(shop.told).toMatchObject([{ ...FACTS, request: undefined }]);
    expect(await shop.engine.recover()).toMatchObject({ settled: 0 });
    expect(shop.told).toHaveLength(1);
  });
});

describe("onPaid of several processes", () => {
  /** Two processes, and what their hooks are told. */
  function openTwo(onPaid: (process: "a" | "b") => void = () => {}) {
    const processes = createProcesses();
    const told: [process: string, hasRequest: boolean][] = [];
    const open = (name: "a" | "b") =>
      processes.open({
        hooks: {
          onPaid({ request }) {
            told.push([name, request !== undefined]);
            onPaid(name);
          },
        },
      });
    return { ...processes, a: open("a"), b: open("b"), told };
  }

  test("onPaid is called by the process that takes over from a dead one, without a request", async () => {
    const { a, told, facilitator, passTime, record } = openTwo();
    facilitator.settles = () => {
      a.kill();
      facilitator.settles = SETTLED;
      return SETTLED;
    };
    void admissionOf(await a.pay()).complete(HANDLED);
    await passTime(90_000);
    expect([(await record())?.state, told]).toEqual(["settled", [["b", false]]]);
  });

  test("onPaid is not called by a process whose payment another one has taken over", async () => {
    const { a, told, facilitator, passTime } = openTwo();
    facilitator.settles = () => {
      a.stop();
      facilitator.settles = SETTLED;
      return SETTLED;
    };
    void admissionOf(await a.pay()).complete(HANDLED);
    await passTime(90_000);
    a.wake();
    await passTime(90_000);
    expect(told).toEqual([["b", false]]);
  });

  test("onPaid is not called again when its process dies in it", async () => {
    const { a, told, passTime, record } = openTwo(() => a.kill());
    void admissionOf(await a.pay()).complete(HANDLED);
    await passTime(90_000);
    expect([(await record())?.state, told]).toEqual(["settled", [["a", true]]]);
  });
});
