/**
 * Reads Solana's encoding of transactions: fields in sequence, and lists after a compact length.
 *
 * @module
 */

/** Thrown when bytes are missing, or a length is not in its shortest form. */
export const UNREADABLE: unique symbol = Symbol("unreadable");

/** Reads bytes from front to back. Its methods throw {@link UNREADABLE}, which the caller must catch. */
export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The number of bytes left. */
  get left(): number {
    return this.#bytes.length - this.#at;
  }

  /** The bytes left. Does not advance. */
  get rest(): Buffer {
    return this.#bytes.subarray(this.#at);
  }

  /** The next byte. Does not advance. */
  peek(): number {
    return this.rest[0] ?? unreadable();
  }

  byte(): number {
    const byte = this.peek();
    this.#at++;
    return byte;
  }

  bytes(count: number): Buffer {
    if (count > this.left) unreadable();
    const bytes = this.rest.subarray(0, count);
    this.#at += count;
    return bytes;
  }

  /** Reads a compact length: one to three bytes of seven bits, lowest first, in as few bytes as possible. */
  length(): number {
    let length = 0;
    for (let place = 0; place < 3; place++) {
      const byte = this.byte();
      length += (byte & 0x7f) << (7 * place);
      if (byte < 0x80) return byte === 0 && place > 0 ? unreadable() : length;
    }
    return unreadable();
  }

  /** Reads a list: its length, then its items. Each item has at least one byte. */
  list<T>(read: () => T): T[] {
    const length = this.length();
    if (length > this.left) unreadable();
    return Array.from({ length }, read);
  }
}

function unreadable(): never {
  throw UNREADABLE;
}
