// Audits that cost what they use, up to a limit. The seller starts the facilitator himself, and answers 503 until it is ready.
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { UptoEvmScheme } from "@x402/evm/upto/server";
import {
  paymentMiddlewareFromHTTPServer,
  setSettlementOverrides,
  x402HTTPResourceServer,
  x402ResourceServer,
} from "@x402/express";
import express from "express";

const network = process.env.NETWORK;
const payTo = process.env.PAY_TO;
const resourceServer = new x402ResourceServer(new HTTPFacilitatorClient({ url: process.env.FACILITATOR_URL }))
  .register(network, new ExactEvmScheme())
  .register(network, new UptoEvmScheme());

const httpServer = new x402HTTPResourceServer(resourceServer, {
  "POST /api/audit": {
    accepts: { scheme: "upto", price: "$0.50", network, payTo, maxTimeoutSeconds: 120 },
    description: "An audit: a cent for each test",
  },
  "POST /api/screen": {
    accepts: {
      scheme: "exact",
      network,
      payTo,
      price: ({ adapter }) => (adapter.getBody()?.deep ? "$0.03" : "$0.01"),
    },
    description: "A screening",
  },
});
httpServer.onProtectedRequest(async ({ adapter }) => {
  if (["initialize", "tools/list"].includes(adapter.getBody?.()?.method)) return { grantAccess: true };
});

let paymentsReady = false;
export const ready = (async function initialise() {
  await httpServer.initialize();
  paymentsReady = true;
})();

export const app = express();
app.use(express.json());
app.get("/healthz", (_req, res) => void res.json({ ok: true, paymentsReady }));
app.use((req, res, next) => {
  if (!paymentsReady && req.method === "POST") return res.status(503).json({ error: "starting" });
  next();
});
app.use(paymentMiddlewareFromHTTPServer(httpServer, undefined, undefined, false));
app.post("/api/audit", (req, res) => {
  const tests = Number(req.body.tests ?? 0);
  if (!Number.isInteger(tests) || tests > 50) return res.status(400).json({ error: "tests: 0 to 50" });
  setSettlementOverrides(res, { amount: String(tests * 10_000) });
  res.json({ tests, passed: tests });
});
app.post(
  "/api/screen",
  (req, res) => void res.json({ deep: req.body.deep === true, granted: req.body.method ?? null }),
);
