/**
 * SupportedResponse: what a facilitator can verify and settle.
 *
 * @see x402 v2 §7.3
 * @module
 */

/** One scheme on one concrete network. */
export interface SupportedKind {
  readonly x402Version: number;
  readonly scheme: string;
  /** CAIP-2, never a pattern. */
  readonly network: string;
  /** What an offer of this kind must carry, e.g. `{ feePayer }`. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** What a facilitator supports. */
export interface SupportedResponse {
  readonly kinds: readonly SupportedKind[];
  /** Identifiers of extensions, e.g. `bazaar`. */
  readonly extensions: readonly string[];
  /** Signer addresses by CAIP-2 pattern, e.g. `{ "eip155:*": ["0x…"] }`. */
  readonly signers: Readonly<Record<string, readonly string[]>>;
}
