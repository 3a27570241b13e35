/**
 * References in a stranger's schema: only those that stay inside the document.
 *
 * @module
 */

/** What gives a schema a name that others could refer to, or sends a reader elsewhere. */
const NAMES = ["$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary"];
const REFERENCES = ["$ref", "$dynamicRef", "$recursiveRef"];

/**
 * Says which keyword of a document, at any depth, names it or leads out of it. Whoever resolved such a reference would
 * ask a server of the stranger's choice.
 */
export function problemOfReferences(value: unknown): string | undefined {
  if (Array.isArray(value)) return first(value, problemOfReferences);
  if (typeof value !== "object" || value === null) return undefined;
  return first(Object.entries(value), ([key, field]) => problemOfKeyword(key, field) ?? problemOfReferences(field));
}

function problemOfKeyword(key: string, field: unknown): string | undefined {
  // A property of a thing that is described may have any name; only text, and what `$vocabulary` has, is a keyword's.
  if (NAMES.includes(key) && (typeof field === "string" || key === "$vocabulary")) return `has a ${key}`;
  if (!REFERENCES.includes(key) || typeof field !== "string") return undefined;
  if (key !== "$ref") return `has a ${key}`;
  return field === "#" || field.startsWith("#/") ? undefined : "has a $ref to another document";
}

function first<T>(items: readonly T[], look: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const problem = look(item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
