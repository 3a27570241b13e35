/**
 * The interface of a scheme on the seller's side. A scheme compiles a seller's terms to an offer, and reads a client's payment. It has
 * no keys and needs no chain library. It makes no requests, except to the nodes that the seller names.
 *
 * @module
 */

import type { RpcNode } from "../http/rpc-node.js";
import type { AssetPrice } from "../price/price.js";
import type { Network, NetworkPattern } from "../protocol/caip2.js";
import type { Extensions, PaymentRequirements } from "../protocol/documents.js";
import type { JsonObject } from "../protocol/json.js";
import type { Reason } from "../protocol/reasons.js";

/** The seller's side of a scheme, for all networks of a pattern. */
export interface Scheme {
  /** `exact`, `upto`, … */
  readonly scheme: string;
  /** The networks that it supports, e.g. `eip155:*`. */
  readonly networks: NetworkPattern;
  /** Whether the handler may take less than was authorized. Default `false`: the whole amount is taken, or nothing. */
  readonly allowsLess?: boolean;
  /**
   * Whether `readPayment` finds out who pays. Default `true`. With `false`, its `payer` only tells payments apart, and receipts name
   * the payer that the facilitator names.
   */
  readonly knowsPayer?: boolean;
  /** Checks the terms and converts the price. Called once per offer, at start-up. Not called if there is `offer`. */
  compileTerms(terms: OfferTerms): CompiledTerms;
  /**
   * Checks the terms and converts the price, in place of `compileTerms`, for a scheme that has to wait for that. Called with each
   * request, once a facilitator supports the scheme on the network. A request with a payment is priced again: its payment must be
   * for the same asset, amount and recipient. If it rejects, or takes longer than 5 seconds, the client gets 503.
   */
  offer?(terms: OfferTerms, kind: SupportedOffer): Promise<CompiledTerms>;
  /**
   * Returns the fields that an offer's `extra` needs from a facilitator, e.g. `{ feePayer: "…" }`. Default: none. Must not throw.
   *
   * @param kindExtra - The `extra` of the facilitator's kind in `/supported`, unchecked; `{}` without one.
   * @returns `undefined` if this facilitator's kind lacks a required field, so that it cannot settle such payments
   */
  completeExtra?(kindExtra: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined;
  /**
   * Returns extensions that help a payer of an offer, by identifier. A challenge declares those that the facilitator lists in
   * `/supported`; the seller need not declare them. Default: none. Must not throw.
   */
  extensionsFor?(requirements: PaymentRequirements): Extensions;
  /** Whether two addresses or asset ids are the same. `0x` addresses are compared without regard to case. */
  sameAddress(a: string, b: string): boolean;
  /**
   * Checks a payment without any request: shape, recipient, amount, time. Must not throw, for any payload.
   *
   * @param nowSeconds - Unix seconds.
   */
  readPayment(payload: unknown, requirements: PaymentRequirements, nowSeconds: number): PaymentReading;
  /**
   * Checks the signature of a payment that `readPayment` has accepted, without any request. Default: `readPayment` checks it, or only
   * the facilitator does. Must not throw.
   */
  checkSignature?(payload: unknown, requirements: PaymentRequirements): SignatureFinding;
  /**
   * Looks for a payment on chain. Without it, an outcome that the facilitator does not know stays unknown. Must not throw or reject:
   * an uncertain result is `unclear`.
   */
  findPayment?(query: PaymentQuery): Promise<ChainFinding>;
  /**
   * Asks the chain how deep a transaction is in it, for the option `confirmations`. Default: the option is refused for its networks. Must
   * not throw or reject: an uncertain result is `unclear`.
   */
  readConfirmations?(query: TransactionQuery): Promise<ConfirmationReading>;
  /**
   * Asks the chain until when a payment can settle, for payments that do not contain that as a time. Asked before the handler runs, if
   * the payment settles afterwards. Default: `settleBySeconds` of the reading counts. Must not throw or reject: an uncertain result is
   * `unclear`.
   */
  readDeadline?(query: DeadlineQuery): Promise<DeadlineReading>;
  /**
   * Asks the chain how much of the asset the account has that the payment takes from. Asked when a payer has several payments that have
   * not settled. Default: not asked. Must not throw or reject: an uncertain result is `unclear`.
   */
  readBalance?(query: PaymentQuery): Promise<BalanceReading>;
  /**
   * Asks the chain what a payer has to know, and a wallet in a browser does not tell: a recent blockhash, for example. The page for browsers
   * gets it. Default: nothing. Must not throw or reject; `undefined`: the node did not say.
   */
  readPayerFacts?(query: FactsQuery): Promise<JsonObject | undefined>;
  /**
   * Asks the chain how much of the asset the payer has allowed to be moved, where a payment needs such an allowance. Asked before a metered
   * response streams. Default: none is needed. Must not throw or reject: an uncertain result is `unclear`.
   */
  readAllowance?(query: PaymentQuery): Promise<BalanceReading>;
  /**
   * Asks the chain whether a payee lacks something that every payment needs, such as a token account. Default: no check. Must not throw
   * or reject: an uncertain result is `unclear`.
   */
  checkPayee?(query: PayeeQuery): Promise<PayeeCheck>;
}

/**
 * The terms of one offer, as a seller wrote them and with defaults filled in:
 * `{ network: "eip155:8453", price: "$0.01", payTo: "0x…" }`. Values may have other types than declared here.
 */
export interface OfferTerms {
  readonly network: Network;
  readonly price: string | AssetPrice;
  readonly payTo: string;
  /** The seller's additions to the offer, checked to be JSON. A scheme reads its own fields only. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** What the facilitator's `/supported` says for a scheme on a network, unchecked. */
export interface SupportedOffer {
  /** The `extra` of its kind; `{}` without one. */
  readonly extra: Readonly<Record<string, unknown>>;
  /** Identifiers of the extensions that it lists. */
  readonly extensions: readonly string[];
}

/** The compiled terms, or all issues. */
export type CompiledTerms =
  | { readonly ok: true; readonly asset: OfferAsset; readonly amount: bigint; readonly payTo: string }
  | { readonly ok: false; readonly issues: readonly TermsIssue[] };

/** An invalid term, and a description of valid ones. */
export interface TermsIssue {
  readonly term: "network" | "price" | "payTo" | "price.asset" | "price.amount" | "price.extra" | `extra.${string}`;
  readonly expected: string;
}

/** The asset of an offer. */
export interface OfferAsset {
  /** Token contract, mint or asset id. */
  readonly id: string;
  /** For display, e.g. `USDC`. */
  readonly symbol: string;
  /** 0 to 36. `undefined` if only the id is known: amounts are then always in atomic units. */
  readonly decimals: number | undefined;
  /** Added to every offer, e.g. the EIP-712 domain `{ name: "USDC", version: "2" }`. */
  readonly extra: Readonly<Record<string, unknown>>;
  /** What else the seller's price has in its `extra`. Added to the offer, too; the fields above win. Default: nothing. */
  readonly priceExtra?: Readonly<Record<string, unknown>>;
}

/** A question about what payers of an offer have to know. */
export interface FactsQuery {
  readonly requirements: PaymentRequirements;
  readonly rpc: RpcNode;
}

/** A client's payment as a scheme reads it, without any request. */
export type PaymentReading =
  | {
      /** `expired`: valid except for its time. A duplicate of a settled payment may still get its response. */
      readonly kind: "readable" | "expired";
      /**
       * The fields that the scheme has read, in one spelling, and no others. JSON. It takes the place of the client's payload: this is
       * verified, settled and stored. All encodings of one signed payment must have the same one, and it must be read like the first.
       */
      readonly payload: Readonly<Record<string, unknown>>;
      /**
       * Identifies the payment in any encoding, e.g. by network, asset, payer and nonce. 1 to 2000 characters of well-formed Unicode without
       * NUL: databases refuse others, so a payment with another identity is answered with 503.
       */
      readonly identity: string;
      readonly payer: string;
      /** The time, in Unix seconds, after which it can no longer settle. */
      readonly expiresAtSeconds: number;
      /**
       * The time, in Unix seconds, until which it can surely settle, as far as its payload tells. The handler must have responded some
       * seconds earlier. For a payment that ends with a block and not at a time: it is forgotten late and has to settle early. Default:
       * `expiresAtSeconds`.
       */
      readonly settleBySeconds?: number;
      /** The reason for refusing it if it has expired and is not a duplicate. */
      readonly expiredReason: Reason;
    }
  | { readonly kind: "refused"; readonly reason: Reason };

/** A reading with an identity. */
export type IdentifiedPayment = Exclude<PaymentReading, { readonly kind: "refused" }>;

/** Whether the payer made a payment's signature. */
export type SignatureFinding =
  | { readonly kind: "signed" }
  /** It has not the form of a key's signature: only the chain can tell, for instance by the payer's contract. */
  | { readonly kind: "unclear" }
  /** It has the form of a key's signature and is not the payer's, unless the payer is a contract. */
  | { readonly kind: "other_key"; readonly reason: Reason };

/** A payment that has not settled, or whose settlement has an unknown outcome, and a node to ask about it. */
export interface PaymentQuery {
  /** The payload that {@link Scheme.readPayment} has accepted, possibly earlier. The payment may have expired since. */
  readonly payload: unknown;
  readonly requirements: PaymentRequirements;
  /** A node that the seller configured for the network. The scheme must check the network before it draws a conclusion. */
  readonly rpc: RpcNode;
  /**
   * `expiresAtSeconds` of the first reading, from the record, in Unix seconds. A scheme whose payments contain no time cannot return
   * `never` without it.
   */
  readonly expiresAtSeconds?: number;
  /** Aborted when the caller gives up. The finding is then `unclear`. */
  readonly signal?: AbortSignal;
}

/**
 * The state of a payment on chain, after a settlement with an unknown outcome. A used nonce alone proves nothing, because a payer can
 * use up a nonce without paying.
 */
export type ChainFinding =
  /** The transfer is on chain. */
  | { readonly kind: "moved"; readonly transaction: string }
  /** This payment has not moved money, and no longer can. */
  | { readonly kind: "never" }
  /** This payment has not moved money so far, and still may. */
  | { readonly kind: "open" }
  /** The node failed, or its response is not conclusive. `problem` is for the log: short, without the node's text or URL. */
  | { readonly kind: "unclear"; readonly problem: string };

/** A transaction that a facilitator named, and a node to ask about it. */
export interface TransactionQuery {
  readonly transaction: string;
  readonly network: string;
  /** A node that the seller configured for the network. The scheme must check the network before it draws a conclusion. */
  readonly rpc: RpcNode;
  /** Aborted when the caller gives up. The reading is then `unclear`. */
  readonly signal?: AbortSignal;
}

/** How deep a transaction is in the chain. */
export type ConfirmationReading =
  /** It succeeded, in the newest block (1) or `confirmations - 1` blocks below it. `Infinity`: it is final. */
  | { readonly kind: "confirmed"; readonly confirmations: number }
  /** It is in no block, so far or any more. */
  | { readonly kind: "absent" }
  /** It is in a block, and failed. */
  | { readonly kind: "failed" }
  /** The node failed, or its response is not conclusive. `problem` is for the log: short, without the node's text or URL. */
  | { readonly kind: "unclear"; readonly problem: string };

/** A verified payment whose handler is about to run, and a node to ask until when it can settle. */
export interface DeadlineQuery extends PaymentQuery {
  /** Unix seconds. */
  readonly nowSeconds: number;
  /** The payment was made before this, in Unix seconds. A node with a later block knows all that it refers to. */
  readonly madeBeforeSeconds: number;
}

/** Until when a payment can settle. */
export type DeadlineReading =
  /** It can surely settle until then, in Unix seconds. */
  | { readonly kind: "known"; readonly settleBySeconds: number }
  /** It can no longer settle. */
  | { readonly kind: "dead" }
  /** The node has yet to see the block that the payment refers to, if there is one: it is asked again at once. */
  | { readonly kind: "behind"; readonly problem: string }
  /** The node failed, or its response is not conclusive. `problem` is for the log: short, without the node's text or URL. */
  | { readonly kind: "unclear"; readonly problem: string };

/** What a payer has, in atomic units. */
export type BalanceReading =
  | { readonly kind: "known"; readonly amount: bigint }
  /** The node failed, or its response is not conclusive. `problem` is for the log: short, without the node's text or URL. */
  | { readonly kind: "unclear"; readonly problem: string };

/** A payee and an asset, and a node to ask whether the payee can receive it. */
export interface PayeeQuery {
  readonly network: string;
  readonly asset: string;
  readonly payTo: string;
  /** A node that the seller configured for the network. The scheme must check the network before it draws a conclusion. */
  readonly rpc: RpcNode;
  /** Aborted when the caller gives up. The result is then `unclear`. */
  readonly signal?: AbortSignal;
}

/** Whether a payee can receive payments now. */
export type PayeeCheck =
  | { readonly kind: "payable" }
  /**
   * No payment can succeed before the payee does something.
   *
   * `problem` completes a sentence that ends in "cannot be paid: ", e.g. `it has not opted in to asset 10458941`. `remedy` is a sentence, with
   * the command to run if there is one.
   */
  | { readonly kind: "unpayable"; readonly problem: string; readonly remedy: string }
  /** The node failed, or its response is not conclusive. `problem` is for the log: short, without the node's text or URL. */
  | { readonly kind: "unclear"; readonly problem: string };
