/**
 * Collects the mistakes in a configuration, so that a seller sees all of them at once.
 *
 * @module
 */
import { ConfigError, type ConfigIssue, describeValue } from "./errors.js";
import { isJsonObject, type JsonObject } from "./protocol/json.js";
import { nearestName } from "./typos.js";

/** A list of issues, thrown together at the end. */
export interface Issues {
  readonly found: readonly ConfigIssue[];
  /** Adds an issue. `received` is shortened. */
  add(path: string, expected: string, received: unknown): void;
  /** Adds an issue with `received` as written, for cases without a value to describe. */
  addText(path: string, expected: string, received: string): void;
  /** Adds an issue with a value that may hold a key: an object or array is shown as `{}` or `[]`. */
  addOutline(path: string, expected: string, received: unknown): void;
  /** Reads a whole number. Returns `range.usual` for `undefined`, and with an issue for any other value outside the range. */
  readNumber(path: string, value: unknown, range: NumberRange): number;
  /** Adds an issue for each key of `value` that is not in `known`, or one for `value` if it is not an object. */
  checkKeys(path: string, value: unknown, known: readonly string[]): value is JsonObject;
  /** @throws {@link ConfigError} when there are issues */
  throwIfAny(): void;
}

/** The whole numbers that an option accepts, both ends included. */
export interface NumberRange {
  readonly least: number;
  readonly most: number;
  /** The default. */
  readonly usual: number;
  /** The unit, e.g. `milliseconds`, for the message. */
  readonly unit?: string;
}

/** A longer key may be a misplaced secret. */
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
        addText(issuePath(path, name), expectedKey(name, known), "an unknown key");
      }
      return true;
    },
    throwIfAny() {
      if (found.length > 0) throw new ConfigError(found);
    },
  };
}

/** With a guess, the other keys are of little use. */
const MAX_KEYS_SHOWN = 5;

function expectedKey(name: string, known: readonly string[]): string {
  const meant = nearestName(name, known);
  if (meant === undefined) return `one of the keys ${known.join(", ")}`;
  const others = known.filter((key) => key !== meant);
  const more = others.length - MAX_KEYS_SHOWN;
  const shown = others.slice(0, more > 1 ? MAX_KEYS_SHOWN : others.length).join(", ");
  const rest = more > 1 ? ` and ${more} more` : "";
  return `a known key: did you mean ${meant}?${shown === "" ? "" : ` Known: ${shown}${rest}`}`;
}

function outlineOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  try {
    return Array.isArray(value) ? [] : {};
  } catch {
    // A revoked proxy.
    return {};
  }
}

/** Appends a key to a path, as in code: `routes["GET /x"].accepts[0].price`. */
export function issuePath(path: string, key: string | number): string {
  if (typeof key === "number") return `${path}[${key}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}
