/**
 * Buys: a request, the 402, the checks, the budget, the payment, and what was charged.
 *
 * @module
 */
import { dollarsOf, networkName, stablecoinOf } from "@farebox/bazaar/facilitator";
import type { JsonObject, PaymentRequired, PaymentRequirements, SettlementResponse } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";
import { x402Client } from "@x402/core/client";
import {
  decodePaymentRequiredHeader,
  decodePaymentResponseHeader,
  encodePaymentSignatureHeader,
} from "@x402/core/http";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { UptoEvmScheme } from "@x402/evm/upto/client";
import { type Budget, type BudgetError, type Dollars, formatDollars } from "./budget.js";
import { type Challenge, type EndpointRequest, quote } from "./endpoint.js";
import { type NoReplyError, type Reply, send } from "./http.js";
import type { Settings } from "./settings.js";

/** One way to pay, as a 402 or a catalog offers it. */
export type Offer = Pick<PaymentRequirements, "scheme" | "network" | "asset" | "amount" | "payTo">;

/** A response, and one sentence about its payment. */
export interface Bought {
  readonly reply: Reply;
  readonly receipt?: SettlementResponse;
  /** The challenge that was paid. */
  readonly challenge?: Challenge;
  readonly note: string;
}

/** Why there is no response, with the consequence for the budget. */
export class PurchaseError extends Error {
  override readonly name = "PurchaseError";
}

/** Pays with the keys of the settings, within their limits. */
export class Buyer {
  readonly #settings: Settings;
  readonly #budget: Budget;
  readonly #wallet: x402Client;

  private constructor(settings: Settings, budget: Budget, wallet: x402Client) {
    this.#settings = settings;
    this.#budget = budget;
    this.#wallet = wallet;
  }

  static async create(settings: Settings, budget: Budget): Promise<Buyer> {
    return new Buyer(settings, budget, await createWallet(settings));
  }

  /** The limit on one call, for people. */
  get most(): string {
    return formatDollars(this.#settings.maxPerCall);
  }

  /** How long one call may take. */
  get timeoutMs(): number {
    return this.#settings.timeoutSeconds * 1000;
  }

  /**
   * Sends a request, and pays if that is asked for. A signature cannot be called back, and a seller can lie about what it took. So
   * the maximum of each payment that is sent counts as spent for good. An error of the connection does not prove that it was not.
   *
   * @throws PurchaseError
   */
  async buy(request: EndpointRequest, cancelled: AbortSignal): Promise<Bought> {
    const signal = AbortSignal.any([cancelled, AbortSignal.timeout(this.timeoutMs)]);
    const reply = await send(request, {}, signal).catch((error: NoReplyError) => {
      throw new PurchaseError(`${error.message}. Nothing was paid.`);
    });
    if (reply.status !== 402) return { reply, note: "Nothing was paid." };
    const challenge = readChallenge(reply);
    if (challenge === undefined) {
      throw new PurchaseError(`${request.url.href} wants a payment, but not by x402 version 2. Nothing was paid.`);
    }
    const offer = this.#choose(challenge.accepts, request.url);
    const header = await this.#sign(challenge, offer, signal);
    if (signal.aborted) throw new PurchaseError(`${request.url.href}: the call has ended. Nothing was paid.`);
    try {
      this.#budget.spend(dollarsOf(offer)!, `${request.method} ${request.url.href}`);
    } catch (error) {
      throw new PurchaseError(`${(error as BudgetError).message}. Nothing was paid.`);
    }
    const paid = await sendPaid(request, header, signal).catch((error: NoReplyError) => {
      throw new PurchaseError(`${error.message}. ${describeOutcome(offer, undefined)}`);
    });
    const receipt = readReceipt(paid);
    const note = describeOutcome(offer, receipt) + this.#permit2Hint(paid, offer);
    return { reply: paid, ...(receipt === undefined ? {} : { receipt }), challenge, note };
  }

  /** The first offer within all limits. @throws PurchaseError with the reason against each */
  #choose(accepts: readonly PaymentRequirements[], url: URL): PaymentRequirements {
    const left = this.#budget.left();
    const reasons: string[] = [];
    for (const offer of accepts) {
      const reason = this.#problemOf(offer, left);
      if (reason === undefined) return offer;
      reasons.push(reason);
    }
    const known = reasons.length === 0 ? "it offers no way to pay" : [...new Set(reasons)].slice(0, 8).join("; ");
    throw new PurchaseError(`${url.href} was not bought: ${known}. Nothing was paid.`);
  }

