/**
 * A metered tool delivers its output by progress notifications before it is paid for: what was delivered is settled once, and never more
 * than was authorized.
 */
import type { Payment } from "@farebox/core";
import type { PaidToolHandler, ToolConfig } from "@farebox/mcp";
import { InMemoryEventStore } from "@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { createLeasingStore } from "../express/shared-store.js";
import { openLedger } from "../faults/bank.js";
import { createLatch } from "../faults/latch.js";
import {
  type Buyer,
  type CallPlan,
  challengeOf,
  openShop,
  problemOf,
  receiptOf,
  type Shop,
  type ShopPlan,
  textOf,
} from "./shop.js";

/** Up to a cent, 10000 units. A token costs $0.001, 1000 units. */
const METERED: ToolConfig = {
  accepts: { scheme: "upto", price: "$0.01", network: "eip155:84532" },
  settle: "metered",
};
const TOKEN = "$0.001";

const WAYS: readonly [name: string, plan: Pick<ShopPlan, "way" | "sessions">][] = [
  ["Streamable HTTP with sessions", {}],
  ["Streamable HTTP without sessions", { sessions: "stateless" }],
  ["SSE", { way: "sse" }],
  ["a connection in memory", { way: "memory" }],
];

type Handler = PaidToolHandler<undefined>;
type Extra = Parameters<Handler>[0];

const text = (said: string): CallToolResult => ({ content: [{ type: "text", text: said }] });

/** The first settlement of each shop. */
const firstSettled = new WeakMap<Shop["payments"], Promise<unknown>>();

/** Opens a shop whose only tool is metered, and has the given handler. */
async function openMetered(
  handler: (extra: Extra, run: number) => ReturnType<Handler>,
  plan: ShopPlan = {},
): Promise<Shop> {
  const shop = await openShop({
    sell: (tools, { count }) => tools.tool("goods", METERED, (extra) => handler(extra, count())),
    ...plan,
  });
  firstSettled.set(shop.payments, new Promise((resolve) => shop.payments.on("settled", resolve)));
  return shop;
}

function paymentOf({ payment }: Extra): Payment {
  if (payment === undefined) throw new Error("nothing was paid");
  return payment;
}

/** Charges for so many tokens, and sends each. */
async function sendTokens(extra: Extra, count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    paymentOf(extra).charge(TOKEN);
    await extra.progress(`token ${at};`);
  }
}

interface Note {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
  readonly _meta?: { readonly "farebox/cost"?: Readonly<Record<string, string>> };
}

/** A plan for a call that takes notifications, and the notifications. `until` resolves when the text has arrived. */
function listen(plan: CallPlan = {}) {
  const notes: Note[] = [];
  const waiting: (() => void)[] = [];
  const messages = () => notes.map(({ message = "" }) => message).join("");
  const onprogress = (note: object) => {
    notes.push(note as Note);
    for (const look of [...waiting]) look();
  };
  const until = (sought: string) =>
    new Promise<void>((resolve) => {
      const look = () => messages().includes(sought) && resolve();
      waiting.push(look);
      look();
    });
  return { notes, messages, until, plan: { ...plan, request: { ...plan.request, onprogress } } satisfies CallPlan };
}

/** The notice at the end of a result. */
function noticeOf({ content, _meta }: CallToolResult): unknown {
  const last = content.at(-1);
  const notice = JSON.parse(last?.type === "text" ? last.text : "{}");
  expect(_meta?.["x402/payment-error"]).toBe(notice.error);
  return notice.error;
}

const costs = (notes: readonly Note[]) => notes.map(({ _meta }) => _meta?.["farebox/cost"]?.["amount"]);

/** What was charged, and in how many settlements. */
async function charged(shop: Shop): Promise<readonly [amount: bigint, settlements: number]> {
  return [await shop.spent(), shop.settlements()];
}

/** What was charged, as soon as something was. */
async function untilSettled(shop: Shop): Promise<readonly [amount: bigint, settlements: number]> {
  await firstSettled.get(shop.payments);
  return charged(shop);
}

