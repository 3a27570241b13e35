/**
 * Encodes and decodes accounts of the token programs.
 *
 * @see spl-token, `state::Mint` and `state::Account`
 * @module
 */
const MINT_BYTES = 82;
const ACCOUNT_BYTES = 165;

/** The position of the byte that marks a mint with extensions. The extensions follow it. */
const MINT_KIND = 1;

/** The decimals of USDC, and of every token here. */
const DECIMALS = 6;

/** Encodes a mint without a mint authority. */
export function mintBytes(extensions: Uint8Array): Buffer {
  const data = Buffer.alloc(MINT_BYTES);
  data.writeBigUInt64LE(2n ** 63n, 36);
  data.writeUInt8(DECIMALS, 44);
  data.writeUInt8(1, 45);
  if (extensions.length === 0) return data;
  return Buffer.concat([data, Buffer.alloc(ACCOUNT_BYTES - MINT_BYTES), Buffer.of(MINT_KIND), extensions]);
}

/** Encodes an account with a balance. */
export function holdingBytes(mint: Uint8Array, owner: Uint8Array, amount: bigint): Buffer {
  const data = Buffer.alloc(ACCOUNT_BYTES);
  data.set(mint, 0);
  data.set(owner, 32);
  data.writeBigUInt64LE(amount, 64);
  data.writeUInt8(1, 108);
  return data;
}

/** Decodes the balance of an account. */
export function heldIn(data: Uint8Array): bigint {
  return Buffer.from(data).readBigUInt64LE(64);
}
