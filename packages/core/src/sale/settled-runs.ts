/**
 * Runs of payments that have settled before: the offer says so, or the same payment was sent again and is owed its handler.
 *
 * @see `docs/reference/lifecycle.md`
 * @module
 */
import type { HandlerFailure } from "../events/hooks.js";
import type { ExtensionResponses, SettlementResponse } from "../protocol/documents.js";
import type { Runs } from "../steps/runs.js";
import { type Headers, paidHeaders } from "./answers.js";
import { type ChargingDeps, contradicts, isCharged, logRefused } from "./charge.js";
import type { Admission, HeldAdmission, PrepaidAdmission } from "./decision.js";
import type { Deliveries, Proof } from "./delivery.js";
import { createSettledAmount, HandlerSignal, HandlersPayment } from "./handler.js";
import type { InFlight } from "./in-flight.js";
import { contextOf } from "./outcome.js";
import type { RetryTokens } from "./proof.js";
import type { PaidRequest } from "./request.js";
import { keepOrOwe, toShare, toStored, withHeaders } from "./responded.js";

/** What these runs need. */
export interface SettledRunsDeps extends ChargingDeps {
  readonly tokens: Pick<RetryTokens, "headersFor">;
  readonly inFlight: Pick<InFlight, "settling" | "end">;
  readonly deliveries: Deliveries;
  readonly runs: Pick<Runs, "beginSettled">;
  /** Whether clients get what facilitators say about listings. */
  readonly relayExtensionResponses: boolean;
}

/** About a payment that has settled. */
interface SettledFacts {
  readonly settleResponses?: ExtensionResponses | undefined;
  /** The headers of the hook `onPaid`. */
  readonly added?: Headers | undefined;
  /** The payment was owed its handler before, so a failure may be its second. */
  readonly isOwed?: boolean;
  readonly isPayers?: boolean;
}

/** Starts runs of payments that have settled. */
export class SettledRuns {
  readonly #deps: SettledRunsDeps;

  constructor(deps: SettledRunsDeps) {
    this.#deps = deps;
  }

  /** A payment that has settled before its handler runs. */
  start(paid: PaidRequest, receipt: SettlementResponse, facts: SettledFacts = {}): Admission {
    return paid.offer.settle === "before"
      ? this.#startPrepaid(paid, receipt, facts)
      : this.#startOwed(paid, receipt, facts);
  }

  /** The offer settles first: the response goes out as it is written. */
  #startPrepaid(
    paid: PaidRequest,
    receipt: SettlementResponse,
    { settleResponses, added, isOwed = false, isPayers = true }: SettledFacts,
  ): PrepaidAdmission {
    const { deliveries, tokens } = this.#deps;
    const { run, payment, amount } = this.#settledRun(paid, receipt);
    let failing: Promise<void> | undefined;
    deliveries.begin(paid.claim);
    const done = () => deliveries.done(paid.claim, { isKept: false });
    return {
      isHeld: false,
      payment,
      request: paid.facilitatorRequest,
      receipt,
      headers: paidHeaders(receipt, this.#toRelay(settleResponses), added),
      get proof() {
        return isPayers ? tokens.headersFor(paid.claim.identity) : [];
      },
      keepForPayer: (response) => deliveries.keepForPayer(paid.claim, toStored(withHeaders(response, added))),
      failureHeaders: isPayers && !isOwed ? tokens.headersFor(paid.claim.identity) : [],
      cancel: () => deliveries.owe(paid.claim),
      fail: async (status) => {
        const failure = { status, receipt, owesRun: status >= 500 && !isOwed };
        failing = this.#failPrepaid(paid, failure, { isPayers });
        await failing;
      },
      done: () => {
        if (failing === undefined) done();
        // Duplicates wait until it is known whether the payment is owed another run.
        else void failing.then(done);
      },
      leave: () => run.tell("client_gone"),
      checkHead: (headers) => void contradicts(headers, { paid, amount }, this.#deps),
    };
  }

  /** Never rejects. */
  async #failPrepaid(paid: PaidRequest, failure: HandlerFailure, proof: Proof): Promise<void> {
    const { deliveries } = this.#deps;
    const end = async (isRefunded: boolean) => {
      if (isRefunded) await deliveries.refunded(paid.claim, proof);
      else if (failure.owesRun) await deliveries.owe(paid.claim);
    };
    if (!paid.hooks.hearsOfFailures) return end(false);
    await paid.hooks.handlerFailed(contextOf(paid), Object.freeze(failure), end);
  }

  /**
   * The offer settles afterwards, but the response is gone, or the payment was abandoned too often. The response is held. If
   * it would not be charged, the payment is owed one more run. For a request without proof, it is kept for the payer, too.
   */
  #startOwed(
    paid: PaidRequest,
    receipt: SettlementResponse,
    { settleResponses, added, isOwed = false, isPayers = true }: SettledFacts,
  ): HeldAdmission {
    const { inFlight, runs, deliveries, tokens } = this.#deps;
    const { run, payment, amount } = this.#settledRun(paid, receipt);
    const counted = runs.beginSettled(paid);
    let isKept = false;
    inFlight.settling(paid.claim, paid.client);
    return {
      isHeld: true,
      isAmountAwaited: false,
      payment,
      request: paid.facilitatorRequest,
      receipt,
      get proof() {
        return isPayers ? tokens.headersFor(paid.claim.identity) : [];
      },
      keepForPayer: (response) => deliveries.keepForPayer(paid.claim, toStored(withHeaders(response, added))),
      complete: async (response) => {
        const headers = paidHeaders(receipt, this.#toRelay(settleResponses), added);
        const release = { kind: "release", paid: true, headers } as const;
        contradicts(response.headers, { paid, amount }, this.#deps);
        const stored = toStored(response);
        isKept = stored !== undefined;
        if (!isOwed && isCharged(paid, response, this.#deps) !== true) await deliveries.owe(paid.claim);
        else if (isPayers) await deliveries.show(paid.claim, stored);
        else if (stored !== undefined) await deliveries.keep(paid.claim, stored, { isPayers });
        counted.end();
        inFlight.end(paid.claim, () => toShare(response, release));
        return release;
      },
      cancel: async () => {
        counted.abandon();
        run.tell("client_gone");
        await deliveries.owe(paid.claim);
        inFlight.end(paid.claim);
      },
      release: async () => {
        counted.end();
        await deliveries.owe(paid.claim);
        inFlight.end(paid.claim);
      },
      handlerEnded: () => counted.handlerEnded(),
      undelivered: (response) => deliveries.keep(paid.claim, toStored(response), { isPayers }),
      unreleased: (response) => keepOrOwe(paid, response, { isPayers }, this.#deps),
      done: () => deliveries.done(paid.claim, { isKept }),
      leave: () => run.tell("client_gone"),
      // The money has moved: the payment's time no longer matters.
      onExpired() {},
    };
  }

  #settledRun(paid: PaidRequest, receipt: SettlementResponse) {
    const { logger } = this.#deps;
    const run = new HandlerSignal();
    const amount = BigInt(receipt.amount ?? paid.offer.amount);
    const charged = createSettledAmount(paid.offer, amount, (closed) => {
      logRefused(logger, paid, {
        closed,
        remedy: "the money has moved: return it yourself, or settle after the handler",
      });
    });
    return { run, amount, payment: new HandlersPayment(paid, charged, run) };
  }

  /** What clients get of what facilitators say about listings. */
  #toRelay(responses: ExtensionResponses | undefined): ExtensionResponses | undefined {
    return this.#deps.relayExtensionResponses ? responses : undefined;
  }
}