/** Calls, and cancels when the text has arrived. */
async function cancelAt(buyer: Buyer, payment: unknown, sought: string): Promise<void> {
  const controller = new AbortController();
  const { plan, until } = listen({ payment, request: { signal: controller.signal } });
  const call = buyer.ask(plan);
  await until(sought);
  controller.abort();
  await expect(call).rejects.toThrow();
}

describe.each(WAYS)("over %s", (_, way) => {
  test("a token arrives before the next one is made, and before anything is settled", async () => {
    const second = createLatch();
    const shop = await openMetered(async (extra) => {
      await sendTokens(extra, 1);
      await second.opened;
      await sendTokens(extra, 2);
      return text("three tokens");
    }, way);
    const payment = await shop.sign();
    const { plan, notes, until } = listen({ payment });
    const call = shop.ask(plan);
    await until("token 0;");
    expect(shop.settlements()).toBe(0);
    second.open();
    const result = await call;
    expect(result).toMatchObject({ content: [{ text: "three tokens" }] });
    expect(receiptOf(result)).toMatchObject({ success: true, amount: "3000" });
    expect(await charged(shop)).toEqual([3000n, 1]);
    const { asset, network } = challengeOf(await shop.ask()).accepts[0]!;
    expect(notes).toEqual(
      [1000, 2000, 3000].map((amount, at) => ({
        progress: amount,
        total: 10_000,
        message: `token ${Math.max(at - 1, 0)};`,
        _meta: {
          "farebox/cost": { amount: `${amount}`, remaining: `${10_000 - amount}`, maxAmount: "10000", asset, network },
        },
      })),
    );
  });

  test("two calls with one payment run the tool once, and settle once", async () => {
    const end = createLatch();
    const shop = await openMetered(async (extra) => {
      await sendTokens(extra, 2);
      await end.opened;
      return text("done");
    }, way);
    const payment = await shop.sign();
    const { plan, until } = listen({ payment });
    const first = shop.ask(plan);
    await until("token 1;");
    const second = await shop.ask(listen({ payment }).plan);
    expect([second.isError, problemOf(second).error]).toEqual([true, "payment_in_progress"]);
    end.open();
    expect(receiptOf(await first)).toMatchObject({ success: true, amount: "2000" });
    expect(problemOf(await shop.ask({ payment })).error).toBe("payment_already_used");
    expect([shop.runs(), await charged(shop)]).toEqual([1, [2000n, 1]]);
  });

  test("a client without a progress token gets no notification, and pays what was counted when it has the result", async () => {
    const shop = await openMetered(async (extra, run) => {
      expect(extra._meta?.progressToken).toBeUndefined();
      await sendTokens(extra, 4);
      if (run === 1) throw new TypeError("broken");
      return text("four");
    }, way);
    const payment = await shop.sign();
    const failed = await shop.ask({ payment });
    expect([failed.isError, textOf(failed)]).toEqual([true, "broken"]);
    expect(receiptOf(failed)).toMatchObject({ success: false, errorReason: "not_charged" });
    expect(await charged(shop)).toEqual([0n, 0]);
    const good = await shop.ask({ payment });
    expect(good.content).toEqual([{ type: "text", text: "four" }]);
    expect(receiptOf(good)).toMatchObject({ success: true, amount: "4000" });
    expect(await charged(shop)).toEqual([4000n, 1]);
  });
});

