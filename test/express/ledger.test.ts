/**
 * `payments.ledger` of a real shop: each sale is in it once, whichever way it was sold, and nothing else is.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LedgerEntry, LedgerQuery, Payments } from "@farebox/express";
import { createPayments, setSettlementOverrides } from "@farebox/express";
import { sqliteStore } from "@farebox/stores/sqlite";
import { createPayer, pay } from "@farebox/testing";
import Libsql from "libsql";
import { describe, expect, onTestFinished, test } from "vitest";
import { PATIENT, PAY_TO, VERSIONS } from "./shop.js";
import { createShopFacilitator } from "./shop-facilitator.js";

const NETWORK = "eip155:84532";
const QUIET = { info() {}, warn() {}, error() {} };

/** A shop whose ledger is in a file. */
async function open(express: (typeof VERSIONS)[number][1]) {
  const folder = mkdtempSync(join(tmpdir(), "farebox-ledger-"));
  const database = new Libsql(join(folder, "payments.db"));
  const payer = createPayer();
  const facilitator = createShopFacilitator(payer);
  const payments = createPayments({
    facilitator: { facilitator, name: "the bank" },
    networks: [NETWORK],
    payTo: { "eip155:*": PAY_TO },
    store: sqliteStore(database),
    logger: QUIET,
    deadlines: PATIENT,
    copyWaitMs: 0,
  });
  const app = express().set("env", "test");
  app.use(
    payments.routes({
      "GET /weather/:city": { price: "$0.01" },
      "GET /prepaid": { price: "$0.02", settle: "before" },
      "POST /tokens": { accepts: { scheme: "upto", price: "$0.10", network: NETWORK, payTo: PAY_TO } },
      "GET /fails": { price: "$0.01" },
    }),
  );
  app.get("/weather/:city", (_req, res) => void res.json({ sun: true }));
  app.get("/prepaid", (_req, res) => void res.json({ sun: true }));
  app.post("/tokens", (req, res) => {
    setSettlementOverrides(res, { amount: String(req.headers["x-amount"]) });
    res.json({ tokens: 7 });
  });
  app.get("/fails", (_req, res) => void res.status(500).end());
  app.get("/charged/:id", payments.charge({ price: "$0.03" }), (_req, res) => void res.json({ id: 1 }));
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await payments.close();
    database.close();
    rmSync(folder, { recursive: true });
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const buy = (path: string, more: Parameters<typeof pay>[1] = {}) => pay(url, { path, payer, ...more });
  return { payments, facilitator, payer, url, buy };
}

async function entriesOf({ ledger }: Pick<Payments, "ledger">, query?: LedgerQuery): Promise<readonly LedgerEntry[]> {
  const entries: LedgerEntry[] = [];
  for await (const entry of ledger.entries(query)) entries.push(entry);
  return entries;
}

describe.each(VERSIONS)("the ledger on %s", (_, express) => {
  test("has each sale once, with what was paid and by which transaction", async () => {
    const { payments, payer, buy, url } = await open(express);
    const seen: LedgerEntry[] = [];
    let tell = () => {};
    const told = new Promise<void>((resolve) => {
      tell = resolve;
    });
    payments.ledger.onSettled("books", (entry) => {
      seen.push(entry);
      if (seen.length === 4) tell();
    });
    const weather = await buy("/weather/paris?unit=c");
    const prepaid = await buy("/prepaid");
    const tokens = await buy("/tokens", { method: "POST", headers: { "x-amount": "1234" } });
    const charged = await buy("/charged/5");
    expect([weather.status, prepaid.status, tokens.status, charged.status]).toEqual([200, 200, 200, 200]);
    // The same payment sent again buys nothing more.
    await pay(url, { path: "/weather/paris?unit=c", payment: weather.payment! });

    const all = await entriesOf(payments);
    const common = {
      payer: payer.address.toLowerCase(),
      payee: PAY_TO,
      network: NETWORK,
      decimals: 6,
      facilitator: "the bank",
      attempt: 1,
      status: "settled",
    };
    const transactionOf = ({ receipt }: typeof weather) => receipt?.transaction;
    expect(all).toEqual([
      expect.objectContaining({
        ...common,
        route: "GET /weather/:city",
        resource: `${url}/weather/paris`,
        amount: "10000",
        transaction: transactionOf(weather),
      }),
      expect.objectContaining({
        ...common,
        route: "GET /prepaid",
        amount: "20000",
        transaction: transactionOf(prepaid),
      }),
      expect.objectContaining({
        ...common,
        route: "POST /tokens",
        scheme: "upto",
        amount: "1234",
        maximum: "100000",
        transaction: transactionOf(tokens),
      }),
      expect.objectContaining({
        ...common,
        resource: `${url}/charged/5`,
        amount: "30000",
        transaction: transactionOf(charged),
      }),
    ]);
    for (const [entry, { id }] of all.map((entry, at) => [seen[at], entry] as const)) {
      await told;
      expect(entry?.id).toBe(id);
    }
    expect(await entriesOf(payments, { route: "POST /tokens", payer: payer.address })).toEqual([all[2]]);
  });

  test("counts what was refused, failed, or cost nothing, and has no entry of it", async () => {
    const { payments, facilitator, buy, url } = await open(express);
    await buy("/fails");
    await buy("/tokens", { method: "POST", headers: { "x-amount": "0" } });
    await pay(url, { path: "/prepaid" });
    facilitator.failNext("rejected");
    await buy("/weather/paris");
    expect(await entriesOf(payments)).toEqual([]);
    const counts = await payments.ledger.counts({ since: Date.now() - 60_000 });
    expect(counts.map(({ route, kind, reason, count }) => [route, kind, reason, count])).toEqual([
      ["GET /fails", "uncharged", "not_chargeable", 1],
      ["GET /weather/:city", "refused", expect.any(String), 1],
      ["POST /tokens", "uncharged", "zero", 1],
    ]);
  });

  test("has a sale whose outcome was unknown once it is known", async () => {
    const { payments, facilitator, buy, url } = await open(express);
    facilitator.failNext("unknown");
    const lost = await buy("/weather/paris");
    expect(lost.status).toBe(503);
    expect(await entriesOf(payments)).toEqual([]);
    const again = await pay(url, { path: "/weather/paris", payment: lost.payment! });
    expect(again.status).toBe(200);
    expect(await entriesOf(payments)).toMatchObject([{ transaction: again.receipt?.transaction, attempt: 2 }]);
  });

  test("has a sale by hand", async () => {
    const { payments, payer } = await open(express);
    const sale = payments.byHand({
      accepts: { price: "$0.05", network: NETWORK, payTo: PAY_TO },
      resource: "https://api.example.com/report",
    });
    const { document } = await sale.challenge({});
    const payment = await payer.signExact(document!.accepts[0]!, { challenge: document! });
    const verified = await sale.verify(payment);
    if (!("payment" in verified) || verified.payment === undefined) throw new TypeError("not verified");
    await verified.payment.settle();
    expect(await entriesOf(payments)).toMatchObject([{ amount: "50000", resource: "https://api.example.com/report" }]);
  });
});
