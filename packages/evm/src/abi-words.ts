/**
 * Words of 32 bytes, of which calls, answers and logs are made: so that no chain library is needed to read them.
 *
 * @see Contract ABI Specification, "Formal Specification of the Encoding"; ERC-20, "Events"
 * @module
 */

/** `Transfer(address indexed from, address indexed to, uint256 value)` */
export const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** An address as a word of 32 bytes, in lower case. */
export function addressWord(address: string): string {
  return `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;
}

/** An amount as a word of 32 bytes. */
export function uintWord(amount: bigint): string {
  return `0x${amount.toString(16).padStart(64, "0")}`;
}
