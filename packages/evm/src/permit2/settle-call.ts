/**
 * Calls of the proxies, read back: Permit2 writes no event when it moves a token, so which payment a transfer belongs to is
 * only in the call that made it.
 *
 * @see x402 v2, scheme `exact` on EVM, Annex; Contract ABI Specification, "Function Selector and Argument Encoding"
 * @module
 */
import type { ProxyKind } from "./proxies.js";
import type { Permit } from "./read-permit.js";

/** What was carried out, addresses in lower case. */
export interface SettleCall {
  readonly token: string;
  /** Atomic units that were signed for. */
  readonly permitted: bigint;
  readonly nonce: bigint;
  readonly deadline: bigint;
  /** Atomic units that were moved. */
  readonly amount: bigint;
  /** Whose nonce and money it was. */
  readonly owner: string;
  readonly to: string;
}

/** Selectors of `settle`, and of `settleWithPermit`, which has five words about the allowance in front. */
const SELECTORS = {
  exact: { settle: "0x13cd3b53", settleWithPermit: "0xfa340378" },
  upto: { settle: "0xff11e7b4", settleWithPermit: "0x016c1748" },
} as const;

const APPROVAL_WORDS = 5;

/** Up to the recipient, which comes last of what is read. */
const WORDS_READ = 7;

/** Where the words are behind the permit's own four: all that is of fixed size comes first. */
const PLACES = {
  exact: { amount: 1, owner: 4, to: 5 },
  upto: { amount: 4, owner: 5, to: 6 },
} as const;

/** Reads what a proxy was called with; `undefined` when it is another call. Total. */
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
  const { amount, owner, to } = PLACES[kind];
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

/** Whether a call has carried out this very permit, as far as it was signed for this recipient. */
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
