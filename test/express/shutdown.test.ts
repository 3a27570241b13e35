/**
 * The end of a server whose clients keep their connections: each is closed behind its response, and one call ends all in order.
 */
import { once } from "node:events";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { createMemoryStore, type PaymentStore } from "@farebox/core";
import { ConfigError } from "@farebox/express";
import { describe, expect, onTestFinished, test } from "vitest";
import { type ObservedPlan, openObservedShop } from "./observed-shop.js";
import { type Shop, until, VERSIONS } from "./shop.js";

/** A client with one connection, which it keeps as long as the server lets it. */
function createKeeper({ url }: Shop) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return (path: string, headers: Readonly<Record<string, string>> = {}) =>
    new Promise<{ status: number; connection: string | undefined; text: string } | undefined>((resolve) => {
      const sent = request(`${url}${path}`, { agent, headers }, (res) => {
        let text = "";
        res.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        res.on("end", () => resolve({ status: res.statusCode ?? 0, connection: res.headers.connection, text }));
        res.on("error", () => resolve(undefined));
      });
      // The server is gone.
      sent.on("error", () => resolve(undefined));
      sent.end();
    });
}

function createLatch() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** A handler that waits. */
function createSlow() {
  const [begun, finish] = [createLatch(), createLatch()];
  const handler: ObservedPlan["handler"] = async (_req, res) => {
    begun.open();
    await finish.opened;
    res.send("goods");
  };
  return { begun: begun.opened, finish: finish.open, handler };
}

