// Interest rates and quotes, from a list of routes. CommonJS, behind a proxy.
const express = require("express");
const { paymentMiddleware } = require("@x402/express");
const { x402ResourceServer, HTTPFacilitatorClient } = require("@x402/core/server");
const { registerExactEvmScheme } = require("@x402/evm/exact/server");
const { bazaarResourceServerExtension, declareDiscoveryExtension } = require("@x402/extensions/bazaar");

const app = express();
app.set("trust proxy", true);

const SERIES = { DGS10: 4.21, DGS2: 3.9 };
const PRODUCTS = [
  { path: "/v1/rate/:series", price: "$0.002", about: "One interest rate" },
  { path: "/v1/curve", price: 0.01, about: "All of them" },
  { path: "/v1/history", price: "0.05", about: "Twenty years" },
];

const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: process.env.FACILITATOR_URL }));
registerExactEvmScheme(server);
server.registerExtension(bazaarResourceServerExtension);

const routes = {};
for (const { path, price, about } of PRODUCTS) {
  routes[`GET ${path}`] = {
    accepts: [{ scheme: "exact", price, network: process.env.NETWORK, payTo: process.env.PAY_TO }],
    description: about,
    mimeType: "application/json",
    extensions: {
      ...declareDiscoveryExtension({
        input: { units: "percent" },
        inputSchema: { properties: { units: { type: "string" } } },
        output: { example: { series: "DGS10", value: 4.21 } },
      }),
    },
  };
}

app.get("/health", (_req, res) => res.json({ status: "ok" }));
app.use(paymentMiddleware(routes, server));
app.get("/v1/rate/:series", (req, res) => {
  const value = SERIES[req.params.series];
  if (value === undefined) return res.status(404).json({ error: `unknown series ${req.params.series}` });
  res.json({ series: req.params.series, value });
});
app.get("/v1/curve", (_req, res) => res.json(SERIES));
app.get("/v1/history", (_req, res) => res.json([SERIES, SERIES]));

module.exports = { app };
