/**
 * The same payment again over MCP: a tool that is settled before its handler runs once more after an error, and a payer proves
 * by its token that a call is its own.
 */
import express from "express";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { openShop, PRICE, problemOf, receiptOf, type ShopPlan, textOf } from "./shop.js";

const TOKEN = "x402/payment-retry-token";

type Handler = () => unknown;

/** Sells a tool that is settled before its handler. The given handlers run one after another, and then the last again. */
function sellUpfront(...handlers: readonly Handler[]): NonNullable<ShopPlan["sell"]> {
  return (tools, { count }) => {
    const outputSchema = { weather: z.string() };
    tools.tool("goods", { price: "$0.01", settle: "before", outputSchema }, async () => {
      const run = count();
      return (handlers[run - 1] ?? (() => good(run)))() as ReturnType<typeof good>;
    });
  };
}

const good = (run: number) => ({
  content: [{ type: "text" as const, text: `run ${run}` }],
  structuredContent: { weather: "sunny" },
});

const broken = () => ({ content: [{ type: "text" as const, text: "broken" }], isError: true });

describe("a tool that is settled before its handler", () => {
  test.each<[what: string, handler: Handler, said: string]>([
    ["returns isError", broken, "broken"],
    ["throws", () => Promise.reject(new TypeError("broken")), "broken"],
    ["returns nothing", () => undefined, "Output validation error: the tool did not return a valid result."],
  ])("is charged and runs once more for the same payment when its handler %s", async (_what, handler, said) => {
    const shop = await openShop({ sell: sellUpfront(handler) });
    const payment = await shop.sign();
    const failed = await shop.ask({ payment });
    expect([failed.isError, textOf(failed)]).toEqual([true, said]);
    expect(receiptOf(failed)).toMatchObject({ success: true });
    expect(failed._meta?.[TOKEN]).toMatch(/^[\w-]{43}$/);

    const owed = await shop.ask({ payment });
    expect(textOf(owed)).toBe("run 2");
    expect(receiptOf(owed)).toEqual(receiptOf(failed));
    expect(owed._meta).not.toHaveProperty(TOKEN);
    expect(problemOf(await shop.ask({ payment })).error).toBe("payment_already_used");
    expect([shop.runs(), await shop.spent()]).toEqual([2, PRICE]);
  });

  test("runs no third time after a second error", async () => {
    const shop = await openShop({ sell: sellUpfront(broken, broken) });
    const payment = await shop.sign();
    for (const run of [1, 2]) {
      expect(textOf(await shop.ask({ payment }))).toBe("broken");
      expect(shop.runs()).toBe(run);
    }
    expect(problemOf(await shop.ask({ payment })).error).toBe("payment_already_used");
    expect([shop.runs(), await shop.spent()]).toEqual([2, PRICE]);
  });

  test("runs for the payer with its token although a stranger took the run that is owed", async () => {
    const shop = await openShop({ sell: sellUpfront(broken) });
    const stranger = await shop.connect();
    const payment = await shop.sign();
    const failed = await shop.ask({ payment });
    expect(textOf(await stranger.ask({ payment }))).toBe("run 2");
    expect(problemOf(await shop.ask({ payment })).error).toBe("payment_already_used");
    expect(textOf(await shop.ask({ payment, meta: { [TOKEN]: failed._meta?.[TOKEN] } }))).toBe("run 3");
    expect(await shop.spent()).toBe(PRICE);
  });
});

test("a copy without the identifier gets no challenge over MCP while the outcome is unknown", async () => {
  const shop = await openShop({
    sell: (tools, { count }) => {
      const run = async () => ({ content: [{ type: "text" as const, text: `run ${count()}` }] });
      tools.tool("goods", { price: "$0.01" }, run);
      tools.tool("other", { price: "$0.01" }, run);
    },
  });
  const stranger = await shop.connect();
  const signed = await shop.sign();
  const payment = { ...signed, extensions: { "payment-identifier": { info: { id: "0123456789abcdef" }, schema: {} } } };
  shop.facilitatorServer.faults.next("settle", { kind: "drop", when: "after" });
  expect(problemOf(await shop.ask({ payment })).error).toBe("settlement_pending");
  const { extensions: _, ...copy } = payment;
  for (const [call, error] of [
    [{ payment: copy }, "settlement_pending"],
    [{ payment, name: "other" }, "payment_in_progress"],
  ] as const) {
    const told = await stranger.ask(call);
    expect(problemOf(told)).toMatchObject({ error, retryAfterSeconds: expect.any(Number) });
    expect(problemOf(told)).not.toHaveProperty("accepts");
    expect(told._meta?.[TOKEN]).toBeUndefined();
  }
  expect(textOf(await shop.ask({ payment }))).toBe("run 1");
  expect([shop.runs(), await shop.spent()]).toEqual([1, PRICE]);
});

describe("a token over MCP", () => {
  test("comes with a settlement whose outcome is unknown, proves the payer, and does not reach the handler", async () => {
    const seen: unknown[] = [];
    const shop = await openShop({
      sell: (tools, { count }) => {
        tools.tool("goods", { price: "$0.01", settle: "before" }, ({ _meta }) => {
          seen.push(_meta);
          return { content: [{ type: "text", text: `run ${count()}` }] };
        });
      },
    });
    const stranger = await shop.connect();
    const payment = await shop.sign();
    shop.facilitatorServer.faults.next("settle", { kind: "drop", when: "after" });
    const unknown = await shop.ask({ payment });
    expect(problemOf(unknown).error).toBe("settlement_pending");
    const token = unknown._meta?.[TOKEN];
    expect(token).toMatch(/^[\w-]{43}$/);

    expect(textOf(await stranger.ask({ payment }))).toBe("run 1");
    for (const wrong of [undefined, 7, {}, "x"]) {
      const refused = await stranger.ask({ payment, meta: { [TOKEN]: wrong } });
      expect(problemOf(refused).error).toBe("payment_already_used");
    }
    expect(textOf(await shop.ask({ payment, meta: { [TOKEN]: token } }))).toBe("run 2");
    expect(JSON.stringify(seen)).not.toContain("retry-token");
    expect([seen.length, await shop.spent()]).toEqual([2, PRICE]);
  });

  test("goes through a tool that is a route, in both directions", async () => {
    const inner = express().set("env", "test");
    const shop = await openShop({
      sell: (tools, { payments, count }) => {
        inner.use(payments.routes({ "GET /goods": { price: "$0.01", settle: "before" } }));
        inner.get("/goods", (_req, res) => void res.json({ run: count() }));
        tools.route(inner, "GET /goods", { name: "goods" });
      },
    });
    const stranger = await shop.connect();
    const payment = await shop.sign();
    shop.facilitatorServer.faults.next("settle", { kind: "drop", when: "after" });
    const token = (await shop.ask({ payment }))._meta?.[TOKEN];
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(textOf(await stranger.ask({ payment }))).toBe('{"run":1}');
    for (const wrong of ["x", "a\r\nb", "ü"]) {
      expect(problemOf(await stranger.ask({ payment, meta: { [TOKEN]: wrong } })).error).toBe("payment_already_used");
    }
    expect(textOf(await shop.ask({ payment, meta: { [TOKEN]: token } }))).toBe('{"run":2}');
  });
});
