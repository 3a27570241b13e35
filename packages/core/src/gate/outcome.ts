/**
 * How a settlement ends: settled, rejected, unsent or unknown, and never a guess which. The facilitator is asked, or the chain itself
 * where the seller has named a node.
 *
 * @see `docs/reference/lifecycle.md`, "How settlement ends" and "How an unknown outcome is resolved"
 *
 * @module
 */

import { FacilitatorError } from "../errors.js";
import type { PaymentFacts } from "../events/events.js";
import type { Logger } from "../events/logger.js";
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import type { FacilitatorPool } from "../facilitator/pool.js";
import type { RpcNode } from "../http/rpc-node.js";
import { canonicalNetwork, sameNetwork } from "../protocol/caip2.js";
import type { ExtensionResponses, SettlementResponse } from "../protocol/documents.js";
import { isReason } from "../protocol/reasons.js";
import type { Scheme } from "../scheme/scheme.js";
import type { ClaimRequest } from "../store/payment-store.js";

/** One payment, as far as settling it goes. */
export interface UnsettledPayment {
  readonly claim: ClaimRequest;
  readonly payer: string;
  readonly scheme: Scheme;
  /** The key of its route. */
  readonly routeKey: string;
  /** By what its route is listed, where that is not the key. */
  readonly listedAs?: string;
  /** What the facilitator is sent, at verification and at settlement. */
  readonly facilitatorRequest: FacilitatorRequest;
}

/** The payment, of which only so much is to be taken: at settlement the terms say that. */
export function withAmount<T extends UnsettledPayment>(payment: T, amount: bigint): T {
  const { facilitatorRequest } = payment;
  const { paymentRequirements } = facilitatorRequest;
  if (paymentRequirements.amount === amount.toString()) return payment;
  const terms = Object.freeze({ ...paymentRequirements, amount: amount.toString() });
  return { ...payment, facilitatorRequest: { ...facilitatorRequest, paymentRequirements: terms } };
}

/** What events and hooks are told of a payment. */
export function factsOf({ claim, payer, routeKey, facilitatorRequest }: UnsettledPayment): PaymentFacts {
  const { scheme, network, asset, amount } = facilitatorRequest.paymentRequirements;
  return Object.freeze({ payment: claim.identity, route: routeKey, payer, scheme, network, asset, amount });
}

/** What is certain. `silent`: nothing is, or there is no node to ask. */
export type Seen =
  | { readonly kind: "moved"; readonly transaction: string }
  | { readonly kind: "never" }
  | { readonly kind: "silent" };

/** Whom to ask. */
export interface LookUpParts {
  /** Nodes by network, in its canonical spelling. */
  readonly rpc: ReadonlyMap<string, RpcNode>;
  readonly logger: Logger;
}

/** A search may take many questions; the client waits, and what was not found will be looked for again. */
export const LOOK_UP_MS = 8_000;

const SILENT: Seen = Object.freeze({ kind: "silent" });

/** Looks for a payment on its chain. Never rejects. */
async function lookUp(payment: UnsettledPayment, parts: LookUpParts): Promise<Seen> {
  const { payer, scheme, facilitatorRequest } = payment;
  const { paymentRequirements: requirements, paymentPayload } = facilitatorRequest;
  const { network } = requirements;
  const rpc = parts.rpc.get(canonicalNetwork(network));
  if (rpc === undefined || scheme.findPayment === undefined) return SILENT;
  try {
    const signal = AbortSignal.timeout(LOOK_UP_MS);
    const expiresAtSeconds = payment.claim.expiresAtMs / 1000;
    const query = { payload: paymentPayload.payload, requirements, rpc, signal, expiresAtSeconds };
    const found = await scheme.findPayment(query);
    if (found.kind === "moved" || found.kind === "never") return found;
    const problem = found.kind === "open" ? "it has not moved so far, and still may" : found.problem;
    parts.logger.info("payment_not_found", { network, payer, problem });
  } catch (error) {
    parts.logger.error("look_up_failed", { network, payer, error: error instanceof Error ? error.name : "unknown" });
  }
  return SILENT;
}

