/**
 * `farebox ledger reconcile` on Algorand: payments of the reference's client agree with what an indexer tells, a forgery is
 * found, and so is money that no entry has. A stand-in for a node and for an indexer; `algosdk`'s own client reads the latter.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPayments } from "@farebox/express";
import { type SqliteDatabase, sqliteStore } from "@farebox/stores/sqlite";
import { Indexer } from "algosdk";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { FEE_PAYER, MAINNET_HASH, NETWORK, PAY_TO, PAYER, USDC } from "../../../packages/avm/src/payments.fixture.js";
import { LocalIndexer } from "../../avm/local-indexer.js";
import { nodePerTest } from "../../avm/node-per-test.js";
import { ourFacilitator, referenceClient } from "../../avm/peers.js";
import { weatherSeller } from "../../interop/servers.js";
import { runFarebox } from "../run-farebox.js";

const Database = createRequire(import.meta.url)("libsql") as new (path: string) => SqliteDatabase & { close(): void };

const node = nodePerTest();
let indexer: LocalIndexer;
let folder: string;
let database: SqliteDatabase & { close(): void };

beforeEach(async () => {
  indexer = await LocalIndexer.start(node.local);
  folder = mkdtempSync(join(tmpdir(), "farebox-ledger-"));
  database = new Database(join(folder, "payments.db"));
  // After the servers of the test have ended.
  onTestFinished(async () => {
    database.close();
    rmSync(folder, { recursive: true });
    await indexer.close();
  });
});

async function sell(count: number): Promise<void> {
  const facilitator = await node.listen(ourFacilitator(node.local));
  const payments = createPayments({
    facilitator,
    store: sqliteStore(database),
    deadlines: { verifyMs: 120_000, settleMs: 120_000, supportedMs: 120_000 },
    logger: { info() {}, warn() {}, error() {} },
  });
  const accepts = { scheme: "exact", price: "$0.001", network: NETWORK, payTo: PAY_TO.toString() } as const;
  const seller = await node.listen(weatherSeller(payments.routes({ "GET /weather": { accepts } })));
  const pay = referenceClient(PAYER, node.local);
  for (let time = 0; time < count; time++) expect((await pay(`${seller}/weather`)).status).toBe(200);
  await payments.close();
}

async function reconcile(url = indexer.url) {
  const store = `sqlite:${join(folder, "payments.db")}`;
  const args = ["ledger", "reconcile", "--store", store, "--rpc", `${NETWORK}=${url}`, "--json"];
  const { code, out, err } = await runFarebox(args);
  return { code, told: out + err, network: JSON.parse(out).networks?.[0] };
}

/** A call of a program that moves money to the payee within it. */
const call = (id: string, amount: number, more: object = {}) => ({
  id,
  sender: PAYER.addr.toString(),
  fee: 1000,
  "first-valid": 1,
  "last-valid": 2,
  "confirmed-round": 2,
  "round-time": Math.floor(Date.now() / 1000),
  "tx-type": "appl",
  "inner-txns": [
    {
      sender: FEE_PAYER.addr.toString(),
      fee: 0,
      "first-valid": 1,
      "last-valid": 2,
      "tx-type": "axfer",
      "asset-transfer-transaction": { "asset-id": Number(USDC), amount, receiver: PAY_TO.toString(), ...more },
    },
  ],
});

test("sales agree with the indexer, over several pages; algosdk reads the same from it; and forgeries are found", async () => {
  await sell(4);
  expect(await reconcile()).toMatchObject({ code: 0, network: { network: NETWORK, matched: 4, discrepancies: [] } });
  expect(indexer.asked.filter((url) => url.includes("next=")).length).toBeGreaterThan(1);
  const client = new Indexer("", "http://127.0.0.1", indexer.port);
  const { transactions } = await client.lookupAccountTransactions(PAY_TO.toString()).assetID(USDC).limit(100).do();
  expect(transactions.map(({ assetTransferTransaction }) => assetTransferTransaction?.amount)).toEqual([1000n, 1000n]);

  // A forged amount, a forged transaction and unrecorded money are found.
  const [first, second] = node.local.history.filter(({ txn }) => txn.assetTransfer !== undefined);
  database.exec(`UPDATE farebox_ledger SET amount = '1001' WHERE transaction_id = '${first!.txn.txID()}'`);
  database.exec(
    `UPDATE farebox_ledger SET transaction_id = '${"A".repeat(52)}' WHERE transaction_id = '${second!.txn.txID()}'`,
  );
  indexer.calls.push(
    call("B".repeat(52), 7),
    call("C".repeat(52), 0, { "close-to": PAY_TO.toString(), "close-amount": 9 }),
  );
  const { code, network } = await reconcile();
  expect(code).toBe(1);
  expect(network.matched).toBe(2);
  const found = network.discrepancies.map(
    ({ kind, message }: Record<"kind" | "message", string>) => `${kind}: ${message}`,
  );
  expect(found.sort()).toEqual([
    "differs: the amount is 0.001 USDC, and the ledger says 0.001001 USDC",
    "missing: the chain has no such transaction",
    `unrecorded: no entry has this transfer of 0.000007 USDC to ${PAY_TO}`,
    `unrecorded: no entry has this transfer of 0.000009 USDC to ${PAY_TO}`,
    `unrecorded: no entry has this transfer of 0.001 USDC to ${PAY_TO}`,
  ]);
});

test("an unreadable response is refused, and not guessed at; so are an indexer of another chain, and a node that is none", async () => {
  await sell(1);
  const unreadable: readonly (readonly [what: string, moved: object, more: object])[] = [
    ["an amount that is no number", { amount: "7" }, {}],
    ["an amount that JSON cannot carry", { amount: 2 ** 60 }, {}],
    ["a text for a time", {}, { "round-time": "now" }],
  ];
  for (const [what, moved, more] of unreadable) {
    indexer.calls.splice(0, 1, { ...call("B".repeat(52), 7, moved), ...more });
    expect(await reconcile(), what).toMatchObject({ code: 1, told: expect.stringContaining("response is unreadable") });
  }
  indexer.calls.length = 0;
  expect(await reconcile(node.local.url)).toMatchObject({
    code: 1,
    told: expect.stringMatching(/cannot be used|no indexer/),
  });
  node.local.genesisHash = MAINNET_HASH;
  expect(await reconcile()).toMatchObject({ code: 1, told: expect.stringContaining("is of another chain") });
});
