/**
 * The money of a failure: in a ledger, or on a local chain where the scheme takes one, and how often it has moved.
 *
 * @module
 */
import type { Facilitator } from "@farebox/core";
import { createTestFacilitator } from "@farebox/testing";
import { startChain } from "../bank.js";
import type { SellerPlan } from "./failure.js";

type Address = `0x${string}`;

/** Money, and a facilitator that moves it. */
export interface Money {
  readonly facilitator: Facilitator;
  /** Gives a payer a dollar, and all that it takes to pay with it. */
  give(payer: Address): Promise<void>;
  /** How often money has moved. */
  debits(): number;
  /** Amounts that the facilitator was asked to settle, atomic units or what was sent in their place. */
  readonly asked: readonly unknown[];
  close(): Promise<void>;
}

const DOLLAR = 1_000_000n;

/** Opens what the scheme of a plan needs: Permit2 is on a chain only. */
export function openMoney({ scheme }: SellerPlan): Promise<Money> {
  return scheme === "upto" ? openOnChain() : openInLedger();
}

async function openInLedger(): Promise<Money> {
  const facilitator = createTestFacilitator();
  return {
    facilitator,
    give: async (payer) => facilitator.ledger.fund(payer, DOLLAR),
    debits: () => facilitator.ledger.transfers.length,
    get asked() {
      return facilitator.calls.settle.map(({ paymentRequirements }) => paymentRequirements.amount);
    },
    close: async () => {},
  };
}

async function openOnChain(): Promise<Money> {
  const { chain, facilitator } = await startChain();
  const asked: unknown[] = [];
  let debits = 0;
  return {
    facilitator: {
      ...facilitator,
      async settle(request, options) {
        asked.push(request.paymentRequirements.amount);
        const answer = await facilitator.settle(request, options);
        if (answer.success && answer.transaction !== "") debits += 1;
        return answer;
      },
    },
    async give(payer) {
      await chain.fund(payer, { usdc: DOLLAR });
      await chain.approvePermit2(payer);
    },
    debits: () => debits,
    asked,
    close: () => chain.close(),
  };
}