  #problemOf(offer: PaymentRequirements, left: Dollars): string | undefined {
    const { evm, svm, allowedPayees, maxPerCall } = this.#settings;
    const { scheme, network, payTo, maxTimeoutSeconds } = offer;
    const isEvm = network.startsWith("eip155:");
    const schemes = isEvm ? ["exact", "upto"] : ["exact"];
    if (!schemes.includes(scheme)) return `the scheme ${quote(scheme)} on ${nameOfNetwork(network)} is unknown`;
    const flow = offer.extra?.["paymentFlow"] ?? "authorization";
    if (flow !== "authorization") return `the payment flow ${quote(flow)} is unknown`;
    if ((isEvm ? evm : svm) === undefined) return `there is no key for ${nameOfNetwork(network)}`;
    const dollars = dollarsOf(offer);
    if (dollars === undefined) return `${describeOffer(offer)}: its value in dollars is unknown`;
    if (maxTimeoutSeconds > MAX_LIFE_SECONDS) {
      return `${describeOffer(offer)}: it could be charged for ${maxTimeoutSeconds} seconds, which is more than ${MAX_LIFE_SECONDS}`;
    }
    const payee = isEvm ? payTo.toLowerCase() : payTo;
    if (allowedPayees?.has(payee) === false) return `the payee ${quote(payTo)} is not in ALLOWED_PAYEES`;
    if (dollars > maxPerCall) return `${describeOffer(offer)} is more than MAX_PER_CALL (${formatDollars(maxPerCall)})`;
    if (dollars > left)
      return `${describeOffer(offer)} is more than what is left of MAX_TOTAL (${formatDollars(left)})`;
    return undefined;
  }

  async #sign(challenge: PaymentRequired, offer: PaymentRequirements, signal: AbortSignal): Promise<string> {
    try {
      const signing = this.#wallet.createPaymentPayload({ ...challenge, accepts: [offer] } as never);
      return encodePaymentSignatureHeader(await orAborted(signing, signal));
    } catch (error) {
      // It may hold text of the seller.
      const reason = quote(this.#settings.redact((error as Error).message));
      throw new PurchaseError(`${describeOffer(offer)} could not be signed for: ${reason}. Nothing was paid.`);
    }
  }

  /** Payments by Permit2 need an approval that only the owner of the account can give. */
  #permit2Hint({ status, text }: Reply, { network, asset }: Offer): string {
    if (status !== 412 && !(status === 402 && text.includes("permit2_allowance_required"))) return "";
    const token = `${quote(asset)} on ${nameOfNetwork(network)}`;
    return ` The account ${this.#settings.evm?.address} must first call approve(${PERMIT2_ADDRESS}, amount) on the token ${token}: a person does that, once.`;
  }
}

/** The limits are checked by the buyer, before anything is signed. */
async function createWallet({ evm, svm, svmRpcUrl }: Settings): Promise<x402Client> {
  const wallet = new x402Client().setSpendControls(false);
  if (evm !== undefined)
    wallet.register("eip155:*", new ExactEvmScheme(evm)).register("eip155:*", new UptoEvmScheme(evm));
  if (svm !== undefined) {
    const { ExactSvmScheme } = await import("@x402/svm/exact/client");
    wallet.register("solana:*", new ExactSvmScheme(svm, svmRpcUrl === undefined ? {} : { rpcUrl: svmRpcUrl }));
  }
  return wallet;
}

function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new Error("it took too long"));
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** The contract is at this address on all chains. */
const PERMIT2_ADDRESS = "0x000000000022D473030F116dDEE9F6B43aC78BA3";

/** How long a signed payment may be charged. */
const MAX_LIFE_SECONDS = 600;
const MAX_REPEATS = 3;
const MAX_WAIT_SECONDS = 10;

/**
 * Where the seller tells a client to come back, it gets the same payment again: that cannot be charged twice, but a new payment
 * could.
 */
async function sendPaid(request: EndpointRequest, payment: string, signal: AbortSignal): Promise<Reply> {
  let token: string | null = null;
  for (let repeats = 0; ; repeats++) {
    const proof = token === null ? {} : { "PAYMENT-RETRY-TOKEN": token };
    const reply = await send(request, { "PAYMENT-SIGNATURE": payment, ...proof }, signal);
    const seconds = Number(reply.headers.get("Retry-After") ?? Number.NaN);
    const isPending = [409, 429, 503].includes(reply.status) && seconds >= 0;
    if (!isPending || repeats === MAX_REPEATS) return reply;
    token = reply.headers.get("PAYMENT-RETRY-TOKEN");
    await wait(Math.min(seconds, MAX_WAIT_SECONDS) * 1000, signal);
  }
}

