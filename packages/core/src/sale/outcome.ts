/**
 * How a settlement ends: settled, rejected, unsent or unknown. It is never guessed.
 *
 * The facilitator moves the money. After an attempt with an unknown outcome, the chain is asked first, if the seller
 * named an RPC node for it.
 *
 * @see `docs/reference/lifecycle.md`, "How settlement ends" and "How an unknown outcome is resolved"
 * @module
 */
import { FacilitatorError } from "../errors.js";
import type { PaymentFacts } from "../events/events.js";
import type { Hooks, PaymentContext, SettledContext } from "../events/hooks.js";
import type { LogFields } from "../events/logger.js";
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import { secondsToWait } from "../facilitator/http-responses.js";
import type { FacilitatorPool } from "../facilitator/pool.js";
import { canonicalNetwork, sameNetwork } from "../protocol/caip2.js";
import type { ExtensionResponses, PaymentPayload, SettlementResponse } from "../protocol/documents.js";
import { isReason, type Reason } from "../protocol/reasons.js";
import { freeze, type SeenRequest, SellersRequest } from "../route/priced-request.js";
import type { Scheme } from "../scheme/scheme.js";
import { type ConfirmationsDeps, isConfirmed } from "../steps/confirmations.js";
import type { ClaimRequest } from "../store/payment-store.js";

/** A payment with everything that settling it takes. There may be a request that waits for it, or none. */
export interface PendingPayment {
  readonly claim: ClaimRequest;
  readonly payer: string;
  /** Whose runs without a charge its runs are. Default: the payer's. */
  readonly countedAs?: string | undefined;
  readonly scheme: Scheme;
  readonly routeKey: string;
  /** Decimals of the asset. Default: as the scheme knows them. */
  readonly decimals?: number | undefined;
  /** Under which name its route is listed in a catalog. Default: the route's key. */
  readonly listedAs?: string | undefined;
  /** The body of the facilitator's `verify` and `settle`. */
  readonly facilitatorRequest: FacilitatorRequest;
  /** The request that waits for it, and the payment as its client sent it. Default: no request waits. */
  readonly matched?: SeenRequest | undefined;
  readonly payload?: PaymentPayload | undefined;
  /** The extensions that have a say in its receipt. Default: none, or its route is not known. */
  readonly asked?: ReceiptExtensions | undefined;
  /** The hooks of its route. Default: the seller's, as its route is not known. */
  readonly hooks?: Pick<Hooks, "isSilent" | "tell" | "hearsOfPaid" | "paid"> | undefined;
}

/** The extensions of a route, as far as its payments go. */
export interface ReceiptExtensions {
  readonly asksAboutReceipts: boolean;
  /** Adds what they say. Takes at most a few seconds, and never rejects. */
  addToReceipt(receipt: SettlementResponse, context: () => SettledContext): Promise<SettlementResponse>;
}

/** The same payment with the amount that the handler set. */
export function withAmount<T extends PendingPayment>(payment: T, amount: bigint): T {
  const { facilitatorRequest } = payment;
  const { paymentRequirements } = facilitatorRequest;
  if (paymentRequirements.amount === amount.toString()) return payment;
  const terms = Object.freeze({ ...paymentRequirements, amount: amount.toString() });
  return { ...payment, facilitatorRequest: { ...facilitatorRequest, paymentRequirements: terms } };
}

/** What events and hooks are told about a payment. */
export function factsOf({ claim, payer, routeKey, facilitatorRequest }: PendingPayment): PaymentFacts {
  const { scheme, network, asset, amount } = facilitatorRequest.paymentRequirements;
  return Object.freeze({ payment: claim.identity, route: routeKey, payer, scheme, network, asset, amount });
}

/** What hooks are told about a payment. */
export function contextOf(pending: PendingPayment): PaymentContext {
  const { facilitatorRequest, matched, payload = structuredClone(facilitatorRequest.paymentPayload) } = pending;
  return Object.freeze({
    ...factsOf(pending),
    payload: freeze(payload),
    requirements: facilitatorRequest.paymentRequirements,
    request: matched && new SellersRequest(matched, payload),
  });
}

