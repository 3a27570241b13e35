/**
 * How much of an authorized payment a handler takes: all of it, unless the scheme allows less and the handler says so.
 *
 * @module
 */
import { AmountError, StateError } from "../errors.js";
import { parseSettlementAmount } from "../price/settlement-amount.js";
import type { Offer } from "../scheme/offer.js";
import type { Unmetered } from "./options.js";

/** What is taken of one payment. */
export interface Tab {
  /** Atomic units, as things stand. */
  readonly amount: bigint;
  /**
   * Says how much is taken; the last call counts.
   *
   * @throws AmountError when it is no amount, or more than was authorized.
   * @throws StateError when the scheme takes all or nothing, or it is too late.
   */
  settle(amount: string): void;
  /** It is too late from here on. Yields atomic units; `undefined` when the handler should have said and did not. */
  close(): bigint | undefined;
}

/** The tab of a payment that is settled by now: what its handler says, when it runs once more for it, changes nothing. */
export function settledTab({ scheme }: Offer, amount: bigint): Tab {
  return {
    amount,
    settle() {
      if (!scheme.allowsLess) throw allOrNothing(scheme);
    },
    close: () => amount,
  };
}

function allOrNothing({ scheme }: Offer["scheme"]): StateError {
  return new StateError(`the scheme ${scheme} takes the whole amount, no other`);
}

/** Opens the tab of one payment. */
export function openTab({ scheme, asset, amount: maximum }: Offer, unmetered: Unmetered): Tab {
  const unsaid = scheme.allowsLess && unmetered !== "maximum" ? 0n : maximum;
  let said: bigint | undefined;
  let isOpen = true;
  return {
    get amount() {
      return said ?? unsaid;
    },
    settle(text) {
      if (!isOpen) throw new StateError("the amount is settled by now: say it before the answer ends");
      if (!scheme.allowsLess) throw allOrNothing(scheme);
      const parsed = parseSettlementAmount(text, { maximum, decimals: asset.decimals });
      if (!parsed.ok) throw new AmountError(text, parsed.expected);
      said = parsed.amount;
    },
    close() {
      isOpen = false;
      const isMissing = said === undefined && scheme.allowsLess === true && unmetered === "error";
      return isMissing ? undefined : (said ?? unsaid);
    },
  };
}
