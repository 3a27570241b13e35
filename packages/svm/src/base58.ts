/**
 * Base58, in Bitcoin's alphabet: how Solana writes addresses, blockhashes and signatures.
 *
 * @module
 */
const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

const DIGITS: ReadonlyMap<string, number> = new Map(Array.from(ALPHABET, (letter, digit) => [letter, digit]));

/** Writes bytes. Takes time by the square of their number, so that it is for short ones. */
export function encodeBase58(bytes: Uint8Array): string {
  const digits: number[] = [];
  for (const byte of bytes) multiplyAdd(digits, { base: 58, factor: 256, add: byte });
  return (
    "1".repeat(leading(bytes, 0)) +
    digits
      .reverse()
      .map((digit) => ALPHABET.charAt(digit))
      .join("")
  );
}

/**
 * Reads text as exactly `size` bytes; `undefined` when it is no such text. Whatever is longer than such a text can be is
 * not looked at.
 */
export function decodeBase58(text: unknown, size: number): Buffer | undefined {
  if (typeof text !== "string" || text.length < size || text.length > Math.ceil(size * 1.4)) return undefined;
  const bytes: number[] = [];
  const digits: number[] = [];
  for (const letter of text) {
    const digit = DIGITS.get(letter);
    if (digit === undefined) return undefined;
    digits.push(digit);
    multiplyAdd(bytes, { base: 256, factor: 58, add: digit });
  }
  const zeros = leading(digits, 0);
  return zeros + bytes.length === size ? Buffer.concat([Buffer.alloc(zeros), Buffer.from(bytes.reverse())]) : undefined;
}

interface Step {
  readonly base: number;
  readonly factor: number;
  readonly add: number;
}

/** Multiplies a number by a factor and adds to it, in place; its digits stand with the least first, without zeros at the end. */
function multiplyAdd(digits: number[], { base, factor, add }: Step): void {
  let carry = add;
  for (let at = 0; at < digits.length; at++) {
    carry += (digits[at] ?? 0) * factor;
    digits[at] = carry % base;
    carry = Math.floor(carry / base);
  }
  for (; carry > 0; carry = Math.floor(carry / base)) digits.push(carry % base);
}

function leading(values: ArrayLike<number>, wanted: number): number {
  let count = 0;
  while (count < values.length && values[count] === wanted) count++;
  return count;
}
