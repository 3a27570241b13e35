/**
 * A client without a session that gives up while its payment settles: the server does not see it leave, and it would pay for nothing.
 */
import type { StartTimer } from "@farebox/core";
import type { Progress } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createDrivenClock } from "../cli/driven-clock.js";
import { createLeasingStore } from "../express/shared-store.js";
import { until, VERSIONS } from "../express/shop.js";
import { createLatch } from "../faults/latch.js";
import { openShop, PRICE, problemOf, receiptOf, type Shop, type ShopPlan, textOf } from "./shop.js";

const TOKEN = "x402/payment-retry-token";

type Told = Progress & { readonly _meta?: Readonly<Record<string, unknown>> };

afterEach(() => void vi.useRealTimers());

/** A shop without sessions, as in the quickstart, whose time the test lets pass. */
async function open(plan: ShopPlan = {}) {
  const clock = createDrivenClock();
  const options = { now: clock.now, timer: clock.timer, ...plan.options };
  return { clock, shop: await openShop({ sessions: "stateless", ...plan, options }) };
}

/** Pays, and gives up while the payment settles: the client says so, and leaves its connection open. */
async function giveUp(shop: Shop, payment: unknown) {
  const held = shop.facilitatorServer.faults.next("settle", { kind: "hold", when: "after" });
  const told: Told[] = [];
  const leaving = new AbortController();
  const call = shop.ask({ payment, request: { signal: leaving.signal, onprogress: (one) => void told.push(one) } });
  const left = expect(call).rejects.toThrow("The client is tired");
  await held.reached;
  await until(() => told.length > 0);
  return {
    told,
    release: held.release,
    async leave() {
      leaving.abort(new Error("The client is tired"));
      await left;
    },
  };
}

describe.each(VERSIONS)("on %s", (_, express) => {
  const SALES: readonly (readonly [when: string, sell: ShopPlan["sell"]])[] = [
    ["of any tool", undefined],
    [
      "of a metered tool that has sent nothing",
      (tools, { count }) => {
        const accepts = { scheme: "upto", price: "$0.01", network: "eip155:84532" } as const;
        tools.tool("goods", { accepts, settle: "metered" }, ({ payment }) => {
          payment?.charge("$0.01");
          return { content: [{ type: "text", text: `any ${count()}` }] };
        });
      },
    ],
  ];
  test.each(SALES)(
    "a client that gives up gets the result %s by its token, and nobody else does",
    async (_what, sell) => {
      const { clock, shop } = await open({ express, ...(sell && { sell }) });
      const stranger = await shop.connect();
      const payment = await shop.sign();
      const call = await giveUp(shop, payment);
      const token = call.told[0]?._meta?.[TOKEN];
      expect(token).toMatch(/^[\w-]{43}$/);
      await call.leave();
      const settled = new Promise((tell) => shop.payments.on("settled", tell));
      clock.pass(1_500);
      call.release();
      await settled;
      expect(problemOf(await stranger.ask({ payment })).error).toBe("payment_already_used");
      expect(problemOf(await stranger.ask({ payment, meta: { [TOKEN]: "x".repeat(43) } })).error).toBe(
        "payment_already_used",
      );
      for (const time of [1, 2]) {
        const again = await shop.ask({ payment, meta: { [TOKEN]: token } });
        expect([textOf(again), time]).toEqual(["any 1", time]);
        expect(receiptOf(again)).toMatchObject({ success: true });
      }
      expect([shop.runs(), shop.settlements(), await shop.spent()]).toEqual([1, 1, PRICE]);
    },
  );

  test("a client that gives up and calls again while its payment settles gets the result of the first call", async () => {
    const { clock, shop } = await open({ express });
    const payment = await shop.sign();
    const call = await giveUp(shop, payment);
    await call.leave();
    const told: Told[] = [];
    const meta = { [TOKEN]: call.told[0]?._meta?.[TOKEN] };
    const again = shop.ask({ payment, meta, request: { onprogress: (one) => void told.push(one) } });
    await until(() => {
      clock.pass(500);
      return told.length > 0;
    });
    call.release();
    expect(textOf(await again)).toBe("any 1");
    expect([shop.runs(), shop.settlements(), await shop.spent()]).toEqual([1, 1, PRICE]);
  });

  test("progress goes out every half second while a payment settles, each more than the last, and none afterwards", async () => {
    const { clock, shop } = await open({
      express,
      sell: (tools) => {
        tools.tool("goods", { price: "$0.01" }, async ({ sendNotification, _meta }) => {
          const progressToken = _meta?.progressToken ?? 0;
          await sendNotification({ method: "notifications/progress", params: { progressToken, progress: 7 } });
          return { content: [{ type: "text", text: "sold" }] };
        });
      },
    });
    const held = shop.facilitatorServer.faults.next("settle", { kind: "hold", when: "after" });
    const told: Told[] = [];
    const call = shop.ask({ payment: await shop.sign(), request: { onprogress: (one) => void told.push(one) } });
    await held.reached;
    await until(() => told.length === 2);
    for (const count of [3, 4, 5]) {
      clock.pass(499);
      expect(told).toHaveLength(count - 1);
      clock.pass(1);
      await until(() => told.length === count);
    }
    expect(told.map(({ progress }) => progress)).toEqual([7, 8, 9, 10, 11]);
    // A text would be taken for a part of the output.
    expect(told.filter(({ message }) => message !== undefined)).toEqual([]);
    held.release();
    expect(textOf(await call)).toBe("sold");
    clock.pass(5_000);
    expect(textOf(await shop.buy())).toBe("sold");
    expect(told).toHaveLength(5);
  });

  test("a client whose time begins anew with progress outlasts a settlement that takes longer", async () => {
    const timer: StartTimer = (act, delayMs) => {
      const started = setTimeout(act, delayMs);
      return () => clearTimeout(started);
    };
    const shop = await openShop({ express, sessions: "stateless", options: { timer } });
    const payment = await shop.sign();
    const held = shop.facilitatorServer.faults.next("settle", { kind: "hold", when: "after" });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let told = 0;
    const onprogress = () => void told++;
    const call = shop.ask({ payment, request: { timeout: 1_000, resetTimeoutOnProgress: true, onprogress } });
    await held.reached;
    await until(() => told === 1);
    for (const count of [2, 3, 4, 5, 6]) {
      vi.advanceTimersByTime(500);
      await until(() => told === count);
    }
    held.release();
    expect(textOf(await call)).toBe("any 1");
    expect(await shop.spent()).toBe(PRICE);
  });

  test("the run of a tool that settles first is not lost either: the token comes before its handler has ended", async () => {
    const { shop } = await open({
      express,
      sell: (tools, { count }) => {
        tools.tool("goods", { price: "$0.01", settle: "before" }, async () => {
          await gone.opened;
          return { content: [{ type: "text", text: `any ${count()}` }] };
        });
      },
    });
    const gone = createLatch();
    const told: Told[] = [];
    const leaving = new AbortController();
    const payment = await shop.sign();
    const call = shop.ask({ payment, request: { signal: leaving.signal, onprogress: (one) => void told.push(one) } });
    const left = expect(call).rejects.toThrow("The client is tired");
    await until(() => told.length === 1);
    leaving.abort(new Error("The client is tired"));
    await left;
    gone.open();
    const meta = { [TOKEN]: told[0]?._meta?.[TOKEN] };
    await until(async () => textOf(await shop.ask({ payment, meta })) === "any 1");
    expect([shop.runs(), shop.settlements(), await shop.spent()]).toEqual([1, 1, PRICE]);
  });
});

