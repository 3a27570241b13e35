/**
 * Calls that are not charged: errors, invalid results, cancelled calls, and payments that expire.
 */
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { McpError } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createLatch } from "../faults/latch.js";
import { challengeOf, openShop, PRICE, problemOf, receiptOf, type ShopPlan, textOf } from "./shop.js";

const NOT_CHARGED = { success: false, errorReason: "not_charged", transaction: "" };

const GOOD = { content: [{ type: "text" as const, text: "good" }], structuredContent: { weather: "sunny" } };

const circle: Record<string, unknown> = {};
circle["self"] = circle;

describe("a handler", () => {
  const OUTPUT = { weather: z.string() };
  const FAILING: readonly (readonly [what: string, handler: () => unknown, said: RegExp, output?: typeof OUTPUT])[] = [
    ["returns isError", () => ({ isError: true, content: [{ type: "text", text: "sold out" }] }), /^sold out$/],
    ["throws", () => Promise.reject(new TypeError("broken")), /^broken$/],
    ["throws a string", () => Promise.reject("broken"), /^broken$/],
    ["returns nothing", () => undefined, /did not return a valid result/],
    ["returns a string", () => "sunny", /did not return a valid result/],
    ["returns content of no known kind", () => ({ content: [{ type: "smell" }] }), /did not return a valid result/],
    ["returns a circular object", () => ({ content: [], structuredContent: circle }), /did not return a valid result/],
    ["returns a bigint", () => ({ content: [], structuredContent: { a: 1n } }), /did not return a valid result/],
    ["returns no structured content for its schema", () => ({ content: [] }), /no structured content/, OUTPUT],
    ["breaks its schema", () => ({ content: [], structuredContent: { weather: 5 } }), /expected string/, OUTPUT],
  ];

  test("a call whose handler fails is not charged, and can be repeated with the same payment", async () => {
    const shop = await openShop({
      sell(tools, { count }) {
        for (const [what, handler, , outputSchema] of FAILING) {
          let runs = 0;
          tools.tool(what.replaceAll(" ", "_"), { price: "$0.01", ...(outputSchema && { outputSchema }) }, async () => {
            count();
            return ++runs === 1 ? ((await handler()) as CallToolResult) : GOOD;
          });
        }
      },
    });
    for (const [at, [what, , said]] of FAILING.entries()) {
      const name = what.replaceAll(" ", "_");
      const payment = await shop.sign({ name });
      const failed = await shop.ask({ name, payment });
      expect(failed.isError, what).toBe(true);
      expect(textOf(failed), what).toMatch(said);
      expect(receiptOf(failed), what).toMatchObject(NOT_CHARGED);
      expect([shop.settlements(), await shop.spent()], what).toEqual([at, BigInt(at) * PRICE]);

      const bought = await shop.ask({ name, payment });
      expect(textOf(bought), what).toBe("good");
      expect([shop.runs(), await shop.spent()], what).toEqual([2 * at + 2, BigInt(at + 1) * PRICE]);
    }
  });

  test("a call whose handler sends the client to a URL first is not charged, and the client gets that error", async () => {
    const shop = await openShop({
      sell: (tools) =>
        tools.tool("goods", { price: "$0.01" }, () =>
          Promise.reject(new McpError(-32042, "sign in", { elicitations: [] })),
        ),
    });
    await expect(shop.buy()).rejects.toMatchObject({ code: -32042 });
    expect(await shop.spent()).toBe(0n);
  });
});

