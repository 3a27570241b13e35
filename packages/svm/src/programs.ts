/**
 * Programs that a payment has to do with. Their addresses are the same on every Solana network.
 *
 * @module
 */

import { StateError } from "@farebox/core";
import { decodeAddress } from "./address.js";

/** A program's address, as text and as bytes. */
export interface Program {
  readonly address: string;
  readonly bytes: Buffer;
}

const SYSTEM: Program = program("11111111111111111111111111111111");
export const COMPUTE_BUDGET: Program = program("ComputeBudget111111111111111111111111111111");
export const TOKEN: Program = program("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
export const TOKEN_2022: Program = program("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");
export const ASSOCIATED_TOKEN: Program = program("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");
export const MEMO: Program = program("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
/** Some wallets add its assertions, which protect the payer and move nothing. */
export const LIGHTHOUSE: Program = program("L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95");

/** Addresses that nobody has the key of. */
export const PROGRAMS: readonly Program[] = [
  SYSTEM,
  COMPUTE_BUDGET,
  TOKEN,
  TOKEN_2022,
  ASSOCIATED_TOKEN,
  MEMO,
  LIGHTHOUSE,
];

/** Decoded when it is asked for: most sellers import this and are not paid on Solana. */
function program(address: string): Program {
  let bytes: Buffer | undefined;
  return Object.freeze({
    address,
    get bytes() {
      bytes ??= decodeAddress(address);
      if (bytes === undefined) throw new StateError(`${address} is not an address`);
      return bytes;
    },
  });
}
