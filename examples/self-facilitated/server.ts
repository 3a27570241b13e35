/**
 * A seller with a facilitator of its own: no third party verifies, settles or knows of a payment.
 *
 * @module
 */
import { createExactEvmScheme, createRpcChain } from "@farebox/evm/facilitator";
import { createPayments } from "@farebox/express";
import { createFacilitator } from "@farebox/facilitator";
import express, { type Express } from "express";

/** What it takes. */
export interface Own {
  readonly network: `eip155:${number}`;
  readonly rpcUrl: string;
  /** Signs and pays for transactions; it needs no stablecoins, and cannot take any. */
  readonly privateKey: `0x${string}`;
  readonly payTo: `0x${string}`;
}

/** Creates the app. */
export function createApp({ network, rpcUrl, privateKey, payTo }: Own): Express {
  const chain = createRpcChain({ network, rpcUrl, privateKey, pollingIntervalMs: 50 });
  const payments = createPayments({
    facilitator: createFacilitator({ schemes: [createExactEvmScheme({ chain })] }),
    // The node also says what became of a payment, should an answer of its own get lost.
    rpc: { [network]: rpcUrl },
  });
  const app = express();
  app.use(payments.routes({ "GET /weather": { accepts: { price: "$0.001", network, payTo } } }));
  app.get("/weather", (req, res) => void res.json({ weather: "sunny", paidBy: req.payment?.payer }));
  return app;
}
