/**
 * Checks the accounts that a payment names, as they are on chain now.
 *
 * @see x402 v2, scheme `exact` on SVM, "Facilitator Verification Rules", 5; spl-token, `state::Mint` and `state::Account`;
 *   spl-token-2022, `extension::transfer_fee`
 * @module
 */
import { type Refusal, refuse } from "@farebox/core/scheme";
import { encodeBase58 } from "../address.js";
import type { Transfer } from "../exact/payment.js";
import type { Terms } from "../exact/terms.js";
import type { SvmAccount, SvmChain } from "./chain.js";

/** Checks mint, payee and payer; `undefined` when all are good. Rejects when the chain cannot be asked. */
export async function checkAccounts(
  transfer: Transfer,
  { mint, payTo }: Terms,
  chain: SvmChain,
): Promise<Refusal | undefined> {
  const { source, destination, program, amount, decimals } = transfer;
  const [ofPayer, ofPayee, ofMint] = await chain.readAccounts([source, destination, mint].map(encodeBase58));

  const token = ofMint?.owner === program.address ? readMint(ofMint.data) : undefined;
  if (token === undefined) {
    return refuse("invalid_exact_svm_payload_mint_mismatch", "the asset is not a mint of this token program");
  }
  if (token.decimals !== decimals) {
    return refuse("invalid_exact_svm_payload_amount_mismatch", "the token has other decimals");
  }
  if (token.hasTransferFee) {
    return refuse("invalid_payment_requirements", "the token charges a fee on transfers, so payTo would get less");
  }

  const readHeld = (account: SvmAccount | undefined) => {
    const held = account?.owner === program.address ? readTokenAccount(account.data) : undefined;
    return held?.mint.equals(mint) === true ? held : undefined;
  };
  // A token account can be given to another owner, so its present owner must be the payee.
  if (readHeld(ofPayee)?.owner.equals(payTo) !== true) {
    const message = "payTo has no associated token account for the asset: create it first";
    return refuse("invalid_payment_requirements", message);
  }
  const held = readHeld(ofPayer);
  if (held === undefined || held.amount < amount)
    return refuse("insufficient_funds", "the payer has less than the amount");
  return undefined;
}

/** A wallet's account of one token. */
export interface TokenAccount {
  readonly mint: Buffer;
  readonly owner: Buffer;
  readonly amount: bigint;
}

/** A token. */
export interface Mint {
  readonly decimals: number;
  /** Whether the token charges a fee on transfers, now or from the next epoch on. */
  readonly hasTransferFee: boolean;
}

const TOKEN_ACCOUNT_BYTES = 165;
const MINT_BYTES = 82;

/** In an account with extensions, its kind follows the longer of the two layouts, and the extensions follow the kind. */
const KIND_AT = TOKEN_ACCOUNT_BYTES;
const MINT_KIND = 1;
const TRANSFER_FEE = 1;

/** Reads a token account; `undefined` when the data is not one. */
export function readTokenAccount(data: Uint8Array): TokenAccount | undefined {
  if (data.length < TOKEN_ACCOUNT_BYTES) return undefined;
  const bytes = Buffer.from(data);
  if (bytes.length > KIND_AT && bytes[KIND_AT] === MINT_KIND) return undefined;
  return { mint: bytes.subarray(0, 32), owner: bytes.subarray(32, 64), amount: bytes.readBigUInt64LE(64) };
}

/** Reads a mint; `undefined` when the data is not one. */
export function readMint(data: Uint8Array): Mint | undefined {
  const bytes = Buffer.from(data);
  const isMint = bytes.length === MINT_BYTES || (bytes.length > KIND_AT && bytes[KIND_AT] === MINT_KIND);
  if (!isMint) return undefined;
  return { decimals: bytes.readUInt8(44), hasTransferFee: hasTransferFee(bytes.subarray(KIND_AT + 1)) };
}

/** Each extension is a kind, a length, and so many bytes. */
function hasTransferFee(extensions: Buffer): boolean {
  for (let at = 0; at + 4 <= extensions.length; ) {
    const [kind, length] = [extensions.readUInt16LE(at), extensions.readUInt16LE(at + 2)];
    const value = extensions.subarray(at + 4, at + 4 + length);
    if (kind === TRANSFER_FEE) return chargesFee(value);
    at += 4 + length;
  }
  return false;
}

/** Two addresses and an amount, then the present and the next fee: an epoch, a maximum, and basis points each. */
function chargesFee(value: Buffer): boolean {
  if (value.length < 108) return true;
  return value.readUInt16LE(88) > 0 || value.readUInt16LE(106) > 0;
}
