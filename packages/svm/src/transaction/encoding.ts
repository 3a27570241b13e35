/**
 * How Solana encodes transactions: fields one after the other, and lists behind a compact length.
 *
 * @module
 */

/** Thrown where bytes are missing, or a length is not in its shortest form. */
export const UNREADABLE: unique symbol = Symbol("unreadable");

/** A place in some bytes. Its methods throw {@link UNREADABLE}, which is for the caller to catch. */
export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** How many bytes are left. */
  get left(): number {
    return this.#bytes.length - this.#at;
  }

  /** What is left, without going on. */
  get rest(): Buffer {
    return this.#bytes.subarray(this.#at);
  }

  /** The next byte, without going on. */
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

  /** A length in Solana's compact form: seven bits a byte, the lowest first, in one to three bytes and as few as possible. */
  length(): number {
    let length = 0;
    for (let place = 0; place < 3; place++) {
      const byte = this.byte();
      length += (byte & 0x7f) << (7 * place);
      if (byte < 0x80) return byte === 0 && place > 0 ? unreadable() : length;
    }
    return unreadable();
  }

  /** As many things as a length before them says. Each of them takes a byte at least. */
  list<T>(read: () => T): T[] {
    const length = this.length();
    if (length > this.left) unreadable();
    return Array.from({ length }, read);
  }
}

function unreadable(): never {
  throw UNREADABLE;
}
