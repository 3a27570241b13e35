// Text by the token: the client authorizes a maximum, the stream says at its end what it was. The quote is noted for the handler by the
// object that express.json() made of the body.
import { HTTPFacilitatorClient } from "@x402/core/server";
import { UptoEvmScheme } from "@x402/evm/upto/server";
import { paymentMiddleware, setSettlementOverrides, x402ResourceServer } from "@x402/express";
import express from "express";

const quotes = new WeakMap();
const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: process.env.FACILITATOR_URL })).register(
  process.env.NETWORK,
  new UptoEvmScheme(),
);

async function quote({ adapter }) {
  const body = adapter.getBody();
  const tokens = Math.min(Number(body?.tokens ?? 1), 50);
  if (body) quotes.set(body, tokens);
  return `$${(tokens * 0.001).toFixed(3)}`;
}

export const app = express();
app.use(express.json());
app.use(
  paymentMiddleware(
    {
      "POST /generate": {
        accepts: { scheme: "upto", price: quote, network: process.env.NETWORK, payTo: process.env.PAY_TO },
        description: "Text, token by token",
      },
    },
    server,
  ),
);
app.post("/generate", async (req, res) => {
  const made = Math.ceil(quotes.get(req.body) / 2);
  if (req.body.plain) {
    setSettlementOverrides(res, { amount: "25%" });
    return res.json({ made });
  }
  res.type("text/event-stream").flushHeaders();
  for (let token = 0; token < made; token++) {
    res.write(`data: ${token}\n\n`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  setSettlementOverrides(res, { amount: String(made * 1000) });
  res.end("data: [DONE]\n\n");
});