// How a call ends is the same over each transport that notifies: over HTTP, and within the process.
describe.each(WAYS.filter(([, { way, sessions }]) => way !== "sse" && sessions === undefined))(
  "over %s, at its end",
  (_, way) => {
    test("a call that reaches the maximum has what was delivered as its result, says so, and is charged for that", async () => {
      const seen: unknown[] = [];
      const shop = await openMetered(async (extra) => {
        extra.signal.addEventListener("abort", () => seen.push(extra.signal.reason.reason));
        try {
          await sendTokens(extra, 20);
        } finally {
          await extra.progress("beyond");
        }
        return text("never");
      }, way);
      const { plan, messages } = listen();
      const result = await shop.buy(plan);
      const tokens = Array.from({ length: 10 }, (_, at) => `token ${at};`).join("");
      expect(messages()).toBe(tokens);
      expect([textOf(result), result.isError, noticeOf(result)]).toEqual([tokens, undefined, "payment_limit"]);
      expect(receiptOf(result)).toMatchObject({ success: true, amount: "10000" });
      expect(seen).toEqual(["limit"]);
      expect(await charged(shop)).toEqual([10_000n, 1]);
    });

    test("a call whose amounts are all refused delivers nothing, costs nothing, and says so", async () => {
      const shop = await openMetered(async (extra) => {
        for (let at = 0; at < 3; at++) {
          expect(() => paymentOf(extra).charge("much")).toThrow();
          await extra.progress("free;");
        }
        return text("free");
      }, way);
      const { plan, messages } = listen();
      const result = await shop.buy(plan);
      expect([messages(), result.isError]).toEqual(["", true]);
      expect(JSON.stringify(result)).not.toContain("free");
      expect(await charged(shop)).toEqual([0n, 0]);
    });

    test("a call ends where an amount is refused, and is charged for what was before", async () => {
      const seen: unknown[] = [];
      const shop = await openMetered(async (extra) => {
        extra.signal.addEventListener("abort", () => seen.push(extra.signal.reason.reason));
        await sendTokens(extra, 2);
        expect(() => paymentOf(extra).charge("much")).toThrow();
        await extra.progress("free;");
        return text("free");
      }, way);
      const { plan, messages } = listen();
      const result = await shop.buy(plan);
      expect([messages(), textOf(result)]).toEqual(["token 0;token 1;", "token 0;token 1;"]);
      expect(JSON.stringify(result)).not.toContain("free");
      expect(noticeOf(result)).toBe("unexpected_settle_error");
      expect(receiptOf(result)).toMatchObject({ success: true, amount: "2000" });
      expect(seen).toEqual(["unrecorded"]);
      expect(await charged(shop)).toEqual([2000n, 1]);
    });

    test("a call whose handler throws is charged for what was delivered, and its error has that and the receipt", async () => {
      const shop = await openMetered(async (extra) => {
        await sendTokens(extra, 2);
        paymentOf(extra).charge(TOKEN);
        throw new TypeError("broken");
      }, way);
      const { plan } = listen();
      const result = await shop.buy(plan);
      expect(result).toMatchObject({ isError: true, content: [{ text: "broken" }, { text: "token 0;token 1;" }] });
      expect(receiptOf(result)).toMatchObject({ success: true, amount: "2000" });
      expect(await charged(shop)).toEqual([2000n, 1]);
    });
  },
);

// Without sessions a cancellation comes to another server, and does not reach the call.
describe.each(WAYS.filter(([, { sessions }]) => sessions !== "stateless"))(
  "when a call is cancelled over %s",
  (_, way) => {
    test("a call that is cancelled is charged for what was delivered, and its payment buys nothing more", async () => {
      const aborted = createLatch();
      const shop = await openMetered(async (extra) => {
        await sendTokens(extra, 3);
        extra.signal.addEventListener("abort", aborted.open);
        await aborted.opened;
        await extra.progress("too late");
        expect(() => paymentOf(extra).charge(TOKEN)).toThrow();
        return text("never");
      }, way);
      const payment = await shop.sign();
      await cancelAt(shop, payment, "token 2;");
      expect(await untilSettled(shop)).toEqual([3000n, 1]);
      expect(problemOf(await shop.ask({ payment })).error).toBe("payment_already_used");
      expect([shop.runs(), await charged(shop)]).toEqual([1, [3000n, 1]]);
    });
  },
);

// In a session over Streamable HTTP, a call goes on without its connection.
describe.each(WAYS.slice(1))("when the connection closes over %s", (_, way) => {
  test("a client pays for what was delivered until then", async () => {
    const aborted = createLatch();
    const shop = await openMetered(async (extra) => {
      await sendTokens(extra, 3);
      extra.signal.addEventListener("abort", aborted.open);
      await aborted.opened;
      await sendTokens(extra, 3).catch(() => {});
      return text("never");
    }, way);
    const payment = await shop.sign();
    const { plan, until } = listen({ payment });
    const call = shop.ask(plan).catch(() => {});
    await until("token 2;");
    await shop.client.close();
    await call;
    expect(await untilSettled(shop)).toEqual([3000n, 1]);
    const back = await shop.connect();
    expect(problemOf(await back.ask({ payment })).error).toBe("payment_already_used");
    expect(await charged(shop)).toEqual([3000n, 1]);
  });
});

