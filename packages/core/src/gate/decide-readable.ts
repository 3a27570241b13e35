/**
 * What becomes of a request whose payment can be read: until its payment is claimed, or turns out to be taken.
 *
 * @see `docs/reference/lifecycle.md`
 * @module
 */
import { isPromise, type MaybePromise } from "../maybe-promise.js";
import type { Reason } from "../protocol/reasons.js";
import { digestOf } from "../route/request.js";
import type { Claim } from "../store/payment-store.js";
import { type Arrival, toPaidRequest } from "./arrival.js";
import { serveClaim } from "./claimed.js";
import type { Decision } from "./decision.js";
import { factsOf } from "./outcome.js";
import {
  identifierTakenAnswer,
  incompleteRequestAnswer,
  inProgressAnswer,
  type PaidRequest,
  refusal,
} from "./paid-request.js";
import type { PaymentsConfig } from "./parse-options.js";
import type { ReadPayment, RefusedPayment } from "./read-payment.js";
import { answered, refuse } from "./refuse.js";
import { decideOnTaken, tellReplayed } from "./replay.js";
import { refuseInput } from "./validate-input.js";

interface Readable {
  readonly url: string;
  readonly read: Exclude<ReadPayment, RefusedPayment>;
}

/**
 * Decides a request whose payment can be read. Waits for nothing but what takes its time: a function that waits costs as much
 * as several that do not.
 */
export function decideReadable(
  arrival: Arrival,
  readable: Readable,
  config: PaymentsConfig,
): Decision | Promise<Decision> {
  const { offer, payment } = readable.read;
  const checking = config.signatures.check(offer, payment.payload);
  return checking === undefined
    ? decideSigned(arrival, readable, config)
    : decideChecked(arrival, { ...readable, checking }, config);
}

async function decideChecked(
  arrival: Arrival,
  { url, read, checking }: Readable & { readonly checking: Promise<Reason | undefined> },
  config: PaymentsConfig,
): Promise<Decision> {
  const forged = await checking;
  if (forged === undefined) return decideSigned(arrival, { url, read }, config);
  return refuse(arrival, { url, refused: { kind: "refused", status: 402, error: forged, reason: forged } }, config);
}

function decideSigned(arrival: Arrival, { url, read }: Readable, config: PaymentsConfig): Decision | Promise<Decision> {
  const digest = digestOf(arrival.request);
  return digest instanceof Promise
    ? digest.then((bodyDigest) => decideDigested(arrival, { url, read, bodyDigest }, config))
    : decideDigested(arrival, { url, read, bodyDigest: digest }, config);
}

function decideDigested(
  arrival: Arrival,
  { url, read, bodyDigest }: Readable & { readonly bodyDigest: string | undefined },
  config: PaymentsConfig,
): Decision | Promise<Decision> {
  if (bodyDigest === undefined) return answered(incompleteRequestAnswer());
  const paid = toPaidRequest(arrival, { url, bodyDigest, read });
  const { reading } = read;
  if (reading.kind === "expired") return decideExpired(paid, reading.expiredReason, config);
  return arrival.route.validate === undefined ? claimPayment(paid, config) : validateFirst(arrival, paid, config);
}

/** A payment that was taken before goes by what became of it, whatever its request is held to by now. */
async function validateFirst(arrival: Arrival, paid: PaidRequest, config: PaymentsConfig): Promise<Decision> {
  const unfit = await refuseInput(arrival, paid.url, config);
  if (unfit === undefined) return claimPayment(paid, config);
  if ((await config.store.find(paid.claim.identity)) !== undefined) return claimPayment(paid, config);
  config.events.emit("denied", () => ({ ...factsOf(paid), by: "validate" }));
  return answered(unfit);
}

/** Too late to be paid with, but perhaps not too late to ask what became of it. */
async function decideExpired(paid: PaidRequest, reason: Reason, config: PaymentsConfig): Promise<Decision> {
  const record = await config.store.find(paid.claim.identity);
  if (record === undefined) {
    config.events.emit("mismatched", () => ({ route: paid.routeKey, reason }));
    return answered(refusal(paid, reason));
  }
  const taken = { record, untilMs: config.now() + config.copyWaitMs };
  const decision = await decideOnTaken(paid, taken, config);
  if (decision !== undefined) return decision;
  tellReplayed(paid, "pending", config);
  return answered(inProgressAnswer());
}

/** One request gets the payment; the others go by what became of it. */
function claimPayment(paid: PaidRequest, config: PaymentsConfig): Promise<Decision> {
  const claim = config.store.claim(paid.claim);
  const isOurs = !isPromise(claim) && claim.kind === "claimed";
  return isOurs ? serveClaim(paid, config) : decideClaim(paid, claim, config);
}

async function decideClaim(
  paid: PaidRequest,
  claiming: MaybePromise<Claim>,
  config: PaymentsConfig,
): Promise<Decision> {
  const untilMs = config.now() + config.copyWaitMs;
  for (let claim = await claiming; ; claim = await config.store.claim(paid.claim)) {
    if (claim.kind === "claimed") return await serveClaim(paid, config);
    if (claim.kind === "identifier_taken") {
      config.events.emit("denied", () => ({ ...factsOf(paid), by: "payment-identifier" }));
      return answered(identifierTakenAnswer());
    }
    const decision = await decideOnTaken(paid, { record: claim.record, untilMs }, config);
    if (decision !== undefined) return decision;
  }
}