/** The payment without its request, which must not stay in memory. */
export function withoutRequest(pending: PendingPayment): PendingPayment {
  // By name: the payment of a request has more, and some of that leads to the request.
  const { claim, payer, countedAs, scheme, routeKey, decimals, listedAs, facilitatorRequest, asked, hooks } = pending;
  return { claim, payer, countedAs, scheme, routeKey, decimals, listedAs, facilitatorRequest, asked, hooks };
}

/** How a settlement ended, as far as it is certain. */
export type Outcome =
  /** The money moved. `isFound`: the chain says so, and not only a facilitator. */
  | { readonly kind: "settled"; readonly receipt: SettlementResponse; readonly isFound?: boolean }
  /** The money did not move and will not. */
  | { readonly kind: "rejected"; readonly receipt: SettlementResponse }
  /** Nothing was sent to a facilitator: the money did not move. */
  | { readonly kind: "unsent"; readonly retryAfterSeconds: number }
  /** The money may have moved. */
  | { readonly kind: "unknown"; readonly retryAfterSeconds: number };

/** One attempt to settle. */
export interface Attempt {
  readonly payment: PendingPayment;
  /** The only facilitator to ask, by its name in the record; `undefined`: any. */
  readonly facilitator: string | undefined;
  /**
   * Whether the record says that an earlier attempt has an unknown outcome. Only then does "settled before" mean settled
   * for us. And then a refusal proves nothing, unless it is about the signed payment itself: the earlier attempt may be the
   * very reason for it.
   */
  readonly isRepeated: boolean;
  /** `false`: nobody has verified the payment. */
  readonly isVerified?: boolean | undefined;
  /** Is set to what the facilitator says about declared extensions, however the settlement ends. */
  extensionResponses?: ExtensionResponses | undefined;
}

/** What finding an outcome takes. */
export interface OutcomeDeps extends ConfirmationsDeps {
  readonly facilitator: Pick<FacilitatorPool, "settle">;
}

/** A block or two. The facilitator may ask for longer. */
const RETRY_AFTER_SECONDS = 5;

/** How long one search on chain may take. A client waits for it. */
export const SEARCH_MS = 8_000;

/**
 * Moves the money, or finds out whether it has moved. Safe to repeat: a chain takes each payment once. A transaction that is not
 * deep enough in the chain, or has disappeared from it, is an unknown outcome. Never rejects.
 */
export async function moveMoney(attempt: Attempt, deps: OutcomeDeps): Promise<Outcome> {
  const { payment, facilitator, isRepeated, isVerified } = attempt;
  const { payer, claim, facilitatorRequest: request } = payment;
  const { network, amount } = request.paymentRequirements;
  // Nothing to move: the authorization runs out unused.
  if (amount === "0") return settled(payment, "");
  let outcome = isRepeated ? await searchChain(payment, deps) : undefined;
  if (outcome === undefined) {
    try {
      const about: { payment: string; payer: string; isVerified?: boolean; facilitator?: string } = {
        payment: claim.identity,
        payer,
      };
      if (isVerified === false) about.isVerified = isVerified;
      if (facilitator !== undefined) about.facilitator = facilitator;
      const response = await deps.facilitator.settle(request, about);
      attempt.extensionResponses = response.extensionResponses;
      const judged = judge(attempt, response, deps);
      outcome = judged instanceof Promise ? await judged : judged;
    } catch (error) {
      const failure = error instanceof FacilitatorError ? error : undefined;
      // An earlier attempt may have moved the money, even if this one was never sent.
      const kind = failure?.outcome === "none" && !isRepeated ? "unsent" : "unknown";
      deps.logger.error(`settlement_${kind}`, { network, payer, ...explain(error) });
      return { kind, retryAfterSeconds: secondsToWait(error) ?? RETRY_AFTER_SECONDS };
    }
  }
  if (outcome.kind !== "settled" || outcome.receipt.transaction === "") return outcome;
  const wanted = deps.confirmationsOn(network);
  if (wanted === 0) return outcome;
  const isDeep = await isConfirmed(payment, { transaction: outcome.receipt.transaction, wanted }, deps);
  return isDeep ? outcome : { kind: "unknown", retryAfterSeconds: RETRY_AFTER_SECONDS };
}

