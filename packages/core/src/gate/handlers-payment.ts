/**
 * The payment as its handler sees it.
 *
 * @module
 */
import type { PaidRequest } from "./paid-request.js";
import type { Run } from "./run.js";
import type { Tab } from "./tab.js";

/** What a handler may know of the payment it works for: `req.payment`. */
export interface Payment {
  readonly payer: string;
  readonly scheme: string;
  /** CAIP-2. */
  readonly network: string;
  readonly asset: string;
  /** What is charged for an answer, as things stand: atomic units as a decimal string. */
  readonly amount: string;
  /** The most that can be charged: what the payer has authorized, in atomic units as a decimal string. */
  readonly maxAmount: string;
  /** Public path of the route with its mounts, e.g. `/users/:id`; `undefined` where the route is a regular expression. */
  readonly routeTemplate: string | undefined;
  /** What the request has in place of the route's parameters, decoded, e.g. `{ id: "a b" }`. */
  readonly pathParams: Readonly<Record<string, string>>;
  /**
   * Aborts when there is no point in going on: the client has left before its answer was delivered, or the payment can no
   * longer be settled. Its reason is a `PaymentAbortedError`. Not enumerable, so that a payment can be written as JSON.
   */
  readonly signal: AbortSignal;
  /**
   * Says how much is charged, where the scheme allows less than was authorized (`upto`): `"10000"` in atomic units,
   * `"12.34%"` of the maximum, rounded down, or `"$0.0123"`, rounded half up. `"0"` charges nothing. The last call counts,
   * up to the end of the answer, or its flushing. Not enumerable.
   *
   * @throws AmountError when it is no amount, or more than the maximum.
   * @throws StateError when the scheme takes all or nothing, or the answer has gone out.
   */
  settle(amount: string): void;
  /**
   * Adds to what is charged, in the forms of {@link Payment.settle}: `charge("$0.00002")` for each token. Parts of an atomic unit
   * count too: the sum is exact, and rounded half up once, at the end. After `settle` it adds to what that has said. Not
   * enumerable.
   *
   * @throws AmountError when it is no amount, or more than is left of the maximum; what was counted before stays.
   * @throws StateError as `settle` does.
   */
  charge(amount: string): void;
  /** What can still be charged: whole atomic units as a decimal string. Not enumerable. */
  readonly remaining: string;
}

/** What the handler is told of a payment. */
export function toPayment(
  { offer, payer, place }: PaidRequest,
  { run, tab }: { readonly run: Run; readonly tab: Tab },
): Payment {
  const { scheme, network, asset, amount: maxAmount } = offer.requirements;
  const payment = {
    payer,
    scheme,
    network,
    asset,
    get amount() {
      return tab.amount.toString();
    },
    maxAmount,
    ...place,
    signal: run.signal,
    settle: (amount: string) => tab.settle(amount),
    charge: (amount: string) => tab.charge(amount),
    get remaining() {
      return tab.remaining.toString();
    },
  };
  const hidden = { enumerable: false };
  const descriptors = { signal: hidden, settle: hidden, charge: hidden, remaining: hidden };
  return Object.freeze(Object.defineProperties(payment, descriptors));
}
