// Advice of an agent that clients can rate. The seller's own extension writes a fresh ticket into each challenge, refuses
// clients that it knows to be bad, and writes a rating token into each receipt.
const express = require("express");
const { paymentMiddleware } = require("@x402/express");
const { HTTPFacilitatorClient, x402ResourceServer } = require("@x402/core/server");
const { registerExactEvmScheme } = require("@x402/evm/exact/server");

let tickets = 0;
const reputation = {
  key: "erc8004",
  dynamicInfoFields: ["ticket"],
  enrichDeclaration: (declaration, transport) => ({
    ...declaration,
    info: { ...declaration.info, method: transport.method },
  }),
  enrichPaymentRequiredResponse: async (declaration, { resourceInfo }) => ({
    ...declaration,
    info: { ...declaration.info, ticket: `t-${++tickets}`, about: new URL(resourceInfo.url).pathname },
  }),
  enrichSettlementResponse: async (declaration, { result, requirements }) => ({
    agentId: declaration.info.agentId,
    rates: requirements.amount,
    isFor: result.payer.length,
  }),
  hooks: {
    async onBeforeVerify(declaration, { paymentPayload }) {
      if (paymentPayload.extensions?.erc8004?.info?.agentId !== declaration.info.agentId) {
        return { abort: true, reason: "another_agent" };
      }
    },
  },
  transportHooks: {
    http: {
      async onProtectedRequest(_declaration, { adapter }) {
        if (adapter.getHeader("x-bad")) return { abort: true, reason: "bad reputation" };
      },
    },
  },
};

const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: process.env.FACILITATOR_URL }));
registerExactEvmScheme(server, { networks: [process.env.NETWORK] });
server.registerExtension(reputation);

const app = express();
app.use(
  paymentMiddleware(
    {
      "GET /advice": {
        accepts: { scheme: "exact", price: "$0.001", network: process.env.NETWORK, payTo: process.env.PAY_TO },
        extensions: { erc8004: { info: { agentId: "22" }, schema: { type: "object" } } },
      },
    },
    server,
  ),
);
app.get("/advice", (_req, res) => res.json({ advice: "buy low" }));

module.exports = { app };
