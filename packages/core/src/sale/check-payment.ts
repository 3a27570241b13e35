/**
 * Checks of a payment and its request that need no facilitator: the offer, the identifier, the signature, the input.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { SchemeError } from "../errors.js";
import { bodyNotParsedFinding, type Findings } from "../events/findings.js";
import type { InputProblem } from "../extension.js";
import type { IdentifierMode, InputValidator } from "../options.js";
import { bodyTypeOf, checkDeclaredInput } from "../pricing/declarations.js";
import type { PricedRoute } from "../pricing/priced-route.js";
import { sameNetwork } from "../protocol/caip2.js";
import type { PaymentPayload } from "../protocol/documents.js";
import { isJsonObject } from "../protocol/json.js";
import { PAYMENT_IDENTIFIER, readPaymentIdentifier } from "../protocol/payment-identifier.js";
import type { Reason } from "../protocol/reasons.js";
import { SellersRequest } from "../route/priced-request.js";
import { matchOffer, type Offer } from "../scheme/offer.js";
import type { SignatureFinding } from "../scheme/scheme.js";
import { type GateResponse, invalidInput, uncheckedInput } from "./answers.js";
import { type MatchedRequest, type ReadPayment, SETTLEMENT_MARGIN_MS } from "./request.js";

/** A payment that is refused without asking anybody. */
export interface RefusedPayment {
  readonly kind: "refused";
  /** 400: what came is not a payment. */
  readonly status: 400 | 402;
  /** For the client. */
  readonly error: string;
  readonly reason: Reason;
  /** The field in which it differs from the offer. */
  readonly field?: string;
  /** Which payment it is, if that can be read. */
  readonly identity?: string | undefined;
  /** The payment, for the terms that its client says it was for. Its record may say that it has paid for them. */
  readonly former?: ReadPayment | undefined;
}

/**
 * Matches a payment with an offer of the route, and reads it by the offer's scheme.
 *
 * @throws SchemeError
 */
export function readPayment(route: PricedRoute, payment: PaymentPayload, nowMs: number): ReadPayment | RefusedPayment {
  const { accepted, payload, extensions } = payment;
  const match = matchOffer(route.offers, accepted);
  // An offer that we once made for this request, and that is too old by now.
  const isLapsed =
    match.kind === "mismatched" &&
    route.lapsed !== undefined &&
    matchOffer([route.lapsed], accepted).kind === "matched";
  if (match.kind === "mismatched" && !isLapsed) {
    const error = `invalid_payment_requirements: ${match.field} is not as offered`;
    const former = readFormer(route, payment, nowMs);
    const identity = former?.identity;
    return {
      kind: "refused",
      status: 402,
      error,
      reason: "invalid_payment_requirements",
      field: match.field,
      identity,
      former,
    };
  }
  const offer = match.kind === "matched" ? route.offerFor(match.offer, accepted.extra) : route.lapsed;
  if (offer === undefined) {
    const error = "unsupported_scheme: this payment option is not available right now";
    const former = readFormer(route, payment, nowMs);
    const identity = former?.identity;
    return { kind: "refused", status: 402, error, reason: "unsupported_scheme", identity, former };
  }
  const { payTo, maxTimeoutSeconds } = offer.requirements;
  const reading = offer.scheme.readPayment(payload, offer.requirements, Math.floor(nowMs / 1000));
  if (reading.kind === "refused") {
    return { kind: "refused", status: 402, error: reading.reason, reason: reading.reason };
  }
  // A seller's own scheme may break its promise. Fields that it has not read would reach the facilitator, and a record without an end
  // would be kept for ever.
  const { payload: canonical, identity, payer, expiresAtSeconds, settleBySeconds = expiresAtSeconds } = reading;
  if (!isJsonObject(canonical)) throw broken(offer, "returned no payload: return the fields that it has read");
  if (!STORABLE.test(identity)) throw broken(offer, "returned an identity that no store can hold");
  if (!Number.isSafeInteger(expiresAtSeconds)) throw broken(offer, "does not say when the payment expires");
  if (!Number.isSafeInteger(settleBySeconds)) throw broken(offer, "does not say until when the payment can settle");
  const { paymentIdentifier } = route;
  const isNamed = paymentIdentifier === "required" || (paymentIdentifier !== "off" && extensions !== undefined);
  const identified = isNamed ? readIdentifier(paymentIdentifier, extensions, [payTo, payer]) : UNNAMED;
  if (identified.kind === "refused") return { ...identified, identity };
  const expiresAtMs = expiresAtSeconds * 1000;
  let expired = reading.kind === "expired" ? (reading.expiredReason ?? "payment_expired") : undefined;
  if (isLapsed) expired = "invalid_payment_requirements";
  else if (expired === undefined && expiresAtMs - nowMs < leastMs(maxTimeoutSeconds * 1000)) {
    expired = "payment_expired";
  }
  return {
    kind: "read",
    // From here on, nobody sees what else the client has written there.
    payment: { ...payment, payload: canonical },
    offer,
    identity,
    payer,
    expiresAtMs,
    settleByMs: settleBySeconds * 1000,
    expired,
    identifier: identified.digest,
    isSigned: true,
    isForged: undefined,
  };
}

