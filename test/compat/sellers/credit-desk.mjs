// Prices in credits, by a scheme around the usual one; half of them at night, by a subclass; and a discount, by a parser.
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddleware, x402ResourceServer } from "@x402/express";
import express from "express";

const CREDITS_PER_DOLLAR = 1000;

class CreditScheme {
  scheme = "exact";
  defaultAssetTransferMethod = "eip3009";
  paymentFlows = { eip3009: { supported: ["authorization"], default: "authorization" } };
  #usual = new ExactEvmScheme();

  async parsePrice(price, network) {
    const [count, unit] = String(price).split(" ");
    if (unit !== "credits") return this.#usual.parsePrice(price, network);
    return this.#usual.parsePrice(`$${Number(count) / CREDITS_PER_DOLLAR}`, network);
  }

  enhancePaymentRequirements(requirements, kind, extensions) {
    return this.#usual.enhancePaymentRequirements(requirements, kind, extensions);
  }
}

class NightScheme extends ExactEvmScheme {
  async parsePrice(price, network) {
    const byDay = await super.parsePrice(price, network);
    return { ...byDay, amount: String(BigInt(byDay.amount) / 2n) };
  }
}

const client = new HTTPFacilitatorClient({ url: process.env.FACILITATOR_URL });
const serverWith = (scheme) => new x402ResourceServer(client).register(process.env.NETWORK, scheme);
const discounted = new ExactEvmScheme().registerMoneyParser(async (amount) => ({
  asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  amount: String(Math.round(Number.parseFloat(amount) * 900_000)),
  extra: { name: "USDC", version: "2" },
}));
const at = (price) => ({
  accepts: { scheme: "exact", price, network: process.env.NETWORK, payTo: process.env.PAY_TO },
});

export const app = express();
app.use(
  paymentMiddleware(
    { "GET /credits": at("3 credits"), "GET /sized": at(({ adapter }) => `${adapter.getQueryParam("n")} credits`) },
    serverWith(new CreditScheme()),
  ),
);
app.use(paymentMiddleware({ "GET /night": at("$0.004") }, serverWith(new NightScheme())));
app.use(paymentMiddleware({ "GET /cheap": at("0.01 USDC"), "GET /cheaper": at(0.002) }, serverWith(discounted)));
app.get("/:what", (req, res) => res.json({ at: req.params.what }));