/** Reads a facilitator's response. It is compared with the terms before it is believed, and with the chain if it is in doubt. */
function judge(
  { payment, isRepeated }: Attempt,
  response: SettlementResponse,
  deps: OutcomeDeps,
): Outcome | Promise<Outcome> {
  const { success, errorReason, transaction } = response;
  if (!success && (isRepeated ? canNeverSettle(payment, response) : isFinal(response)))
    return rejected(payment, response);
  const saysSettled = success || (isRepeated && errorReason === "payment_already_settled");
  const differsIn = saysSettled ? findDifference(payment, response) : undefined;
  const isNamed = transaction !== "";
  // "Settled before" is checked on chain where that is possible, and money that moved has a transaction.
  if (saysSettled && differsIn === undefined && isNamed && (success || !canSearch(payment, deps)))
    return settled(payment, transaction, response);
  const doubt = (): Outcome => {
    const { network } = payment.facilitatorRequest.paymentRequirements;
    const reason = isReason(errorReason) ? errorReason : undefined;
    const lacks = saysSettled && !isNamed ? "transaction" : undefined;
    deps.logger.error("settlement_unknown", { network, payer: payment.payer, reason, differsIn, lacks });
    return { kind: "unknown", retryAfterSeconds: RETRY_AFTER_SECONDS };
  };
  if (!saysSettled || differsIn !== undefined) return doubt();
  return searchChain(payment, deps).then((found) => found ?? doubt());
}

/**
 * Whether a refusal is final. `invalid_transaction_state`: the transaction failed on chain. `payment_already_settled`: the
 * payment was used elsewhere. Any other refusal is final only without a transaction: one that is named was broadcast. One that says
 * that the facilitator has not waited for the end is not final.
 */
function isFinal({ errorReason, transaction }: SettlementResponse): boolean {
  if (errorReason === "invalid_transaction_state" || errorReason === "payment_already_settled") return true;
  if (!errorReason || errorReason === "unexpected_settle_error" || NOT_OVER.test(errorReason)) return false;
  return transaction === "";
}

/**
 * Whether a refusal is about the signed payment itself, so that no earlier attempt can have moved the money. Any other reason
 * may be the earlier attempt's doing: a payer's funds and time are used up by the payment that is asked about.
 */
function canNeverSettle(
  { scheme, facilitatorRequest }: PendingPayment,
  { errorReason = "", transaction }: SettlementResponse,
): boolean {
  if (transaction !== "") return false;
  if (UNPAYABLE.has(errorReason)) return true;
  if (!UNSIGNED.has(errorReason)) return false;
  // A signature that is good here was good for the earlier attempt.
  const { paymentPayload, paymentRequirements } = facilitatorRequest;
  return scheme.checkSignature?.(paymentPayload.payload, paymentRequirements).kind !== "signed";
}

/** `settlement_pending`, `transaction_confirmation_timeout`, "Timed out while waiting for the receipt". */
const NOT_OVER = /pending|time(?:d?[ _-]?)out|unconfirmed|not[ _-](?:yet|confirmed)|confirmation/i;

/** The signed payment is for other terms. Reasons that depend on the settings of the facilitator are left out. */
const UNPAYABLE: ReadonlySet<string> = new Set<Reason>([
  "invalid_payload",
  "invalid_exact_evm_payload_authorization_value_mismatch",
  "invalid_exact_evm_payload_recipient_mismatch",
  "invalid_exact_svm_payload_amount_mismatch",
  "invalid_exact_svm_payload_mint_mismatch",
  "invalid_exact_svm_payload_recipient_mismatch",
  "invalid_exact_svm_payload_transaction_could_not_be_decoded",
  "invalid_exact_avm_amount_mismatch",
  "invalid_exact_avm_asset_mismatch",
  "invalid_exact_avm_not_asset_transfer",
  "invalid_exact_avm_receiver_mismatch",
]);

/** The signature is not the payer's. */
const UNSIGNED: ReadonlySet<string> = new Set<Reason>([
  "invalid_exact_evm_payload_signature",
  "invalid_exact_svm_payload_signature_invalid",
  "invalid_exact_avm_invalid_signature",
  "invalid_exact_avm_payment_not_signed",
]);

