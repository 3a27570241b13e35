/** A facilitator that names one transaction for two payments: the second one's outcome is unknown, in all processes. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createMemoryStore, type Facilitator, type PaymentStore } from "@farebox/core";
import { createPayments, type RouteConfig } from "@farebox/express";
import { sqliteStore } from "@farebox/stores/sqlite";
import { createPayer, createTestFacilitator, pay } from "@farebox/testing";
import Libsql from "libsql";
import { describe, expect, onTestFinished, test } from "vitest";
import { LENIENT, openServer, PAY_TO, PRICED, VERSIONS } from "./shop.js";

/** Moves money once, and names that transaction for ever, each time in the spelling that the test says. */
function createForgetful(spell: (transaction: string) => string) {
  const inner = createTestFacilitator();
  let first: string | undefined;
  const facilitator: Facilitator = {
    verify: (request, options) => inner.verify(request, options),
    async settle(request, options) {
      if (first === undefined) {
        const settled = await inner.settle(request, options);
        first = settled.transaction;
        return settled;
      }
      return { success: true, transaction: spell(first), network: "eip155:84532" };
    },
    supported: (options) => inner.supported(options),
  };
  return { facilitator, ledger: inner.ledger };
}

function openDatabase(): () => PaymentStore {
  const folder = mkdtempSync(join(tmpdir(), "farebox-repeated-"));
  const opened: { close(): unknown }[] = [];
  onTestFinished(() => {
    for (const database of opened) database.close();
    rmSync(folder, { recursive: true });
  });
  return () => {
    const database = new Libsql(join(folder, "store.db"));
    opened.push(database);
    return sqliteStore(database);
  };
}

function openMemory(): () => PaymentStore {
  const store = createMemoryStore();
  return () => store;
}

const QUIET = { info() {}, warn() {}, error() {} };

const BEFORE: RouteConfig = { accepts: { price: "$0.01", network: "eip155:84532", payTo: PAY_TO, settle: "before" } };

describe.each(VERSIONS)("on %s, a transaction that has paid", (_, express) => {
  describe.each([
    ["a store in memory", openMemory],
    ["a file of SQLite", openDatabase],
  ])("with %s", (_store, open) => {
    test.each([
      ["after the handler", PRICED, (text: string) => text, 2],
      ["before the handler", BEFORE, (text: string) => text, 1],
      ["after the handler, in another spelling", PRICED, (text: string) => `0x${text.slice(2).toUpperCase()}`, 2],
    ])("pays for no second payment that settles %s, at another seller", async (_when, route, spell, handlers) => {
      const { facilitator, ledger } = createForgetful(spell);
      const openStore = open();
      let runs = 0;
      const sellers = await Promise.all(
        [0, 1].map(async () => {
          const log: unknown[] = [];
          const logger = { ...QUIET, error: (event: string, fields: object) => void log.push({ event, ...fields }) };
          const timer = () => () => {};
          const options = { facilitator, store: openStore(), quoteSecret: "0".repeat(32), logger, timer, ...LENIENT };
          const payments = createPayments(options);
          onTestFinished(() => payments.close());
          const shop = await openServer(express, (app) => {
            app.use(payments.routes({ "/paid": route }));
            app.get("/paid", (_req, res) => {
              runs++;
              res.set("X-Goods", "yes").json({ goods: true });
            });
          });
          return { payments, url: shop.url, log };
        }),
      );
      const buy = async (at: number) => {
        const payer = createPayer();
        ledger.fund(payer.address, 10_000n);
        return pay(sellers[at]!.url, { path: "/paid", payer });
      };
      const first = await buy(0);
      expect([first.status, ledger.transfers.length]).toEqual([200, 1]);
      const second = await buy(1);
      expect([second.status, second.headers["x-goods"], second.headers["payment-required"]]).toEqual([
        503,
        undefined,
        undefined,
      ]);
      expect([runs, second.json()]).toEqual([handlers, expect.objectContaining({ error: "settlement_pending" })]);
      const { payments, log } = sellers[1]!;
      expect(payments.report().findings).toContainEqual(
        expect.objectContaining({ code: "FAREBOX_TRANSACTION_REPEATED", route: "/paid" }),
      );
      expect(log).toMatchObject([{ event: "settlement_unknown", route: "/paid" }]);
      const entries = [];
      for await (const entry of payments.ledger.entries()) entries.push(entry);
      expect(entries.map(({ transaction }) => transaction)).toEqual([first.receipt?.transaction]);
      // Sent again, it is asked about again, and gets no new challenge.
      const again = await pay(sellers[0]!.url, { path: "/paid", payment: second.payment! });
      expect([again.status, again.challenge]).toEqual([503, undefined]);
      expect(ledger.transfers.length).toBe(1);
    });

    test("buys one response, with payments at once", async () => {
      const { facilitator, ledger } = createForgetful((text) => text);
      // The first settlement is told to all.
      let told = facilitator.settle;
      const settling: Facilitator = { ...facilitator, settle: (...given) => told(...given) };
      const openStore = open();
      const sellers = await Promise.all(
        [0, 1].map(async () => {
          const options = { facilitator: settling, store: openStore(), quoteSecret: "0".repeat(32), logger: QUIET };
          const payments = createPayments({ ...options, timer: () => () => {}, ...LENIENT });
          onTestFinished(() => payments.close());
          return openServer(express, (app) => {
            app.use(payments.routes({ "/paid": PRICED }));
            app.get("/paid", (_req, res) => void res.json({ goods: true }));
          });
        }),
      );
      let release = () => {};
      const all = new Promise<void>((resolve) => {
        release = resolve;
      });
      let waiting = 0;
      let first: ReturnType<Facilitator["settle"]> | undefined;
      told = async (request, options) => {
        waiting += 1;
        if (waiting === 6) release();
        await all;
        first ??= facilitator.settle(request, options) as ReturnType<Facilitator["settle"]>;
        const { payer: _payer, ...settled } = await first;
        return settled;
      };
      const bought = await Promise.all(
        Array.from({ length: 6 }, async (_unused, at) => {
          const payer = createPayer();
          ledger.fund(payer.address, 10_000n);
          return (await pay(sellers[at % 2]!.url, { path: "/paid", payer })).status;
        }),
      );
      expect([bought.sort(), ledger.transfers.length]).toEqual([[200, 503, 503, 503, 503, 503], 1]);
    });
  });
});
