/**
 * A priced route as a tool: the same handler, the same gate, the same price.
 */
import { pay } from "@farebox/testing";
import express, { type RequestHandler } from "express";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createLatch } from "../faults/latch.js";
import { challengeOf, openShop, PRICE, problemOf, receiptOf, type ShopPlan, textOf } from "./shop.js";

/** A shop with two priced routes, one of them in a table. Each is a tool too. */
function routes(
  handler?: RequestHandler,
): Pick<ShopPlan, "sell" | "app"> & { readonly app: NonNullable<ShopPlan["app"]> } {
  const inner = express().set("env", "test");
  let runs = 0;
  return {
    app: (app) => app.use(inner),
    sell: (tools, { payments }) => {
      inner.use(payments.routes({ "GET /weather/:city": { price: "$0.01", description: "Weather" } }));
      inner.get(
        "/weather/:city",
        handler ?? ((req, res) => void res.json({ city: req.params["city"], q: req.query, run: ++runs })),
      );
      inner.post(
        "/echo",
        express.json(),
        payments.charge({ price: ({ body }) => `$0.0${(body as { n: number }).n}` as "$0.01" }),
        (req, res) => void res.json(req.body),
      );
      const inputSchema = { city: z.string(), units: z.enum(["C", "F"]).optional() };
      tools.route(inner, "GET /weather/:city", { name: "get_weather", description: "The weather.", inputSchema });
      tools.route(inner, "POST /echo", { name: "echo", inputSchema: { n: z.number(), text: z.string() } });
    },
  };
}

