/**
 * What a failed request says in code.
 *
 * @module
 */

/** The system's code, which may be hidden one or more causes deep, or else the name of the error: never its message. */
export function causeCode(error: unknown): string {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if ("code" in at && typeof at.code === "string") return at.code;
  }
  return error instanceof Error ? error.name : "unknown";
}