test("no progress goes out to a client that asks for none, and its response is not kept", async () => {
  const { clock, shop } = await open();
  const held = shop.facilitatorServer.faults.next("settle", { kind: "hold", when: "after" });
  const seen: string[] = [];
  shop.transport.onmessage = ((next) => (message: object) => {
    if ("method" in message) seen.push(String(message.method));
    next?.(message as never);
  })(shop.transport.onmessage);
  const payment = await shop.sign();
  const call = shop.ask({ payment });
  await held.reached;
  clock.pass(1_000);
  held.release();
  expect(textOf(await call)).toBe("any 1");
  expect(seen).toEqual([]);
  expect(problemOf(await shop.ask({ payment })).error).toBe("payment_already_used");
});

test("another process that shares the store gives the result by the token", async () => {
  const quoteSecret = "0123456789abcdef0123456789abcdef";
  // One in memory would be of one process.
  const { store } = createLeasingStore().options;
  const first = await open({ options: { store, quoteSecret } });
  const { shop } = first;
  const { shop: other } = await open({
    options: { store, quoteSecret, payTo: { "eip155:*": shop.payTo }, facilitator: shop.facilitatorServer.url },
  });
  const payment = await shop.sign();
  const call = await giveUp(shop, payment);
  await call.leave();
  const settled = new Promise((tell) => shop.payments.on("settled", tell));
  call.release();
  await settled;
  expect(problemOf(await other.ask({ payment })).error).toBe("payment_already_used");
  const meta = { [TOKEN]: call.told[0]?._meta?.[TOKEN] };
  expect(textOf(await other.ask({ payment, meta }))).toBe("any 1");
  expect([shop.runs(), other.runs(), await shop.spent()]).toEqual([1, 0, PRICE]);
});
