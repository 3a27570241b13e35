/**
 * Reads a page of a list or of a search, whichever way its catalog numbers pages.
 *
 * @see x402 v2 §8
 * @module
 */
import { isJsonObject, type JsonObject } from "@farebox/core";
import type { CatalogEntry } from "./entry.js";
import { type EntryFilter, fitsFilter } from "./filter-entries.js";
import { readEntry } from "./read-entry.js";

/** One page, as it was understood. */
export interface DiscoveryPage {
  /** Those that are meant. */
  readonly entries: readonly CatalogEntry[];
  /** How many there were on the page that could not be read. */
  readonly skipped: number;
  /** How many there were that were not asked for, because the catalog ignored a filter. */
  readonly filtered: number;
  /** How many fit in all, by the catalog's count. */
  readonly total?: number;
  readonly limit?: number;
  readonly offset?: number;
  /** For the next page. */
  readonly cursor?: string;
  /** Whether a search may have left out some that fit. */
  readonly isPartial: boolean;
}

/** A page, and the keys of all that is on it, meant or not: a page without a new one is the last. */
export interface ReadPage {
  readonly page: DiscoveryPage;
  readonly keys: readonly string[];
}

/** What tells entries apart. */
export function keyOf({ resource, toolName = "" }: CatalogEntry): string {
  return `${resource} ${toolName}`;
}

/** Reads an answer; `undefined` when it has no list of entries. Total. */
export function readPage(json: unknown, filter: EntryFilter): ReadPage | undefined {
  if (!isJsonObject(json)) return undefined;
  const listed = [json["items"], json["resources"]].find(Array.isArray);
  if (listed === undefined) return undefined;
  const read = listed.map(readEntry).filter((entry) => entry !== undefined);
  const entries = read.filter((entry) => fitsFilter(entry, filter));
  const page: DiscoveryPage = {
    entries,
    skipped: listed.length - read.length,
    filtered: read.length - entries.length,
    ...readPagination(json),
    isPartial: json["partialResults"] === true,
  };
  return { page, keys: read.map(keyOf) };
}

/** Some catalogs have an object of pagination, some the fields beside the list, some nothing. */
function readPagination(json: JsonObject): Pick<DiscoveryPage, "total" | "limit" | "offset" | "cursor"> {
  const pagination = isJsonObject(json["pagination"]) ? json["pagination"] : {};
  const fieldOf = (name: string): unknown => pagination[name] ?? json[name];
  const numbers = (["total", "limit", "offset"] as const).flatMap((name) => {
    const number = fieldOf(name);
    return Number.isSafeInteger(number) && (number as number) >= 0 ? [[name, number]] : [];
  });
  const cursor = fieldOf("cursor");
  const isCursor = typeof cursor === "string" && cursor !== "" && cursor.length <= 8_192;
  return { ...Object.fromEntries(numbers), ...(isCursor ? { cursor } : {}) };
}