describe("when the stream of a call breaks in a session", () => {
  /** The handler goes on when the server has noticed the end of the stream. */
  async function openBroken(rest: (extra: Extra) => ReturnType<Handler>, plan: ShopPlan = {}) {
    const [started, closed] = [createLatch(), createLatch()];
    const shop = await openMetered(
      async (extra) => {
        await sendTokens(extra, 2);
        started.open();
        await closed.opened;
        return rest(extra);
      },
      {
        app: (app) =>
          app.use("/mcp", (req, res, next) => {
            if (req.get("x-buyer") === "raw") res.once("close", () => setImmediate(closed.open));
            next();
          }),
        ...plan,
      },
    );
    const payment = await shop.sign();
    const controller = new AbortController();
    const params = { name: "goods", arguments: {}, _meta: { "x402/payment": payment, progressToken: "raw" } };
    const response = await fetch(`${shop.url}/mcp`, {
      method: "POST",
      signal: controller.signal,
      headers: {
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        "mcp-session-id": String(shop.transport.sessionId),
        "x-buyer": "raw",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: "raw", method: "tools/call", params }),
    });
    await started.opened;
    controller.abort();
    await response.text().catch(() => {});
    return { shop, payment };
  }

  test("the tool goes on, and its result is kept for the same payment", async () => {
    const { shop, payment } = await openBroken(async (extra) => {
      await sendTokens(extra, 2);
      return text("four tokens");
    });
    expect(await untilSettled(shop)).toEqual([4000n, 1]);
    let again = await shop.ask({ payment });
    while (textOf(again) !== "four tokens") again = await shop.ask({ payment });
    expect(receiptOf(again)).toMatchObject({ success: true, amount: "4000" });
    expect([shop.runs(), await charged(shop)]).toEqual([1, [4000n, 1]]);
  });

  test("what the transport drops is not charged if the handler throws", async () => {
    const { shop } = await openBroken(async (extra) => {
      await sendTokens(extra, 2);
      throw new TypeError("broken");
    });
    expect(await untilSettled(shop)).toEqual([2000n, 1]);
  });

  test("what the transport stores for a client that resumes is charged", async () => {
    const { shop } = await openBroken(
      async (extra) => {
        await sendTokens(extra, 2);
        throw new TypeError("broken");
      },
      { eventStore: new InMemoryEventStore() },
    );
    expect(await untilSettled(shop)).toEqual([4000n, 1]);
  });
});

