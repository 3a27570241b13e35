/**
 * How large and how deep a document of a stranger's may be, before anything else looks at it.
 *
 * @module
 */

/** Bounds of a document. */
export interface JsonLimits {
  /** Bytes of its JSON. */
  readonly bytes: number;
  readonly depth: number;
  /** Objects, lists and plain values together. */
  readonly values: number;
}

/** Names that mean something to every object of JavaScript, in whose place a catalog's readers would find a stranger's. */
const PROTOTYPE_KEYS = new Set(["__proto__", "constructor", "prototype"]);
const MAX_KEY_LENGTH = 128;

/** Half of a character: databases refuse it, and so does UTF-8. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Says what is wrong with a document, in words that follow its name; `undefined` when nothing is. Total, also for values
 * that JSON has no words for and for objects that hold themselves.
 */
export function problemOfJson(value: unknown, limits: JsonLimits): string | undefined {
  try {
    return problemOf(value, 0, { ...limits, left: limits.values }) ?? problemOfSize(value, limits.bytes);
  } catch {
    return "cannot be read";
  }
}

interface Walk extends JsonLimits {
  left: number;
}

function problemOf(value: unknown, depth: number, walk: Walk): string | undefined {
  walk.left -= 1;
  if (walk.left < 0) return `has more than ${walk.values} values`;
  if (depth > walk.depth) return `is nested deeper than ${walk.depth} levels`;
  if (typeof value === "string") return problemOfText(value);
  if (value === null || typeof value === "boolean") return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "has a number that JSON cannot write";
  // In this process a field may be there and undefined; JSON leaves it out.
  if (value === undefined) return undefined;
  if (typeof value !== "object") return "has a value that JSON cannot write";
  if (Array.isArray(value)) return firstProblem(value, (item) => problemOf(item, depth + 1, walk));
  return firstProblem(Object.entries(value), ([key, field]) => problemOfKey(key) ?? problemOf(field, depth + 1, walk));
}

function problemOfKey(key: string): string | undefined {
  if (PROTOTYPE_KEYS.has(key)) return `has a key ${key}`;
  if (key.length > MAX_KEY_LENGTH) return `has a key longer than ${MAX_KEY_LENGTH} characters`;
  return problemOfText(key);
}

function problemOfText(text: string): string | undefined {
  return text.includes("\0") || LONE_SURROGATE.test(text) ? "has a text that is not well-formed" : undefined;
}

function problemOfSize(value: unknown, limit: number): string | undefined {
  return Buffer.byteLength(JSON.stringify(value) ?? "", "utf8") > limit ? `is longer than ${limit} bytes` : undefined;
}

function firstProblem<T>(items: readonly T[], look: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const problem = look(item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
