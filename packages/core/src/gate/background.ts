/**
 * Settlements nobody waits for: those whose outcome was not known, and those that a dead process has left behind.
 *
 * Trying them again is safe, because the chain takes each payment once. What was never sent is left alone: its payer was
 * told that nothing was charged.
 *
 * @module
 */
import { matchesNetwork } from "../protocol/caip2.js";
import { parseJson } from "../protocol/json.js";
import { type PaymentRecord, UNFINISHED } from "../store/payment-store.js";
import { factsOf, type UnsettledPayment } from "./outcome.js";
import { nextOwner } from "./owner.js";
import type { PaymentsConfig } from "./parse-options.js";
import type { Attempted } from "./pending.js";
import { type SettledOnce, settleOnce } from "./settle.js";

/** What has become of the settlements that were found unfinished. */
export interface Recovery {
  readonly settled: number;
  readonly rejected: number;
  /** Still not known, or in the hands of another process: tried again until it is. */
  readonly unknown: number;
}

/** By then no chain takes the payment any more, so what is not known yet will hardly be; records live twice as long. */
const UNRESOLVED_AFTER_MS = 5 * 60 * 1000;

const DONE: Attempted = Object.freeze({ kind: "done" });

/** How soon to look again at what somebody else is doing, or a store that failed. */
const LOOK_AGAIN_SECONDS = 5;

const AT_ONCE = 8;

/** Tries to settle a payment whose outcome is not known. Never rejects. */
export async function attemptAgain(payment: UnsettledPayment, config: PaymentsConfig): Promise<Attempted> {
  try {
    return toAttempted(payment, await tryAgain(payment, config), config);
  } catch {
    config.logger.error("settlement_not_started", { identity: payment.claim.identity, error: "the store failed" });
    return again(payment, LOOK_AGAIN_SECONDS, config);
  }
}

/** Takes up every settlement that was left unfinished. Rejects when the store cannot say which those are. */
export async function recoverSettlements(config: PaymentsConfig): Promise<Recovery> {
  const counts = { settled: 0, rejected: 0, unknown: 0 };
  const recoverOne = async (record: PaymentRecord) => {
    const payment = toUnsettled(record, config);
    if (payment === undefined) return void counts.unknown++;
    const tried = await tryAgain(payment, config).catch(() => LEFT);
    if (tried.kind === "settled" || tried.kind === "rejected") counts[tried.kind]++;
    else counts.unknown++;
    const attempted = toAttempted(payment, tried, config);
    if (attempted.kind === "again") config.pending.add(payment, attempted.retryAfterSeconds);
  };
  const working = new Set<Promise<void>>();
  for await (const record of config.store.unfinished()) {
    const work: Promise<void> = recoverOne(record).finally(() => working.delete(work));
    working.add(work);
    if (working.size >= AT_ONCE) await Promise.race(working);
  }
  await Promise.all(working);
  return counts;
}

/** `over`: there is nothing left to settle. `left`: somebody else is at it. */
type Tried =
  | Exclude<SettledOnce, { kind: "lost" }>
  | { readonly kind: "over" }
  | { readonly kind: "left"; readonly retryAfterSeconds: number };

const LEFT: Tried = Object.freeze({ kind: "left", retryAfterSeconds: LOOK_AGAIN_SECONDS });

async function tryAgain(payment: UnsettledPayment, config: PaymentsConfig): Promise<Tried> {
  const record = await config.store.find(payment.claim.identity);
  if (record === undefined || !UNFINISHED.includes(record.state)) return { kind: "over" };
  const leaseLeftMs = leaseLeft(record, config.now());
  if (leaseLeftMs > 0) return { kind: "left", retryAfterSeconds: Math.ceil(leaseLeftMs / 1000) };

  const { owner, facilitator, answer } = record;
  const from = record.state === "settling" ? "settling" : "unknown";
  const taken: UnsettledPayment = { ...payment, claim: { ...payment.claim, owner: nextOwner() } };
  try {
    const settled = await settleOnce(taken, { from, owner, facilitator, answer, waiting: undefined }, config);
    return settled.kind === "lost" ? LEFT : settled;
  } finally {
    config.ongoing.end(taken.claim);
  }
}

/** How long, in milliseconds, the owner of a record may still be at work. */
export function leaseLeft({ state, leaseUntilMs = 0 }: PaymentRecord, nowMs: number): number {
  return state === "settling" ? Math.max(leaseUntilMs - nowMs, 0) : 0;
}

function toAttempted(payment: UnsettledPayment, tried: Tried, config: PaymentsConfig): Attempted {
  if (tried.kind === "left" || tried.kind === "unknown") return again(payment, tried.retryAfterSeconds, config);
  return DONE;
}

function again(
  payment: UnsettledPayment,
  retryAfterSeconds: number,
  { now, events, logger }: PaymentsConfig,
): Attempted {
  const { identity, expiresAtMs } = payment.claim;
  if (now() < expiresAtMs + UNRESOLVED_AFTER_MS) return { kind: "again", retryAfterSeconds };
  logger.error("settlement_unresolved", { identity, network: payment.facilitatorRequest.paymentRequirements.network });
  events.emit("unresolved", () => factsOf(payment));
  return DONE;
}

/** A record says all that settling its payment takes, as long as its scheme is still there. */
function toUnsettled(record: PaymentRecord, { schemes, now, logger }: PaymentsConfig): UnsettledPayment | undefined {
  const { identity, binding, owner, expiresAtMs, identifier, request: facilitatorRequest } = record;
  if (facilitatorRequest !== undefined) {
    const { paymentRequirements: terms, paymentPayload } = facilitatorRequest;
    const scheme = schemes.find((one) => one.scheme === terms.scheme && matchesNetwork(one.networks, terms.network));
    const reading = scheme?.readPayment(paymentPayload.payload, terms, Math.floor(now() / 1000));
    if (scheme !== undefined && reading !== undefined && reading.kind !== "refused") {
      const claim = { identity, binding, owner, expiresAtMs, ...(identifier === undefined ? {} : { identifier }) };
      return { claim, payer: reading.payer, scheme, routeKey: routeKeyOf(record), facilitatorRequest };
    }
  }
  logger.error("settlement_not_recovered", { identity, error: "its record does not say how to settle it" });
  return undefined;
}

/** Bindings are written as JSON whose first element is the key. */
function routeKeyOf({ binding }: PaymentRecord): string {
  const parsed = parseJson(binding);
  const [key] = parsed.ok && Array.isArray(parsed.value) ? parsed.value : [];
  return typeof key === "string" ? key : "";
}
