/**
 * Express with the reference.
 *
 * @module
 */
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddleware, x402ResourceServer } from "@x402/express";
import { bazaarResourceServerExtension } from "@x402/extensions/bazaar";
import { ExactSvmScheme } from "@x402/svm/exact/server";
import express, { type Express } from "express";
import type { Plan } from "../plan.js";
import { settle, supported, verify } from "./facilitator.js";
import { addGoods } from "./goods.js";
import { NETWORKS, routesOf } from "./offers.js";

const inProcess = {
  verify: async (payment: never) => verify(payment),
  settle: async (payment: never, terms: never) => settle(payment, terms) as never,
  getSupported: async () => supported() as never,
};

/** Creates the app. */
export function createReference(plan: Plan): Express {
  const { facilitatorUrl } = plan;
  const server = new x402ResourceServer(
    facilitatorUrl === undefined ? inProcess : new HTTPFacilitatorClient({ url: facilitatorUrl }),
  );
  for (const network of NETWORKS) {
    server.register(network, network.startsWith("solana:") ? new ExactSvmScheme() : new ExactEvmScheme());
  }
  if (plan.offers === 3) server.registerExtension(bazaarResourceServerExtension);
  const app = express();
  app.use(paymentMiddleware(routesOf(plan), server));
  return addGoods(app);
}
