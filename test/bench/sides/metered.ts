/**
 * Express with one metered route of Farebox's.
 *
 * @module
 */
import type { Facilitator } from "@farebox/core";
import { paymentMiddleware } from "@farebox/express";
import express, { type Express } from "express";
import type { Plan } from "../plan.js";
import { settle, verify } from "./facilitator.js";
import { addGoods } from "./goods.js";
import { openStore } from "./store.js";

const NETWORK = "eip155:84532";
const SELLER = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const FACILITATOR = "0x857b06519E91e3A54538791bDbb0E22373e36b66";

const inProcess: Facilitator = {
  verify: async ({ paymentPayload }) => verify(paymentPayload),
  settle: async ({ paymentPayload, paymentRequirements }) => settle(paymentPayload, paymentRequirements) as never,
  supported: async () => ({
    kinds: [{ x402Version: 2, scheme: "upto", network: NETWORK, extra: { facilitatorAddress: FACILITATOR } }],
    extensions: [],
    signers: {},
  }),
};

/** Creates the app. */
export function createMetered(plan: Plan): Express {
  const accepts = { scheme: "upto", price: "$0.50", network: NETWORK, payTo: SELLER };
  const app = express();
  const options = { facilitator: plan.facilitatorUrl ?? inProcess, store: openStore(plan) };
  app.use(paymentMiddleware({ "GET /tokens": { accepts, settle: "metered" } }, options));
  return addGoods(app);
}
