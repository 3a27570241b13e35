/**
 * `farebox ledger` on Solana: payments of `@x402/fetch` agree with the chain, a forgery is found, and a refund arrives.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createPayments } from "@farebox/express";
import { createFacilitator } from "@farebox/facilitator";
import { type SqliteDatabase, sqliteStore } from "@farebox/stores/sqlite";
import { createExactSvmScheme, createRpcSvmChain } from "@farebox/svm/facilitator";
import { type LocalSvm, startLocalSvm } from "@farebox/testing";
import express from "express";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FEE_PAYER, keypair, NETWORK, PAYER } from "../../../packages/svm/src/payments.fixture.js";
import { referenceClient } from "../../svm/peers.js";
import { serve } from "../doctor/sellers.js";
import { runFarebox } from "../run-farebox.js";

const Database = createRequire(import.meta.url)("libsql") as new (path: string) => SqliteDatabase & { close(): void };
const SELLER = keypair(60);
const folder = mkdtempSync(join(tmpdir(), "farebox-ledger-"));
const file = join(folder, "payments.db");
const database = new Database(file);
const store = `sqlite:${file}`;

let svm: LocalSvm;
let rpc: string;
const started = process.cwd();
beforeAll(async () => {
  // The command takes @solana/web3.js from the folder that it runs in; this one has it.
  process.chdir(fileURLToPath(new URL("../../../packages/cli", import.meta.url)));
  svm = await startLocalSvm();
  rpc = `${NETWORK}=${svm.rpcUrl}`;
  for (const address of [FEE_PAYER, SELLER].map(({ publicKey }) => publicKey.toBase58()))
    svm.airdrop(address, 10_000_000_000n);
  svm.setBalance(PAYER.publicKey.toBase58(), 1_000_000n);
  svm.setBalance(SELLER.publicKey.toBase58(), 0n);
});
afterAll(async () => {
  process.chdir(started);
  database.close();
  await svm.close();
  rmSync(folder, { recursive: true });
});

test("sales are bought, compared, and given back", async () => {
  const chain = createRpcSvmChain({
    network: NETWORK,
    rpcUrl: svm.rpcUrl,
    privateKey: FEE_PAYER.secretKey,
    pollingIntervalMs: 10,
  });
  const facilitator = createFacilitator({ schemes: [createExactSvmScheme({ chain })] });
  const payments = createPayments({
    facilitator,
    store: sqliteStore(database),
    payTo: { "solana:*": SELLER.publicKey.toBase58() },
    networks: [NETWORK],
  });
  const app = express();
  app.use(payments.routes({ "GET /weather": { price: "$0.001" }, "GET /words": { price: "$0.25" } }));
  app.get(["/weather", "/words"], (_req, res) => void res.json({}));
  const url = await serve(app);
  const client = await referenceClient(PAYER, svm.rpcUrl);
  for (const path of ["/weather", "/words", "/weather"]) expect((await client(url + path)).status).toBe(200);

  const reconcile = async () => {
    const { code, out } = await runFarebox(["ledger", "reconcile", "--store", store, "--rpc", rpc, "--json"]);
    return { code, ...JSON.parse(out) };
  };
  expect(await reconcile()).toMatchObject({
    code: 0,
    agrees: true,
    networks: [{ network: NETWORK, matched: 3, discrepancies: [] }],
  });

  database.exec("UPDATE farebox_ledger SET amount = '250001' WHERE amount = '250000'");
  expect(await reconcile()).toMatchObject({
    code: 1,
    networks: [
      { discrepancies: [{ kind: "differs", message: "the amount is 0.25 USDC, and the ledger says 0.250001 USDC" }] },
    ],
  });
  database.exec("UPDATE farebox_ledger SET amount = '250000' WHERE amount = '250001'");

  const entries = [];
  for await (const entry of payments.ledger.entries()) entries.push(entry);
  const { id } = entries.find(({ amount }) => amount === "250000")!;
  const refund = (...options: string[]) =>
    runFarebox(["ledger", "refund", id, "--store", store, "--rpc", rpc, ...options], {
      env: { FAREBOX_REFUND_KEY: JSON.stringify([...SELLER.secretKey]) },
    });
  const before = svm.balanceOf(PAYER.publicKey.toBase58())!;
  expect(await refund("--amount", "100000")).toMatchObject({
    code: 0,
    out: "Nothing was sent. Add --yes to send it.\n",
  });
  expect(await refund("--amount", "100000", "--yes")).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^0\.1 USDC given back by \w+\n$/),
  });
  expect(svm.balanceOf(PAYER.publicKey.toBase58())).toBe(before + 100_000n);
  expect(await payments.ledger.get(id)).toMatchObject({ status: "settled", refunds: [{ amount: "100000" }] });
  expect((await refund("--yes")).out).toMatch(/^0\.15 USDC given back/);
  expect(await payments.ledger.get(id)).toMatchObject({ status: "refunded" });
  expect(await reconcile()).toMatchObject({ code: 0 });
  await payments.close();
}, 60_000);

test("a key that is none is refused, and not quoted", async () => {
  const [entry] = await list();
  for (const key of ["[1,2,3]", "nonsense", "0x12"]) {
    const { code, err } = await runFarebox(["ledger", "refund", entry!, "--store", store, "--rpc", rpc], {
      env: { FAREBOX_REFUND_KEY: key },
    });
    expect(code).toBe(1);
    expect(err).toMatch(/FAREBOX_REFUND_KEY is no key of a Solana account/);
    expect(err).not.toContain(key);
  }
});

async function list(): Promise<readonly string[]> {
  const { out } = await runFarebox(["ledger", "export", "--store", store, "--format", "jsonl"]);
  return out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).id);
}
