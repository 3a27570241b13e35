/**
 * The facilitator of a test's shop: it really verifies and settles, and waits or fails when told to.
 *
 * @module
 */
import { type CanonicalPayment, type Facilitator, FacilitatorError } from "@farebox/core";
import { createTestFacilitator, type Payer } from "@farebox/testing";

/** How a settlement can fail. */
export type Ending = "rejected" | "unknown" | "unsent";

export interface ShopFacilitator extends Facilitator {
  /** The payments it was asked to verify, in order. */
  readonly verified: readonly CanonicalPayment[];
  /** The settled amounts, in order. */
  readonly settled: readonly bigint[];
  /** Resolves with the settled amounts as soon as there are so many. */
  untilSettled(count?: number): Promise<readonly bigint[]>;
  /** Makes the next settlement fail. */
  failNext(ending: Ending): void;
  /** Takes all of the payer's money away. `refund` gives it back. */
  removeFunds(): { refund(): void };
  /** Makes the next call wait. Resolves when the call has arrived, with a function that lets it continue. */
  hold(call: "verify" | "settle"): Promise<() => void>;
}

const FUNDS = 1_000_000_000n;

/** As of a connection that was refused. */
const UNREACHABLE = { code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE", operation: "settle", outcome: "none" } as const;

/** Creates a facilitator for a payer, who gets money. */
export function createShopFacilitator(payer: Payer): ShopFacilitator {
  const facilitator = createTestFacilitator();
  const { ledger, faults, calls } = facilitator;
  let isUnreachable = false;
  const waiting = new Set<() => void>();
  const settled = () => ledger.transfers.map(({ amount }) => amount);
  ledger.fund(payer.address, FUNDS);

  async function hold(call: "verify" | "settle"): Promise<() => void> {
    const fault = faults.next(call, { kind: "hold" });
    await fault.reached;
    return fault.release;
  }

  function removeFunds(): { refund(): void } {
    const spent = ledger.balanceOf(payer.address);
    ledger.fund(payer.address, -spent);
    return { refund: () => ledger.fund(payer.address, spent) };
  }

  /** The payer spends the money elsewhere between verification and settlement, and has it again afterwards. */
  async function rejectNext(): Promise<void> {
    const settle = await hold("settle");
    const funds = removeFunds();
    const refund = faults.next("verify", { kind: "hold" });
    void refund.reached.then(() => {
      funds.refund();
      refund.release();
    });
    settle();
  }

  return {
    verify: (request, options) => facilitator.verify(request, options),
    async settle(request, options) {
      if (isUnreachable) {
        isUnreachable = false;
        throw new FacilitatorError("the facilitator's own words", UNREACHABLE);
      }
      try {
        return await facilitator.settle(request, options);
      } finally {
        for (const look of waiting) look();
      }
    },
    untilSettled: (count = 1) =>
      new Promise((resolve) => {
        const look = () => {
          if (ledger.transfers.length < count) return;
          waiting.delete(look);
          resolve(settled());
        };
        waiting.add(look);
        look();
      }),
    supported: (options) => facilitator.supported(options),
    hold,
    removeFunds,
    get verified() {
      return calls.verify.map(({ paymentPayload }) => paymentPayload);
    },
    get settled() {
      return settled();
    },
    failNext(ending) {
      if (ending === "rejected") void rejectNext();
      else if (ending === "unknown") faults.next("settle", { kind: "drop" });
      else isUnreachable = true;
    },
  };
}
