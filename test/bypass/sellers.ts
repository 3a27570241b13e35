/**
 * The two payment middlewares, each made from the keys of a case.
 *
 * @module
 */
import type { Facilitator } from "@farebox/core";
import { createPayments, type RouteConfig, type RoutesConfig } from "@farebox/express";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
import { paymentMiddleware as referenceMiddleware, x402ResourceServer } from "@x402/express";
import type { Express, RequestHandler } from "express";
import { CHARGED, type Subject } from "./case.js";

/** One facilitator, in two ways to reach it. */
export interface Facilitators {
  readonly direct: Facilitator;
  readonly url: string;
}

/** What a seller puts into an app. */
export interface Till {
  /** A table of the case's keys, or of some. Throws what the library throws. */
  table(of?: readonly string[]): RequestHandler;
  /** A price of {@link CHARGED} for the route that it stands in. */
  charge(): RequestHandler;
  /** Has the app looked at before its first request. */
  ready(app: Express): Promise<unknown>;
}

/** Opens the till for a case. */
export type Seller = (subject: Subject, facilitators: Facilitators) => Till;

const NETWORK = "eip155:84532";
const PAY_TO = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";

/** Tables of some cases are worth a warning, which is not the subject here. */
const QUIET = { info() {}, warn() {}, error() {} };

/** Sells with Farebox, which is asked what it thinks of the app. */
export const farebox: Seller = (subject, facilitators) => sellWithFarebox(subject, facilitators, undefined);

/** The same where it does not stop for a finding. */
export const lenientFarebox: Seller = (subject, facilitators) => sellWithFarebox(subject, facilitators, false);

function sellWithFarebox({ keys }: Subject, { direct }: Facilitators, strict: boolean | undefined): Till {
  const payments = createPayments({ facilitator: direct, logger: QUIET, ...(strict !== undefined && { strict }) });
  return {
    // Some cases hold keys that the types refuse.
    table: (of = keys) => payments.routes(pricesOf(keys, of) as RoutesConfig),
    charge: () => payments.charge(priced(CHARGED)),
    ready: (app) => payments.ready(app),
  };
}

/** Sells with `@x402/express`. */
export const reference: Seller = ({ keys, referenceKeys }, { url }) => {
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url }));
  server.register(NETWORK, new ExactEvmScheme());
  const written = (of: readonly string[]) => of.map((key) => referenceKeys[keys.indexOf(key)] ?? key);
  return {
    table: (of = keys) => referenceMiddleware(pricesOf(referenceKeys, written(of)), server),
    charge: () => referenceMiddleware(priced(CHARGED), server),
    ready: async () => {},
  };
};

const pass: RequestHandler = (_req, _res, next) => next();

/** Sells nothing: what would happen without a table. */
export const unpriced: Seller = () => ({ table: () => pass, charge: () => pass, ready: async () => {} });

/** Both libraries, by the name that the comparison gives them. */
export const SELLERS = { reference, farebox } as const;

/** The first amount that a challenge asks for, in atomic units. */
export function readChallengedAmount(header: string): number {
  const challenge = JSON.parse(Buffer.from(header, "base64").toString("utf8"));
  return Number(challenge.accepts[0].amount);
}

/** Every key has a price of its own, so that the challenge tells which one it was. */
function pricesOf(keys: readonly string[], of: readonly string[]) {
  return Object.fromEntries(of.map((key) => [key, priced((keys.indexOf(key) + 1) * 10_000)]));
}

function priced(units: number) {
  const price = `$${(units / 1_000_000).toFixed(2)}` as const;
  return { accepts: { scheme: "exact", price, network: NETWORK, payTo: PAY_TO } } as const satisfies RouteConfig;
}