/** The field in which a response differs from the terms. */
function findDifference(
  { scheme, payer, facilitatorRequest }: PendingPayment,
  response: SettlementResponse,
): "network" | "payer" | "amount" | undefined {
  const { network, amount } = facilitatorRequest.paymentRequirements;
  const { payer: named = payer } = response;
  if (response.network !== network && !sameNetwork(response.network, network)) return "network";
  if (named !== payer && !scheme.sameAddress(named, payer) && scheme.knowsPayer !== false) return "payer";
  if (response.amount !== undefined && response.amount !== amount) return "amount";
  return undefined;
}

/** Only known fields go to the client. */
function settled(
  { scheme, payer, facilitatorRequest }: PendingPayment,
  transaction: string,
  { payer: named, extra }: Partial<SettlementResponse> = {},
): Extract<Outcome, { readonly kind: "settled" }> {
  const { network, amount } = facilitatorRequest.paymentRequirements;
  // The facilitator names the payer only where the scheme cannot read who pays.
  const paying = scheme.knowsPayer === false ? named || payer : payer;
  const receipt = { success: true, payer: paying, transaction, network, amount };
  return { kind: "settled", receipt: extra === undefined ? receipt : { ...receipt, extra } };
}

/** Of a facilitator's own text, only a reason goes to the client. */
function rejected(
  { scheme, payer, facilitatorRequest }: PendingPayment,
  { errorReason, transaction, payer: named }: Pick<SettlementResponse, "errorReason" | "transaction" | "payer">,
): Outcome {
  const { network } = facilitatorRequest.paymentRequirements;
  const paying = scheme.knowsPayer === false ? named || payer : payer;
  const reason = isReason(errorReason) ? errorReason : "unexpected_settle_error";
  return { kind: "rejected", receipt: { success: false, errorReason: reason, payer: paying, transaction, network } };
}

/** Whether the scheme can search a chain, and the seller named a node. */
function canSearch({ scheme, facilitatorRequest }: PendingPayment, { rpc }: Pick<OutcomeDeps, "rpc">): boolean {
  return scheme.findPayment !== undefined && rpc.has(canonicalNetwork(facilitatorRequest.paymentRequirements.network));
}

/** Searches the chain for the transfer; `undefined`: the chain cannot be asked, or it does not tell. Never rejects. */
async function searchChain(payment: PendingPayment, { rpc: nodes, logger }: OutcomeDeps): Promise<Outcome | undefined> {
  const { claim, payer, scheme, facilitatorRequest } = payment;
  const { paymentRequirements: requirements, paymentPayload } = facilitatorRequest;
  const { network } = requirements;
  const rpc = nodes.get(canonicalNetwork(network));
  if (rpc === undefined || scheme.findPayment === undefined) return undefined;
  try {
    const signal = AbortSignal.timeout(SEARCH_MS);
    const expiresAtSeconds = claim.expiresAtMs / 1000;
    const found = await scheme.findPayment({
      payload: paymentPayload.payload,
      requirements,
      rpc,
      signal,
      expiresAtSeconds,
    });
    if (found.kind === "moved") return { ...settled(payment, found.transaction), isFound: true };
    if (found.kind === "never") {
      return rejected(payment, { errorReason: "invalid_transaction_state", transaction: "" });
    }
    const problem = found.kind === "open" ? "it has not moved so far, and still may" : found.problem;
    logger.info("payment_not_found", { network, payer, problem });
  } catch (error) {
    logger.error("look_up_failed", { network, payer, error: error instanceof Error ? error.name : "unknown" });
  }
  return undefined;
}

/** For the log. A message of ours never quotes a facilitator: what it said is apart. */
export function explain(error: unknown): LogFields {
  if (error instanceof FacilitatorError) {
    const { code, message, status, facilitator, says } = error;
    return {
      ...{ code, message },
      ...(status === undefined ? {} : { status }),
      ...(facilitator === undefined ? {} : { facilitator }),
      ...(says === undefined ? {} : { says }),
    };
  }
  return { code: "ERR_FAREBOX_FACILITATOR_RESPONSE", message: error instanceof Error ? error.name : "not an error" };
}
