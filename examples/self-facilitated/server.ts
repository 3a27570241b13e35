/**
 * A seller with its own facilitator: no third party verifies, settles or sees a payment.
 *
 * @module
 */
import { createExactEvmScheme, createRpcChain } from "@farebox/evm/facilitator";
import { createPayments } from "@farebox/express";
import { createFacilitator } from "@farebox/facilitator";
import express, { type Express } from "express";

/** The chain, the key and the payee of the seller. */
export interface SellerOptions {
  readonly network: `eip155:${number}`;
  readonly rpcUrl: string;
  /** Signs transactions and pays their fees. It needs no stablecoins, and cannot take any. */
  readonly privateKey: `0x${string}`;
  readonly payTo: `0x${string}`;
}

/** Creates the app. */
export function createApp({ network, rpcUrl, privateKey, payTo }: SellerOptions): Express {
  const chain = createRpcChain({ network, rpcUrl, privateKey, pollingIntervalMs: 50 });
  const payments = createPayments({
    facilitator: createFacilitator({ schemes: [createExactEvmScheme({ chain })] }),
    // Farebox asks the node for the outcome of a settlement if a response is lost.
    rpc: { [network]: rpcUrl },
  });
  const app = express();
  app.use(payments.routes({ "GET /weather": { accepts: { price: "$0.001", network, payTo } } }));
  app.get("/weather", (req, res) => void res.json({ weather: "sunny", paidBy: req.payment?.payer }));
  return app;
}
