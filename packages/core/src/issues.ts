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
  /** Notes every key of `value` that is not one of `known`, and `value` itself when it is no object. */
  checkKeys(path: string, value: unknown, known: readonly string[]): value is JsonObject;
  /** @throws {@link ConfigError} when anything was noted. */
  throwIfAny(): void;
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
  return {
    found,
    add,
    addText,
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

/** Writes a path the way it would be written in code: `routes["GET /x"].accepts[0].price`. */
export function join(path: string, key: string | number): string {
  if (typeof key === "number") return `${path}[${key}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}
