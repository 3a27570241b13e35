// Notes that are sold once for each payment id. The seller keeps its own cache, and marks the request from a hook.

import { decodePaymentSignatureHeader } from "@x402/core/http";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddlewareFromHTTPServer, x402HTTPResourceServer, x402ResourceServer } from "@x402/express";
import {
  declarePaymentIdentifierExtension,
  extractPaymentIdentifier,
  PAYMENT_IDENTIFIER,
} from "@x402/extensions/payment-identifier";
import express from "express";

const cache = new Map();
export let runs = 0;

const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: process.env.FACILITATOR_URL }))
  .register("eip155:84532", new ExactEvmScheme())
  .onAfterSettle(async ({ paymentPayload }) => {
    const id = extractPaymentIdentifier(paymentPayload);
    if (id) cache.set(id, { note: "kept", run: runs });
  });

const http = new x402HTTPResourceServer(server, {
  "GET /note": {
    accepts: [{ scheme: "exact", price: "$0.001", network: process.env.NETWORK, payTo: process.env.PAY_TO }],
    extensions: { [PAYMENT_IDENTIFIER]: declarePaymentIdentifierExtension(false) },
  },
}).onProtectedRequest(async ({ adapter, paymentHeader }) => {
  if (!paymentHeader) return;
  const id = extractPaymentIdentifier(decodePaymentSignatureHeader(paymentHeader));
  if (id && cache.has(id)) {
    adapter.req.cachedNote = cache.get(id);
    return { grantAccess: true };
  }
});

export const app = express();
app.use(paymentMiddlewareFromHTTPServer(http));
app.get("/note", (req, res) => {
  if (req.cachedNote) return res.json({ ...req.cachedNote, cached: true });
  runs += 1;
  res.json({ note: "new", run: runs });
});
