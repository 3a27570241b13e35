/**
 * Accounts of the token programs, as the bytes they are.
 *
 * @see spl-token, `state::Mint` and `state::Account`
 * @module
 */
const MINT_BYTES = 82;
const ACCOUNT_BYTES = 165;

/** Where a mint with extensions says that it is one; they follow. */
const MINT_KIND = 1;

/** USDC's, and those of every token here. */
const DECIMALS = 6;

/** Of a token that nobody can mint any more of. */
export function mintBytes(extensions: Uint8Array): Buffer {
  const data = Buffer.alloc(MINT_BYTES);
  data.writeBigUInt64LE(2n ** 63n, 36);
  data.writeUInt8(DECIMALS, 44);
  data.writeUInt8(1, 45);
  if (extensions.length === 0) return data;
  return Buffer.concat([data, Buffer.alloc(ACCOUNT_BYTES - MINT_BYTES), Buffer.of(MINT_KIND), extensions]);
}

/** Of an account that holds so much. */
export function holdingBytes(mint: Uint8Array, owner: Uint8Array, amount: bigint): Buffer {
  const data = Buffer.alloc(ACCOUNT_BYTES);
  data.set(mint, 0);
  data.set(owner, 32);
  data.writeBigUInt64LE(amount, 64);
  data.writeUInt8(1, 108);
  return data;
}

/** How much an account holds. */
export function heldIn(data: Uint8Array): bigint {
  return Buffer.from(data).readBigUInt64LE(64);
}
