/**
 * Collects everything that is wrong with a configuration, so that a seller sees it all at once.
 *
 * @module
 */
import { ConfigError, type ConfigIssue, describeValue } from "./errors.js";
import { isJsonObject, type JsonObject } from "./protocol/json.js";

/** A list of issues to add to and, at the end, to throw. */
export interface Issues {
  readonly found: readonly ConfigIssue[];
  /** Notes one issue. `received` is described, not quoted in full. */
  add(path: string, expected: string, received: unknown): void;
  /** Notes one issue where there is no value to describe: `received` is said as it is. */
  addText(path: string, expected: string, received: string): void;
  /** Notes one issue with a value that may hold a key: of an object or an array, only that it is one is said. */
  addOutline(path: string, expected: string, received: unknown): void;
  /** Reads a whole number. Notes what is none, or out of range; then, as when nothing is said, yields the usual one. */
  readNumber(path: string, value: unknown, range: NumberRange): number;
  /** Notes every key of `value` that is not one of `known`, and `value` itself when it is no object. */
  checkKeys(path: string, value: unknown, known: readonly string[]): value is JsonObject;
  /** @throws {@link ConfigError} when anything was noted. */
  throwIfAny(): void;
}

/** Which whole numbers an option may be, both ends included. */
export interface NumberRange {
  readonly least: number;
  readonly most: number;
  /** What it is when nothing is said. */
  readonly usual: number;
  /** What is counted, e.g. `milliseconds`, to be said besides. */
  readonly unit?: string;
}

/** A longer key may be a secret in the wrong place. */
const MAX_KEY = 60;

/** Starts an empty list. */
export function createIssues(): Issues {
  const found: ConfigIssue[] = [];
  const addText: Issues["addText"] = (path, expected, received) => {
    found.push({ path, expected, received });
  };
  const add: Issues["add"] = (path, expected, received) => addText(path, expected, describeValue(received));
  const addOutline: Issues["addOutline"] = (path, expected, received) => add(path, expected, outlineOf(received));
  return {
    found,
    add,
    addText,
    addOutline,
    readNumber(path, value, { least, most, usual, unit }) {
      if (value === undefined) return usual;
      if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
      const kind = unit === undefined ? "a whole number" : `a whole number of ${unit}`;
      addOutline(path, `${kind} from ${least} to ${most}`, value);
      return usual;
    },
    checkKeys(path, value, known): value is JsonObject {
      if (!isJsonObject(value)) {
        add(path, "an object", value);
        return false;
      }
      for (const key of Object.keys(value)) {
        if (known.includes(key)) continue;
        const name = key.length > MAX_KEY ? "…" : key;
        addText(join(path, name), `one of the keys ${known.join(", ")}`, "an unknown key");
      }
      return true;
    },
    throwIfAny() {
      if (found.length > 0) throw new ConfigError(found);
    },
  };
}

function outlineOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  try {
    return Array.isArray(value) ? [] : {};
  } catch {
    // A proxy that is revoked.
    return {};
  }
}

/** Writes a path the way it would be written in code: `routes["GET /x"].accepts[0].price`. */
export function join(path: string, key: string | number): string {
  if (typeof key === "number") return `${path}[${key}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}
