/**
 * What metered responses may cost the seller: they go out before they are paid for.
 *
 * While its response streams a payment counts with what was delivered and a step more, then with what was delivered until that has
 * settled, or can no longer, and with nothing afterwards. So streams that deliver nothing leave room for others. A payer whose settlement failed gets no metered response until it has settled.
 *
 * @see `docs/guides/metered.md`
 * @module
 */
import type { Logger } from "../events/logger.js";
import type { RpcNode } from "../http/rpc-node.js";
import { DOLLAR_DECIMALS, type ExposureLimits, microsOf } from "../price/dollars.js";
import { type MeterSum, sumOf } from "../price/settlement-amount.js";
import { canonicalNetwork, type Network } from "../protocol/caip2.js";
import { isJsonObject } from "../protocol/json.js";
import type { PendingWrites } from "../sale/delivery.js";
import type { PendingPayment } from "../sale/outcome.js";
import type { PaidRequest } from "../sale/request.js";
import type { Offer } from "../scheme/offer.js";
import type { PaymentQuery, Scheme } from "../scheme/scheme.js";
import type { ExposureSums, SharedExposure } from "../store/payment-store.js";

/** What counting exposure needs. */
export interface ExposureDeps {
  readonly limits: ExposureLimits;
  /** Of all processes, or of this one. */
  readonly entries: SharedExposure;
  /** RPC nodes by network, in its canonical spelling. */
  readonly rpc: ReadonlyMap<string, RpcNode>;
  /** Tries to settle a payment that is due. Never rejects. */
  readonly collect: (identity: string) => Promise<void>;
  readonly writes: Pick<PendingWrites, "add">;
  readonly logger: Logger;
  readonly now: () => number;
}

/** Why a response may not stream before it is paid. */
export type ExposureRefusal =
  /** The payer has streams that are not paid for, up to the limit. */
  | { readonly by: "exposurePerPayer" }
  /** All payers have. */
  | { readonly by: "exposureTotal" }
  /** The payer owes for an earlier response. */
  | { readonly by: "due" }
  /** The payer cannot pay: too little money, or it has not allowed the asset to be moved. */
  | { readonly by: "balance" };

/** A process that died may be noticed late, and its settlement may take a while. */
const SETTLING_MS = 15 * 60 * 1000;

/** How long a payer is known as one that has not paid, after its payment can no longer settle. */
const DUE_MS = 7 * 24 * 60 * 60 * 1000;

/** How long a node may take. A client waits for it. */
const ASK_MS = 3_000;

/** Counts exposure. */
export class Exposure {
  readonly #deps: ExposureDeps;

  constructor(deps: ExposureDeps) {
    this.#deps = deps;
  }