describe("a tool that is a route", () => {
  const paris = { name: "get_weather", args: { city: "Paris & more", units: "C" } };

  test("a tool that is a route in front of a priced server does not pass on its challenge", async () => {
    const challenge = {
      x402Version: 1,
      error: "Payment required",
      accepts: [{ payTo: "0xdead", amount: "999999999" }],
    };
    for (const status of [402, 500]) {
      const shop = await openShop(routes((_req, res) => void res.status(status).json(challenge)));
      const got = await shop.buy(paris);
      expect([got.isError, textOf(got)]).toEqual([
        true,
        "The tool gets its result from a server that asks for a payment.",
      ]);
      expect(got.structuredContent).toBeUndefined();
      expect(receiptOf(got)).toMatchObject({ success: false, errorReason: "not_charged" });
    }
  });

  test("a tool that is a route asks for the route's price, and yields the route's response with its receipt", async () => {
    const shop = await openShop(routes());
    const { tools } = await shop.client.listTools();
    expect(tools[0]).toMatchObject({
      name: "get_weather",
      description: "The weather.\n\nPrice: 0.01 USDC (x402, exact, eip155:84532) per call.",
      inputSchema: { required: ["city"] },
    });
    const asked = await shop.ask(paris);
    expect(asked.isError).toBe(true);
    const challenge = challengeOf(asked);
    expect(asked.structuredContent).toEqual(challenge);
    expect(challenge).toMatchObject({
      resource: { url: `${shop.url}/weather/Paris%20%26%20more`, description: "Weather" },
      accepts: [{ amount: "10000", payTo: shop.payTo }],
    });
    const bought = await shop.buy(paris);
    expect(bought.isError).toBeUndefined();
    expect(bought.structuredContent).toEqual({ city: "Paris & more", q: { units: "C" }, run: 1 });
    expect(JSON.parse(textOf(bought)!)).toEqual(bought.structuredContent);
    expect(receiptOf(bought)).toMatchObject({ success: true, payer: shop.payer.address });
    expect([shop.settlements(), await shop.spent()]).toEqual([1, PRICE]);
  });

  test("a tool that is a route checks its arguments by a JSON Schema", async () => {
    const inputSchema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    const { app, sell } = routes();
    const shop = await openShop({
      app,
      sell: (tools, parts) => {
        sell!(tools, parts);
        tools.route(express(), "GET /other/:city", { name: "other", inputSchema });
      },
    });
    const { tools } = await shop.client.listTools();
    expect(tools.find(({ name }) => name === "other")).toMatchObject({ inputSchema });
    const refused = await shop.ask({ name: "other", args: { city: 1 } });
    expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringContaining("/city must be string")]);
  });

  test("a tool that is a route yields the challenge where HTTP clients get a body of the seller's", async () => {
    const app = express().set("env", "test");
    const shop = await openShop({
      app: (outer) => outer.use(app),
      sell: (tools, { payments }) => {
        const unpaidBody = () => ({ contentType: "text/plain", body: "Pay, please" });
        app.use(payments.routes({ "GET /weather": { price: "$0.01", unpaidBody } }));
        app.get("/weather", (_req, res) => void res.json({ weather: "sunny" }));
        tools.route(app, "GET /weather", { name: "get_weather" });
      },
    });
    expect((await pay(shop.url, { path: "/weather" })).text).toBe("Pay, please");
    const asked = await shop.ask({ name: "get_weather" });
    expect(asked.structuredContent).toMatchObject({ x402Version: 2, accepts: [{ amount: "10000" }] });
    expect(JSON.parse(textOf(asked)!)).toEqual(asked.structuredContent);
    const bought = await shop.buy({ name: "get_weather" });
    expect([bought.structuredContent, shop.settlements()]).toEqual([{ weather: "sunny" }, 1]);
  });

  test("a tool, and a route as a tool, can be for granted calls only", async () => {
    const app = express().set("env", "test");
    let isGranting = false;
    const shop = await openShop({
      options: { hooks: { onRequest: () => (isGranting ? { grant: true } : undefined) } },
      app: (outer) => outer.use(app),
      sell: (tools, { payments }) => {
        app.use(payments.routes({ "GET /profile": { accepts: [] } }));
        app.get("/profile", (_req, res) => void res.json({ name: "Ada" }));
        tools.route(app, "GET /profile", { name: "get_profile" });
        tools.tool("own", { accepts: [] }, () => ({ content: [{ type: "text", text: "own" }] }));
      },
    });
    const { tools } = await shop.client.listTools();
    const unsold = "Not for sale: the seller grants calls.";
    expect(tools.map(({ description }) => description?.split("\n\n")[1])).toEqual([unsold, unsold]);
    for (const name of ["get_profile", "own"]) {
      const asked = await shop.ask({ name });
      expect([asked.isError, asked.structuredContent]).toMatchObject([true, { x402Version: 2, accepts: [] }]);
    }
    isGranting = true;
    expect((await shop.ask({ name: "get_profile" })).structuredContent).toEqual({ name: "Ada" });
    expect(textOf(await shop.ask({ name: "own" }))).toBe("own");
    expect(shop.settlements()).toBe(0);
  });

  test("a payment is accepted once by a tool and its route together", async () => {
    const shop = await openShop(routes());
    const payment = await shop.sign(paris);
    const path = "/weather/Paris%20%26%20more?units=C";
    expect((await pay(shop.url, { path, payment })).status).toBe(200);
    expect(problemOf(await shop.ask({ ...paris, payment })).error).toBe("payment_already_used");

    const { challenge } = await pay(shop.url, { path });
    const other = await shop.payer.signExact(challenge!.accepts[0]!, { challenge: challenge! });
    expect((await shop.ask({ ...paris, payment: other })).isError).toBeUndefined();
    expect((await pay(shop.url, { path, payment: other })).status).toBe(402);
    expect([shop.settlements(), await shop.spent()]).toEqual([2, 2n * PRICE]);
  });

  test("a tool whose route is priced by its body is priced by its arguments", async () => {
    const shop = await openShop(routes());
    const bought = await shop.buy({ name: "echo", args: { n: 3, text: "hello" } });
    expect(bought.structuredContent).toEqual({ n: 3, text: "hello" });
    expect(await shop.income()).toBe(30_000n);
  });

  test("a call whose route responds with an error yields an error, and is not charged", async () => {
    const shop = await openShop(routes((_req, res) => void res.status(404).json({ error: "no such city" })));
    const result = await shop.buy(paris);
    expect(result.isError).toBe(true);
    expect(textOf(result)).toBe('{"error":"no such city"}');
    expect(receiptOf(result)).toMatchObject({ success: false, errorReason: "not_charged" });
    expect(await shop.spent()).toBe(0n);
  });

  test("a call of a route is not charged when it is cancelled", async () => {
    const started = createLatch();
    const shop = await openShop(
      routes((req) => {
        if (req.payment !== undefined) started.open();
      }),
    );
    const cancelled = new Promise((tell) => shop.payments.on("cancelled", ({ reason }) => tell(reason)));
    const controller = new AbortController();
    const call = shop.buy({ ...paris, request: { signal: controller.signal } });
    await started.opened;
    controller.abort();
    await expect(call).rejects.toThrow();
    expect(await cancelled).toBe("client_gone");
    expect(await shop.spent()).toBe(0n);
  });

  test("a call of a route that is cancelled counts as one of its payer's, also after its handler has written", async () => {
    const started = createLatch();
    const shop = await openShop({
      ...routes((req, res) => {
        res.write("a");
        if (req.payment !== undefined) started.open();
      }),
      options: { maxRunsPerPayer: 1 },
    });
    const cancelled = new Promise((tell) => shop.payments.on("cancelled", tell));
    const controller = new AbortController();
    const call = shop.buy({ ...paris, request: { signal: controller.signal } });
    await started.opened;
    controller.abort();
    await expect(call).rejects.toThrow();
    await cancelled;
    expect(textOf(await shop.buy(paris))).toContain("too_many_payments");
  });

  test("a tool that is a route refuses a path parameter that is no segment of a path", async () => {
    const shop = await openShop(routes());
    for (const city of ["", ".", ".."]) {
      const result = await shop.ask({ ...paris, args: { city } });
      expect(textOf(result), city).toBe('The argument city must be a non-empty text other than "." and "..".');
    }
  });

  test("a tool that is a route yields a challenge for an invalid payment", async () => {
    const shop = await openShop(routes());
    const long = { x402Version: 2, payload: "x".repeat(50_000) };
    for (const payment of [null, "text", long, JSON.parse("[".repeat(900) + "]".repeat(900))]) {
      const result = await shop.ask({ ...paris, payment });
      expect(result.isError).toBe(true);
      expect(problemOf(result)).toMatchObject({ x402Version: 2, error: expect.stringMatching(/^invalid_/) });
    }
  });
});