describe("what is delivered", () => {
  test("a text before the first charge is free, and a tool that sends nothing else is held until it has settled", async () => {
    const shop = await openMetered(async (extra, run) => {
      await extra.progress("searching");
      await extra.progress();
      if (run === 1) throw new TypeError("broken");
      paymentOf(extra).charge(TOKEN);
      return text("found");
    });
    const payment = await shop.sign();
    const { plan, notes } = listen({ payment });
    const failed = await shop.ask(plan);
    expect(receiptOf(failed)).toMatchObject({ success: false, errorReason: "not_charged" });
    expect([failed.content, costs(notes)]).toEqual([text("broken").content, ["0", "0"]]);
    const good = await shop.ask(listen({ payment }).plan);
    expect([textOf(good), receiptOf(good)?.amount]).toEqual(["found", "1000"]);
    expect(await charged(shop)).toEqual([1000n, 1]);
  });

  test("progress grows with each notification, also without a charge", async () => {
    const shop = await openMetered(async (extra) => {
      for (let at = 0; at < 3; at++) await extra.progress();
      paymentOf(extra).charge(TOKEN);
      for (let at = 0; at < 3; at++) await extra.progress("x");
      return text("xxx");
    });
    const { plan, notes } = listen();
    await shop.buy(plan);
    const values = notes.map(({ progress }) => progress);
    expect(values).toEqual([...new Set(values)].sort((one, other) => one - other));
    expect(values).toHaveLength(6);
  });

  test("a handler that does not wait for its notifications is charged for all of them, in order", async () => {
    const shop = await openMetered(async (extra) => {
      for (let at = 0; at < 5; at++) {
        paymentOf(extra).charge(TOKEN);
        void extra.progress(`${at};`);
      }
      throw new TypeError("broken");
    });
    const { plan, messages, notes } = listen();
    const result = await shop.buy(plan);
    expect([messages(), costs(notes)]).toEqual(["0;1;2;3;4;", ["1000", "2000", "3000", "4000", "5000"]]);
    expect(receiptOf(result)).toMatchObject({ success: true, amount: "5000" });
  });

  test("a result that says isError is charged for what was delivered, and has its own content", async () => {
    const shop = await openMetered(async (extra) => {
      await sendTokens(extra, 2);
      paymentOf(extra).charge(TOKEN);
      return { ...text("upstream is gone"), isError: true };
    });
    const result = await shop.buy(listen().plan);
    expect([result.isError, result.content]).toEqual([true, text("upstream is gone").content]);
    expect(receiptOf(result)).toMatchObject({ success: true, amount: "2000" });
  });

  test("fractions of a unit are carried, and rounded once", async () => {
    const shop = await openMetered(async (extra) => {
      for (let at = 0; at < 5; at++) {
        paymentOf(extra).charge("$0.0000003");
        await extra.progress(".");
      }
      return text(".....");
    });
    const result = await shop.buy(listen().plan);
    expect(receiptOf(result)?.amount).toBe("2");
  });

  test("a delivered fraction of a unit that rounds to nothing is not charged", async () => {
    const shop = await openMetered(async (extra) => {
      paymentOf(extra).charge("$0.0000001");
      await extra.progress(".");
      throw new TypeError("broken");
    });
    const result = await shop.buy(listen().plan);
    expect(receiptOf(result)).toMatchObject({ success: false, errorReason: "not_charged" });
    expect(result._meta).not.toHaveProperty(["x402/payment-error"]);
    expect(await charged(shop)).toEqual([0n, 0]);
  });

  test("a durable store says what is being delivered before it goes out", async () => {
    const { options, seen } = createLeasingStore();
    const shop = await openMetered(
      async (extra) => {
        await sendTokens(extra, 10);
        return text("ten");
      },
      { options: { ...options, exposure: { unrecorded: "$0.002" } } },
    );
    const { plan, messages } = listen();
    expect(receiptOf(await shop.buy(plan))).toMatchObject({ success: true, amount: "10000" });
    expect(messages()).toMatch(/token 9;$/);
    expect(seen.filter((state) => state.startsWith("metering")).length).toBeGreaterThan(3);
    expect(await charged(shop)).toEqual([10_000n, 1]);
  });
});

describe("at the maximum", () => {
  const outputSchema = { words: z.number() };

  test("a handler may return what it has: the result is its own, and is charged with what it counted", async () => {
    const shop = await openMetered(async (extra) => {
      let words = "";
      try {
        for (let at = 0; ; at++) {
          paymentOf(extra).charge("$0.003");
          words += `${at};`;
          if (at < 2) await extra.progress(`${at};`);
        }
      } catch {
        return text(words);
      }
    });
    const { plan, messages } = listen();
    const result = await shop.buy(plan);
    expect([messages(), textOf(result), noticeOf(result)]).toEqual(["0;1;", "0;1;2;", "payment_limit"]);
    expect(receiptOf(result)).toMatchObject({ success: true, amount: "9000" });
  });

  test("a client without a progress token gets what the tool has given so far, and pays for that", async () => {
    const shop = await openMetered(async (extra) => {
      await sendTokens(extra, 8);
      paymentOf(extra).charge(TOKEN);
      paymentOf(extra).charge("$0.002");
      return text("never");
    });
    const result = await shop.buy();
    expect([textOf(result)?.endsWith("token 7;"), noticeOf(result)]).toEqual([true, "payment_limit"]);
    expect(receiptOf(result)).toMatchObject({ success: true, amount: "8000" });
    expect(await charged(shop)).toEqual([8000n, 1]);
  });

  test("a tool that has given nothing is an error, and is not charged", async () => {
    const shop = await openMetered(async (extra) => {
      paymentOf(extra).charge("$0.02");
      return text("never");
    });
    const result = await shop.buy(listen().plan);
    expect([result.isError, textOf(result)]).toEqual([true, expect.stringContaining("at most what is left")]);
    expect(result._meta).toMatchObject({ "x402/payment-error": "payment_limit" });
    expect(receiptOf(result)).toMatchObject({ success: false, errorReason: "not_charged" });
  });

  test("a tool with an output schema calls it an error, with what was delivered", async () => {
    const shop = await openShop({
      sell: (tools) =>
        tools.tool("goods", { ...METERED, outputSchema }, async (extra) => {
          await sendTokens(extra, 11);
          return { content: [], structuredContent: { words: 11 } };
        }),
    });
    await shop.client.listTools();
    const result = await shop.buy(listen().plan);
    expect([result.isError, textOf(result)]).toEqual([true, expect.stringMatching(/^token 0;.*token 9;$/)]);
    expect(noticeOf(result)).toBe("payment_limit");
    expect(receiptOf(result)).toMatchObject({ success: true, amount: "10000" });
    const unheard = await shop.buy();
    expect([unheard.isError, receiptOf(unheard)?.errorReason]).toEqual([true, "not_charged"]);
    expect(await charged(shop)).toEqual([10_000n, 1]);
  });
});