const UNNAMED = Object.freeze({ kind: "read", digest: undefined } as const);

function broken({ scheme }: Offer, problem: string): SchemeError {
  return new SchemeError(`scheme ${scheme.scheme}: readPayment ${problem}`);
}

/**
 * Reads a payment for an offer that is no longer made, by the terms that its client says it was for. They decide nothing but which record
 * is looked at: only that says what was paid for.
 */
function readFormer(
  { offers, paymentIdentifier }: PricedRoute,
  payment: PaymentPayload,
  nowMs: number,
): ReadPayment | undefined {
  const { accepted, payload, extensions } = payment;
  const { scheme, network, asset, payTo, amount = accepted.maxAmountRequired ?? "" } = accepted;
  const made = offers.find(({ requirements: ours }) => scheme === ours.scheme && sameNetwork(network, ours.network));
  if (made === undefined || !ATOMIC.test(amount)) return undefined;
  const extra = { ...made.requirements.extra, ...(isJsonObject(accepted.extra) && accepted.extra) };
  const offer = {
    ...made,
    amount: BigInt(amount),
    requirements: { ...made.requirements, amount, asset, payTo, extra },
  };
  try {
    const reading = offer.scheme.readPayment(payload, offer.requirements, Math.floor(nowMs / 1000));
    if (reading.kind === "refused" || !STORABLE.test(reading.identity)) return undefined;
    const identified = readIdentifier(paymentIdentifier, extensions, [payTo, reading.payer]);
    const identifier = identified.kind === "refused" ? undefined : identified.digest;
    const { identity, payer, expiresAtSeconds, settleBySeconds = expiresAtSeconds } = reading;
    return {
      kind: "read",
      payment: { ...payment, payload: reading.payload },
      ...{ offer, identity, payer, identifier },
      expiresAtMs: expiresAtSeconds * 1000,
      settleByMs: settleBySeconds * 1000,
      expired: undefined,
      isSigned: true,
      isForged: undefined,
    };
  } catch {
    // A scheme of the seller's may rely on terms of its own.
    return undefined;
  }
}

/** The decimal digits of an amount of 256 bits. */
const ATOMIC = /^\d{1,78}$/;

/** Databases refuse NUL and halves of surrogate pairs, or cut a text there: two payments would be one. */
const STORABLE = /^[^\0\p{Surrogate}]{1,2000}$/u;

/**
 * How long a payment must still be valid: for the settlement, and for the handler. Otherwise a handler could be run again and
 * again by payments that expire before it responds. A client that signs for `maxTimeoutSeconds` has far more.
 *
 * @param lifeMs - How long a payment lives that was made just now.
 */
export function leastMs(lifeMs: number): number {
  return SETTLEMENT_MARGIN_MS + Math.min((lifeMs - SETTLEMENT_MARGIN_MS) / 2, HANDLER_MS);
}

const HANDLER_MS = 10_000;

/**
 * Reads the client's identifier. Only its digest is kept, because the identifier is the key to the response.
 *
 * @param parties - Recipient and payer. An identifier is theirs: others may use the same one.
 */
function readIdentifier(
  mode: IdentifierMode,
  extensions: PaymentPayload["extensions"],
  parties: readonly [payTo: string, payer: string],
): { readonly kind: "read"; readonly digest: string | undefined } | RefusedPayment {
  if (mode === "off") return { kind: "read", digest: undefined };
  const read = readPaymentIdentifier(extensions);
  if (read.kind === "present") {
    const text = JSON.stringify([read.id, ...parties]);
    return { kind: "read", digest: createHash("sha256").update(text).digest("base64url") };
  }
  if (read.kind === "malformed") {
    const error = "invalid_payment_identifier: the id must be 16 to 128 letters, digits, hyphens and underscores";
    return { kind: "refused", status: 400, error, reason: "invalid_payment_identifier" };
  }
  if (mode !== "required") return { kind: "read", digest: undefined };
  const error = `payment_identifier_required: extensions["${PAYMENT_IDENTIFIER}"].info.id is missing`;
  return { kind: "refused", status: 400, error, reason: "payment_identifier_required" };
}

/** After this many good signatures in a row none is checked before the facilitator is asked, until one is not good. */
const GOOD_ENOUGH = 64;

