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
import { type Cents, type Features, PRICES } from "./app-plan.js";
import type { RawLine } from "./raw-line.js";

/** One of a few prices, so that any payment is good for any route of its price. It lasts for the longest run. */
export function priceOf(cents: Cents): RouteConfig {
  const price = `$0.0${cents}` as const;
  return { accepts: { price, network: "eip155:84532", payTo: PAY_TO, maxTimeoutSeconds: 86_400 } };
}

export const PRICED: RouteConfig = priceOf(1);

const FUNDS = 1_000_000_000_000n;

export interface Purse {
  readonly facilitator: Facilitator;
  /** A payment of a price, as a header has it. */
  take(cents: Cents): Promise<string>;
  /** For a payment that no request has claimed. */
  giveBack(cents: Cents, header: string): void;
}

/** Creates a payer, who signs what is taken. The line is used once for each price, to ask for the offer. */
export async function createPurse(line: RawLine): Promise<Purse> {
  const payer = createPayer();
  const facilitator = createTestFacilitator();
  facilitator.ledger.fund(payer.address, FUNDS);
  const piles = new Map<Cents, { readonly unused: string[]; readonly sign: () => Promise<string> }>();
  for (const cents of PRICES) {
    line.serve(express5().get("/", createPayments({ facilitator }).charge(priceOf(cents))));
    const answer = await line.ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET");
    const header = answer.kind === "answered" ? /^payment-required: (\S+)/im.exec(answer.head)?.[1] : undefined;
    const challenge = decodePaymentRequired(header ?? "");
    const [offer] = challenge?.accepts ?? [];
    if (challenge === undefined || offer === undefined) throw new Error(`no offer in ${JSON.stringify(answer)}`);
    const sign = async () => encodePaymentSignature(await payer.signExact(offer, { challenge }));
    piles.set(cents, { unused: [], sign });
  }
  return {
    facilitator,
    take: async (cents) => piles.get(cents)?.unused.pop() ?? (await piles.get(cents)?.sign()) ?? "",
    giveBack: (cents, unused) => void piles.get(cents)?.unused.push(unused),
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

/** The price that a response asks for: that of its challenge. */
export function askedPrice(head: string): number | undefined {
  const header = /^payment-required: (\S+)/im.exec(head)?.[1];
  const amount = header === undefined ? undefined : decodePaymentRequired(header)?.accepts[0]?.amount;
  return amount === undefined ? undefined : Number(amount) / ATOMIC_PER_CENT;
}

const ATOMIC_PER_CENT = 10_000;

/** What can be generated for the library as it is. */
export function readFeatures({ facilitator }: Pick<PaymentsOptions, "facilitator">): Features {
  // Its keys are in no app.
  const payments = createPayments({ facilitator, logger: { info() {}, warn() {}, error() {} } });
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
export function chargeFor(payments: object, cents: Cents): RequestHandler {
  if (!("charge" in payments) || typeof payments.charge !== "function") throw new TypeError("there is no charge()");
  return payments.charge(priceOf(cents)) as RequestHandler;
}
