/**
 * The entries that stores are tested with.
 *
 * @module
 */
import type { CatalogStore, EntryChange, EntryTexts } from "../store.js";

/** Facets. */
export const ALL = 1;
export const EVEN = 2;
export const ODD = 3;
/** The largest that a facet can be. */
export const LARGE = 2 ** 48 - 1;

/** A change of which only the texts matter. */
export function change(description: string, changes: Partial<EntryChange> = {}): EntryChange {
  const texts: EntryTexts = { name: "", description, parameters: "", other: "" };
  const terms = [...new Set(description.split(" "))];
  return {
    service: description,
    updatedMs: 1_769_860_800_007,
    texts,
    terms,
    facets: [ALL],
    vector: vector(1),
    ...changes,
  };
}

export function vector(first: number): Int8Array {
  return Int8Array.from({ length: 100 }, (_, at) => (at === 0 ? first : -at));
}

export const keyAt = (at: number) => ({ resource: `https://a.example/${at}`, toolName: "" });

/** `service 0` to `service 9`: even and odd ones, the last with the largest facet. */
export async function registerTen(store: CatalogStore): Promise<void> {
  for (let at = 0; at < 10; at++) {
    const facets = [ALL, at % 2 === 0 ? EVEN : ODD, ...(at === 9 ? [LARGE] : [])];
    await store.update(keyAt(at), () => change(`service ${at}`, { facets, vector: vector(at - 5) }));
  }
}
