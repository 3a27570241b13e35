/**
 * PaymentRequirements: one way to pay, an element of `accepts`.
 *
 * @see x402 v2 §5.1.2
 * @module
 */

/** One way to pay, exactly as the protocol has it: seven fields. This is the only form that facilitators get. */
export interface PaymentRequirements {
  /** `exact`, `upto`, … */
  readonly scheme: string;
  /** CAIP-2, e.g. `eip155:84532`. */
  readonly network: string;
  /** Atomic units as a decimal string, e.g. `"10000"` for 0.01 of an asset with 6 decimals. */
  readonly amount: string;
  /** Token contract or mint. */
  readonly asset: string;
  readonly payTo: string;
  /** How long a payment may take from challenge to settlement. */
  readonly maxTimeoutSeconds: number;
  /** What the scheme needs besides, e.g. the EIP-712 domain of the token: `{ name: "USDC", version: "2" }`. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/**
 * What a client sends back as `accepted`. Clients in other languages drop unknown fields and an empty `extra`, and some
 * know the amount under its older name, so only what identifies an offer is required here.
 */
export interface AcceptedRequirements {
  readonly scheme: string;
  readonly network: string;
  readonly asset: string;
  readonly payTo: string;
  readonly amount?: string;
  readonly maxAmountRequired?: string;
  readonly extra?: Readonly<Record<string, unknown>> | null;
}