/**
 * Checks payers' signatures without asking anybody. A check on EVM takes longer than all the rest of a request, and the
 * facilitator checks each of them anyway. So while all are good, one is only checked when the facilitator has refused it, or
 * when another was found to be bad while it waited for its turn.
 */
export class SignatureChecks {
  /** Whether a signature of another key is refused. Otherwise it may be a contract's, so a facilitator is asked. */
  readonly #refusesOtherKeys: boolean;
  #good = 0;

  constructor(refusesOtherKeys: boolean) {
    this.#refusesOtherKeys = refusesOtherKeys;
  }

  /** Checks a signature, unless the scheme cannot, or has done so in `readPayment`. `undefined`: it is not refused. */
  check(read: ReadPayment): RefusedPayment | undefined {
    const { scheme, settle } = read.offer;
    if (scheme.checkSignature === undefined) return undefined;
    // A payment that is settled at once is not verified, so its signature is always checked.
    if (settle !== "before" && !this.#refusesOtherKeys && this.#good >= GOOD_ENOUGH) {
      read.isForged = (when) => this.#isForged(read, when);
      return undefined;
    }
    const finding = this.#find(read);
    if (finding.kind === "signed") this.#good += 1;
    read.isSigned = finding.kind === "signed";
    if (finding.kind !== "other_key" || !this.#refusesOtherKeys) return undefined;
    const { reason } = finding;
    return { kind: "refused", status: 402, reason, error: reason };
  }

  #find({ offer, payment }: ReadPayment): SignatureFinding {
    const finding = offer.scheme.checkSignature?.(payment.payload, offer.requirements) ?? { kind: "signed" };
    // From now on, each signature is checked.
    if (finding.kind !== "signed") this.#good = 0;
    return finding;
  }

  #isForged(read: ReadPayment, when: "waited" | "failed"): boolean {
    if (when === "waited" && this.#good >= GOOD_ENOUGH) return false;
    try {
      return this.#find(read).kind !== "signed";
    } catch {
      // A seller's own scheme may break its promise: then nothing is known of the signature, and a call to a facilitator goes on.
      return false;
    }
  }
}

/** Checks the request by the route's `validate`; `undefined`: it is valid. Rejects if a function of the seller's throws. */
export function checkInput(
  matched: MatchedRequest,
  findings: Pick<Findings, "add">,
): Promise<GateResponse | undefined> | GateResponse | undefined {
  const { route, request, locate } = matched;
  const { validate, declarations } = route;
  if (validate === undefined) return undefined;
  if (validate !== true) return checkByFunction(validate, matched);
  const { method, search, hasBody = false, body } = request;
  const problem = hasBody ? findBodyProblem(matched) : undefined;
  if (problem === "not parsed") {
    findings.add(bodyNotParsedFinding(route.key));
    return uncheckedInput();
  }
  const { pathParams } = locate();
  const input = { method, search, pathParams, body: hasBody ? body : undefined };
  const problems = problem === undefined ? checkDeclaredInput(declarations, input) : [problem];
  return problems.length === 0 ? undefined : invalidInput(problems);
}

async function checkByFunction(validate: InputValidator, matched: MatchedRequest): Promise<GateResponse | undefined> {
  const returned: unknown = await validate(new SellersRequest(matched));
  if (returned === undefined) return undefined;
  const messages: readonly unknown[] = Array.isArray(returned) ? returned : [returned];
  if (!messages.every((message) => typeof message === "string")) {
    throw new TypeError("validate: expected a text, several, or nothing");
  }
  return messages.length === 0 ? undefined : invalidInput(messages.map((message) => ({ message })));
}

/** Media types of each declared type of body. */
const MEDIA_TYPES = {
  json: { expression: /^[^;]*[/+]json\s*(?:;|$)/i, message: "must be sent with Content-Type: application/json" },
  "form-data": {
    expression: /^(?:multipart\/form-data|application\/x-www-form-urlencoded)\s*(?:;|$)/i,
    message: "must be sent with Content-Type: multipart/form-data",
  },
} as const;

/** Why a body cannot be checked: it has another type, or no parser has read it. */
function findBodyProblem({ route, request }: MatchedRequest): InputProblem | "not parsed" | undefined {
  const bodyType = bodyTypeOf(route.declarations, request.method);
  if (bodyType === undefined) return undefined;
  const contentType = request.header?.("content-type") ?? "";
  if (bodyType !== "text" && !MEDIA_TYPES[bodyType].expression.test(contentType)) {
    return { in: "body", at: "", message: MEDIA_TYPES[bodyType].message };
  }
  return request.body === undefined ? "not parsed" : undefined;
}
