// One hat. The order is written when the money has moved, and the buyer can look it up at once. The facilitator wants a token
// of its own for each call.
import { createHmac } from "node:crypto";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddleware, x402ResourceServer } from "@x402/express";
import express from "express";

const token = (path) => createHmac("sha256", "key").update(path).digest("hex");
const facilitator = new HTTPFacilitatorClient({
  url: `${process.env.FACILITATOR_URL}/`,
  createAuthHeaders: async () => ({
    verify: { Authorization: `Bearer ${token("verify")}` },
    settle: { Authorization: `Bearer ${token("settle")}` },
    supported: { Authorization: `Bearer ${token("supported")}` },
  }),
});

const orders = [];
const server = new x402ResourceServer(facilitator).register(process.env.NETWORK, new ExactEvmScheme());
server.onAfterSettle(async ({ result, requirements, transportContext }) => {
  if (!result.success) return;
  await new Promise((resolve) => setImmediate(resolve));
  const { request, responseBody } = transportContext;
  orders.push({
    payer: result.payer,
    transaction: result.transaction,
    amount: requirements.amount,
    path: request.path,
    method: request.method,
    size: request.adapter.getQueryParam?.("size"),
    receipt: JSON.parse(responseBody.toString("utf8")).id,
  });
});

export const app = express();
app.use(express.json());
app.use(
  paymentMiddleware(
    {
      "POST /hats": {
        accepts: { scheme: "exact", price: "$1.00", network: process.env.NETWORK, payTo: process.env.PAY_TO },
        description: 'An embroidered hat: "My agent bought me this"',
      },
    },
    server,
    { appName: "Hats", testnet: true },
  ),
);
let made = 0;
app.post("/hats", (req, res) => {
  if (req.query.size === "xxs") return res.status(409).json({ error: "sold out" });
  res.status(201).json({ id: `hat-${++made}`, embroidered: req.body?.text ?? null });
});
app.get("/orders", (_req, res) => void res.json(orders));
