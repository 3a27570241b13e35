/**
 * The payment as its handler sees it (`req.payment`), and how much of it the handler takes.
 *
 * @module
 */

import { AmountError, StateError } from "../errors.js";
import { createMeter, type SettlementAmount } from "../price/settlement-amount.js";
import type { Offer } from "../scheme/offer.js";
import type { Unmetered } from "./options.js";
import type { PaidRequest } from "./paid-request.js";
import type { Run } from "./run.js";

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
export function toPayment(paid: PaidRequest, { run, tab }: { readonly run: Run; readonly tab: Tab }): Payment {
  return Object.freeze(new HandlersPayment(paid, run, tab));
}

/** Methods and what is not enumerable are the class's, and made when they are asked for. */
class HandlersPayment implements Payment {
  readonly payer: string;
  readonly scheme: string;
  readonly network: string;
  readonly asset: string;
  declare readonly amount: string;
  readonly maxAmount: string;
  readonly routeTemplate: string | undefined;
  readonly pathParams: Payment["pathParams"];
  readonly #run: Run;
  readonly #tab: Tab;

  /** The same for every payment: an accessor of its own would make each one an object of another shape, which is slow. */
  static readonly #amount: PropertyDescriptor & ThisType<HandlersPayment> = {
    enumerable: true,
    get() {
      return this.#tab.amount.toString();
    },
  };

  constructor({ offer, payer, place }: PaidRequest, run: Run, tab: Tab) {
    const { scheme, network, asset, amount } = offer.requirements;
    this.payer = payer;
    this.scheme = scheme;
    this.network = network;
    this.asset = asset;
    // Only where the handler may take less can it change.
    if (offer.scheme.allowsLess) Object.defineProperty(this, "amount", new.target.#amount);
    else this.amount = tab.amount.toString();
    this.maxAmount = amount;
    this.routeTemplate = place.routeTemplate;
    this.pathParams = place.pathParams;
    this.#run = run;
    this.#tab = tab;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get settle(): Payment["settle"] {
    return (amount) => this.#tab.settle(amount);
  }

  get charge(): Payment["charge"] {
    return (amount) => this.#tab.charge(amount);
  }

  get remaining(): string {
    return this.#tab.remaining.toString();
  }
}

/** What is taken of one payment. */
export interface Tab {
  /** Atomic units, as things stand. */
  readonly amount: bigint;
  /** Whole atomic units that can still be charged. */
  readonly remaining: bigint;
  /**
   * Says how much is taken; the last call counts.
   *
   * @throws AmountError when it is no amount, or more than was authorized.
   * @throws StateError when the scheme takes all or nothing, or it is too late.
   */
  settle(amount: string): void;
  /**
   * Adds to how much is taken, exactly.
   *
   * @throws AmountError when it is no amount, or more than is left of what was authorized.
   * @throws StateError as `settle` does.
   */
  charge(amount: string): void;
  /** It is too late from here on. Yields atomic units; `undefined` when the handler should have said and did not. */
  close(): bigint | undefined;
}

/** The tab of a payment that is settled by now: what its handler says, when it runs once more for it, changes nothing. */
export function settledTab({ scheme }: Offer, amount: bigint): Tab {
  const ignore = () => {
    if (!scheme.allowsLess) throw allOrNothing(scheme);
  };
  return {
    amount,
    remaining: 0n,
    settle: ignore,
    charge: ignore,
    close: () => amount,
  };
}

function allOrNothing({ scheme }: Offer["scheme"]): StateError {
  return new StateError(`the scheme ${scheme} takes the whole amount, no other`);
}

/** Opens the tab of one payment. */
export function openTab(offer: Offer, unmetered: Unmetered): Tab {
  return offer.scheme.allowsLess ? openMeteredTab(offer, unmetered) : new FixedTab(offer);
}

/** All or nothing. */
class FixedTab implements Tab {
  readonly amount: bigint;
  readonly remaining = 0n;
  readonly #scheme: Offer["scheme"];
  #isOpen = true;

  constructor({ scheme, amount }: Offer) {
    this.amount = amount;
    this.#scheme = scheme;
  }

  settle(): never {
    throw this.#isOpen ? allOrNothing(this.#scheme) : tooLate();
  }

  charge(): never {
    return this.settle();
  }

  close(): bigint {
    this.#isOpen = false;
    return this.amount;
  }
}

function tooLate(): StateError {
  return new StateError("the amount is settled by now: say it before the answer ends");
}

function openMeteredTab({ asset, amount: maximum }: Offer, unmetered: Unmetered): Tab {
  const unsaid = unmetered === "maximum" ? maximum : 0n;
  const meter = createMeter({ maximum, decimals: asset.decimals });
  let isOpen = true;
  const write = (count: (text: string) => SettlementAmount) => (text: string) => {
    if (!isOpen) throw tooLate();
    const counted = count(text);
    if (!counted.ok) throw new AmountError(text, counted.expected);
  };
  return {
    get amount() {
      return meter.amount ?? unsaid;
    },
    get remaining() {
      return isOpen ? meter.remaining : 0n;
    },
    settle: write(meter.say),
    charge: write(meter.add),
    close() {
      isOpen = false;
      const isMissing = meter.amount === undefined && unmetered === "error";
      return isMissing ? undefined : (meter.amount ?? unsaid);
    },
  };
}
