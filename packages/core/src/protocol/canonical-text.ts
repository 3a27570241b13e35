/**
 * Canonical text: equal values yield the same text, in any order of their keys.
 *
 * @module
 */

/** A deeper value may be circular. */
const MAX_DEPTH = 200;

/**
 * Writes a value like JSON, with sorted keys. Stops soon after the limit.
 *
 * @param limit - Characters.
 * @throws the error of a getter, or a RangeError for a value that is too deep or has too many keys
 */
export function toCanonicalText(value: unknown, limit: number): string {
  const writer = { text: "", limit };
  write(writer, value, 0);
  return writer.text;
}

interface Writer {
  text: string;
  readonly limit: number;
}

/** Each call writes something, so circular and endless values reach the limit, too. */
function write(writer: Writer, value: unknown, depth: number): void {
  if (writer.text.length > writer.limit) return;
  if (depth > MAX_DEPTH) throw new RangeError("nested too deeply");
  if (typeof value === "object" && value !== null) writeComposite(writer, value, depth);
  else if (typeof value === "bigint") writer.text += `${value}n`;
  else writer.text += JSON.stringify(typeof value === "string" ? value.slice(0, writer.limit) : value) ?? "undefined";
}

function writeComposite(writer: Writer, value: object, depth: number): void {
  if (Array.isArray(value)) writeItems(writer, value, depth);
  else if (value instanceof Uint8Array) writeBytes(writer, value);
  else if (value instanceof Map || value instanceof Set) writeCollection(writer, value, depth);
  else writeObject(writer, value, depth);
}

function writeItems(writer: Writer, items: readonly unknown[], depth: number): void {
  writer.text += "[";
  for (const item of items) {
    write(writer, item, depth + 1);
    writer.text += ",";
    if (writer.text.length > writer.limit) return;
  }
  writer.text += "]";
}

/** JSON would write either as an empty object. */
function writeCollection(writer: Writer, collection: Map<unknown, unknown> | Set<unknown>, depth: number): void {
  writer.text += collection instanceof Map ? "Map" : "Set";
  writeItems(writer, [...collection], depth);
}

/** JSON would write one number per byte. */
function writeBytes(writer: Writer, bytes: Uint8Array): void {
  writer.text += `<${Buffer.from(bytes.subarray(0, writer.limit)).toString("base64")}>`;
}

function writeObject(writer: Writer, value: object, depth: number): void {
  if (!("toJSON" in value) || typeof value.toJSON !== "function") {
    writeFields(writer, value as Readonly<Record<string, unknown>>, depth);
    return;
  }
  writer.text += "=";
  write(writer, value.toJSON(), depth + 1);
}

function writeFields(writer: Writer, fields: Readonly<Record<string, unknown>>, depth: number): void {
  const keys = Object.keys(fields);
  if (keys.length > writer.limit) throw new RangeError("too many keys");
  writer.text += "{";
  for (const key of keys.sort()) {
    writer.text += `${JSON.stringify(key)}:`;
    write(writer, fields[key], depth + 1);
    writer.text += ",";
    if (writer.text.length > writer.limit) return;
  }
  writer.text += "}";
}
