/**
 * The facilitator of a shop, in the test's hand: it checks and settles for real, and waits or fails when told to.
 *
 * @module
 */
import type { CanonicalPayment, Facilitator } from "@farebox/core";
import { createTestFacilitator, type Payer } from "@farebox/testing";

/** How a settlement can end other than well. */
export type Ending = "rejected" | "unknown" | "unsent";

export interface Till {
  readonly facilitator: Facilitator;
  /** What it was asked to verify, in order. */
  readonly verified: readonly CanonicalPayment[];
  /** Amounts that have moved, in order. */
  readonly takings: readonly bigint[];
  /** Makes the next settlement end otherwise. */
  next(ending: Ending): void;
  /** Takes all of the payer's money away, and gives it back when told to. */
  empty(): { refund(): void };
  /** Makes the next call wait. Resolves once it has been asked for, with what lets it go on. */
  hold(call: "verify" | "settle"): Promise<() => void>;
}

const PURSE = 1_000_000_000n;

/** Opens a till for a payer who has money. */
export function createTill(payer: Payer): Till {
  const facilitator = createTestFacilitator();
  const { ledger, faults, calls } = facilitator;
  ledger.fund(payer.address, PURSE);

  async function hold(call: "verify" | "settle"): Promise<() => void> {
    const fault = faults.next(call, { kind: "hold" });
    await fault.reached;
    return fault.release;
  }

  function empty(): { refund(): void } {
    const spent = ledger.balanceOf(payer.address);
    ledger.fund(payer.address, -spent);
    return { refund: () => ledger.fund(payer.address, spent) };
  }

  /** The payer spends the money elsewhere between verification and settlement, and has it again afterwards. */
  async function rejectNext(): Promise<void> {
    const settle = await hold("settle");
    const funds = empty();
    const refund = faults.next("verify", { kind: "hold" });
    void refund.reached.then(() => {
      funds.refund();
      refund.release();
    });
    settle();
  }

  return {
    facilitator,
    hold,
    empty,
    get verified() {
      return calls.verify.map(({ paymentPayload }) => paymentPayload);
    },
    get takings() {
      return ledger.transfers.map(({ amount }) => amount);
    },
    next(ending) {
      if (ending === "rejected") void rejectNext();
      else if (ending === "unknown") faults.next("settle", { kind: "drop" });
      else faults.next("settle", { kind: "status", status: 429, body: "the facilitator's own words" });
    },
  };
}
