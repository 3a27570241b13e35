/**
 * The two payment middlewares, each made from the keys of a case.
 *
 * @module
 */
import type { Facilitator } from "@farebox/core";
import { paymentMiddleware, type RoutesConfig } from "@farebox/express";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddleware as referenceMiddleware, x402ResourceServer } from "@x402/express";
import type { RequestHandler } from "express";
import type { Subject } from "./case.js";

/** One facilitator, in two ways to reach it. */
export interface Facilitators {
  readonly direct: Facilitator;
  readonly url: string;
}

/** Makes the middleware of a case's table. Throws what the library throws. */
export type Seller = (subject: Subject, facilitators: Facilitators) => RequestHandler;

const NETWORK = "eip155:84532";
const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

/** Tables of some cases are worth a warning, which is not the subject here. */
const QUIET = { info() {}, warn() {}, error() {} };

/** Sells with Farebox. */
export const farebox: Seller = ({ keys }, { direct }) =>
  // Some cases hold keys that the types refuse.
  paymentMiddleware(pricesOf(keys) as RoutesConfig, { facilitator: direct, logger: QUIET });

/** Sells with `@x402/express`. */
export const reference: Seller = ({ referenceKeys }, { url }) => {
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url }));
  server.register(NETWORK, new ExactEvmScheme());
  return referenceMiddleware(pricesOf(referenceKeys), server);
};

/** Sells nothing: what would happen without a table. */
export const unpriced: Seller = () => (_req, _res, next) => next();

/** Both libraries, by the name that the comparison gives them. */
export const SELLERS = { reference, farebox } as const;

/** The first amount that a challenge asks for, in atomic units. */
export function readChallengedAmount(header: string): number {
  const challenge = JSON.parse(Buffer.from(header, "base64").toString("utf8"));
  return Number(challenge.accepts[0].amount);
}

/** Every key has a price of its own, so that the challenge tells which one it was. */
function pricesOf(keys: readonly string[]) {
  return Object.fromEntries(
    keys.map((key, index) => {
      const price = `$${((index + 1) / 100).toFixed(2)}` as const;
      return [key, { accepts: { scheme: "exact", price, network: NETWORK, payTo: PAY_TO } as const }];
    }),
  );
}
