/**
 * The price of a tool: fixed, by arguments, in several ways to pay, and up to a maximum. A payment is valid for one call only.
 */
import type { Price } from "@farebox/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { challengeOf, openShop, PRICE, problemOf, receiptOf, type ShopPlan, textOf } from "./shop.js";

const text = (said: unknown) => ({ content: [{ type: "text" as const, text: String(said) }] });

describe("what clients are told", () => {
  const SELL: ShopPlan["sell"] = (tools) => {
    tools.tool("plain", { price: "$0.001" }, () => text("plain"));
    tools.tool("long", { price: "$0.001", description: "x".repeat(900) }, () => text("long"));
    const accepts = [
      { scheme: "upto", price: "$0.10", network: "eip155:84532" },
      {
        price: "$0.2",
        network: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
        payTo: "EGBQqKn968sVv5cQh5Cr72pSTHfxsuzq7o7asqYB5uEV",
      },
      { price: () => "$1" as Price, network: "eip155:8453" },
    ] as const;
    tools.tool("many", { accepts, description: "Many ways", title: "Many", annotations: { readOnlyHint: true } }, () =>
      text("many"),
    );
  };

  test("the description of a tool has its price for each way to pay", async () => {
    const shop = await openShop({ sell: SELL });
    const { tools } = await shop.client.listTools();
    const described = Object.fromEntries(tools.map(({ name, description }) => [name, description]));
    expect(described["plain"]).toBe("Tool: plain\n\nPrice: 0.001 USDC (x402, exact, eip155:84532) per call.");
    expect(described["long"]).toBe(`${"x".repeat(900)}\n\nPrice: 0.001 USDC (x402, exact, eip155:84532) per call.`);
    expect(described["many"]).toBe(
      "Many ways\n\nPrice: up to 0.1 USDC (x402, upto, eip155:84532), or " +
        "0.2 USDC (x402, exact, solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1), or a price by request (x402, exact, eip155:8453) per call.",
    );
    expect(tools.find(({ name }) => name === "many")).toMatchObject({
      title: "Many",
      annotations: { readOnlyHint: true },
    });
  });

  test("a catalog gets the first 500 characters of a description", async () => {
    const shop = await openShop({ sell: SELL });
    expect(challengeOf(await shop.ask({ name: "long" })).resource.description).toBe("x".repeat(500));
    expect(challengeOf(await shop.ask({ name: "plain" })).resource.description).toBe("Tool: plain");
  });

  test("the seller's report lists tools", async () => {
    const shop = await openShop({ sell: SELL });
    expect(shop.payments.report().routes[0]).toMatchObject({
      method: "CALL",
      path: "mcp://tool/plain",
      key: "tool plain",
      offers: [{ price: "0.001 USDC", network: "eip155:84532" }],
    });
  });

  test("tools are listed under the URL of their server when the option is set", async () => {
    const shop = await openShop({ toolsOptions: { serverUrl: "https://api.example.com/mcp" } });
    expect(challengeOf(await shop.ask()).resource.url).toBe("https://api.example.com/mcp");
    expect(textOf(await shop.buy())).toBe("any 1");
  });
});

test.each(["resource", "unpaidBody", "settlementFailedBody", "unavailableBody", "paywall"])(
  "a tool has no %s of a route",
  async (key) => {
    const config = {
      price: "$0.01",
      [key]: key === "paywall" ? { title: "Page" } : () => ({ contentType: "a/b", body: "" }),
    };
    const sell: ShopPlan["sell"] = (tools) => void tools.tool("odd", config as { price: "$0.01" }, () => text("odd"));
    await expect(openShop({ sell })).rejects.toThrow(key);
  },
);

test("a free tool beside a paid one stays free", async () => {
  const shop = await openShop({ free: (server) => void server.registerTool("free", {}, () => text("free")) });
  expect(textOf(await shop.ask({ name: "free" }))).toBe("free");
  expect((await shop.ask()).isError).toBe(true);
});

test("a tool without arguments can be sold", async () => {
  const shop = await openShop({
    sell: (tools) => tools.tool("now", { price: "$0.01" }, ({ payment }) => text(payment?.amount)),
  });
  expect(textOf(await shop.buy({ name: "now" }))).toBe("10000");
});

