/**
 * Base32 without padding, in which Algorand writes addresses and names of transactions.
 *
 * @see RFC 4648, §6
 * @module
 */

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** Writes bytes in base32. */
export function encodeBase32(bytes: Uint8Array): string {
  let text = "";
  let [bits, held] = [0, 0];
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xfff;
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET[(held >> (bits - 5)) & 31];
  }
  return bits === 0 ? text : text + ALPHABET[(held << (5 - bits)) & 31];
}

/** Reads base32; `undefined` when a text is none, or is not the one way to write its bytes. */
export function decodeBase32(text: string): Buffer | undefined {
  const bytes: number[] = [];
  let [bits, held] = [0, 0];
  for (const letter of text) {
    const value = ALPHABET.indexOf(letter);
    if (value === -1) return undefined;
    held = ((held << 5) | value) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((held >> bits) & 255);
  }
  const decoded = Buffer.from(bytes);
  return encodeBase32(decoded) === text ? decoded : undefined;
}
