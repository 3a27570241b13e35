/** In a store with leases, a record keeps its lease until its response is delivered, however it is delivered. */
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { createLeasingStore } from "./shared-store.js";
import { expectNoStrayErrors, openShop, PRICED, VERSIONS } from "./shop.js";

const BEFORE = { "GET /paid": { ...PRICED, settle: "before" } } as const;
const SETTLING = ["settling lease response", "settled lease response"];
const chunk = Buffer.alloc(10_000, "a");

describe.each(VERSIONS)("on %s, the lease of a payment", (_, express) => {
  test("the lease ends with a response that was held, and the response is forgotten", async () => {
    const { options, seen, ended } = createLeasingStore();
    const shop = await openShop(express, { options, handler: (_req, res) => void res.send("sold") });
    expect((await shop.pay()).text).toBe("sold");
    expect(await ended).not.toHaveProperty("answer");
    expect(seen).toEqual([...SETTLING, "settled"]);
  });

  test("the lease ends with a response that is streamed, and not before", async () => {
    expectNoStrayErrors();
    const { options, seen, ended } = createLeasingStore();
    const shop = await openShop(express, {
      options: { ...options, holdBytes: 100 },
      async handler(_req, res) {
        res.write(chunk);
        await new Promise(setImmediate);
        while (seen.length < 2) await new Promise(setImmediate);
        res.end("end", () => seen.push("handler ended"));
      },
    });
    expect((await shop.pay()).text).toMatch(/end$/);
    await ended;
    const settled = ["settling lease", "settled lease"];
    expect(seen.filter((state) => state !== "handler ended")).toEqual([...settled, "settled"]);
    expect(seen.slice(0, 2)).toEqual(settled);
  });

  test("the lease ends when the client leaves a streamed response", async () => {
    expectNoStrayErrors();
    const { options, seen, ended } = createLeasingStore();
    const shop = await openShop(express, {
      options: { ...options, holdBytes: 100 },
      handler: (_req, res) => void res.write(chunk),
    });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    await once(line.socket, "data");
    line.socket.destroy();
    await ended;
    expect(seen).toEqual(["settling lease", "settled lease", "settled"]);
  });

  test("the lease of a prepaid handler ends with its response", async () => {
    const { options, seen, ended } = createLeasingStore();
    const shop = await openShop(express, {
      options,
      routes: BEFORE,
      handler(_req, res) {
        seen.push("handler");
        res.send("sold");
      },
    });
    expect((await shop.pay()).text).toBe("sold");
    await ended;
    expect(seen).toEqual(["settling lease", "settled lease", "handler", "settled"]);
  });

  test("the lease of a prepaid handler ends when its client leaves", async () => {
    expectNoStrayErrors();
    const { options, seen, ended } = createLeasingStore();
    const shop = await openShop(express, { options, routes: BEFORE, handler: (_req, res) => void res.write("a") });
    const { header } = await shop.sign();
    const line = await shop.connect(shop.request(header));
    await once(line.socket, "data");
    line.socket.destroy();
    await ended;
    expect(seen).toEqual(["settling lease", "settled lease", "settled"]);
  });

  test("the lease of a prepaid handler that fails ends, and its payment is owed", async () => {
    const { options, seen, ended } = createLeasingStore();
    const shop = await openShop(express, { options, routes: BEFORE, handler: (_req, res) => void res.sendStatus(500) });
    await shop.pay();
    await ended;
    expect(seen).toEqual(["settling lease", "settled lease", "owed"]);
  });
});
