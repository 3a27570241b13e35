/**
 * The health check, and the end of a process: the load balancer is told, payments under way end, new ones are refused.
 */
import { createMemoryStore, type PaymentStore } from "@farebox/core";
import { ConfigError } from "@farebox/express";
import { describe, expect, test } from "vitest";
import { openObservedShop } from "./observed-shop.js";
import { type ShopPlan, until, VERSIONS } from "./shop.js";

/** A store that can be made to fail, or not to respond. */
function createFragileStore() {
  const store = createMemoryStore();
  const fault: { kind: "none" | "fails" | "hangs" } = { kind: "none" };
  const find: PaymentStore["find"] = (identity) => {
    if (fault.kind === "fails") throw new Error("a secret of the store");
    if (fault.kind === "hangs") return new Promise(() => {});
    return store.find(identity);
  };
  return { fault, store: { ...bindAll(store), find } };
}

function bindAll(store: PaymentStore): PaymentStore {
  return {
    claim: (request) => store.claim(request),
    find: (identity) => store.find(identity),
    transition: (change) => store.transition(change),
    release: (identity, owner) => store.release(identity, owner),
    unfinished: () => store.unfinished(),
  };
}

/** Something that a test lets go on. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe.each(VERSIONS)("on %s", (name, express) => {
  const open = (plan: ShopPlan = {}) =>
    openObservedShop(express, {
      ...plan,
      also: (app, payments) => void app.get("/healthz", payments.healthz()),
    });

  test("a healthy seller is 200, and says nothing about whose facilitators it has", async () => {
    const shop = await open();
    await shop.pay();
    const { status, headers, text } = await shop.ask({ path: "/healthz" });
    expect([status, headers["cache-control"]]).toEqual([200, "no-store"]);
    expect(JSON.parse(text)).toEqual({
      status: "ok",
      store: { ok: true },
      facilitators: { up: 1, down: 0, unknown: 0 },
      settlements: { inFlight: 0, unknown: 0 },
    });
  });

  test.each(["fails", "hangs"] as const)("a store that %s is 503", async (kind) => {
    const { store, fault } = createFragileStore();
    const shop = await open({ options: { store } });
    fault.kind = kind;
    let isAnswered = false;
    const asked = shop.ask({ path: "/healthz" }).finally(() => {
      isAnswered = true;
    });
    await until(() => {
      shop.passTime();
      return isAnswered;
    });
    const { status, text } = await asked;
    expect([status, JSON.parse(text).status]).toEqual([503, "failing"]);
    expect(text).not.toContain("secret");
  });

  test("a process that ends tells the load balancer, finishes what is paid for, and refuses what comes then", async () => {
    const finish = gate();
    const begun = gate();
    const shop = await open({
      handler: async (_req, res) => {
        begun.open();
        await finish.opened;
        res.send("goods");
      },
    });
    const [first, second, third] = [await shop.sign(), await shop.sign(), await shop.sign()];
    expect((await shop.ask({ path: "/healthz" })).status).toBe(200);
    const bought = shop.ask({ payment: first.header });
    await begun.opened;
    let isClosed = false;
    const closing = shop.payments.close({ drainMs: 600_000 }).then(() => {
      isClosed = true;
    });
    // The load balancer does not know yet, and may send one more.
    const sent = shop.ask({ payment: second.header });
    await until(() => shop.facilitator.verified.length === 2);
    const told = await shop.ask({ path: "/healthz" });
    expect([told.status, told.json()]).toMatchObject([503, { status: "draining", settlements: { inFlight: 2 } }]);
    const refused = await shop.ask({ payment: third.header });
    expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "1"]);
    expect([(await shop.ask()).status, isClosed]).toEqual([402, false]);
    finish.open();
    expect([(await bought).text, (await sent).text]).toEqual(["goods", "goods"]);
    await closing;
    expect(shop.facilitator.settled.length).toBe(2);
  });

  // Below Express, both versions are the same.
  if (name === "Express 4") return;

  test("a settlement with an unknown outcome degrades the health until it is known", async () => {
    const shop = await open();
    shop.facilitator.failNext("unknown");
    const { header } = await shop.sign();
    expect((await shop.ask({ payment: header })).status).toBe(503);
    const degraded = await shop.ask({ path: "/healthz" });
    expect([degraded.status, degraded.json()]).toMatchObject([
      200,
      { status: "degraded", settlements: { inFlight: 0, unknown: 1 } },
    ]);
    expect((await shop.ask({ payment: header })).text).toBe("goods");
    shop.passTime();
    await until(async () => (await shop.payments.health()).status === "ok");
  });

  test("without a load balancer, payments are refused at once", async () => {
    const shop = await open();
    const { header } = await shop.sign();
    await shop.payments.close({ drainMs: 600_000 });
    expect((await shop.ask({ payment: header })).status).toBe(503);
    expect(shop.facilitator.settled).toEqual([]);
  });

  test("close refuses drainMs that is no whole number of milliseconds up to an hour", async () => {
    const shop = await open();
    for (const drainMs of [-1, 1.5, Number.NaN, 3_600_001, "10"]) {
      await expect(shop.payments.close({ drainMs: drainMs as number }), String(drainMs)).rejects.toThrow(ConfigError);
      expect((await shop.payments.health()).status).not.toBe("draining");
    }
  });

  test("close without drainMs waits for nothing, and payments in flight are still taken", async () => {
    const shop = await open();
    await shop.payments.close();
    expect((await shop.payments.health()).status).toBe("draining");
    expect((await shop.pay()).text).toBe("goods");
  });
});
