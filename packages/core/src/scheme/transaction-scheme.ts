/**
 * A scheme on one network, facilitator's side, whose payments are transactions that their payer makes and one account pays
 * the fee of.
 *
 * @module
 */
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import type { FacilitatorScheme, SchemeHealth } from "./facilitator-scheme.js";
import type { Reading } from "./reading.js";
import { createTransactionDesk, type PayerTransaction, type TransactionDeskOptions } from "./settlement-desk.js";

/** What such a scheme is made of. */
export interface TransactionSchemeOptions extends Omit<TransactionDeskOptions, "network"> {
  /** `exact`, … */
  readonly scheme: string;
  readonly chain: FeePaidChain;
  /** Reads what is asked for, and says how the chain carries it out. Total: a stranger asks. */
  read(request: FacilitatorRequest): Reading<PayerTransaction>;
}

/** The chain, as far as a scheme tells others about it. */
export interface FeePaidChain {
  /** CAIP-2. */
  readonly network: string;
  /** The address that pays for transactions. Offers carry it. */
  readonly feePayer: string;
  /** Whether the network answers and the fee payer can pay. Never rejects. */
  health(): Promise<SchemeHealth>;
}

/** Creates the scheme, with a desk of its own: see {@link createTransactionDesk}. */
export function createTransactionScheme(options: TransactionSchemeOptions): FacilitatorScheme {
  const { scheme, chain, read, ...rest } = options;
  const { network, feePayer } = chain;
  const desk = createTransactionDesk({ ...rest, network });
  return Object.freeze({
    scheme,
    network,
    extra: Object.freeze({ feePayer }),
    signers: Object.freeze([feePayer]),
    verify: (request) => desk.verify(read(request)),
    settle: (request) => desk.settle(read(request)),
    health: () => chain.health(),
  } satisfies FacilitatorScheme);
}