/** Whether there is a node that could be asked. */
function canLookUp({ scheme, facilitatorRequest }: UnsettledPayment, { rpc }: LookUpParts): boolean {
  return scheme.findPayment !== undefined && rpc.has(canonicalNetwork(facilitatorRequest.paymentRequirements.network));
}

/** How a settlement ended, as far as can be known. */
export type Settlement =
  /** The money moved. */
  | { readonly kind: "settled"; readonly receipt: SettlementResponse }
  /** The money did not move and will not. */
  | { readonly kind: "rejected"; readonly receipt: SettlementResponse }
  /** The facilitator was never reached: the money did not move. */
  | { readonly kind: "unsent"; readonly retryAfterSeconds: number }
  /** The money may have moved. */
  | { readonly kind: "unknown"; readonly retryAfterSeconds: number };

/** What is settled, and whether we have tried before. */
export interface SettlementTask {
  readonly payment: UnsettledPayment;
  /** The only facilitator to ask, as our record has it; `undefined`: whichever can. */
  readonly facilitator: string | undefined;
  /**
   * Whether our own record says that an earlier settlement of this payment has an unknown outcome. Only then does
   * "settled before" mean that it was settled for us; and then a refusal proves nothing, for the money that the earlier
   * attempt moved can be the very reason for it.
   */
  readonly repeated: boolean;
  /** Told what the facilitator says of our declarations, whatever it says of the money. */
  readonly onSaid?: (responses: ExtensionResponses | undefined) => void;
}

/** Who is asked, and who is told what went wrong. */
export interface SettlementParts extends LookUpParts {
  readonly facilitator: Pick<FacilitatorPool, "settle">;
}

/** A block or two; the facilitator may ask for longer. */
const RETRY_AFTER_SECONDS = 5;

/**
 * Moves the money, or finds out whether it has moved. After an attempt whose outcome is not known the chain is asked first,
 * where it can be; the facilitator next, which cannot move the money twice. Never rejects.
 */
export function settle(task: SettlementTask, parts: SettlementParts): Promise<Settlement> {
  // Nothing to move: the authorization is left to run out.
  if (task.payment.facilitatorRequest.paymentRequirements.amount === "0") {
    return Promise.resolve({ kind: "settled", receipt: settledReceipt(task.payment, "") });
  }
  return task.repeated ? settleAgain(task, parts) : settleByFacilitator(task, parts);
}

async function settleAgain(task: SettlementTask, parts: SettlementParts): Promise<Settlement> {
  return (await settleBySight(task.payment, parts)) ?? settleByFacilitator(task, parts);
}

/** How a settlement has ended, as the chain has it. */
async function settleBySight(payment: UnsettledPayment, parts: LookUpParts): Promise<Settlement | undefined> {
  const seen = await lookUp(payment, parts);
  if (seen.kind === "silent") return undefined;
  if (seen.kind === "moved") return { kind: "settled", receipt: settledReceipt(payment, seen.transaction) };
  const refusal = { success: false, errorReason: "invalid_transaction_state", transaction: "", network: "" };
  return { kind: "rejected", receipt: rejectedReceipt(payment, refusal) };
}

async function settleByFacilitator(task: SettlementTask, parts: SettlementParts): Promise<Settlement> {
  const { claim, payer, facilitatorRequest: request } = task.payment;
  const { network } = request.paymentRequirements;
  try {
    const { identity } = claim;
    const { facilitator } = task;
    const options = facilitator === undefined ? { payment: identity } : { payment: identity, facilitator };
    const response = await parts.facilitator.settle(request, options);
    task.onSaid?.(response.extensionResponses);
    const judged = judge(task, response, parts);
    return judged instanceof Promise ? await judged : judged;
  } catch (error) {
    const failure = error instanceof FacilitatorError ? error : undefined;
    // An earlier attempt may have moved the money, whatever became of this one.
    const kind = failure?.outcome === "none" && !task.repeated ? "unsent" : "unknown";
    parts.logger.error(`settlement_${kind}`, { network, payer, ...explain(error) });
    return { kind, retryAfterSeconds: failure?.retryAfterSeconds ?? RETRY_AFTER_SECONDS };
  }
}