describe.each(VERSIONS)("on %s", (_, express) => {
  const open = (plan: ObservedPlan = {}) =>
    openObservedShop(express, {
      also: (app, payments) => {
        app.get("/healthz", payments.healthz());
        app.get("/free", (_req, res) => void res.send("free"));
      },
      ...plan,
    });

  test("after close every response of the gate closes its connection, also one that was under way", async () => {
    const slow = createSlow();
    const shop = await open({ handler: slow.handler });
    const ask = createKeeper(shop);
    expect(await ask("/paid")).toMatchObject({ status: 402, connection: "keep-alive" });
    const [first, second] = [await shop.sign(), await shop.sign()];
    const bought = ask("/paid", { "PAYMENT-SIGNATURE": first.header });
    await slow.begun;
    const closing = shop.payments.close({ drainMs: 600_000 });
    const other = createKeeper(shop);
    expect(await other("/paid")).toMatchObject({ status: 402, connection: "close" });
    const refused = await other("/paid", { "PAYMENT-SIGNATURE": second.header });
    expect(refused).toMatchObject({ status: 503, connection: "close" });
    slow.finish();
    expect(await bought).toMatchObject({ status: 200, connection: "close", text: "goods" });
    await closing;
  });

  test("shutdown resolves although clients repeat their requests on connections that they keep", async () => {
    const shop = await open();
    const { header } = await shop.sign();
    const closed = once(shop.server, "close");
    const told = new Set<number>();
    const clients = Array.from({ length: 4 }, async (_unused, at) => {
      const ask = createKeeper(shop);
      // Like the reference's fetch: whatever comes, once more.
      for (;;) {
        const response = await ask(
          at % 2 === 0 ? "/paid" : "/free",
          at % 2 === 0 ? { "PAYMENT-SIGNATURE": header } : {},
        );
        told.add(at);
        if (response === undefined) return;
      }
    });
    await until(() => told.size === 4);
    await shop.payments.shutdown(shop.server, { drainMs: 600_000 });
    await closed;
    expect(shop.server.listening).toBe(false);
    await Promise.all(clients);
  });

  test("shutdown ends listener, gate and store in order, and finishes what is paid for", async () => {
    const order: string[] = [];
    const store: PaymentStore = Object.assign(createMemoryStore(), { close: () => void order.push("store") });
    const slow = createSlow();
    const shop = await open({ handler: slow.handler, options: { store } });
    shop.server.once("close", () => order.push("server"));
    const ask = createKeeper(shop);
    const { header } = await shop.sign();
    expect((await ask("/healthz"))?.status).toBe(200);
    const bought = ask("/paid", { "PAYMENT-SIGNATURE": header });
    await slow.begun;
    const ended = shop.payments.shutdown(shop.server, { drainMs: 600_000 }).then(() => order.push("resolved"));
    // The load balancer does not know yet.
    const balancer = createKeeper(shop);
    expect(shop.server.listening).toBe(true);
    expect(await balancer("/healthz")).toMatchObject({ status: 503, connection: "close" });
    await until(() => !shop.server.listening);
    expect(order).toEqual([]);
    slow.finish();
    expect(await bought).toMatchObject({ status: 200, connection: "close", text: "goods" });
    await ended;
    expect(order).toEqual(["server", "store", "resolved"]);
    expect([
      shop.facilitator.settled.length,
      shop.log.some((line) => JSON.stringify(line).includes("closed_before")),
    ]).toEqual([1, false]);
  });

  test("shutdown cuts off what is left when its time is over, and says so", async () => {
    const slow = createSlow();
    const over = createLatch();
    // The only time that passes.
    const timer = (act: () => void, delayMs: number) => {
      if (delayMs === 1_234) void over.opened.then(act);
      return () => {};
    };
    const shop = await open({ handler: slow.handler, options: { timer } });
    const { header } = await shop.sign();
    const bought = createKeeper(shop)("/paid", { "PAYMENT-SIGNATURE": header });
    await slow.begun;
    // A client that connects and says nothing.
    const silent = connect(Number(new URL(shop.url).port), "127.0.0.1").on("error", () => {});
    onTestFinished(() => void silent.destroy());
    await once(silent, "connect");
    let isEnded = false;
    const ended = shop.payments.shutdown(shop.server, { drainMs: 1_234 }).then(() => {
      isEnded = true;
    });
    await until(() => !shop.server.listening);
    expect(isEnded).toBe(false);
    over.open();
    await ended;
    expect(await bought).toBeUndefined();
    expect(shop.facilitator.settled).toEqual([]);
    slow.finish();
  });

  test("shutdown cuts off a client whose payment settles for longer than its time", async () => {
    const over = createLatch();
    // The only time that passes: what is cut off ends at once.
    const timer = (act: () => void, delayMs: number) => {
      if (delayMs === 1_234) void over.opened.then(act);
      return () => {};
    };
    const shop = await open({ handler: (_req, res) => void res.send("sold"), options: { timer } });
    const { header } = await shop.sign();
    const { settle } = shop.facilitator;
    const [settling, goOn] = [createLatch(), createLatch()];
    shop.facilitator.settle = async (...call) => {
      settling.open();
      await goOn.opened;
      return settle(...call);
    };
    const bought = createKeeper(shop)("/paid", { "PAYMENT-SIGNATURE": header });
    await settling.opened;
    const ended = shop.payments.shutdown(shop.server, { drainMs: 1_234 });
    await until(() => !shop.server.listening);
    over.open();
    await ended;
    expect(await bought).toBeUndefined();
    goOn.open();
  });

  test("shutdown called twice, or of a server that does not listen, resolves", async () => {
    const shop = await open();
    await Promise.all([shop.payments.shutdown(shop.server), shop.payments.shutdown(shop.server)]);
    await shop.payments.shutdown(shop.server);
  });

  test("shutdown resolves although the store fails to close, and logs it", async () => {
    const store: PaymentStore = Object.assign(createMemoryStore(), {
      close: () => Promise.reject(new Error("a secret")),
    });
    const shop = await open({ options: { store } });
    await shop.payments.shutdown(shop.server);
    expect(shop.log).toContainEqual({ event: "store_not_closed", error: "Error" });
  });

  test("shutdown rejects what is no server, and a time that is none, and changes nothing", async () => {
    const shop = await open();
    for (const server of [undefined, null, {}, express(), "x"]) {
      await expect(shop.payments.shutdown(server as never)).rejects.toThrow(ConfigError);
    }
    await expect(shop.payments.shutdown(shop.server, { drainMs: -1 })).rejects.toThrow(ConfigError);
    expect((await shop.payments.health()).status).not.toBe("draining");
    expect(await createKeeper(shop)("/free")).toMatchObject({ status: 200, connection: "keep-alive" });
  });
});
