// A market: each prompt has its price, its owner and its URL under a public name. Options by config, for two ways to pay.
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddlewareFromConfig, RouteConfigurationError } from "@x402/express";
import { declareDiscoveryExtension } from "@x402/extensions/bazaar";
import express from "express";

const network = process.env.NETWORK;
const OTHER_OWNER = "0x1111111111111111111111111111111111111111";
const PROMPTS = { hero: { price: "$0.02", owner: process.env.PAY_TO }, footer: { price: "$0.04", owner: OTHER_OWNER } };
const promptOf = (path) => PROMPTS[path.split("/").at(-1)] ?? { price: "$0.01", owner: process.env.PAY_TO };

const scheme = new ExactEvmScheme().registerMoneyParser(async (amount, on) => {
  if (on !== "eip155:84532" || Number(amount) < 0.9) return null;
  return {
    asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    amount: "900000",
    extra: { name: "USDC", version: "2", tier: "bulk" },
  };
});

export const app = express();
app.use(express.json());
app.use(
  paymentMiddlewareFromConfig(
    {
      "GET /prompts/[id]": {
        accepts: [
          {
            scheme: "exact",
            network,
            price: (context) => promptOf(context.path).price,
            payTo: async (context) => promptOf(context.path).owner,
          },
        ],
        resource: "https://market.example/prompts",
        description: "One prompt",
        extensions: declareDiscoveryExtension({
          pathParams: { id: "hero" },
          pathParamsSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
          output: { example: { id: "hero", body: "Build a hero section" } },
        }),
      },
      "GET /library": { accepts: { scheme: "exact", network, price: "$0.95", payTo: process.env.PAY_TO } },
      "GET /instant": {
        accepts: {
          scheme: "exact",
          network,
          price: "$0.01",
          payTo: process.env.PAY_TO,
          extra: { paymentFlow: "upfront" },
        },
        settlementFailedResponseBody: (_context, failure) => ({
          contentType: "application/json",
          body: { error: "not settled", reason: failure.errorReason ?? null },
        }),
      },
    },
    new HTTPFacilitatorClient({ url: process.env.FACILITATOR_URL }),
    [{ network: "eip155:*", server: scheme }],
  ),
);
app.get("/prompts/:id", (req, res) => void res.json({ id: req.params.id }));
app.get("/library", (_req, res) => void res.json({ all: true }));
app.get("/instant", (_req, res) => void res.json({ instant: true }));

export { RouteConfigurationError };
