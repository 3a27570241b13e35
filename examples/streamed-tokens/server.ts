/**
 * A text generator that streams, and charges for each token as it goes out. The payer signs a maximum.
 *
 * @module
 */
import { PaymentAbortedError, type PaymentsOptions, paymentMiddleware } from "@farebox/express";
import express, { type Express } from "express";
import { generate } from "./model.js";

/** Two thousandths of a cent: 20 atomic units of USDC. */
const PER_TOKEN = "$0.00002";

/** Creates the app. With a node in `rpc`, a payer without money or allowance gets no token. */
export function createApp(options: Pick<PaymentsOptions, "facilitator" | "rpc">, payTo: string): Express {
  // At most fifty tokens for a payment.
  const accepts = { scheme: "upto", price: "$0.001", network: "eip155:84532", payTo };
  const app = express();
  app.use(paymentMiddleware({ "GET /generate": { accepts, settle: "metered" } }, options));
  app.get("/generate", async (req, res) => {
    const { payment } = req;
    if (payment === undefined) throw new Error("the route has no price");
    const most = Number(req.query["tokens"] ?? Number.POSITIVE_INFINITY);
    res.type("text/event-stream");
    let count = 0;
    try {
      for await (const token of generate(String(req.query["start"]), payment.signal)) {
        payment.charge(PER_TOKEN); // before the token goes out
        res.write(`data: ${JSON.stringify(token)}\n\n`);
        if (++count >= most) break;
      }
    } catch (error) {
      // The maximum is used up, or the client has left.
      if (!(payment.signal.reason instanceof PaymentAbortedError)) throw error;
    }
    res.end();
  });
  return app;
}
