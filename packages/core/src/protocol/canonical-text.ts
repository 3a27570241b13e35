/**
 * Canonical text: equal values yield the same text, in any order of their keys, and different values different texts.
 *
 * @module
 */
import { types } from "node:util";

/** How deep a value may be nested. A deeper one may be circular. */
const MAX_DEPTH = 200;

/** Characters. Lists that contain each other several times may have texts without end. */
const MAX_LENGTH = 16 * 1024 * 1024;

/** How much text is passed on at once. */
const PIECE_LENGTH = 64 * 1024;

/** Gets the text piece by piece, such as a hash. */
export interface TextSink {
  update(piece: string): unknown;
}

/**
 * Writes the whole text of a value: like JSON, with sorted keys.
 *
 * @throws RangeError for a value that is too deep, too long, circular, or has no text; or the error of a getter
 */
export function writeCanonicalText(value: unknown, sink: TextSink): void {
  const writer = new Writer(sink);
  write(writer, value, 0);
  writer.flush();
}

/** A larger buffer is not searched for what else was put on it: each byte counts as a name. */
const MOST_SEARCHED_BYTES = 64 * 1024;

const BYTES: readonly unknown[] = [Uint8Array.prototype, Buffer.prototype];

/**
 * Whether the text of a value shows all that code could read of it. Instances of classes may have private fields, methods and inherited
 * fields; getters and proxies may say something else each time. The value must have a text, so that it has an end.
 */
export function showsAll(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (types.isProxy(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (BYTES.includes(prototype)) return showsBytes(value);
  if (prototype === Date.prototype) return Reflect.ownKeys(value).length === 0;
  if (prototype === Map.prototype || prototype === Set.prototype) {
    return Reflect.ownKeys(value).length === 0 && [...(value as Iterable<unknown>)].every(showsAll);
  }
  if (Array.isArray(value)) return prototype === Array.prototype && showsFields(value, "length");
  return isPlainPrototype(prototype) && showsFields(value);
}

function showsBytes(value: object): boolean {
  const { length } = value as Uint8Array;
  return length <= MOST_SEARCHED_BYTES && Reflect.ownKeys(value).length === length;
}

/** Parsers of forms have a prototype of their own, with nothing in it. */
function isPlainPrototype(prototype: unknown): boolean {
  if (prototype === null || prototype === Object.prototype) return true;
  if (typeof prototype !== "object" || types.isProxy(prototype)) return false;
  return Object.getPrototypeOf(prototype) === null && Reflect.ownKeys(prototype).length === 0;
}

function showsFields(value: object, hidden?: string): boolean {
  return Reflect.ownKeys(value).every((key) => {
    if (key === hidden) return true;
    const field = Object.getOwnPropertyDescriptor(value, key);
    return typeof key === "string" && field?.enumerable === true && "value" in field && showsAll(field.value);
  });
}

class Writer {
  readonly #sink: TextSink;
  #piece = "";
  #length = 0;

  constructor(sink: TextSink) {
    this.#sink = sink;
  }

  add(text: string): void {
    this.#length += text.length;
    if (this.#length > MAX_LENGTH) throw new RangeError("too long");
    this.#piece += text;
    if (this.#piece.length > PIECE_LENGTH) this.flush();
  }

  flush(): void {
    this.#sink.update(this.#piece);
    this.#piece = "";
  }
}

/** Each call adds something, so endless values reach the limit, too. */
function write(writer: Writer, value: unknown, depth: number): void {
  if (depth > MAX_DEPTH) throw new RangeError("nested too deeply");
  switch (typeof value) {
    case "object":
      if (value === null) writer.add("null");
      else writeComposite(writer, value, depth);
      break;
    case "string":
      writer.add(JSON.stringify(value));
      break;
    case "number":
      // JSON would write NaN and the infinities as null, and `JSON.parse("1e999")` is Infinity.
      writer.add(Object.is(value, -0) ? "-0" : String(value));
      break;
    case "bigint":
      writer.add(`${value}n`);
      break;
    case "boolean":
    case "undefined":
      writer.add(String(value));
      break;
    default:
      throw new RangeError(`a ${typeof value} has no text`);
  }
}

function writeComposite(writer: Writer, value: object, depth: number): void {
  if (Array.isArray(value)) writeItems(writer, value, depth);
  else if (value instanceof Uint8Array) writeBytes(writer, value);
  else if (value instanceof Map || value instanceof Set) writeCollection(writer, value, depth);
  else writeObject(writer, value, depth);
}

function writeItems(writer: Writer, items: Iterable<unknown>, depth: number): void {
  // Parsers of tables put more than items into an array, and two such arrays would look the same.
  if (Array.isArray(items) && Object.keys(items).length !== items.length) throw new RangeError("more than items");
  writer.add("[");
  for (const item of items) {
    write(writer, item, depth + 1);
    writer.add(",");
  }
  writer.add("]");
}

/** JSON would write either as an empty object. */
function writeCollection(writer: Writer, collection: Map<unknown, unknown> | Set<unknown>, depth: number): void {
  writer.add(collection instanceof Map ? "Map" : "Set");
  writeItems(writer, collection, depth);
}

/** A multiple of 3: base64 needs no padding between two pieces. */
const BYTES_AT_ONCE = 48 * 1024;

/** JSON would write one number per byte. */
function writeBytes(writer: Writer, bytes: Uint8Array): void {
  writer.add("<");
  for (let at = 0; at < bytes.length; at += BYTES_AT_ONCE) {
    writer.add(Buffer.from(bytes.subarray(at, at + BYTES_AT_ONCE)).toString("base64"));
  }
  writer.add(">");
}

function writeObject(writer: Writer, value: object, depth: number): void {
  if (value instanceof Date) {
    writer.add(`=${JSON.stringify(value)}`);
    return;
  }
  // What it keeps from JSON would not count.
  if ("toJSON" in value && typeof value.toJSON === "function") throw new RangeError("an object with its own JSON");
  if (Object.getOwnPropertySymbols(value).length > 0) throw new RangeError("an object with symbols");
  const keys = Object.keys(value);
  // Streams, forms and files keep their contents elsewhere: all of them would look the same.
  if (keys.length === 0 && !isPlain(value)) throw new RangeError("an object without fields has no text");
  writeFields(writer, value as Readonly<Record<string, unknown>>, { keys, depth });
}

/** Whether an object has no class, in any realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function writeFields(
  writer: Writer,
  fields: Readonly<Record<string, unknown>>,
  { keys, depth }: { readonly keys: string[]; readonly depth: number },
): void {
  writer.add("{");
  for (const key of keys.sort()) {
    writer.add(`${JSON.stringify(key)}:`);
    write(writer, fields[key], depth + 1);
    writer.add(",");
  }
  writer.add("}");
}
