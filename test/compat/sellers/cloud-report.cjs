// A function of a cloud: events in, responses out, and no socket. What is exported stands for the provider's gateway.
const { IncomingMessage, ServerResponse } = require("node:http");
const express = require("express");
const { paymentMiddleware, x402ResourceServer } = require("@x402/express");
const { HTTPFacilitatorClient } = require("@x402/core/server");
const { registerExactEvmScheme } = require("@x402/evm/exact/server");

const server = registerExactEvmScheme(
  new x402ResourceServer(new HTTPFacilitatorClient({ url: process.env.FACILITATOR_URL })),
  { networks: [process.env.NETWORK] },
);
const api = express().set("env", "test");
api.use(
  paymentMiddleware(
    {
      "GET /report/:year": {
        accepts: { scheme: "exact", price: "$0.002", network: process.env.NETWORK, payTo: process.env.PAY_TO },
      },
    },
    server,
  ),
);
api.get("/report/:year", (req, res) => {
  if (req.params.year === "1900") return res.status(404).json({ error: "no report" });
  res.json({ year: req.params.year });
});

function handle({ method, path, headers }) {
  const nothing = () => {};
  const req = new IncomingMessage({ encrypted: false, readable: false, end: nothing, destroy: nothing });
  Object.assign(req, { method, url: path, headers, complete: true });
  const res = new ServerResponse(req);
  res.useChunkedEncodingByDefault = false;
  const sent = [];
  const write = (data, encoding, callback) => {
    sent.push(Buffer.from(data));
    for (const called of [encoding, callback]) if (typeof called === "function") called();
    return true;
  };
  const socket = { _writableState: {}, writable: true, on: nothing, removeListener: nothing, destroy: nothing };
  res.assignSocket({ ...socket, cork: nothing, uncork: nothing, write });
  return new Promise((resolve) => {
    res.once("finish", () => {
      const [, body = ""] = Buffer.concat(sent).toString().split("\r\n\r\n");
      resolve({ status: res.statusCode, headers: res.getHeaders(), body });
    });
    api(req, res);
  });
}

async function app(req, res) {
  const { status, headers, body } = await handle({ method: req.method, path: req.url, headers: req.headers });
  res.writeHead(status, headers).end(body);
}

module.exports = { app };
