/**
 * The interface of a scheme on the facilitator's side, and two implementations for networks where the payer signs a transaction and the
 * facilitator's account pays the fee. The seller's side of a scheme is in `scheme/scheme.ts`.
 *
 *   createExactScheme         checks the options and reads requests; an `ExactFamily` has the differences between networks
 *   createTransactionScheme   verifies and settles payments at a settlement desk, each once
 *
 * @see x402 v2 §6.1 and §7.1
 * @module
 */
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import { createIssues, type NumberRange } from "../issues.js";
import type { SettlementResponse, VerifyResponse } from "../protocol/documents.js";
import type { Reason } from "../protocol/reasons.js";
import { accept, type Fields, fieldsOf, type Reading, type Refusal, refuse } from "../scheme/reading.js";
import { createTransactionDesk, type PayerTransaction, type TransactionDeskOptions } from "./settlement-desk.js";

/** One scheme on one concrete network, able to verify and settle. */
export interface FacilitatorScheme {
  /** `exact`, `upto`, … */
  readonly scheme: string;
  /** CAIP-2, without a pattern, e.g. `eip155:84532`. */
  readonly network: string;
  /** The `extra` of its kind in `/supported`, e.g. `{ feePayer: "…" }`, or `{}`. */
  readonly extra: Readonly<Record<string, unknown>>;
  /** Addresses that sign transactions, for `signers` in `/supported`. */
  readonly signers: readonly string[];
  /** Identifiers of extensions that it supports, for `extensions` in `/supported`. Default: none. */
  readonly extensions?: readonly string[];
  /** Checks whether the payment would settle now. A malformed payment yields `isValid: false`. Never rejects. */
  verify(request: FacilitatorRequest): Promise<VerifyResponse>;
  /**
   * Verifies again and moves the money. Never resolves with `success: true` twice for one authorization: a repeat gets
   * `payment_already_settled` with the first transaction's hash.
   */
  settle(request: FacilitatorRequest): Promise<SettlementResponse>;
  /** Checks whether the network responds and the signer can pay for transactions. Never rejects. */
  health(): Promise<SchemeHealth>;
}

/** Whether a scheme works now. */
export interface SchemeHealth {
  readonly ok: boolean;
  /** A description of the problem, for the operator. Absent if `ok`. */
  readonly problem?: string;
}

/** The parts of a scheme whose payments are transactions of their payers, with one account that pays the fees. */
export interface TransactionSchemeOptions extends Omit<TransactionDeskOptions, "network"> {
  /** `exact`, … */
  readonly scheme: string;
  readonly chain: FeePaidChain;
  /** Reads a request, and prepares its transaction. Must not throw, for any request. */
  read(request: FacilitatorRequest): Reading<PayerTransaction>;
}