function judge(
  { payment, repeated }: SettlementTask,
  response: SettlementResponse,
  parts: SettlementParts,
): Settlement | Promise<Settlement> {
  const { success, errorReason, transaction } = response;
  if (!success && !repeated && isFinal(response)) {
    return { kind: "rejected", receipt: rejectedReceipt(payment, response) };
  }
  const isSaidToBeSettled = success || (repeated && errorReason === "payment_already_settled");
  const field = isSaidToBeSettled ? differsFromTerms(payment, response) : undefined;
  if (!isSaidToBeSettled || field !== undefined) return unclear(payment, { errorReason, field }, parts);
  // A facilitator that has settled is believed. Of one that says it was settled before, who can look for the transfer does.
  return !success && canLookUp(payment, parts)
    ? lookFor(payment, response, parts)
    : { kind: "settled", receipt: settledReceipt(payment, transaction) };
}

async function lookFor(
  payment: UnsettledPayment,
  { errorReason }: SettlementResponse,
  parts: SettlementParts,
): Promise<Settlement> {
  return (await settleBySight(payment, parts)) ?? unclear(payment, { errorReason, field: undefined }, parts);
}

/** @param said - What cannot be made sense of: a reason, or an answer of which a field is not as agreed */
function unclear(
  { payer, facilitatorRequest }: UnsettledPayment,
  said: { readonly errorReason: string | undefined; readonly field: string | undefined },
  { logger }: SettlementParts,
): Settlement {
  const { network } = facilitatorRequest.paymentRequirements;
  const reason = isReason(said.errorReason) ? said.errorReason : undefined;
  logger.error("settlement_unknown", { network, payer, reason, differsIn: said.field });
  return { kind: "unknown", retryAfterSeconds: RETRY_AFTER_SECONDS };
}

/**
 * Whether a refusal says for certain that no money moved. A transaction hash beside any other reason means that
 * something was broadcast, and an unexpected error may have come after that.
 */
function isFinal({ errorReason, transaction }: SettlementResponse): boolean {
  if (errorReason === "invalid_transaction_state" || errorReason === "payment_already_settled") return true;
  if (errorReason === "settlement_pending" || errorReason === "unexpected_settle_error") return false;
  return transaction === "";
}

/** The answer is compared with the terms before it is believed. */
function differsFromTerms(
  { scheme, payer, facilitatorRequest }: UnsettledPayment,
  response: SettlementResponse,
): string | undefined {
  const { network, amount } = facilitatorRequest.paymentRequirements;
  if (!sameNetwork(response.network, network)) return "network";
  if (response.payer !== undefined && !scheme.sameAddress(response.payer, payer)) return "payer";
  if (response.amount !== undefined && response.amount !== amount) return "amount";
  return undefined;
}

/** Only known fields go to the client. */
function settledReceipt({ payer, facilitatorRequest }: UnsettledPayment, transaction: string): SettlementResponse {
  const { network, amount } = facilitatorRequest.paymentRequirements;
  return { success: true, payer, transaction, network, amount };
}

/** Of a facilitator's text only what has the form of a reason goes to the client. */
function rejectedReceipt(
  { payer, facilitatorRequest }: UnsettledPayment,
  { errorReason, transaction }: SettlementResponse,
): SettlementResponse {
  const { network } = facilitatorRequest.paymentRequirements;
  const reason = isReason(errorReason) ? errorReason : "unexpected_settle_error";
  return { success: false, errorReason: reason, payer, transaction, network };
}

/** What an operator needs; a message of ours never quotes a facilitator. */
export function explain(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof FacilitatorError) return { code: error.code, message: error.message };
  return { code: "ERR_FAREBOX_FACILITATOR_RESPONSE", message: error instanceof Error ? error.name : "not an error" };
}
