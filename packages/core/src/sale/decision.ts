/**
 * What is decided about a request, and what an adapter does with a payment whose handler may run.
 *
 * @see `docs/reference/lifecycle.md`
 * @module
 */
import type { FacilitatorRequest } from "../facilitator/facilitator.js";
import type { SettlementResponse } from "../protocol/documents.js";
import type { Metering } from "../steps/metering.js";
import type { GateResponse, Headers } from "./answers.js";
import type { HandlerResponse, Release } from "./charge.js";
import type { Payment } from "./handler.js";

/** The payment of an admission. */
export interface AdmittedPayment {
  /** For the handler. */
  readonly payment: Payment;
  /** What a facilitator gets: our terms, and the scheme's payload. */
  readonly request: FacilitatorRequest;
  /** Of a payment that has settled; `undefined`: it has yet to settle. */
  readonly receipt: SettlementResponse | undefined;
  /** The header of the retry token; none if the request has not proved to be the payer's. */
  readonly proof: Headers;
  /**
   * The response was sent, and its client may have given up unseen: who has the token gets it once more. In place of `done`.
   * Never rejects.
   */
  keepForPayer(response: HandlerResponse): Promise<void>;
}

/**
 * The handler runs, and its response is held until `complete` resolves. It ends in exactly one way: by `complete`, by
 * `cancel`, or because the payment expires. Nothing here rejects.
 */
export interface HeldAdmission extends AdmittedPayment {
  readonly isHeld: true;
  /** Of a metered offer: once {@link Metering.start} has resolved to a paid release, all else is said there. Default: not metered. */
  readonly metering?: Metering | undefined;
  /** Whether the handler has yet to say the amount. Its response is not streamed before, or the maximum would be charged. */
  readonly isAmountAwaited: boolean;
  /** The handler responded: settles, if the response is charged. */
  complete(response: HandlerResponse): Promise<Release>;
  /** The client disconnected before the handler responded: nothing is charged. */
  cancel(): Promise<void>;
  /** The seller does not charge: the same payment can be sent again, and its payer is not to blame. In place of `complete`. */
  release(): Promise<void>;
  /**
   * The handler has ended, perhaps long after `cancel`. Called before `cancel`: it broke off by itself, or does not run. A
   * run that never ends counts as one of the payer's until its payment has expired.
   */
  handlerEnded(): void;
  /** The response was released, but not delivered: it is kept for the same payment sent again. */
  undelivered(response: HandlerResponse): Promise<void>;
  /**
   * The response was released, but not a byte of it was sent. One too large to keep is made anew for the same payment, and
   * its run counts as abandoned.
   */
  unreleased(response: HandlerResponse): Promise<void>;
  /**
   * The connection is done with the response, whether it was delivered or not; after `undelivered` and `unreleased` it does
   * nothing. Until then other processes wait for this one to deliver it.
   */
  done(): void;
  /** The client disconnected, at any time: tells the handler. */
  leave(): void;
  /**
   * Sets the one listener for the end of the payment's time, before the handler responded. Nothing is charged, and the
   * client gets the response that is promised. The handler is told afterwards.
   */
  onExpired(listener: (instead: Promise<GateResponse>) => void): void;
}

/** The payment has settled: the handler runs, and its response goes out as it is written. Nothing here rejects. */
export interface PrepaidAdmission extends AdmittedPayment {
  readonly isHeld: false;
  /** The receipt. It is on the response before the handler runs, and stays there. */
  readonly headers: Headers;
  /** With these on a response of 500 and above, the client can prove that the run it is owed then is its own. */
  readonly failureHeaders: Headers;
  /** The handler cannot run, because the client disconnected: the same payment sent again runs it. */
  cancel(): Promise<void>;
  /**
   * The handler responds with 400 or above: the seller's hook hears of it. With 500 or above the same payment sent again runs it
   * once more, unless the seller gives the money back. A second failure stands.
   */
  fail(status: number): Promise<void>;
  /** As of {@link HeldAdmission}. */
  done(): void;
  /** The client disconnected before the response was delivered: tells the handler. */
  leave(): void;
  /** The head is about to go out. Reports a header that asks for another amount: it comes too late. */
  checkHead(headers: HandlerResponse["headers"]): void;
}

/** A payment whose handler may run. */
export type Admission = HeldAdmission | PrepaidAdmission;

/** What an adapter does with a request. */
export type Decision =
  /**
   * The handler runs without payment: the route is free, or a hook let the request through (`isGranted`). Shared caches
   * must not keep the response to a granted request.
   */
  | { readonly kind: "pass"; readonly isGranted: boolean }
  /** This response goes out, and the handler does not run. */
  | {
      readonly kind: "respond";
      readonly response: GateResponse;
      /** The response was paid for just now: called once, when the connection is done with it. Default: nobody asks. */
      readonly onClosed?: (isDelivered: boolean) => void;
      /** Whether it is an earlier response to the same payment. Default `false`. */
      readonly isReplay?: boolean;
    }
  /** The payment is good: the handler runs. */
  | { readonly kind: "run"; readonly admission: Admission };

/** A decision to write a response of ours, or of the seller's. */
export type Responded = Extract<Decision, { readonly kind: "respond" }>;

/** The request passes unpaid. */
export const PASS: Decision = Object.freeze({ kind: "pass", isGranted: false });

/** The request passes unpaid, because the seller lets it through. */
export const GRANTED: Decision = Object.freeze({ kind: "pass", isGranted: true });

export function respond(response: GateResponse): Responded {
  return { kind: "respond", response };
}
