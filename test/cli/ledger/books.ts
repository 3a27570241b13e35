/**
 * A seller on a local chain whose ledger is in an SQLite file, and payers with money.
 *
 * @module
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createExactEvmScheme, createRpcChain, createUptoEvmScheme } from "@farebox/evm/facilitator";
import { createPayments, type Payments } from "@farebox/express";
import { createFacilitator } from "@farebox/facilitator";
import { type SqliteDatabase, sqliteStore } from "@farebox/stores/sqlite";
import { anvilAccounts, createPayer, type LocalChain, type Payer, pay, startLocalChain } from "@farebox/testing";
import express, { type Express } from "express";

const Database = createRequire(import.meta.url)("libsql") as new (path: string) => SqliteDatabase & { close(): void };

export const NETWORK = "eip155:84532";
const [SIGNER, , SELLER] = anvilAccounts;
export const PAYEE = SELLER!.address;
export const PAYEE_KEY = SELLER!.privateKey;
const PAYERS = 5;

/** The seller and its chain. */
export interface Books {
  readonly chain: LocalChain;
  readonly payments: Payments;
  readonly payers: readonly Payer[];
  /** For `--store`. */
  readonly store: string;
  readonly rpc: string;
  readonly folder: string;
  /** Runs a statement on the file, as a forger would. */
  forge(sql: string): void;
  /** Buys something for so many atomic units. */
  buy(amount: bigint, payer?: number): Promise<number>;
  close(): Promise<void>;
}

/** Starts it. */
export async function openBooks(): Promise<Books> {
  const chain = await startLocalChain();
  const folder = mkdtempSync(join(tmpdir(), "farebox-ledger-"));
  const file = join(folder, "payments.db");
  const database = new Database(file);
  const rpcChain = createRpcChain({
    network: NETWORK,
    rpcUrl: chain.rpcUrl,
    privateKey: SIGNER!.privateKey,
    pollingIntervalMs: 20,
  });
  const facilitator = createFacilitator({
    schemes: [createExactEvmScheme({ chain: rpcChain }), createUptoEvmScheme({ chain: rpcChain })],
  });
  const payments = createPayments({
    facilitator,
    store: sqliteStore(database),
    payTo: { "eip155:*": PAYEE },
    networks: [NETWORK],
    // A busy machine is not late.
    deadlines: { verifyMs: 120_000, settleMs: 120_000, supportedMs: 120_000 },
    logger: { info() {}, warn() {}, error() {} },
  });
  const app: Express = express();
  const price = ({ pathParams }: { readonly pathParams: Readonly<Record<string, unknown>> }) => ({
    amount: String(pathParams["amount"]),
    asset: chain.asset,
  });
  app.use(
    payments.routes({
      "GET /items/:amount": { price, description: "=cmd|' /C calc'!A0" },
      "GET /by-use": { accepts: { scheme: "upto", price: "$0.01", network: NETWORK, payTo: PAYEE } },
    }),
  );
  app.get("/items/:amount", (_req, res) => void res.json({}));
  app.get("/by-use", (req, res) => {
    req.payment?.settle("4321");
    res.json({});
  });
  const payers = Array.from({ length: PAYERS }, () => createPayer());
  for (const { address } of payers) {
    await chain.fund(address, { usdc: 1_000_000_000n, eth: 10n ** 18n });
    await chain.approvePermit2(address);
  }
  return {
    chain,
    payments,
    payers,
    store: `sqlite:${file}`,
    rpc: `${NETWORK}=${chain.rpcUrl}`,
    folder,
    forge: (sql) => void database.exec(sql),
    async buy(amount, at = 0) {
      const payer = payers[at % PAYERS]!;
      const { status } = await pay(app, { path: amount === 0n ? "/by-use" : `/items/${amount}`, payer });
      return status;
    },
    async close() {
      await payments.close();
      database.close();
      await chain.close();
      rmSync(folder, { recursive: true });
    },
  };
}
