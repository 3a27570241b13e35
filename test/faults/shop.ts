/**
 * A seller, a payer with money, and a facilitator behind HTTP that fails on demand.
 *
 * @module
 */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { paymentMiddleware } from "@farebox/express";
import {
  createPayer,
  createTestFacilitator,
  type FacilitatorServer,
  type Payer,
  type PayOptions,
  type PayResult,
  pay,
  startFacilitatorServer,
  type TestFacilitator,
} from "@farebox/testing";
import express from "express";

/** What no answer to a client may ever contain. */
export const SECRET = "facilitator-secret-7f3a";

const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

/** Everything a fault test needs. */
export interface Shop {
  readonly payer: Payer;
  readonly facilitator: TestFacilitator;
  readonly facilitatorServer: FacilitatorServer;
  /** How often the priced handler has run. */
  readonly runs: () => number;
  /** What has been paid to the seller, in atomic units. */
  readonly income: () => bigint;
  /** Asks for `/goods`, which costs $0.01, and pays for it. */
  buy(options?: PayOptions): Promise<PayResult>;
  close(): Promise<void>;
}

/** Short enough for a test to wait for, and long enough for a busy machine to answer in. */
export const DEADLINES = { verifyMs: 700, settleMs: 700, supportedMs: 700 };

/** Opens the shop. */
export async function openShop(): Promise<Shop> {
  const payer = createPayer();
  const facilitator = createTestFacilitator();
  facilitator.ledger.fund(payer.address, 1_000_000n);
  const facilitatorServer = await startFacilitatorServer({ facilitator });

  let runs = 0;
  const app = express();
  app.use(
    paymentMiddleware(
      { "GET /goods": { accepts: { price: "$0.01", network: "eip155:84532", payTo: PAY_TO } } },
      { facilitator: facilitatorServer.url, deadlines: DEADLINES },
    ),
  );
  app.get("/goods", (_req, res) => {
    runs += 1;
    res.set("X-Goods", "yes").json({ goods: runs });
  });
  const server = await new Promise<Server>((resolve) => {
    const starting = app.listen(0, "127.0.0.1", () => resolve(starting));
  });
  const { port } = server.address() as AddressInfo;

  return {
    payer,
    facilitator,
    facilitatorServer,
    runs: () => runs,
    income: () => facilitator.ledger.balanceOf(PAY_TO),
    buy: (options = {}) => pay(`http://127.0.0.1:${port}/goods`, { payer, ...options }),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await facilitatorServer.close();
    },
  };
}