describe("when the payment's time is over", () => {
  test("a call that has delivered something ends with that, and is charged for it", async () => {
    // The clocks of all stand still, so that little of the payment's time is left, however slow the machine is.
    let nowMs = Date.now();
    vi.setSystemTime(nowMs);
    onTestFinished(() => void vi.useRealTimers());
    const timers = new Map<() => void, number>();
    const never = createLatch();
    const shop = await openMetered(
      async (extra) => {
        await sendTokens(extra, 2);
        nowMs += 295_000;
        for (const [act, atMs] of timers) if (atMs <= nowMs) act();
        await never.opened;
        return text("never");
      },
      {
        options: {
          now: () => nowMs,
          timer(act, delayMs) {
            timers.set(act, nowMs + delayMs);
            return () => void timers.delete(act);
          },
        },
      },
    );
    const result = await shop.buy(listen().plan);
    expect([textOf(result), noticeOf(result)]).toEqual(["token 0;token 1;", "payment_expired"]);
    expect(receiptOf(result)).toMatchObject({ success: true, amount: "2000" });
    never.open();
    expect(await charged(shop)).toEqual([2000n, 1]);
  });
});

describe("how it settles", () => {
  const two = async (extra: Extra) => {
    await sendTokens(extra, 2);
    return text("two");
  };

  test("a result whose settlement is not known says so, and its token gets the receipt for the same payment", async () => {
    const shop = await openMetered(two);
    const payment = await shop.sign();
    shop.facilitatorServer.faults.next("settle", { kind: "drop", when: "after" });
    const pending = await shop.ask(listen({ payment }).plan);
    expect([textOf(pending), pending.isError, noticeOf(pending)]).toEqual(["two", undefined, "settlement_pending"]);
    expect(receiptOf(pending)).toBeUndefined();
    const token = pending._meta?.["x402/payment-retry-token"];
    const later = await shop.ask({ payment, meta: { "x402/payment-retry-token": token } });
    expect([later.isError, problemOf(later).error]).toEqual([true, "answer_not_kept"]);
    expect(receiptOf(later)).toMatchObject({ success: true, amount: "2000" });
    expect([shop.runs(), await shop.spent()]).toEqual([1, 2000n]);
  });

  test("a result whose settlement is refused is delivered, and its payer gets nothing more until it has paid", async () => {
    const bank = await openLedger();
    onTestFinished(() => bank.close());
    const shop = await openMetered(two, { bank });
    const { address } = shop.payer;
    const held = shop.facilitatorServer.faults.next("settle", { kind: "hold" });
    const call = shop.buy(listen().plan);
    await held.reached;
    const purse = await bank.balanceOf(address);
    bank.ledger.fund(address, -purse);
    held.release();
    const due = await call;
    expect([textOf(due), due.isError, noticeOf(due)]).toEqual(["two", undefined, "insufficient_funds"]);
    expect(receiptOf(due)).toMatchObject({ success: false, errorReason: "insufficient_funds" });
    const refused = await shop.buy(listen().plan);
    expect([refused.isError, problemOf(refused).error, shop.runs()]).toEqual([true, "insufficient_funds", 1]);
    bank.ledger.fund(address, purse);
    expect(receiptOf(await shop.buy(listen().plan))).toMatchObject({ success: true, amount: "2000" });
    expect(bank.ledger.transfers.map(({ amount }) => amount)).toEqual([2000n, 2000n]);
  });

  test("a seller's hook can refuse before anything is delivered", async () => {
    const shop = await openMetered(
      async (extra) => {
        await sendTokens(extra, 2);
        return text("two");
      },
      { options: { hooks: { beforeSettle: () => ({ deny: "not you" }) } } },
    );
    const { plan, notes } = listen();
    const denied = await shop.buy(plan);
    expect([denied.isError, problemOf(denied)]).toMatchObject([true, { error: "denied", message: "not you" }]);
    expect([notes, await charged(shop)]).toEqual([[], [0n, 0]]);
  });

  test("a client learns the URL of its receipt with what it is sent, if the server has one", async () => {
    const shop = await openMetered(two, {
      toolsOptions: { serverUrl: "https://api.example.com/mcp" },
      app: (app, payments) => app.get("/receipts/:name", payments.receipts()),
    });
    const payment = await shop.sign();
    const { plan, notes } = listen({ payment });
    await shop.ask(plan);
    const url = new URL(String(notes.at(-1)?._meta?.["farebox/cost"]?.["receiptUrl"]));
    expect(url.origin).toBe("https://api.example.com");
    const response = await fetch(`${shop.url}/receipts/${url.pathname.split("/").at(-1)}`);
    expect([response.status, await response.json()]).toMatchObject([200, { success: true, amount: "2000" }]);
  });
});

