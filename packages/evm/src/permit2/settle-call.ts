/**
 * Reads calls of the proxies. Permit2 writes no event when it moves a token, so only the call says which payment a transfer
 * belongs to.
 *
 * @see x402 v2, scheme `exact` on EVM, Annex; Contract ABI Specification, "Function Selector and Argument Encoding"
 * @module
 */
import type { Permit, ProxyKind } from "./permit2.js";

/** A payment that a call carried out. Addresses are in lower case. */
export interface SettleCall {
  readonly token: string;
  /** Atomic units in the signature. */
  readonly permitted: bigint;
  readonly nonce: bigint;
  readonly deadline: bigint;
  /** Atomic units that were moved. */
  readonly amount: bigint;
  /** The payer. */
  readonly owner: string;
  readonly to: string;
}

/** Selectors of `settle`, and of `settleWithPermit`, which has five words about the allowance in front. */
const SELECTORS = {
  exact: { settle: "0x13cd3b53", settleWithPermit: "0xfa340378" },
  upto: { settle: "0xff11e7b4", settleWithPermit: "0x016c1748" },
} as const;

const APPROVAL_WORDS = 5;

/** Up to the recipient, the last word that is read. */
const WORDS_READ = 7;

/** The position of each word. The permit's own four come first, and everything of fixed size before the rest. */
const POSITIONS = {
  exact: { amount: 1, owner: 4, to: 5 },
  upto: { amount: 4, owner: 5, to: 6 },
} as const;

/** Reads a call of a proxy; `undefined` for any other call. Total. */
export function readSettleCall(data: string, kind: ProxyKind): SettleCall | undefined {
  const selector = data.slice(0, 10).toLowerCase();
  const { settle, settleWithPermit } = SELECTORS[kind];
  if (selector !== settle && selector !== settleWithPermit) return undefined;
  const first = selector === settle ? 0 : APPROVAL_WORDS;
  const start = 10 + 64 * first;
  const words = data.slice(start, start + 64 * WORDS_READ).toLowerCase();
  if (!/^[0-9a-f]*$/.test(words) || words.length < 64 * WORDS_READ) return undefined;
  const uintAt = (at: number): bigint => BigInt(`0x${words.slice(64 * at, 64 * (at + 1))}`);
  const addressAt = (at: number): string => `0x${words.slice(64 * at + 24, 64 * (at + 1))}`;
  const { amount, owner, to } = POSITIONS[kind];
  return {
    token: addressAt(0),
    permitted: uintAt(1),
    nonce: uintAt(2),
    deadline: uintAt(3),
    amount: uintAt(amount),
    owner: addressAt(owner),
    to: addressAt(to),
  };
}

/** Whether a call carried out this permit, for this recipient. */
export function isCallFor(call: SettleCall, permit: Permit): boolean {
  return (
    call.token === permit.token.toLowerCase() &&
    call.permitted === permit.amount &&
    call.nonce === permit.nonce &&
    call.deadline === permit.deadline &&
    call.owner === permit.from.toLowerCase() &&
    call.to === permit.to.toLowerCase()
  );
}
