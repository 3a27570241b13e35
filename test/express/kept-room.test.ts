/** Kept responses have a room in every store, for all processes: a payer cannot fill it for good, and no record is lost. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryStore, type PaymentPayload, type PaymentStore } from "@farebox/core";
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

describe.each(VERSIONS)("on %s", (_, express) => {
  test.each([
    ["memory", openMemory, true],
    ["a file of SQLite", openDatabase, true],
    ["Redis", openRedis, hasRedis],
  ])("payments with identifiers keep the latest responses in %s, at two sellers", async (_store, open, isHere) => {
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
  });
});
