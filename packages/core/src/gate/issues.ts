/**
 * Collects everything that is wrong with a configuration, so that a seller sees it all at once.
 *
 * @module
 */
import { ConfigError, type ConfigIssue, describeValue } from "../errors.js";
import { isJsonObject, type JsonObject } from "../protocol/json.js";

/** A list of issues to add to and, at the end, to throw. */
export interface Issues {
  /** Notes one issue. `received` is described, not quoted in full. */
  add(path: string, expected: string, received: unknown): void;
  /** Notes one issue where there is no value to describe: `found` is said as it is. */
  addText(path: string, expected: string, found: string): void;
  /** Notes every key of `value` that is not one of `known`, and `value` itself when it is no object. */
  checkKeys(path: string, value: unknown, known: readonly string[]): value is JsonObject;
  /** @throws {@link ConfigError} when anything was noted. */
  throwIfAny(): void;
}

/** Starts an empty list. */
export function createIssues(): Issues {
  const issues: ConfigIssue[] = [];
  const addText: Issues["addText"] = (path, expected, received) => {
    issues.push({ path, expected, received });
  };
  const add: Issues["add"] = (path, expected, received) => addText(path, expected, describeValue(received));
  return {
    add,
    addText,
    checkKeys(path, value, known): value is JsonObject {
      if (!isJsonObject(value)) {
        add(path, "an object", value);
        return false;
      }
      for (const key of Object.keys(value)) {
        if (!known.includes(key)) addText(join(path, key), `one of the keys ${known.join(", ")}`, "an unknown key");
      }
      return true;
    },
    throwIfAny() {
      if (issues.length > 0) throw new ConfigError(issues);
    },
  };
}

/** Writes a path the way it would be written in code: `routes["GET /x"].accepts[0].price`. */
export function join(path: string, key: string | number): string {
  if (typeof key === "number") return `${path}[${key}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}