describe("a tool whose route is declared", () => {
  const sell: NonNullable<ShopPlan["sell"]> = (tools, { payments }) => {
    const app = express().set("env", "test").use(express.json());
    const units = { type: "string", enum: ["C", "F"], description: "celsius or fahrenheit" };
    const body = { properties: { n: { type: "integer" }, text: { type: "string" } }, required: ["n"] };
    app.use(
      payments.routes({
        "GET /weather/:city": {
          price: "$0.01",
          validate: true,
          extensions: { bazaar: { inputSchema: { queryParams: { units } }, input: { units: "C" } } },
        },
        "POST /echo": { price: "$0.01", extensions: { bazaar: { inputSchema: body, input: { n: 1 } } } },
      }),
    );
    app.get("/weather/:city", (req, res) => void res.json({ city: req.params["city"], ...req.query }));
    app.post("/echo", (req, res) => void res.json(req.body));
    tools.route(app, "GET /weather/:city", { name: "get_weather" });
    tools.route(app, "POST /echo", { name: "echo" });
  };

  test("a tool whose route is declared has the declared arguments, and those of its path", async () => {
    const { client } = await openShop({ sell });
    const { tools } = await client.listTools();
    expect(tools.map(({ name, inputSchema }) => [name, inputSchema.properties, inputSchema.required])).toEqual([
      [
        "get_weather",
        {
          city: { type: "string" },
          units: { type: "string", enum: ["C", "F"], description: "celsius or fahrenheit" },
        },
        ["city"],
      ],
      ["echo", { n: { type: "integer" }, text: { type: "string" } }, ["n"]],
    ]);
  });

  test("a tool whose route is declared passes its arguments on, and the route checks them before it charges", async () => {
    const shop = await openShop({ sell });
    const bought = await shop.buy({ name: "get_weather", args: { city: "Paris", units: "F" } });
    expect(bought.structuredContent).toEqual({ city: "Paris", units: "F" });
    const args = { city: "Paris", units: "kelvin" };
    const refused = await shop.ask({
      name: "get_weather",
      args,
      payment: await shop.sign({ name: "get_weather", args }),
    });
    expect([refused.isError, problemOf(refused).error]).toEqual([true, "invalid_input"]);
    expect((await shop.buy({ name: "echo", args: { n: 2 } })).structuredContent).toEqual({ n: 2 });
    expect([shop.settlements(), await shop.spent()]).toEqual([2, 2n * PRICE]);
  });
});