  /** Counts a response that is about to stream, or says why it may not. Rejects if the store fails. */
  async reserve(paid: PaidRequest): Promise<ExposureRefusal | undefined> {
    const { amount } = paid.offer;
    const first = lesser(amount, this.#stepOf(paid.offer));
    let sums = await this.#put(paid, first);
    if (sums.due.length > 0) {
      await Promise.all(sums.due.map((identity) => this.#deps.collect(identity)));
      sums = await this.#put(paid, first);
    }
    const refusal = this.#judge(sums) ?? ((await this.canPay(paid, amount)) ? undefined : { by: "balance" as const });
    if (refusal !== undefined) await this.release(paid);
    return refusal;
  }

  /** Counts a step more than is about to be delivered. Returns whether the limits allow it. Never rejects. */
  async extend(paid: PaidRequest, amount: bigint): Promise<boolean> {
    const { logger } = this.#deps;
    try {
      const sums = await this.#put(paid, lesser(paid.offer.amount, amount + this.#stepOf(paid.offer)));
      const refusal = this.#judge(sums);
      if (refusal === undefined) return true;
      logger.warn("exposure_refused", { route: paid.routeKey, payer: paid.payer, by: refusal.by });
      return false;
    } catch {
      // The stream ends if its store cannot record it either.
      logger.warn("exposure_not_counted", { error: "the store failed" });
      return true;
    }
  }

  /** How much of a response may be delivered that is not recorded, and is counted at a time, as a sum of its meter. */
  unrecordedOf(offer: Offer): MeterSum {
    return sumOf(this.#stepOf(offer));
  }

  /** Atomic units. */
  #stepOf({ asset: { decimals = DOLLAR_DECIMALS } }: Offer): bigint {
    return (this.#deps.limits.unrecorded * 10n ** BigInt(decimals)) / 10n ** BigInt(DOLLAR_DECIMALS);
  }

  /** Nothing was delivered, or it is paid for. Rejects if the store fails; the entry then ends by itself. */
  async release({ claim, payer }: Pick<PendingPayment, "claim" | "payer">): Promise<void> {
    await this.#deps.entries.remove({ identity: claim.identity, payer: payer.toLowerCase() });
  }

  /** As {@link Exposure.release}, for what nobody waits for. */
  releaseSoon(payment: Pick<PendingPayment, "claim" | "payer">): void {
    this.#write(() => this.release(payment));
  }

  /** Forgets what a payer owes, and returns for how many payments. Rejects if the store fails. */
  async forgive(payer: string): Promise<number> {
    const { entries, now } = this.#deps;
    const about = { identity: `forgive ${payer}`, payer: payer.toLowerCase() };
    const forgiven = new Set<string>();
    for (;;) {
      const { due } = await entries.put({ ...about, micros: "0", untilMs: now() + ASK_MS, isDue: false }, now());
      const owed = due.filter((identity) => !forgiven.has(identity));
      for (const identity of owed) {
        await entries.remove({ ...about, identity });
        forgiven.add(identity);
      }
      if (owed.length > 0) continue;
      await entries.remove(about);
      return forgiven.size;
    }
  }

  /** A response was delivered, and its settlement has not succeeded so far. `isDue`: it was refused, or not sent. `isLost`: for good. */
  owes(
    payment: PendingPayment,
    { isDue, isLost = false }: { readonly isDue: boolean; readonly isLost?: boolean },
  ): void {
    const { amount } = payment.facilitatorRequest.paymentRequirements;
    this.#write(() => this.#put(payment, isLost ? 0n : BigInt(amount), { isDue, isLost }));
  }

  /** Whether the payer has so much now, and has allowed it to be moved. If no node tells, it has. Never rejects. */
  async canPay({ offer, facilitatorRequest, payer }: PaidRequest, amount: bigint): Promise<boolean> {
    const { scheme, requirements } = offer;
    const { network } = requirements;
    const rpc = this.#deps.rpc.get(canonicalNetwork(network));
    if (rpc === undefined) return true;
    const { payload, extensions } = facilitatorRequest.paymentPayload;
    const query = { payload, requirements, rpc, signal: AbortSignal.timeout(ASK_MS) };
    const questions = isSponsored(scheme, offer, extensions)
      ? [scheme.readBalance]
      : [scheme.readBalance, scheme.readAllowance];
    const known = await Promise.all(questions.map((read) => read && this.#ask(read, query, { network, payer })));
    return known.every((found) => found === undefined || found >= amount);
  }

  async #ask(
    read: NonNullable<Scheme["readBalance"]>,
    query: PaymentQuery,
    about: { readonly network: string; readonly payer: string },
  ): Promise<bigint | undefined> {
    let problem = "its scheme failed";
    try {
      const found = await read(query);
      if (found.kind === "known") return found.amount;
      problem = found.problem;
    } catch {
      // A seller's own scheme may break its promise.
    }
    this.#deps.logger.warn("balance_unknown", { ...about, problem });
    return undefined;
  }

  async #put(payment: PendingPayment, amount: bigint, { isDue = false, isLost = false } = {}): Promise<ExposureSums> {
    const { entries, now } = this.#deps;
    const { claim, payer } = payment;
    const micros = microsOf(amount, decimalsOf(payment)).toString();
    const untilMs = (isLost ? now() + DUE_MS : Math.max(claim.expiresAtMs, now())) + SETTLING_MS;
    return entries.put({ identity: claim.identity, payer: payer.toLowerCase(), micros, untilMs, isDue }, now());
  }

  #judge(sums: ExposureSums): ExposureRefusal | undefined {
    const { perPayer, total } = this.#deps.limits;
    if (sums.due.length > 0) return { by: "due" };
    if (BigInt(sums.payer) > perPayer) return { by: "exposurePerPayer" };
    if (BigInt(sums.total) > total) return { by: "exposureTotal" };
    return undefined;
  }

  #write(write: () => Promise<unknown>): void {
    const written = write().catch(() => {
      this.#deps.logger.warn("exposure_not_counted", { error: "the store failed" });
    });
    this.#deps.writes.add(written);
  }
}

function lesser(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

/** Decimals of the asset that a payment moves. Metered offers are in assets that are known. */
function decimalsOf({ scheme, facilitatorRequest, decimals }: PendingPayment): number {
  if (decimals !== undefined) return decimals;
  const { network, asset, amount, payTo, extra } = facilitatorRequest.paymentRequirements;
  const terms = scheme.compileTerms({ network: network as Network, price: { asset, amount }, payTo, extra });
  return (terms.ok ? terms.asset.decimals : undefined) ?? DOLLAR_DECIMALS;
}

/** Whether the facilitator carries out an allowance that the payer has signed for, so that the chain does not show it yet. */
function isSponsored(scheme: Scheme, { requirements }: Offer, extensions: unknown): boolean {
  const helping = Object.keys(scheme.extensionsFor?.(requirements) ?? {});
  return isJsonObject(extensions) && helping.some((key) => Object.hasOwn(extensions, key));
}
