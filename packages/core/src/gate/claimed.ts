/**
 * A payment that this request owns: asks the hooks and the facilitator, and lets the handler run.
 *
 * @see `docs/reference/lifecycle.md`
 * @module
 */
import { FacilitatorError } from "../errors.js";
import { isPromise, type MaybePromise } from "../maybe-promise.js";
import type { VerifyResponse } from "../protocol/documents.js";
import { isReason } from "../protocol/reasons.js";
import { createAdmission } from "./admission.js";
import type { Decision } from "./decision.js";
import { askHook } from "./hooks.js";
import { explain, factsOf } from "./outcome.js";
import { inProgressAnswer, type PaidRequest, refusal, tooManyRunsAnswer, unreachableAnswer } from "./paid-request.js";
import type { PaymentsConfig } from "./parse-options.js";
import type { GateResponse } from "./responses.js";
import { settleFirst } from "./settle-first.js";

/** How soon a payer may try again when the facilitator does not say. */
const RETRY_AFTER_SECONDS = 5;

const UNEXPECTED = "unexpected_verify_error";

/**
 * Decides a request that has just claimed its payment. Whatever comes of it, copies that wait for it hear of it; what was
 * not begun may be tried again. Rejects when the store fails.
 */
export async function serveClaim(paid: PaidRequest, config: PaymentsConfig): Promise<Decision> {
  const { claim, client } = paid;
  config.ongoing.begin(claim, client);
  config.events.emit("claimed", () => factsOf(paid));
  try {
    const decision = await decideClaimed(paid, config);
    if (decision.kind === "respond") config.ongoing.end(claim, () => decision.response);
    else if (decision.kind === "run" && !decision.admission.isHeld) config.ongoing.end(claim);
    return decision;
  } catch (error) {
    await tryToRelease(paid, config);
    config.ongoing.end(claim);
    throw error;
  }
}

/** A claim that cannot be released expires. */
async function tryToRelease({ claim }: PaidRequest, { store }: PaymentsConfig): Promise<void> {
  try {
    await store.release(claim.identity, claim.owner);
  } catch {
    // What went wrong before is what is told.
  }
}

/** `return await`, here and below: a rejection keeps this function in its stack. */
async function decideClaimed(paid: PaidRequest, config: PaymentsConfig): Promise<Decision> {
  const asked = askHook("beforeVerify", paid, config);
  const barred = asked && (await asked);
  if (barred !== undefined) return await giveUp(paid, barred, config);
  if (paid.route.settle === "before") return await settleFirst(paid, config);
  const verified = await verify(paid, config);
  const askedAgain = verified.refused === undefined ? askHook("afterVerify", paid, config) : undefined;
  const refused = verified.refused ?? (askedAgain && (await askedAgain));
  if (refused !== undefined) return await giveUp(paid, refused, config);
  const served = serve(verified.said === undefined ? paid : { said: verified.said, ...paid }, config);
  return isPromise(served) ? await served : served;
}

/** The payment is free to be used again. */
async function giveUp(paid: PaidRequest, answer: GateResponse, { store }: PaymentsConfig): Promise<Decision> {
  await store.release(paid.claim.identity, paid.claim.owner);
  return { kind: "respond", response: answer };
}

/** The handler runs only for a claim that is still ours. */
function serve(paid: PaidRequest, config: PaymentsConfig): MaybePromise<Decision> {
  const { identity, owner } = paid.claim;
  if (!config.ongoing.serve(paid.claim, paid.payer.toLowerCase())) {
    config.events.emit("denied", () => ({ ...factsOf(paid), by: "maxRunsPerPayer" }));
    return giveUp(paid, tooManyRunsAnswer(), config);
  }
  const serving = config.store.transition({ identity, from: "claimed", to: "serving", owner });
  return isPromise(serving) ? serving.then((isOurs) => admit(paid, isOurs, config)) : admit(paid, serving, config);
}

function admit(paid: PaidRequest, isOurs: boolean, config: PaymentsConfig): Decision {
  if (!isOurs) return { kind: "respond", response: inProgressAnswer() };
  const admission = createAdmission(paid, config);
  config.events.emit("admitted", () => factsOf(paid));
  return { kind: "run", admission };
}

interface Verified {
  /** What the client is told; `undefined` when the payment is good. */
  readonly refused: GateResponse | undefined;
  /** What the facilitator said of our declarations. */
  readonly said?: PaidRequest["said"];
}

/** Asks the facilitator. Never rejects. */
function verify(paid: PaidRequest, config: PaymentsConfig): Promise<Verified> {
  const asked: Asked = { paid, startedMs: config.now() };
  return config.facilitator.verify(paid.facilitatorRequest, { payment: paid.claim.identity }).then(
    (response) => judge(asked, response, config),
    (error) => unverified(asked, error, config),
  );
}

interface Asked {
  readonly paid: PaidRequest;
  readonly startedMs: number;
}

function judge(asked: Asked, response: VerifyResponse, config: PaymentsConfig): Verified {
  const { isValid, invalidReason, extensionResponses: responses } = response;
  const said = config.listings.note({ payment: asked.paid, operation: "verify", responses });
  if (isValid) {
    config.events.emit("verified", () => lengthOf(asked, config));
    return { refused: undefined, said };
  }
  const reason = isReason(invalidReason) ? invalidReason : "invalid_payload";
  tellInvalid(asked, reason, config);
  // The facilitator's own trouble is not the payer's fault, and another signature would not mend it.
  if (reason === UNEXPECTED) return { refused: unreachableAnswer(UNEXPECTED, RETRY_AFTER_SECONDS) };
  return { refused: refusal(asked.paid, reason) };
}

function unverified(asked: Asked, error: unknown, config: PaymentsConfig): Verified {
  const { network } = asked.paid.offer.requirements;
  config.logger.error("verification_failed", { network, ...explain(error) });
  tellInvalid(asked, UNEXPECTED, config);
  const wait = error instanceof FacilitatorError ? error.retryAfterSeconds : undefined;
  return { refused: unreachableAnswer(UNEXPECTED, wait ?? RETRY_AFTER_SECONDS) };
}

function tellInvalid(asked: Asked, reason: string, config: PaymentsConfig): void {
  config.events.emit("invalid", () => ({ ...lengthOf(asked, config), reason }));
}

function lengthOf({ paid, startedMs }: Asked, { now }: PaymentsConfig) {
  return { ...factsOf(paid), durationMs: now() - startedMs };
}