test("a server that responds with JSON sends no notifications: the result is held until it has settled", async () => {
  const shop = await openMetered(
    async (extra) => {
      await sendTokens(extra, 2);
      throw new TypeError("broken");
    },
    { jsonResponse: true },
  );
  const { plan, notes } = listen();
  const failed = await shop.buy(plan);
  expect([textOf(failed), notes]).toEqual(["broken", []]);
  expect(receiptOf(failed)).toMatchObject({ success: false, errorReason: "not_charged" });
});

describe("a tool that is not metered", () => {
  test("a tool that settles afterwards sends no text before it is paid", async () => {
    const shop = await openShop({
      sell: (tools) =>
        tools.tool("goods", { price: "$0.01" }, async ({ progress }) => {
          await progress("output");
          return text("output");
        }),
    });
    const { plan, notes } = listen();
    expect(textOf(await shop.buy(plan))).toBe("output");
    expect(notes).toEqual([]);
  });

  test("a tool by upto that settles before takes the maximum, counts against it, and sends its output at once", async () => {
    const seen: unknown[] = [];
    const shop = await openShop({
      sell: (tools, { count }) =>
        tools.tool("goods", { ...METERED, settle: "before" }, async (extra) => {
          const payment = paymentOf(extra);
          seen.push(payment.isSettled, payment.amount);
          await sendTokens(extra, 2);
          seen.push(payment.remaining);
          if (count() === 1) payment.charge("$0.01");
          return text("two");
        }),
    });
    const payment = await shop.sign();
    const { plan, notes, messages } = listen({ payment });
    const failed = await shop.ask(plan);
    expect([failed.isError, receiptOf(failed)?.success, messages()]).toEqual([true, true, "token 0;token 1;"]);
    expect(notes.map(({ progress, total }) => [progress, total])).toEqual([
      [1, undefined],
      [2, undefined],
    ]);
    expect(seen).toEqual([true, "10000", "8000"]);
    expect(await charged(shop)).toEqual([10_000n, 1]);
    const owed = await shop.ask({ payment });
    expect([textOf(owed), receiptOf(owed)?.success]).toEqual(["two", true]);
    expect(await charged(shop)).toEqual([10_000n, 1]);
  });

  test("a call that a hook lets through is sent its output", async () => {
    const shop = await openShop({
      sell: (tools) =>
        tools.tool("goods", METERED, async ({ progress, payment }) => {
          await progress("output");
          return text(String(payment));
        }),
      options: { hooks: { onRequest: () => ({ grant: true }) } },
    });
    const { plan, messages } = listen();
    expect([textOf(await shop.ask(plan)), messages()]).toEqual(["undefined", "output"]);
  });
});
