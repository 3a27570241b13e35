/** Kept responses have a room in every store, for all processes: a payer cannot fill it for good, and no record is lost. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryStore, type Facilitator, type PaymentPayload, type PaymentStore } from "@farebox/core";
import { createPayments, type RouteConfig } from "@farebox/express";
import { redisStore } from "@farebox/stores/redis";
import { sqliteStore } from "@farebox/stores/sqlite";
import { createPayer, createTestFacilitator, pay } from "@farebox/testing";
import Libsql from "libsql";
import { createClient } from "redis";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasRedis, startRedis } from "../../packages/stores/src/redis/server.fixture.js";
import { LENIENT, openServer, PAY_TO, VERSIONS } from "./shop.js";

const MIB = 1024 * 1024;
const BODY = "x".repeat(MIB / 4 - 1_024);
const SOLD: RouteConfig = {
  accepts: { price: "$0.001", network: "eip155:84532", payTo: PAY_TO },
};
const withId = (id: string) => (payment: PaymentPayload) => ({
  ...payment,
  extensions: { "payment-identifier": { info: { id }, schema: {} } },
});
const QUIET = { info() {}, warn() {}, error() {} };

type OpenStore = () => Promise<PaymentStore>;

async function openDatabase(): Promise<OpenStore> {
  const folder = mkdtempSync(join(tmpdir(), "farebox-room-"));
  const opened: { close(): unknown }[] = [];
  onTestFinished(() => {
    for (const database of opened) database.close();
    rmSync(folder, { recursive: true });
  });
  return async () => {
    const database = new Libsql(join(folder, "store.db"));
    opened.push(database);
    return sqliteStore(database, { maxAnswerBytes: MIB });
  };
}

async function openMemory(): Promise<OpenStore> {
  const store = createMemoryStore(Date.now, { maxAnswerBytes: MIB });
  return async () => store;
}

async function openRedis(): Promise<OpenStore> {
  const server = await startRedis();
  const clients: { destroy(): void }[] = [];
  onTestFinished(async () => {
    for (const client of clients) client.destroy();
    await server.stop();
  });
  return async () => {
    const client = await createClient({ url: server.url }).connect();
    clients.push(client);
    return redisStore(client, { maxAnswerBytes: MIB });
  };
}

const STORES = [
  ["memory", openMemory, true],
  ["a file of SQLite", openDatabase, true],
  ["Redis", openRedis, hasRedis],
] as const;

describe.each(VERSIONS)("on %s", (_, express) => {
  test.each(STORES)(
    "a response that nobody got, and that there was no room for in %s, is made once more",
    async (_store, open, isHere) => {
      if (!isHere) return;
      const store = await (await open())();
      const bank = createTestFacilitator();
      let leave: (() => Promise<void>) | undefined;
      const facilitator: Facilitator = {
        verify: (...call) => bank.verify(...call),
        supported: (...call) => bank.supported(...call),
        settle: async (...call) => {
          await leave?.();
          return bank.settle(...call);
        },
      };
      const payments = createPayments({ facilitator, store, logger: QUIET, timer: () => () => {}, ...LENIENT });
      onTestFinished(() => payments.close());
      const identities: string[] = [];
      payments.on("settled", ({ payment }) => void identities.push(payment));
      let runs = 0;
      let gone: Promise<void> | undefined;
      const { url } = await openServer(express, (app) => {
        app.use(payments.routes({ "/paid": SOLD }));
        app.get("/paid", (_req, res) => {
          runs++;
          gone = new Promise((resolve) => void res.once("close", resolve));
          res.send(BODY);
        });
      });
      const payer = createPayer();
      bank.ledger.fund(payer.address, 1_000_000n);
      const sign = async () => {
        const { challenge } = await pay(url, { path: "/paid" });
        return payer.signExact(challenge!.accepts[0]!, { challenge: challenge! });
      };
      const left: PaymentPayload[] = [];
      // Four fit.
      for (let at = 0; at < 5; at++) {
        const payment = await sign();
        const client = new AbortController();
        leave = () => {
          client.abort();
          return gone ?? Promise.reject(new Error("the handler has not run"));
        };
        const header = Buffer.from(JSON.stringify(payment)).toString("base64");
        const asked = fetch(`${url}/paid`, { headers: { "payment-signature": header }, signal: client.signal });
        await expect(asked).rejects.toThrow(/abort/);
        left.push(payment);
        for (;;) {
          const record = await store.find(identities[at] ?? "-");
          if (record?.mark === "undelivered") break;
          await new Promise(setImmediate);
        }
      }
      leave = undefined;
      const again = [];
      for (const payment of [left[0]!, left[4]!]) {
        const { status, text } = await pay(url, { path: "/paid", payment });
        again.push([status, text.length, runs]);
      }
      expect(again).toEqual(Array(2).fill([200, BODY.length, 6]));
      expect(bank.ledger.transfers.length).toBe(5);
    },
  );

  test.each(STORES)(
    "payments with identifiers keep the latest responses in %s, at two sellers",
    async (_store, open, isHere) => {
      if (!isHere) return;
      const openStore = await open();
      const facilitator = createTestFacilitator();
      const stores: PaymentStore[] = [];
      let runs = 0;
      const sellers = await Promise.all(
        [0, 1].map(async () => {
          const store = await openStore();
          stores.push(store);
          const options = { facilitator, store, quoteSecret: "0".repeat(32), logger: QUIET, timer: () => () => {} };
          const payments = createPayments({ ...options, ...LENIENT });
          onTestFinished(() => payments.close());
          return openServer(express, (app) => {
            app.use(payments.routes({ "/paid": SOLD }));
            app.get("/paid", (_req, res) => {
              runs++;
              res.send(BODY);
            });
          });
        }),
      );
      const payer = createPayer();
      facilitator.ledger.fund(payer.address, 1_000_000n);
      const paid: PaymentPayload[] = [];
      for (let at = 0; at < 8; at++) {
        const bought = await pay(sellers[at % 2]!.url, {
          path: "/paid",
          payer,
          mutate: withId(`pay_${at}`.padEnd(20, "0")),
        });
        expect([bought.status, bought.text.length]).toEqual([200, BODY.length]);
        paid.push(bought.payment!);
      }
      const again = [];
      for (const [at, payment] of paid.entries()) {
        const { status, challenge } = await pay(sellers[(at + 1) % 2]!.url, { path: "/paid", payment });
        again.push([status, challenge?.accepts.length]);
      }
      // Four fit. The others are known to be paid: no challenge, and no second run.
      expect(again).toEqual([...Array(4).fill([409, undefined]), ...Array(4).fill([200, undefined])]);
      expect([runs, facilitator.ledger.transfers.length]).toEqual([8, 8]);
    },
  );
});
