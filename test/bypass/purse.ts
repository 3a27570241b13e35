/**
 * Payments that are good for any priced route of the generated apps, and who counts them: all is real, the store is only
 * watched.
 *
 * @module
 */
import { createMemoryStore, type Facilitator, type PaymentStore } from "@farebox/core";
import { decodePaymentRequired, encodePaymentSignature } from "@farebox/core/protocol";
import { createPayments, type PaymentsOptions, type RouteConfig } from "@farebox/express";
import { createPayer, createTestFacilitator } from "@farebox/testing";
import express5, { type RequestHandler } from "express";
import { PAY_TO } from "../express/shop.js";
import type { Features } from "./app-plan.js";
import type { RawLine } from "./raw-line.js";

/** The price of everything, so that any payment is good for any route. It lasts for the longest run. */
export const PRICED: RouteConfig = {
  accepts: { price: "$0.01", network: "eip155:84532", payTo: PAY_TO, maxTimeoutSeconds: 86_400 },
};

const FUNDS = 1_000_000_000_000n;
const SIGNED_AHEAD = 256;

export interface Purse {
  readonly facilitator: Facilitator;
  /** A payment, as a header has it. */
  take(): Promise<string>;
  /** For a payment that no request has claimed. */
  giveBack(header: string): void;
}

/** Creates a payer with signed payments. The line is used once, to ask for the offer. */
export async function createPurse(line: RawLine): Promise<Purse> {
  const payer = createPayer();
  const facilitator = createTestFacilitator();
  facilitator.ledger.fund(payer.address, FUNDS);

  line.serve(express5().use(createPayments({ facilitator }).routes({ "GET /": PRICED })));
  const answer = await line.ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET");
  const header = answer.kind === "answered" ? /^payment-required: (\S+)/im.exec(answer.head)?.[1] : undefined;
  const challenge = decodePaymentRequired(header ?? "");
  const [offer] = challenge?.accepts ?? [];
  if (challenge === undefined || offer === undefined) throw new Error(`no offer in ${JSON.stringify(answer)}`);

  const sign = async () => encodePaymentSignature(await payer.signExact(offer, { challenge }));
  const signed = await Promise.all(Array.from({ length: SIGNED_AHEAD }, sign));
  return {
    facilitator,
    take: async () => signed.pop() ?? (await sign()),
    giveBack: (unused) => void signed.push(unused),
  };
}

export interface WatchedStore {
  readonly store: PaymentStore;
  /** How many payments were claimed so far. */
  readonly claims: () => number;
}

/** A real store, and how often a payment was claimed in it. */
export function watchStore(): WatchedStore {
  const store = createMemoryStore();
  let claims = 0;
  return {
    claims: () => claims,
    store: {
      find: (identity) => store.find(identity),
      transition: (change) => store.transition(change),
      release: (identity, owner) => store.release(identity, owner),
      unfinished: () => store.unfinished(),
      claim: async (request) => {
        const claim = await store.claim(request);
        if (claim.kind === "claimed") claims++;
        return claim;
      },
    },
  };
}

/** What can be generated for the library as it is. */
export function readFeatures({ facilitator }: Pick<PaymentsOptions, "facilitator">): Features {
  const payments = createPayments({ facilitator });
  const takes = (key: `/${string}`) => {
    try {
      return payments.routes({ [key]: PRICED }) !== undefined;
    } catch {
      return false;
    }
  };
  return { charge: "charge" in payments, spellings: takes("/[id]") && takes("/*") };
}

/** The middleware of one priced route. */
export function chargeFor(payments: object): RequestHandler {
  if (!("charge" in payments) || typeof payments.charge !== "function") throw new TypeError("there is no charge()");
  return payments.charge(PRICED) as RequestHandler;
}
