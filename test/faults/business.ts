/**
 * What every seller of these tests has: a payer with money, a facilitator to settle with, and accounts of it all. Everything
 * is closed with the test.
 *
 * @module
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createPayments, type Payments, type PaymentsOptions } from "@farebox/express";
import { createPayer, type FacilitatorServer, type Payer } from "@farebox/testing";
import type { Express } from "express";
import { onTestFinished } from "vitest";
import { type Bank, openLedger } from "./bank.js";

/** What the payer has before anything is bought. */
const PURSE = 1_000_000n;

/** What the goods cost, a cent, in atomic units. */
export const PRICE = 10_000n;

/** What a business has that is not the usual. */
export interface BusinessPlan {
  /** Default: a ledger of its own. */
  readonly bank?: Bank;
  readonly options?: Partial<PaymentsOptions>;
}

export interface Business {
  readonly payer: Payer;
  readonly payTo: `0x${string}`;
  readonly payments: Payments;
  readonly facilitatorServer: FacilitatorServer;
  /** What has been paid to the seller, in atomic units. */
  income(): Promise<bigint>;
  /** What the payer has paid to anybody, in atomic units. */
  spent(): Promise<bigint>;
  /** How often the facilitator was told to settle. */
  settlements(): number;
}

export async function openBusiness(plan: BusinessPlan): Promise<Business> {
  const bank = plan.bank ?? (await openOwnLedger());
  const [payer, { address: payTo }] = [createPayer(), createPayer()];
  await bank.fund(payer.address, PURSE);
  const payments = createPayments({
    facilitator: bank.server.url,
    networks: ["eip155:84532"],
    payTo: { "eip155:*": payTo },
    // Failures are on purpose here. Without a logger they would be on stderr.
    logger: { info() {}, warn() {}, error() {} },
    ...plan.options,
  });
  onTestFinished(() => payments.close());
  const settledBefore = countSettlements(bank);
  return {
    payer,
    payTo,
    payments,
    facilitatorServer: bank.server,
    income: () => bank.balanceOf(payTo),
    spent: async () => PURSE - (await bank.balanceOf(payer.address)),
    settlements: () => countSettlements(bank) - settledBefore,
  };
}

async function openOwnLedger(): Promise<Bank> {
  const bank = await openLedger();
  onTestFinished(() => bank.close());
  return bank;
}

function countSettlements({ server }: Bank): number {
  return server.requests.filter(({ operation }) => operation === "settle").length;
}

/** Starts an app on a free port; yields its origin. */
export async function serve(app: Express): Promise<string> {
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
