// Pay once, read for an hour: the seller's own middleware asks for payment only without a session.
import { randomUUID } from "node:crypto";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddleware, x402ResourceServer } from "@x402/express";
import express from "express";

const sessions = new Map();
const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: process.env.FACILITATOR_URL }));
server.register("eip155:*", new ExactEvmScheme());

const key = (method, path) => `${method.toUpperCase()} ${path}`;
const pay = paymentMiddleware(
  {
    [key("get", "/articles/*")]: {
      accepts: [{ scheme: "exact", price: "$0.10", network: process.env.NETWORK, payTo: process.env.PAY_TO }],
      description: "All articles for an hour",
      mimeType: "text/plain",
    },
  },
  server,
);

const sessionOf = (req) => /(?:^|;\s*)session=([\w-]+)/.exec(req.headers.cookie ?? "")?.[1];

export const app = express();
app.use((req, res, next) => {
  const until = sessions.get(sessionOf(req));
  if (until !== undefined && until > Date.now()) return next();
  return pay(req, res, next);
});
app.get("/articles/:name", (req, res) => {
  if (sessionOf(req) === undefined) {
    const id = randomUUID();
    sessions.set(id, Date.now() + 3_600_000);
    res.setHeader("Set-Cookie", `session=${id}; HttpOnly; Path=/`);
  }
  res.type("text/plain").send(`Article ${req.params.name}`);
});