/** When the time is up, the next request says so. */
function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      done();
    };
    const timer = setTimeout(finish, ms);
    signal.addEventListener("abort", finish, { once: true });
    if (signal.aborted) finish();
  });
}

/** Reads the challenge of a 402 from the header, or from the body; `undefined` when there is none of version 2. */
export function readChallenge({ headers, text }: Reply): Challenge | undefined {
  const header = headers.get("PAYMENT-REQUIRED");
  const inHeader = header === null ? undefined : attempt(() => decodePaymentRequiredHeader(header));
  const inBody = attempt(() => JSON.parse(text));
  const found = inHeader ?? inBody;
  if (!isJsonObject(found) || found["x402Version"] !== 2 || !Array.isArray(found["accepts"])) return undefined;
  const declared = (isJsonObject(inBody) ? inBody["extensions"] : undefined) ?? found["extensions"];
  return { ...found, accepts: found["accepts"].filter(isOffer), declared } as unknown as Challenge;
}

function isOffer(value: unknown): value is PaymentRequirements {
  if (!isJsonObject(value)) return false;
  const { extra, maxTimeoutSeconds } = value;
  const isTime = Number.isSafeInteger(maxTimeoutSeconds) && (maxTimeoutSeconds as number) > 0;
  return hasPrice(value) && isTime && (extra === undefined || isJsonObject(extra));
}

function hasPrice(offer: JsonObject): boolean {
  const areTexts = ["scheme", "network", "asset", "payTo", "amount"].every((name) => typeof offer[name] === "string");
  return areTexts && /^\d{1,78}$/.test(String(offer["amount"]));
}

function readReceipt({ headers }: Reply): SettlementResponse | undefined {
  const header = headers.get("PAYMENT-RESPONSE");
  const receipt = header === null ? undefined : attempt(() => decodePaymentResponseHeader(header));
  return isJsonObject(receipt) ? (receipt as unknown as SettlementResponse) : undefined;
}

function attempt(act: () => unknown): unknown {
  try {
    return act();
  } catch {
    return undefined;
  }
}

/** What the payment did to the budget. The seller's receipt is told, but changes nothing. */
function describeOutcome(offer: Offer, receipt: SettlementResponse | undefined): string {
  const most = formatDollars(dollarsOf(offer)!);
  if (receipt?.success !== true) {
    return `The payment was signed and can still be charged: ${most} counts as spent. Do not repeat the call without asking the user.`;
  }
  const { amount = "" } = receipt;
  const isLess = offer.scheme === "upto" && /^\d{1,78}$/.test(amount) && BigInt(amount) < BigInt(offer.amount);
  const taken = isLess ? formatDollars(dollarsOf({ ...offer, amount })!) : most;
  const transaction = receipt.transaction ? `, transaction ${quote(receipt.transaction)}` : "";
  const paid = `Paid ${taken} ${stablecoinOf(offer)?.symbol} on ${nameOfNetwork(offer.network)}${transaction}.`;
  return isLess ? `${paid} That is the seller's word: the maximum, ${most}, counts as spent.` : paid;
}

function nameOfNetwork(network: string): string {
  return networkName(network) ?? quote(network);
}

/** The offers in a list of a stranger that can be described. */
export function readOffers(accepts: unknown): readonly Offer[] {
  return Array.isArray(accepts) ? accepts.filter((offer) => isJsonObject(offer) && hasPrice(offer)) : [];
}

/** `$0.001 USDC on Base Sepolia`. */
function describeOffer(offer: Offer): string {
  const [dollars, coin] = [dollarsOf(offer), stablecoinOf(offer)];
  const most = offer.scheme === "upto" ? "up to " : "";
  if (dollars === undefined || coin === undefined) {
    return `${most}${offer.amount} units of the token ${quote(offer.asset)} on ${nameOfNetwork(offer.network)}`;
  }
  return `${most}${formatDollars(dollars)} ${coin.symbol} on ${coin.networkName}`;
}

/** The prices of a call, each once. */
export function describePrice(accepts: readonly Offer[]): string {
  const prices = [...new Set(accepts.slice(0, 16).map(describeOffer))].join(" or ");
  return prices === "" ? "no price" : `${prices} per call`;
}
