/**
 * How much of an authorized payment a handler takes: all of it, unless the scheme allows less and the handler says so.
 *
 * @module
 */
import { AmountError, StateError } from "../errors.js";
import { createMeter, type SettlementAmount } from "../price/settlement-amount.js";
import type { Offer } from "../scheme/offer.js";
import type { Unmetered } from "./options.js";

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
