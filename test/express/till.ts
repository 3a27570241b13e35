/**
 * A facilitator in the test's hand: it believes every payment, settles each once, and waits or fails when told to.
 *
 * @module
 */
import { type CanonicalPayment, type Facilitator, FacilitatorError, type SettlementResponse } from "@farebox/core";

export const NETWORK = "eip155:84532";

/** How a settlement can end other than well. */
export type Ending = "rejected" | "unknown" | "unsent";

export interface Till extends Facilitator {
  /** What was verified, in order. */
  readonly verified: readonly CanonicalPayment[];
  /** What was settled, in order. */
  readonly settled: readonly CanonicalPayment[];
  /** Makes the next settlement end otherwise. */
  next(ending: Ending): void;
  /** Makes the next call wait. Resolves once it has been asked for, with what lets it go on. */
  hold(call: "verify" | "settle"): Promise<() => void>;
}

export function createTill(): Till {
  const endings: Ending[] = [];
  const turnstiles = { verify: createTurnstile(), settle: createTurnstile() };
  const verified: CanonicalPayment[] = [];
  const settled: CanonicalPayment[] = [];
  return {
    verified,
    settled,
    next: (ending) => void endings.push(ending),
    hold: (call) => turnstiles[call].hold(),
    async verify({ paymentPayload }) {
      verified.push(paymentPayload);
      await turnstiles.verify.pass();
      return { isValid: true, payer: payerOf(paymentPayload) };
    },
    async settle({ paymentPayload }): Promise<SettlementResponse> {
      await turnstiles.settle.pass();
      const ending = endings.shift();
      if (ending === "unsent" || ending === "unknown") throw lostCall(ending);
      const refused = { success: false, network: NETWORK, payer: payerOf(paymentPayload), transaction: "" };
      if (ending === "rejected") return { ...refused, errorReason: "insufficient_funds" };
      if (settled.some((earlier) => signatureOf(earlier) === signatureOf(paymentPayload))) {
        return { ...refused, errorReason: "payment_already_settled" };
      }
      settled.push(paymentPayload);
      return { ...refused, success: true, transaction: `0x${String(settled.length).padStart(64, "0")}` };
    },
    supported: async () => ({ kinds: [], extensions: [], signers: {} }),
  };
}

interface Turnstile {
  hold(): Promise<() => void>;
  pass(): Promise<void>;
}

function createTurnstile(): Turnstile {
  const waiting: ((open: () => void) => void)[] = [];
  return {
    hold: () => new Promise((asked) => waiting.push(asked)),
    pass: () =>
      new Promise((open) => {
        const asked = waiting.shift();
        if (asked === undefined) open();
        else asked(open);
      }),
  };
}

function lostCall(ending: "unsent" | "unknown"): FacilitatorError {
  return new FacilitatorError("the facilitator's own words", {
    code: "ERR_FAREBOX_FACILITATOR_UNREACHABLE",
    operation: "settle",
    outcome: ending === "unsent" ? "none" : "unknown",
  });
}

function payerOf({ payload }: CanonicalPayment): string {
  return (payload as { readonly authorization: { readonly from: string } }).authorization.from;
}

function signatureOf({ payload }: CanonicalPayment): unknown {
  return payload["signature"];
}
