/**
 * Limits for an untrusted document, checked before anything else reads it: its size, its depth, its keys, and the
 * references in its schemas. A seller learns at start of a declaration that breaks them.
 *
 * @module
 */

/** Bounds of a document. */
export interface JsonLimits {
  /** Length as JSON. */
  readonly bytes: number;
  readonly depth: number;
  /** Objects, lists and plain values together. */
  readonly values: number;
}

/** Of a declaration, as a catalog takes it. */
export const DECLARATION_LIMITS: JsonLimits = { bytes: 16 * 1_024, depth: 24, values: 2_000 };

/** Length of a resource's URL. */
export const MAX_URL = 2_048;

/** As keys these names could replace the built-in properties of JavaScript objects in a client of the catalog. */
const PROTOTYPE_KEYS = new Set(["__proto__", "constructor", "prototype"]);
const MAX_KEY_LENGTH = 128;

/** Neither databases nor UTF-8 accept half of a surrogate pair. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Why a catalog refuses a declaration as a document, as the rest of a sentence after its name; `undefined` for a valid one. */
export function problemOfDeclaration(declaration: unknown): string | undefined {
  return problemOfJson(declaration, DECLARATION_LIMITS) ?? problemOfReferences(declaration);
}

/**
 * Describes what is wrong with a document, as the rest of a sentence after its name; `undefined` for a valid one. Never throws,
 * not even for a circular object or a value that JSON cannot write.
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
  // JSON leaves out a field that is undefined.
  if (value === undefined) return undefined;
  if (typeof value !== "object") return "has a value that JSON cannot write";
  if (Array.isArray(value)) return firstProblem(value, (item) => problemOf(item, depth + 1, walk));
  return firstProblem(Object.entries(value), ([key, field]) => problemOfKey(key) ?? problemOf(field, depth + 1, walk));
}

/** Why a catalog refuses a key, as the end of a sentence. */
export function problemOfKey(key: string): string | undefined {
  if (PROTOTYPE_KEYS.has(key)) return `has a key ${key}`;
  if (key.length > MAX_KEY_LENGTH) return `has a key longer than ${MAX_KEY_LENGTH} characters`;
  return problemOfText(key);
}

/** Why a catalog refuses a text, as the end of a sentence. */
export function problemOfText(text: string): string | undefined {
  return text.includes("\0") || LONE_SURROGATE.test(text) ? "has a text that is not well-formed" : undefined;
}

function problemOfSize(value: unknown, limit: number): string | undefined {
  const bytes = Buffer.byteLength(JSON.stringify(value) ?? "", "utf8");
  return bytes > limit ? `has ${bytes} bytes, more than ${limit}` : undefined;
}

function firstProblem<T>(items: readonly T[], look: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const problem = look(item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Keywords that name a schema, so that other schemas could refer to it. */
const NAMES = ["$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"];
const REFERENCES = ["$ref", "$dynamicRef", "$recursiveRef"];

/**
 * Finds a keyword that names a schema or refers out of the document, at any depth. A reader that resolved such a reference would
 * fetch a URL that the sender chose.
 */
function problemOfReferences(value: unknown): string | undefined {
  if (Array.isArray(value)) return firstProblem(value, problemOfReferences);
  if (typeof value !== "object" || value === null) return undefined;
  return firstProblem(
    Object.entries(value),
    ([key, field]) => problemOfKeyword(key, field) ?? problemOfReferences(field),
  );
}

function problemOfKeyword(key: string, field: unknown): string | undefined {
  // A described property may have any name. Only a text, or the value of `$vocabulary`, makes it a keyword.
  if (NAMES.includes(key) && (typeof field === "string" || key === "$vocabulary")) return `has a ${key}`;
  if (!REFERENCES.includes(key) || typeof field !== "string") return undefined;
  if (key !== "$ref") return `has a ${key}`;
  return field === "#" || field.startsWith("#/") ? undefined : "has a $ref to another document";
}
