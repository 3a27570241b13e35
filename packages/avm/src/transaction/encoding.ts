/**
 * Reads Algorand's encoding of transactions: MessagePack with sorted keys, numbers and lengths in their shortest form, and no
 * field that is zero or empty. So each map can be written in one way only, and its bytes are the bytes that were signed.
 * Other forms are refused. A library would add 32 kB, and does not check the form.
 *
 * @see MessagePack specification, "Formats"; Algorand specification, "Canonical Msgpack"
 * @module
 */

/** A value in a map. */
export type Value = bigint | string | Buffer | Fields;

/** A key and its value. */
export interface Entry {
  readonly value: Value;
  /** The bytes of both. */
  readonly bytes: Buffer;
}

/** A map. */
export type Fields = ReadonlyMap<string, Entry>;

/** A transaction is a map inside the map of its signature, and contains no map itself. */
const DEPTH = 2;

/** Reads bytes that are exactly one map; `undefined` for any others. Total. */
export function decodeMap(bytes: Buffer): Fields | undefined {
  const reader = new Reader(bytes);
  const fields = reader.readValue(DEPTH);
  return fields instanceof Map && reader.isAtEnd ? fields : undefined;
}

/** The bytes of a map that come before its entries. */
export function mapHeader(entries: number): Buffer {
  return Buffer.of(0x80 | entries);
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  readValue(depth: number): Value | undefined {
    const kind = this.#take(1)?.[0];
    if (kind === undefined) return undefined;
    if (kind < 0x80) return kind === 0 ? undefined : BigInt(kind);
    if (kind < 0x90) return depth === 0 ? undefined : this.#readMap(kind & 0x0f, depth - 1);
    return kind >= 0xa0 && kind < 0xc0 ? this.#readText(kind & 0x1f) : this.#readSized(kind);
  }

  /** Reads a value whose length precedes it. */
  #readSized(kind: number): Value | undefined {
    if (kind >= 0xcc && kind <= 0xcf) return this.#readNumber(1 << (kind - 0xcc));
    if (kind === 0xc4) return this.#readBytes(this.#readLength(1, 0));
    if (kind === 0xc5) return this.#readBytes(this.#readLength(2, 0xff));
    return kind === 0xd9 ? this.#readText(this.#readLength(1, 0x1f)) : undefined;
  }

  #readMap(size: number, depth: number): Fields | undefined {
    const fields = new Map<string, Entry>();
    let last = "";
    for (let nth = 0; nth < size; nth++) {
      const start = this.#at;
      const key = this.readValue(0);
      if (typeof key !== "string" || key <= last) return undefined;
      const value = this.readValue(depth);
      if (value === undefined) return undefined;
      fields.set(key, { value, bytes: this.#bytes.subarray(start, this.#at) });
      last = key;
    }
    return size === 0 ? undefined : fields;
  }

  #readNumber(size: number): bigint | undefined {
    const bytes = this.#take(size);
    if (bytes === undefined) return undefined;
    const value = BigInt(`0x${bytes.toString("hex")}`);
    const least = size === 1 ? 0x80n : 1n << BigInt(size * 4);
    return value >= least ? value : undefined;
  }

  /** `undefined` also if there is a shorter form. */
  #readLength(size: 1 | 2, moreThan: number): number | undefined {
    const length = this.#take(size)?.readUIntBE(0, size);
    return length !== undefined && length > moreThan ? length : undefined;
  }

  #readBytes(length: number | undefined): Buffer | undefined {
    return length === undefined ? undefined : this.#take(length);
  }

  /** Keys, types and network names are ASCII. */
  #readText(length: number | undefined): string | undefined {
    const bytes = this.#readBytes(length);
    return bytes?.every((byte) => byte >= 0x20 && byte < 0x7f) === true && length !== 0
      ? bytes.toString("latin1")
      : undefined;
  }

  #take(length: number): Buffer | undefined {
    const end = this.#at + length;
    if (end > this.#bytes.length) return undefined;
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}