describe("a price by arguments", () => {
  const sellWords: ShopPlan["sell"] = (tools, { count }) => {
    const inputSchema = { words: z.number().int().min(1), note: z.string().optional() };
    tools.tool("write", { price: ({ words }) => `$0.0${words}` as Price, inputSchema }, ({ words }) => {
      count();
      return text(`${words} words`);
    });
  };

  test("a price by arguments is in the challenge, and is charged", async () => {
    const shop = await openShop({ sell: sellWords });
    const challenge = challengeOf(await shop.ask({ name: "write", args: { words: 3 } }));
    expect(challenge.accepts[0]?.amount).toBe("30000");
    const bought = await shop.buy({ name: "write", args: { words: 3 } });
    expect(textOf(bought)).toBe("3 words");
    expect(await shop.income()).toBe(30_000n);
  });

  test("a payment for cheap arguments is refused for others", async () => {
    const shop = await openShop({ sell: sellWords });
    const payment = await shop.sign({ name: "write", args: { words: 1 } });
    const refused = await shop.ask({ name: "write", args: { words: 9 }, payment });
    expect(problemOf(refused).error).toBe("invalid_payment_requirements: amount is not as offered");
    expect([shop.runs(), await shop.spent()]).toEqual([0, 0n]);
    expect(textOf(await shop.ask({ name: "write", args: { words: 1 }, payment }))).toBe("1 words");
  });

  test("invalid arguments are neither priced nor charged", async () => {
    const shop = await openShop({ sell: sellWords });
    const result = await shop.ask({ name: "write", args: { words: "many" } });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(/Input validation error/);
  });
});

describe("a payment that was made for one call", () => {
  const sell: ShopPlan["sell"] = (tools, { count }) => {
    for (const name of ["goods", "other"]) {
      const inputSchema = { kind: z.string().default("any"), size: z.number().optional() };
      tools.tool(name, { price: "$0.01", inputSchema }, ({ kind }) => text(`${name} ${kind} ${count()}`));
    }
  };

  test.each([
    ["another tool", { name: "other", args: { kind: "tea" } }],
    ["other arguments", { args: { kind: "coffee" } }],
    ["more arguments", { args: { kind: "tea", size: 2 } }],
  ])("a payment for one call is refused for %s", async (_what, call) => {
    const shop = await openShop({ sell });
    const first = { args: { kind: "tea" } };
    const payment = await shop.sign(first);
    expect(textOf(await shop.ask({ ...first, payment }))).toBe("goods tea 1");
    expect(problemOf(await shop.ask({ ...call, payment })).error).toBe("payment_already_used");
    expect([shop.runs(), await shop.spent()]).toEqual([1, PRICE]);
  });

  test("a payment with an id gets the same result for its arguments in any order, and is refused for others", async () => {
    const shop = await openShop({ sell });
    const signed = await shop.sign({ args: { kind: "tea", size: 2 } });
    const declared = signed.extensions!["payment-identifier"] as { info: object };
    const info = { ...declared.info, id: "an-id-of-this-payment" };
    const payment = { ...signed, extensions: { ...signed.extensions, "payment-identifier": { ...declared, info } } };
    const first = await shop.ask({ args: { kind: "tea", size: 2 }, payment });
    const again = await shop.ask({ args: { size: 2, kind: "tea" }, payment });
    expect(textOf(first)).toBe("goods tea 1");
    expect(again).toEqual(first);
    const other = await shop.ask({ args: { kind: "tea", size: 3 }, payment });
    expect(problemOf(other).error).toBe("payment_already_used");
    expect([shop.runs(), await shop.spent()]).toEqual([1, PRICE]);
  });

  test("a payment for a call is refused for a route", async () => {
    const shop = await openShop({
      sell,
      app: (app, payments) => app.get("/goods", payments.charge({ price: "$0.01" }), (_req, res) => void res.json({})),
    });
    const payment = await shop.sign();
    await shop.ask({ payment });
    const header = Buffer.from(JSON.stringify(payment)).toString("base64");
    const response = await fetch(`${shop.url}/goods`, { headers: { "PAYMENT-SIGNATURE": header } });
    expect(response.status).toBe(402);
    expect(await response.json()).toMatchObject({ error: "payment_already_used" });
  });
});

