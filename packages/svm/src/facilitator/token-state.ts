/**
 * Accounts of the token programs, as bytes.
 *
 * @see spl-token, `state::Mint` and `state::Account`; spl-token-2022, `extension::transfer_fee`
 * @module
 */

/** A wallet's account of one token. */
export interface TokenAccount {
  readonly mint: Buffer;
  readonly owner: Buffer;
  readonly amount: bigint;
}

/** A token. */
export interface Mint {
  readonly decimals: number;
  /** Whether the token keeps a part of each transfer, now or from the next epoch on. */
  readonly hasTransferFee: boolean;
}

const TOKEN_ACCOUNT_BYTES = 165;
const MINT_BYTES = 82;

/** What kind of account has extensions stands behind the longer of the two, and they behind that. */
const KIND_AT = TOKEN_ACCOUNT_BYTES;
const MINT_KIND = 1;
const TRANSFER_FEE = 1;

/** Reads an account of a token program; `undefined` when it is none. */
export function readTokenAccount(data: Uint8Array): TokenAccount | undefined {
  if (data.length < TOKEN_ACCOUNT_BYTES) return undefined;
  const bytes = Buffer.from(data);
  if (bytes.length > KIND_AT && bytes[KIND_AT] === MINT_KIND) return undefined;
  return { mint: bytes.subarray(0, 32), owner: bytes.subarray(32, 64), amount: bytes.readBigUInt64LE(64) };
}

/** Reads a mint; `undefined` when it is none. */
export function readMint(data: Uint8Array): Mint | undefined {
  const bytes = Buffer.from(data);
  const isMint = bytes.length === MINT_BYTES || (bytes.length > KIND_AT && bytes[KIND_AT] === MINT_KIND);
  if (!isMint) return undefined;
  return { decimals: bytes.readUInt8(44), hasTransferFee: hasTransferFee(bytes.subarray(KIND_AT + 1)) };
}

/** Extensions are a kind, a length and so many bytes each. */
function hasTransferFee(extensions: Buffer): boolean {
  for (let at = 0; at + 4 <= extensions.length; ) {
    const [kind, length] = [extensions.readUInt16LE(at), extensions.readUInt16LE(at + 2)];
    const value = extensions.subarray(at + 4, at + 4 + length);
    if (kind === TRANSFER_FEE) return chargesFee(value);
    at += 4 + length;
  }
  return false;
}

/** Two addresses and an amount, then the fee of an earlier and of a later epoch: epoch, most, and hundredths of a percent. */
function chargesFee(value: Buffer): boolean {
  if (value.length < 108) return true;
  return value.readUInt16LE(88) > 0 || value.readUInt16LE(106) > 0;
}
