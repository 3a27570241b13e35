/**
 * Cursors: where the next page begins, written so that nothing which is registered meanwhile shifts it.
 *
 * @module
 */

const LIST = /^l\.([0-9a-z]{1,10})$/;
const SEARCH = /^s(?:\.[0-9a-z]{1,10}){1,200}$/;

/** A cursor of the list is the id of the last entry that was given. */
export function writeListCursor(id: number): string {
  return `l.${id.toString(36)}`;
}

/** Reads a cursor of the list; `undefined` for every other text. */
export function readListCursor(text: string): number | undefined {
  const [, id] = LIST.exec(text) ?? [];
  return id === undefined ? undefined : Number.parseInt(id, 36);
}

/** A cursor of a search has the ids that are still to come: what was ranked once keeps its rank. */
export function writeSearchCursor(ids: readonly number[]): string {
  return ["s", ...ids.map((id) => id.toString(36))].join(".");
}

/** Reads a cursor of a search; `undefined` for every other text. */
export function readSearchCursor(text: string): readonly number[] | undefined {
  if (!SEARCH.test(text)) return undefined;
  return text
    .split(".")
    .slice(1)
    .map((id) => Number.parseInt(id, 36));
}
