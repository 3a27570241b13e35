/**
 * The contract a scheme fulfils on the seller's side: from what a seller writes to an offer, and from what a client sends
 * to a payment that can be claimed. No keys, no chain library, and no network but for a node that a seller names.
 *
 * @module
 */
import type { RpcNode } from "../http/rpc-node.js";
import type { AssetPrice } from "../price/price.js";
import type { Network, NetworkPattern } from "../protocol/caip2.js";
import type { Extensions, PaymentRequirements } from "../protocol/documents.js";
import type { Reason } from "../protocol/reasons.js";

/** One way to pay as a seller wrote it, defaults filled in. The types are promises of the caller, not of TypeScript. */
export interface OfferTerms {
  readonly network: Network;
  readonly price: string | AssetPrice;
  readonly payTo: string;
  /** What the seller adds to the offer, checked to be JSON. A scheme looks only at fields of its own. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** One term that cannot be sold under, and what would be right. */
export interface TermsIssue {
  readonly term: "network" | "price" | "payTo" | "price.asset" | "price.amount" | "price.extra" | `extra.${string}`;
  readonly expected: string;
}

/** What a scheme makes of the terms. */
export type CompiledTerms =
  | { readonly ok: true; readonly asset: OfferAsset; readonly amount: bigint; readonly payTo: string }
  | { readonly ok: false; readonly issues: readonly TermsIssue[] };

/** The asset of an offer, as a scheme knows it. */
export interface OfferAsset {
  /** Token contract or mint. */
  readonly id: string;
  /** For people, e.g. `USDC`. */
  readonly symbol: string;
  /** `undefined` for an asset given by its address alone: its amounts are only ever atomic. */
  readonly decimals: number | undefined;
  /** Goes into every offer, e.g. the EIP-712 domain `{ name, version }`. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** What a scheme reads out of a client's payment, before anybody is asked. */
export type PaymentReading =
  | {
      /** `expired`: all is well but the time, which matters not if this payment is known already. */
      readonly kind: "readable" | "expired";
      /** What makes this payment one payment, whatever bytes it is written in: network, asset, payer, nonce. */
      readonly identity: string;
      readonly payer: string;
      /** Unix seconds after which it can no longer settle. */
      readonly expiresAtSeconds: number;
      /** What to say of an expired payment that nobody knows. */
      readonly expiredReason: Reason;
    }
  | { readonly kind: "refused"; readonly reason: Reason };

/** A reading that says which payment it is. */
export type IdentifiedPayment = Exclude<PaymentReading, { readonly kind: "refused" }>;

/** A payment whose settlement has an unknown outcome, and a node to ask what became of it. */
export interface PaymentQuery {
  /** As {@link Scheme.readPayment} has read it, now or at an earlier time: it may have expired since. */
  readonly payload: unknown;
  readonly requirements: PaymentRequirements;
  /** Of the network of the requirements, as far as the seller says: a scheme checks that before it concludes anything. */
  readonly rpc: RpcNode;
  /**
   * Unix seconds: `expiresAtSeconds` of when the payment was first read, from its record. A scheme whose payments have no
   * time in them cannot say `never` without it.
   */
  readonly expiresAtSeconds?: number;
  /** Aborted when nobody waits any longer; the finding is then `unclear`. */
  readonly signal?: AbortSignal;
}

/**
 * What a chain says about a payment whose settlement has an unknown outcome. That it was used, or is unknown there,
 * proves nothing by itself: a payer can use up a nonce without paying.
 */
export type ChainFinding =
  /** The transfer itself was seen. */
  | { readonly kind: "moved"; readonly transaction: string }
  /** The money has not moved by this payment, and no longer can. */
  | { readonly kind: "never" }
  /** The money has not moved so far, and still may. */
  | { readonly kind: "open" }
  /** The chain could not be asked, or does not tell. `problem` is for the log: short, without a node's words or URL. */
  | { readonly kind: "unclear"; readonly problem: string };

/** Who is to be paid, in what, and a node of their network to ask whether that can be. */
export interface PayeeQuery {
  readonly network: string;
  readonly asset: string;
  readonly payTo: string;
  /** Of that network, as far as the seller says: a scheme checks that before it concludes anything. */
  readonly rpc: RpcNode;
  /** Aborted when nobody waits any longer; the answer is then `unclear`. */
  readonly signal?: AbortSignal;
}

/** Whether a payee can be paid as things are on chain. */
export type PayeeCheck =
  | { readonly kind: "payable" }
  /**
   * No payment can succeed until something is done.
   *
   * `problem`: completes "…, for", e.g. `it has not opted in to asset 10458941`. `remedy`: a sentence, with the very command
   * that helps if there is one.
   */
  | { readonly kind: "unpayable"; readonly problem: string; readonly remedy: string }
  /** The chain could not be asked, or does not tell. `problem` is for the log: short, without a node's words or URL. */
  | { readonly kind: "unclear"; readonly problem: string };

/** What checks payers' signatures in this process, or what is missing for that. */
export type SignatureCheck =
  | {
      readonly ok: true;
      /**
       * Checks the signature of a payment that `readPayment` has read; `undefined` when it is good, or when it cannot be told
       * without asking somebody. Never rejects.
       */
      check(payload: unknown, requirements: PaymentRequirements): Promise<Reason | undefined>;
    }
  | {
      readonly ok: false;
      /** For a seller, e.g. a package and the command that installs it. */
      readonly missing: string;
    };

/** A scheme on all networks of a pattern, as a seller needs it. */
export interface Scheme {
  /** `exact`, `upto`, … */
  readonly scheme: string;
  /** Where it works, e.g. `eip155:*`. */
  readonly networks: NetworkPattern;
  /** Whether less may be taken than was authorized, as the handler says. Default: the amount is taken, or nothing. */
  readonly allowsLess?: boolean;
  /** Checks the terms and converts the price. Called once per offer, at start-up. */
  compileTerms(terms: OfferTerms): CompiledTerms;
  /**
   * What the `extra` of an offer gets from a facilitator that lists this scheme, e.g. the address that pays the network's
   * fee. Default: nothing.
   *
   * Total.
   *
   * @param kindExtra - The `extra` of the facilitator's kind in `/supported`, unchecked; `{}` where it has none.
   * @returns `undefined` when nothing can be paid by way of this facilitator, for its kind lacks what it takes.
   */
  completeExtra?(kindExtra: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined;
  /**
   * Extensions that help a payer of an offer, by identifier. A challenge declares those that the offer's facilitator lists in
   * `/supported`, without the seller's saying so. Default: none. Total.
   */
  extensionsFor?(requirements: PaymentRequirements): Extensions;
  /** Whether two addresses or asset ids are the same one; `0x` addresses differ in case only by their checksum. */
  sameAddress(a: string, b: string): boolean;
  /**
   * Checks what can be checked without asking anybody: shape, recipient, amount, time. Total: any payload yields a
   * reading, none throws.
   *
   * @param nowSeconds - Unix seconds.
   */
  readPayment(payload: unknown, requirements: PaymentRequirements, nowSeconds: number): PaymentReading;
  /**
   * Prepares to check signatures where the seller has asked for it by `verifySignatures`. Called at start-up. Default: they
   * are checked by `readPayment` already, or not before the facilitator is asked.
   */
  prepareSignatureCheck?(): SignatureCheck;
  /**
   * Looks on chain for what became of a payment. Without it, an outcome that the facilitator does not know stays unknown.
   * Total: never throws, never rejects; what cannot be told for certain is `unclear`.
   */
  findPayment?(query: PaymentQuery): Promise<ChainFinding>;
  /**
   * Asks the chain whether a payee lacks something without which nobody can pay it, such as an account for a token. Default:
   * there is no such thing. Total: never throws, never rejects; what cannot be told for certain is `unclear`.
   */
  checkPayee?(query: PayeeQuery): Promise<PayeeCheck>;
}