/** The part of a chain that a scheme tells others about. */
export interface FeePaidChain {
  /** CAIP-2. */
  readonly network: string;
  /** The address that pays for transactions. Offers carry it. */
  readonly feePayer: string;
  /** Whether the network responds and the fee payer can pay. Never rejects. */
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

/** The options of `exact` on every family of networks. Each family has one more, the most that it pays in fees. */
export interface ExactSchemeOptions<C extends FeePaidChain> {
  readonly chain: C;
  /** Unix milliseconds. Default `Date.now`. */
  readonly now?: () => number;
}

/** The differences between the families of networks. `T`: their terms, `P`: their payments, `C`: their chains. */
export interface ExactFamily<T, P, C extends FeePaidChain>
  extends Pick<TransactionSchemeOptions, "prose" | "rememberedMs"> {
  /** For the issue about a missing chain, e.g. `a chain, e.g. createRpcSvmChain(…)`. */
  readonly chainExpected: string;
  /** The option with the most that one payment may cost, in atomic units of the chain's own currency. */
  readonly feeOption: { readonly name: string; readonly range: NumberRange };
  /** Whether a network of a request is that of the chain. Both are unchecked. */
  isSameNetwork(a: unknown, b: unknown): boolean;
  /** The protocol's words for a field that differs, and for fees. */
  readonly reasons: Readonly<Record<"asset" | "payTo" | "amount" | "feePayer" | "fee", Reason>>;
  /** Reads `paymentRequirements`. Must not throw. */
  readTerms(requirements: Fields): Reading<T>;
  /** The fee payer that the terms name; `undefined` where the payer may pay. */
  feePayerOf(terms: T): string | undefined;
  /** Reads `paymentPayload.payload`, and compares it with the terms. Must not throw. */
  readPayment(payload: unknown, terms: T): Reading<P>;
  /** The fee that a payment takes from the fee payer, to be compared with the option. */
  feeOf(payment: P): bigint;
  /** For the log, about a payment with a higher fee. */
  feeMessage(most: number): string;
  /** Says how a chain carries the payment out. */
  toTransaction(payment: P, terms: T, chain: C): ExactTransaction;
}

/** A transaction of the payer's, before it is verified. Its methods may reject when the chain cannot be asked. */
export interface ExactTransaction extends Omit<PayerTransaction, "verify"> {
  /** Looks at the accounts that take part; `undefined` when all is well. */
  check(): Promise<Refusal | undefined>;
  /** Tries the transaction without the fee payer's signature. */
  simulate(): Promise<Simulation>;
}

/** The outcome of a transaction if it were carried out now. `problem` is for a log. */
export type Simulation = { readonly ok: true } | { readonly ok: false; readonly problem: string };

/**
 * Creates the `exact` scheme of one family on one network.
 *
 * @throws ConfigError with every issue at once.
 */
export function createExactScheme<T, P, C extends FeePaidChain>(
  options: ExactSchemeOptions<C>,
  family: ExactFamily<T, P, C>,
): FacilitatorScheme {
  const { name, range } = family.feeOption;
  const { chain, now = Date.now } = options;
  const given: Readonly<Record<string, unknown>> = { ...options };
  const issues = createIssues();
  issues.checkKeys("options", options, ["chain", name, "now"]);
  if (typeof chain !== "object" || chain === null) issues.add("options.chain", family.chainExpected, chain);
  const mostFee = issues.readNumber(`options.${name}`, given[name], range);
  if (typeof now !== "function") issues.add("options.now", "a function that yields Unix milliseconds", now);
  issues.throwIfAny();
  return createTransactionScheme({
    scheme: "exact",
    chain,
    rememberedMs: family.rememberedMs,
    now,
    prose: family.prose,
    read(request) {
      const read = readExactRequest(request, { chain, mostFee }, family);
      if (!read.ok) return read;
      const transaction = family.toTransaction(read.value.payment, read.value.terms, chain);
      return accept({ ...transaction, verify: () => verifyOnChain(transaction) });
    },
  });
}

/** Reads the body of `verify` or `settle`, without asking the chain. Never throws, for any JSON. */
function readExactRequest<T, P, C extends FeePaidChain>(
  request: unknown,
  { chain, mostFee }: { readonly chain: C; readonly mostFee: number },
  family: ExactFamily<T, P, C>,
): Reading<{ readonly terms: T; readonly payment: P }> {
  const { reasons } = family;
  const { x402Version, paymentPayload, paymentRequirements } = fieldsOf(request);
  const { x402Version: versionOfPayment, accepted: acceptedTerms, payload } = fieldsOf(paymentPayload);
  if (x402Version !== 2 || versionOfPayment !== 2) return refuse("invalid_x402_version", "x402Version is not 2");

  const requirements = fieldsOf(paymentRequirements);
  const { scheme, network, asset, payTo, amount, maxTimeoutSeconds } = requirements;
  if (scheme !== "exact") return refuse("unsupported_scheme", "the scheme is not exact");
  if (!family.isSameNetwork(network, chain.network)) {
    return refuse("invalid_network", `the network is not ${chain.network}`);
  }
  if (typeof maxTimeoutSeconds !== "number" || !Number.isFinite(maxTimeoutSeconds) || maxTimeoutSeconds <= 0) {
    return refuse("invalid_payment_requirements", "maxTimeoutSeconds is not a number above zero");
  }
  const terms = family.readTerms(requirements);
  if (!terms.ok) return terms;
  const feePayer = family.feePayerOf(terms.value);
  if (feePayer !== undefined && feePayer !== chain.feePayer) {
    return refuse(reasons.feePayer, "extra.feePayer is not the address that pays fees here");
  }

  // Five fields identify an offer. Other fields of `accepted` are ignored.
  const accepted = fieldsOf(acceptedTerms);
  if (accepted["scheme"] !== scheme) return refuse("invalid_scheme", "accepted has another scheme");
  if (!family.isSameNetwork(accepted["network"], network)) {
    return refuse("invalid_network", "accepted has another network");
  }
  if (accepted["asset"] !== asset) return refuse(reasons.asset, "accepted has another asset");
  if (accepted["payTo"] !== payTo) return refuse(reasons.payTo, "accepted has another payTo");
  const acceptedAmount = accepted["amount"] ?? accepted["maxAmountRequired"];
  if (acceptedAmount !== amount) return refuse(reasons.amount, "accepted has another amount");

  const payment = family.readPayment(payload, terms.value);
  if (!payment.ok) return payment;
  if (family.feeOf(payment.value) > BigInt(mostFee)) return refuse(reasons.fee, family.feeMessage(mostFee));
  return accept({ terms: terms.value, payment: payment.value });
}

/** Never rejects: trouble with the chain is `unexpected_verify_error`. */
async function verifyOnChain({ check, simulate }: ExactTransaction): Promise<Refusal | undefined> {
  try {
    const refusal = await check();
    if (refusal !== undefined) return refusal;
    const trial = await simulate();
    return trial.ok ? undefined : refuse("invalid_transaction_state", `the transfer would fail: ${trial.problem}`);
  } catch (error) {
    return refuse("unexpected_verify_error", error instanceof Error ? error.message : "the chain could not be asked");
  }
}