test("a tool with a maximum price charges the amount that its handler sets", async () => {
  const shop = await openShop({
    sell: (tools) => {
      const accepts = { scheme: "upto", price: "$0.10", network: "eip155:84532" } as const;
      const inputSchema = { take: z.string() };
      tools.tool("metered", { accepts, inputSchema }, ({ take }, { payment }) => {
        payment?.settle(take);
        return text(payment?.amount);
      });
      tools.tool("careless", { accepts, inputSchema }, ({ take }, { payment }) => {
        try {
          payment?.settle(take);
        } catch {
          // Not fatal, its author thinks.
        }
        return text("sold");
      });
    },
  });
  await shop.payments.engine.ready();
  const call = { name: "metered", args: { take: "$0.0123" } };
  const bought = await shop.buy(call);
  expect(textOf(bought)).toBe("12300");
  expect(receiptOf(bought)).toMatchObject({ success: true, amount: "12300" });
  expect(await shop.income()).toBe(12_300n);

  const tooMuch = await shop.buy({ ...call, args: { take: "$0.2" } });
  expect(tooMuch.isError).toBe(true);
  expect(textOf(tooMuch)).toMatch(/^amount: expected/);
  expect(receiptOf(tooMuch)).toMatchObject({ success: false, errorReason: "not_charged" });
  expect(await shop.income()).toBe(12_300n);

  const swallowed = await shop.buy({ name: "careless", args: { take: "$0.2" } });
  expect(swallowed.isError).toBe(true);
  expect(textOf(swallowed)).toMatch(/an amount that cannot be charged/);
  expect(await shop.income()).toBe(12_300n);
});

test("a tool that settles first is charged for any result, and each result has the receipt", async () => {
  const shop = await openShop({
    sell: (tools, { count }) => {
      tools.tool("goods", { price: "$0.01", settle: "before" }, ({ payment }) => {
        if (count() === 2) throw new TypeError("out of goods");
        return text(payment?.amount);
      });
    },
  });
  expect(challengeOf(await shop.ask()).accepts[0]?.extra).toMatchObject({ paymentFlow: "upfront" });
  const first = await shop.buy();
  expect(textOf(first)).toBe("10000");
  expect(receiptOf(first)).toMatchObject({ success: true });
  const second = await shop.buy();
  expect([second.isError, textOf(second)]).toEqual([true, "out of goods"]);
  expect(receiptOf(second)).toMatchObject({ success: true });
  expect([shop.runs(), await shop.income()]).toEqual([2, 2n * PRICE]);
});

test("a hook can let a call through, and sees the headers of its request", async () => {
  const seen: unknown[] = [];
  const shop = await openShop({
    sell: (tools) => tools.tool("goods", { price: "$0.01" }, ({ payment }) => text(payment)),
    options: {
      hooks: {
        onRequest: ({ method, path, url, route, hasPayment, header }) => {
          seen.push({ method, path, url, route, hasPayment, type: header("Content-Type") });
          return { grant: true };
        },
      },
    },
  });
  expect(textOf(await shop.ask())).toBe("undefined");
  expect(seen).toEqual([
    {
      method: "tools/call",
      path: "/goods",
      url: "mcp://tool/goods",
      route: "tool goods",
      hasPayment: false,
      type: "application/json",
    },
  ]);
});

test.each<[what: string, body: unknown, sold: object]>([
  ["an object", { cached: 1 }, { structuredContent: { cached: 1 } }],
  ["text", "cached", { content: [{ type: "text", text: "cached" }] }],
])("a hook can sell %s in place of the tool's result", async (_what, body, sold) => {
  const shop = await openShop({
    options: { hooks: { afterVerify: () => ({ respond: { contentType: "text/plain", body } }) } },
  });
  const result = await shop.buy();
  expect(result).toMatchObject(sold);
  expect([result.isError, shop.runs(), await shop.income()]).toEqual([undefined, 0, PRICE]);
});

test("a hook can deny a call with a text of its own, and sees the call and its payment", async () => {
  const seen: unknown[] = [];
  const shop = await openShop({
    options: {
      hooks: {
        afterVerify({ request, payload }) {
          const { requestId } = request!.native as { requestId: unknown };
          seen.push(request!.headers["content-type"], request!.body, request!.payment === payload, typeof requestId);
          return { deny: "no", body: { contentType: "text/plain", body: "sold out" } };
        },
      },
    },
  });
  const denied = await shop.buy({ args: { kind: "a" } });
  expect([denied.isError, textOf(denied), seen]).toEqual([
    true,
    "sold out",
    ["application/json", { kind: "a" }, true, "number"],
  ]);
  expect([shop.runs(), await shop.income()]).toEqual([0, 0n]);
});

test("a tool has the events of a route, under its own key", async () => {
  const shop = await openShop();
  const told: string[] = [];
  for (const type of ["challenged", "claimed", "verified", "admitted", "settled"] as const) {
    shop.payments.on(type, ({ route }) => told.push(`${type} ${route}`));
  }
  await shop.buy();
  expect(told).toEqual([
    "challenged tool goods",
    "claimed tool goods",
    "verified tool goods",
    "admitted tool goods",
    "settled tool goods",
  ]);
});
