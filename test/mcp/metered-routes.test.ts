/**
 * A metered route as a tool: its stream becomes progress notifications and one result, and what was delivered is settled once.
 */
import type { Payment } from "@farebox/core";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import express, { type Request, type Response } from "express";
import { describe, expect, test } from "vitest";
import { createLatch } from "../faults/latch.js";
import { type CallPlan, openShop, receiptOf, type Shop, type ShopPlan, textOf } from "./shop.js";

const TOKEN = "$0.001";

type Handler = (req: Request, res: Response) => unknown;

function openRoute(handler: Handler, plan: ShopPlan = {}): Promise<Shop> {
  const inner = express().set("env", "test");
  return openShop({
    app: (app) => app.use(inner),
    sell: (tools, { payments }) => {
      const accepts = { scheme: "upto", price: "$0.01", network: "eip155:84532" } as const;
      inner.use(payments.routes({ "GET /goods": { accepts, settle: "metered" } }));
      inner.get("/goods", handler);
      tools.route(inner, "GET /goods", { name: "goods" });
    },
    ...plan,
  });
}

function paymentOf({ payment }: Request): Payment {
  if (payment === undefined) throw new Error("nothing was paid");
  return payment;
}

/** Writes so many tokens one after the other, and charges for each before it is written. */
async function writeTokens(req: Request, res: Response, count: number, form = (at: number) => `token ${at};`) {
  for (let at = 0; at < count; at++) {
    paymentOf(req).charge(TOKEN);
    res.write(form(at));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

interface Note {
  readonly total?: number;
  readonly message?: string;
  readonly _meta?: { readonly "farebox/cost"?: Readonly<Record<string, string>> };
}

function listen(plan: CallPlan = {}) {
  const notes: Note[] = [];
  const messages = () => notes.map(({ message = "" }) => message);
  const waiting: (() => void)[] = [];
  const onprogress = (note: object) => {
    notes.push(note as Note);
    for (const look of waiting) look();
  };
  /** Resolves when the text has arrived. */
  const until = (sought: string) =>
    new Promise<void>((resolve) => {
      waiting.push(() => messages().join("").includes(sought) && resolve());
    });
  return { notes, messages, until, plan: { ...plan, request: { ...plan.request, onprogress } } satisfies CallPlan };
}

function noticeOf({ content, _meta }: CallToolResult): unknown {
  const last = content.at(-1);
  const notice = JSON.parse(last?.type === "text" ? last.text : "{}");
  expect(_meta?.["x402/payment-error"]).toBe(notice.error);
  return notice.error;
}

async function charged(shop: Shop): Promise<readonly [amount: bigint, settlements: number]> {
  return [await shop.spent(), shop.settlements()];
}

describe("a client that takes notifications", () => {
  test("a client gets the response as it is written, with what it has cost, and the whole of it with the receipt", async () => {
    const shop = await openRoute(async (req, res) => {
      await writeTokens(req, res, 3);
      res.end();
    });
    const { plan, messages, notes } = listen();
    const result = await shop.buy(plan);
    expect(messages().join("")).toBe("token 0;token 1;token 2;");
    expect(notes.length).toBeGreaterThan(1);
    expect(notes.at(-1)).toMatchObject({
      total: 10_000,
      _meta: { "farebox/cost": { amount: "3000", remaining: "7000", receiptUrl: expect.stringMatching(/^http/) } },
    });
    expect(result.content).toEqual([{ type: "text", text: "token 0;token 1;token 2;" }]);
    expect([result.isError, receiptOf(result)]).toMatchObject([undefined, { success: true, amount: "3000" }]);
    expect(await charged(shop)).toEqual([3000n, 1]);
  });

  test("a stream of events comes event by event, and its receipt is not among them", async () => {
    const shop = await openRoute(async (req, res) => {
      res.set("Content-Type", "text/event-stream");
      await writeTokens(req, res, 2, (at) => `data: ${at}\n\n`);
      res.write("data: ");
      await new Promise((resolve) => setImmediate(resolve));
      res.end("2\n\n");
    });
    const { plan, messages } = listen();
    const result = await shop.buy(plan);
    expect(messages()).toEqual(["data: 0\n\n", "data: 1\n\n", "data: 2\n\n"]);
    expect(result.content).toEqual([{ type: "text", text: "data: 0\n\ndata: 1\n\ndata: 2\n\n" }]);
    expect(receiptOf(result)).toMatchObject({ success: true, amount: "2000" });
  });

  test("a client that cancels pays for what went out", async () => {
    const left = createLatch();
    const shop = await openRoute(async (req, res) => {
      await writeTokens(req, res, 2);
      paymentOf(req).signal.addEventListener("abort", left.open);
      await left.opened;
      await writeTokens(req, res, 2).catch(() => {});
      res.end();
    });
    const controller = new AbortController();
    const { plan, until } = listen({ request: { signal: controller.signal } });
    const settled = new Promise((resolve) => shop.payments.on("settled", resolve));
    const arrived = until("token 1;");
    const call = shop.buy(plan);
    await arrived;
    controller.abort();
    await expect(call).rejects.toThrow();
    await settled;
    expect(await charged(shop)).toEqual([2000n, 1]);
  });

  test("a route whose handler fails after it has written is an error with what was written, and is charged for that", async () => {
    const shop = await openRoute(async (req, res) => {
      await writeTokens(req, res, 2);
      res.destroy();
    });
    const settled = new Promise((resolve) => shop.payments.on("settled", resolve));
    const result = await shop.buy(listen().plan);
    expect([result.isError, textOf(result), noticeOf(result)]).toEqual([
      true,
      "token 0;token 1;",
      "settlement_pending",
    ]);
    await settled;
    expect(await charged(shop)).toEqual([2000n, 1]);
  });
});

describe("a client that takes none", () => {
  test("a client gets the whole response when it has settled, and its receipt", async () => {
    const shop = await openRoute(async (req, res) => {
      await writeTokens(req, res, 3);
      expect(shop.settlements()).toBe(0);
      res.end();
    });
    const result = await shop.buy();
    expect([textOf(result), receiptOf(result)?.amount]).toEqual(["token 0;token 1;token 2;", "3000"]);
    expect(await charged(shop)).toEqual([3000n, 1]);
  });

  test("a client that cancels has got nothing, is not charged, and its payment stays good", async () => {
    const [written, left] = [createLatch(), createLatch()];
    let runs = 0;
    const shop = await openRoute(async (req, res) => {
      await writeTokens(req, res, 2);
      if (runs++ === 0) {
        written.open();
        await left.opened;
      }
      res.end();
    });
    const payment = await shop.sign();
    const controller = new AbortController();
    const call = shop.ask({ payment, request: { signal: controller.signal } });
    await written.opened;
    const cancelled = new Promise((tell) => shop.payments.on("cancelled", ({ reason }) => tell(reason)));
    controller.abort();
    await expect(call).rejects.toThrow();
    expect(await cancelled).toBe("client_gone");
    left.open();
    expect(await charged(shop)).toEqual([0n, 0]);
    expect(receiptOf(await shop.ask({ payment }))).toMatchObject({ success: true, amount: "2000" });
    expect(await charged(shop)).toEqual([2000n, 1]);
  });

  test("a response larger than what is held is charged at its end", async () => {
    const shop = await openRoute(
      async (req, res) => {
        await writeTokens(req, res, 5, (at) => `${at}`.repeat(1000));
        res.end();
      },
      { options: { holdBytes: 1024 } },
    );
    const result = await shop.buy();
    expect([textOf(result)?.length, receiptOf(result)?.amount]).toEqual([5000, "5000"]);
    expect(await charged(shop)).toEqual([5000n, 1]);
  });
});

describe.each<[string, (plan?: CallPlan) => CallPlan]>([
  ["with notifications", (plan) => listen(plan).plan],
  ["without notifications", (plan = {}) => plan],
])("%s", (_, planOf) => {
  test.each<[what: string, handler: Handler]>([
    [
      "ends its response itself",
      async (req, res) => {
        await writeTokens(req, res, 20).catch(() => {});
        res.end("beyond");
      },
    ],
    ["never ends its response", (req, res) => writeTokens(req, res, 20).catch(() => {})],
    ["throws", (req, res) => writeTokens(req, res, 20)],
  ])(
    "a route that reaches the maximum and %s has what was written until then as its result",
    async (_what, handler) => {
      const shop = await openRoute(handler);
      const result = await shop.buy(planOf());
      const text = Array.from({ length: 10 }, (_, at) => `token ${at};`).join("");
      expect([result.isError, textOf(result), noticeOf(result)]).toEqual([undefined, text, "payment_limit"]);
      expect(receiptOf(result)).toMatchObject({ success: true, amount: "10000" });
      expect(await charged(shop)).toEqual([10_000n, 1]);
    },
  );

  test("a route that responds in one piece is held until it has settled", async () => {
    const shop = await openRoute((req, res) => {
      paymentOf(req).charge(TOKEN);
      res.json({ tokens: 1 });
    });
    const result = await shop.buy(planOf());
    expect([result.structuredContent, receiptOf(result)?.amount]).toEqual([{ tokens: 1 }, "1000"]);
  });

  test("an error is not charged, whatever was counted", async () => {
    const shop = await openRoute((req, res) => {
      paymentOf(req).charge(TOKEN);
      res.status(500).write("the ");
      res.end("end");
    });
    const result = await shop.buy(planOf());
    expect([result.isError, textOf(result)]).toEqual([true, "the end"]);
    expect([receiptOf(result)?.errorReason, await charged(shop)]).toEqual(["not_charged", [0n, 0]]);
  });
});
