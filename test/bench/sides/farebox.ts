/**
 * Express with Farebox.
 *
 * @module
 */
import type { Facilitator } from "@farebox/core";
import { paymentMiddleware, type RoutesConfig } from "@farebox/express";
import express, { type Express } from "express";
import type { Plan } from "../plan.js";
import { settle, supported, verify } from "./facilitator.js";
import { addGoods } from "./goods.js";
import { routesOf } from "./offers.js";
import { openStore } from "./store.js";

const inProcess: Facilitator = {
  verify: async ({ paymentPayload }) => verify(paymentPayload),
  settle: async ({ paymentPayload, paymentRequirements }) => settle(paymentPayload, paymentRequirements) as never,
  supported: async () => supported() as never,
};

/** The keys of a large table have no routes here, and each is a finding. */
const quiet = { info() {}, warn() {}, error: console.error };

/** Creates the app. */
export function createFarebox(plan: Plan): Express {
  const { settle: when } = plan;
  const table = Object.entries(routesOf(plan)).map(([key, route]) => [key, when ? { ...route, settle: when } : route]);
  const routes: RoutesConfig = Object.fromEntries(table);
  const app = express();
  const facilitator = plan.facilitatorUrl ?? inProcess;
  app.use(paymentMiddleware(routes, { facilitator, logger: quiet, store: openStore(plan) }));
  return addGoods(app);
}
