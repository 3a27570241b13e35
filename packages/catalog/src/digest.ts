/**
 * What of an entry is indexed, in one number: most registrations repeat the last one, and then no index is written.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { EntryChange } from "./store.js";

/** Differs when texts, terms, facets or vector do. */
export function digestOf({ texts, terms, facets, vector }: EntryChange): Buffer {
  return createHash("sha256")
    .update(JSON.stringify([texts, terms, facets]))
    .update(vector)
    .digest();
}
