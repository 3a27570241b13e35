// A feed with three free looks for each account, a token of the seller's choice, and a quote in the body of the 402.
import { HTTPFacilitatorClient, x402HTTPResourceServer, x402ResourceServer } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddlewareFromHTTPServer } from "@x402/express";
import express from "express";

const USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const trials = new Map();
const lastPayer = new Map();

const server = new x402ResourceServer([new HTTPFacilitatorClient({ url: process.env.FACILITATOR_URL })]);
server.register(process.env.NETWORK, new ExactEvmScheme());
server.onAfterVerify(async ({ result, transportContext }) => {
  const id = transportContext?.request?.adapter.getHeader("x-request-id");
  if (id && result.isValid) lastPayer.set(id, result.payer);
});

const accepts = {
  scheme: "exact",
  network: process.env.NETWORK,
  payTo: process.env.PAY_TO,
  price: { asset: USDC, amount: "3000", extra: { name: "USDC", version: "2" } },
  maxTimeoutSeconds: 300,
};
const http = new x402HTTPResourceServer(server, {
  "GET /v1/position": {
    accepts,
    description: `Live positions. ${"Each one with its history, its risk and its source. ".repeat(12)}`,
    mimeType: "application/json",
    unpaidResponseBody: async ({ path, adapter }) => ({
      contentType: "application/json",
      body: { error: "Trial is over", path, account: adapter.getHeader("x-account") ?? null, price: "0.003 USDC" },
    }),
  },
}).onProtectedRequest(async ({ adapter }) => {
  const account = adapter.getHeader("X-Account");
  if (account === "blocked") return { abort: true, reason: "This account is blocked" };
  if (account === undefined) return;
  const seen = (trials.get(account) ?? 0) + 1;
  trials.set(account, seen);
  if (seen <= 3) return { grantAccess: true };
});

export const app = express();
app.use(paymentMiddlewareFromHTTPServer(http, { appName: "Feed", currentUrl: "https://feed.example" }));
app.get("/v1/position", (req, res) => {
  res.json({ positions: [], payer: lastPayer.get(req.get("x-request-id")) ?? null });
});