test("a tool in front of a priced server passes on neither its challenge nor its receipt", async () => {
  const challenge = {
    x402Version: 2,
    error: "Payment required",
    accepts: [{ scheme: "exact", network: "eip155:84532", amount: "999999999", payTo: `0x${"d".repeat(40)}` }],
  };
  const foreign = {
    "x402/payment-response": { success: true, transaction: "0x1" },
    "x402/payment-retry-token": "other",
  };
  const text = JSON.stringify(challenge);
  const results: readonly (CallToolResult | Error)[] = [
    new Error(text),
    { isError: true, content: [{ type: "text", text }], structuredContent: challenge, _meta: foreign },
    { isError: true, content: [{ type: "text", text }] },
    { isError: true, content: [], structuredContent: { x402Version: 1, accepts: [] } },
    { content: [{ type: "text", text: "good" }], _meta: { ...foreign, "x402/payment-error": "payment_limit", own: 1 } },
  ];
  for (const settle of ["after", "before"] as const) {
    let at = 0;
    const shop = await openShop({
      sell: (tools) =>
        tools.tool("goods", { price: "$0.01", settle }, () => {
          const result = results[at];
          if (result instanceof Error) throw result;
          return result as CallToolResult;
        }),
    });
    for (; at < results.length; at++) {
      const got = await shop.buy();
      expect(JSON.stringify(got)).not.toMatch(/999999999|accepts|0x1"|other|payment_limit/);
      const result = results[at];
      const isSold = !(result instanceof Error) && result?.isError !== true;
      expect(receiptOf(got)).toMatchObject(isSold || settle === "before" ? { success: true } : NOT_CHARGED);
      if (isSold) expect([textOf(got), got._meta?.["own"]]).toEqual(["good", 1]);
      else expect(textOf(got)).toBe("The tool gets its result from a server that asks for a payment.");
    }
  }
});

describe("a tool with an output schema", () => {
  const sell: ShopPlan["sell"] = (tools) => {
    tools.tool("goods", { price: "$0.01", outputSchema: { weather: z.string() } }, () => ({
      content: [],
      structuredContent: { weather: "sunny" },
    }));
  };

  test("a tool with an output schema sends its challenge without structuredContent, so that a client that knows the schema can read it", async () => {
    const shop = await openShop({ sell });
    const { tools } = await shop.client.listTools();
    expect(tools[0]?.outputSchema).toMatchObject({ required: ["weather"] });
    const asked = await shop.ask();
    expect(challengeOf(asked)).toMatchObject({ x402Version: 2, error: "Payment required" });
    expect(asked).not.toHaveProperty("structuredContent");
    const bought = await shop.buy();
    expect(bought.structuredContent).toEqual({ weather: "sunny" });
    expect(receiptOf(bought)).toMatchObject({ success: true });
  });
});

describe("a call that is cancelled", () => {
  test("a call that is cancelled before its result is not charged, aborts its handler's signal, and leaves the payment valid", async () => {
    const [started, aborted] = [createLatch(), createLatch()];
    const reasons: unknown[] = [];
    const shop = await openShop({
      sell: (tools, { count }) => {
        tools.tool("goods", { price: "$0.01" }, async ({ payment, signal }) => {
          if (count() > 1) return { content: [{ type: "text", text: "good" }] };
          signal.addEventListener("abort", () => {
            reasons.push(payment?.signal.aborted, payment?.signal.reason.code);
            aborted.open();
          });
          started.open();
          await aborted.opened;
          return { content: [] };
        });
      },
    });
    const cancelled = new Promise((tell) => shop.payments.on("cancelled", ({ reason }) => tell(reason)));
    const payment = await shop.sign();
    const controller = new AbortController();
    const call = shop.ask({ payment, request: { signal: controller.signal } });
    await started.opened;
    controller.abort("never mind");
    await expect(call).rejects.toThrow();
    await aborted.opened;
    expect(reasons).toEqual([true, "ERR_FAREBOX_PAYMENT_ABORTED"]);
    expect(await cancelled).toBe("client_gone");
    expect([shop.settlements(), await shop.spent()]).toEqual([0, 0n]);

    expect(textOf(await shop.ask({ payment }))).toBe("good");
    expect(await shop.spent()).toBe(PRICE);
  });

  test("a call that is cancelled counts as one of its payer's until it is paid for and its tool has ended", async () => {
    const [started, finish, finished] = [createLatch(), createLatch(), createLatch()];
    const shop = await openShop({
      options: { maxRunsPerPayer: 1 },
      sell: (tools, { count }) => {
        tools.tool("goods", { price: "$0.01" }, async () => {
          if (count() > 1) return { content: [{ type: "text", text: "good" }] };
          started.open();
          await finish.opened;
          setImmediate(finished.open);
          return { content: [] };
        });
      },
    });
    const cancelled = new Promise((tell) => shop.payments.on("cancelled", tell));
    const payment = await shop.sign();
    const controller = new AbortController();
    const call = shop.ask({ payment, request: { signal: controller.signal } });
    await started.opened;
    controller.abort();
    await expect(call).rejects.toThrow();
    await cancelled;
    expect(textOf(await shop.ask({ payment: await shop.sign() }))).toContain("too_many_payments");
    expect(textOf(await shop.ask({ payment }))).toBe("good");
    expect(textOf(await shop.ask({ payment: await shop.sign() }))).toContain("too_many_payments");
    finish.open();
    await finished.opened;
    expect(textOf(await shop.ask({ payment: await shop.sign() }))).toBe("good");
    expect([shop.runs(), await shop.spent()]).toEqual([3, 2n * PRICE]);
  });

  test("a call that is cancelled during verification is not charged, and its handler does not run", async () => {
    const shop = await openShop();
    const payment = await shop.sign();
    const held = shop.facilitatorServer.faults.next("verify", { kind: "hold" });
    const controller = new AbortController();
    const call = shop.ask({ payment, request: { signal: controller.signal } });
    await held.reached;
    controller.abort();
    await expect(call).rejects.toThrow();
    // Once a later message has its response, the cancellation has arrived.
    await shop.client.ping();
    const told = new Promise((tell) => shop.payments.on("cancelled", tell));
    held.release();
    await told;
    expect([shop.runs(), await shop.spent()]).toEqual([0, 0n]);
    expect(textOf(await shop.ask({ payment }))).toBe("any 1");
  });

  test("a call that is cancelled during settlement is charged, and its result is kept for the same payment", async () => {
    const shop = await openShop();
    const payment = await shop.sign();
    const held = shop.facilitatorServer.faults.next("settle", { kind: "hold" });
    const controller = new AbortController();
    const call = shop.ask({ payment, request: { signal: controller.signal } });
    await held.reached;
    controller.abort();
    await expect(call).rejects.toThrow();
    await shop.client.ping();
    const settled = new Promise((tell) => shop.payments.on("settled", tell));
    held.release();
    await settled;
    const again = await shop.ask({ payment });
    expect(textOf(again)).toBe("any 1");
    expect(receiptOf(again)).toMatchObject({ success: true });
    expect([shop.runs(), await shop.spent()]).toEqual([1, PRICE]);
  });
});

test("a payment that expires while the handler runs is not charged, and the client gets payment_expired", async () => {
  const timers = new Set<() => void>();
  let aheadMs = 0;
  const shop = await openShop({
    options: {
      now: () => Date.now() + aheadMs,
      timer(act) {
        timers.add(act);
        return () => void timers.delete(act);
      },
    },
    sell: (tools) => {
      tools.tool("goods", { price: "$0.01" }, async ({ payment, signal }) => {
        aheadMs = 301_000;
        const gone = new Promise((resolve) => signal.addEventListener("abort", resolve));
        for (const act of timers) act();
        await gone;
        return { content: [{ type: "text", text: payment!.payer }] };
      });
    },
  });
  const result = await shop.buy();
  expect(result.isError).toBe(true);
  expect(problemOf(result)).toMatchObject({ error: "payment_expired" });
  expect([shop.settlements(), await shop.spent()]).toEqual([0, 0n]);
});
