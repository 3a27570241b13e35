/**
 * Reads a page of a catalog and the entries on it, in the dialect of any catalog.
 *
 * @see x402 v2 §8, x402 v1 "Discovery"
 * @module
 */
import type { JsonObject } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";
import { problemOfJson } from "../document-limits.js";
import { isOfferAmount } from "./amount.js";
import {
  type CatalogEntry,
  type EntryFilter,
  type EntryMethod,
  type EntryOffer,
  type EntryType,
  matchesFilter,
} from "./entry.js";

/** One page of a list or a search. */
export interface DiscoveryPage {
  /** Entries that match the query. */
  readonly entries: readonly CatalogEntry[];
  /** Number of entries on the page that could not be read. */
  readonly skipped: number;
  /** Number of entries that do not match the query, because the catalog ignored a filter. */
  readonly filtered: number;
  /** Number of matching entries on all pages, by the catalog's count. */
  readonly total?: number;
  readonly limit?: number;
  readonly offset?: number;
  /** Requests the next page. */
  readonly cursor?: string;
  /** Whether a search may have left out matching entries. */
  readonly isPartial: boolean;
}

/** A page, and the keys of all entries on it, matching or not. A page without a new key is the last. */
export interface ReadPage {
  readonly page: DiscoveryPage;
  readonly keys: readonly string[];
}

/** Identifies an entry within a catalog. */
export function keyOf({ resource, toolName = "" }: CatalogEntry): string {
  return `${resource} ${toolName}`;
}

/** Reads a response; `undefined` when it has no list of entries. Never throws. */
export function readPage(json: unknown, filter: EntryFilter): ReadPage | undefined {
  if (!isJsonObject(json)) return undefined;
  const listed = [json["items"], json["resources"]].find(Array.isArray);
  if (listed === undefined) return undefined;
  const read = listed.map(readEntry).filter((entry) => entry !== undefined);
  const entries = read.filter((entry) => matchesFilter(entry, filter));
  const page: DiscoveryPage = {
    entries,
    skipped: listed.length - read.length,
    filtered: read.length - entries.length,
    ...readPagination(json),
    isPartial: json["partialResults"] === true,
  };
  return { page, keys: read.map(keyOf) };
}

/** Catalogs keep these fields in `pagination`, beside the list, or not at all. */
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

/** A longer or deeper entry is not read. Six methods on three networks take up to 100 KB. */
const LIMITS = { bytes: 256 * 1_024, depth: 40, values: 20_000 };
const MAX_METHODS = 16;
const MAX_TEXT = 4_096;

/** Reads an entry of any version; `undefined` when the JSON is not an entry. Never throws. */
export function readEntry(json: unknown): CatalogEntry | undefined {
  if (!isJsonObject(json) || problemOfJson(json, LIMITS) !== undefined) return undefined;
  const { resource, x402Version, lastUpdated, metadata, extensions } = json;
  const found = readDiscoveryInfo(json);
  const type = readType(json, found);
  if (!isText(resource) || resource === "" || type === undefined) return undefined;
  const accepts = readOffers(json, resource, found);
  if (accepts.length === 0) return undefined;
  return {
    resource,
    type,
    x402Version: typeof x402Version === "number" ? x402Version : 1,
    accepts,
    lastUpdated: readTime(lastUpdated),
    metadata: isJsonObject(metadata) ? metadata : {},
    ...texts(json, ["description", "mimeType", "serviceName", "iconUrl", "routeTemplate", "serverUrl"]),
    ...readTags(json["tags"]),
    ...(isJsonObject(extensions) ? { extensions } : {}),
    ...(found === undefined ? {} : { discoveryInfo: found }),
    ...readNames(type, json, found),
    ...(type === "http" ? readMethods(json["methods"], resource) : {}),
    ...readVerified(json),
  };
}

/** Methods that cannot be read are left out. */
function readMethods(methods: unknown, resource: string): Pick<CatalogEntry, "methods"> {
  if (!Array.isArray(methods)) return {};
  const read = methods.slice(0, MAX_METHODS).flatMap((method) => readMethod(method, resource) ?? []);
  return read.length === 0 ? {} : { methods: read };
}

function readMethod(json: unknown, resource: string): EntryMethod | undefined {
  if (!isJsonObject(json) || !isText(json["method"])) return undefined;
  const found = readDiscoveryInfo(json);
  const accepts = readOffers(json, resource, found);
  if (found === undefined || accepts.length === 0) return undefined;
  const { method, lastUpdated, extensions } = json;
  return {
    method,
    accepts,
    ...texts(json, ["description", "mimeType"]),
    discoveryInfo: found,
    extensions: isJsonObject(extensions) ? extensions : {},
    lastUpdated: readTime(lastUpdated),
  };
}

function readVerified({ verified, verifiedAt }: JsonObject): Pick<CatalogEntry, "verified" | "verifiedAt"> {
  if (typeof verified !== "boolean") return {};
  return { verified, ...(verifiedAt === undefined ? {} : { verifiedAt: readTime(verifiedAt) }) };
}

/** Input and output of the service: catalogs keep them in one of three fields, the most explicit first. */
function readDiscoveryInfo({ discoveryInfo, extensions, accepts }: JsonObject): JsonObject | undefined {
  const bazaar = isJsonObject(extensions) ? extensions["bazaar"] : undefined;
  const info = isJsonObject(bazaar) ? bazaar["info"] : undefined;
  const [first] = Array.isArray(accepts) ? accepts : [accepts];
  const outputSchema = isJsonObject(first) ? first["outputSchema"] : undefined;
  return [discoveryInfo, info, outputSchema].find((some) => isJsonObject(some) && isJsonObject(some["input"])) as
    | JsonObject
    | undefined;
}

function inputOf(info: JsonObject | undefined): JsonObject {
  const input = info?.["input"];
  return isJsonObject(input) ? input : {};
}

function readType({ type, resource }: JsonObject, info: JsonObject | undefined): EntryType | undefined {
  const declared = type ?? inputOf(info)["type"];
  if (declared === "http" || declared === "mcp") return declared;
  if (declared !== undefined || typeof resource !== "string") return undefined;
  return resource.startsWith("mcp:") ? "mcp" : "http";
}

/** Some catalogs write a single offer without a list. */
function readOffers(json: JsonObject, resource: string, info: JsonObject | undefined): readonly EntryOffer[] {
  const { accepts } = json;
  const offers: readonly unknown[] = Array.isArray(accepts) ? accepts : [accepts];
  return offers.flatMap((offer) => readOffer(offer, resource, json, info) ?? []);
}

/** Fields that an offer lacks are those of its entry. */
function readOffer(
  json: unknown,
  resource: string,
  entry: JsonObject,
  info: JsonObject | undefined,
): EntryOffer | undefined {
  if (!isJsonObject(json)) return undefined;
  const { scheme, network, asset, payTo, maxTimeoutSeconds, extra, outputSchema } = json;
  const amount = readAmount(json["amount"] ?? json["maxAmountRequired"]);
  if (!isText(scheme) || !isText(network) || !isText(asset) || !isText(payTo) || amount === undefined) return undefined;
  const schema = isJsonObject(outputSchema) ? outputSchema : { input: info?.["input"], output: info?.["output"] };
  return {
    scheme,
    network,
    asset,
    payTo,
    amount,
    maxAmountRequired: amount,
    maxTimeoutSeconds: typeof maxTimeoutSeconds === "number" ? maxTimeoutSeconds : 0,
    resource: isText(json["resource"]) ? json["resource"] : resource,
    description: firstText(json["description"], entry["description"]),
    mimeType: firstText(json["mimeType"], entry["mimeType"]),
    outputSchema: { input: isJsonObject(schema["input"]) ? schema["input"] : null, output: schema["output"] ?? null },
    extra: isJsonObject(extra) ? extra : {},
  };
}

/** Some catalogs write numbers; a safe integer is exact. */
function readAmount(amount: unknown): string | undefined {
  const text = typeof amount === "number" && Number.isSafeInteger(amount) ? String(amount) : amount;
  return isOfferAmount(text) ? text : undefined;
}

/** ISO 8601, or Unix time in seconds or milliseconds as in the specification's table; 1970 without a valid time. */
function readTime(time: unknown): string {
  const number = typeof time === "number" ? (time < 1e11 ? time * 1_000 : time) : undefined;
  const date = new Date(number ?? (typeof time === "string" ? time : 0));
  return Number.isNaN(date.getTime()) ? new Date(0).toISOString() : date.toISOString();
}

function readTags(tags: unknown): { readonly tags?: readonly string[] } {
  const texts = Array.isArray(tags) ? tags.filter(isText) : [];
  return texts.length === 0 ? {} : { tags: texts };
}

function readNames(
  type: EntryType,
  { method, toolName }: JsonObject,
  info: JsonObject | undefined,
): Pick<CatalogEntry, "method" | "toolName"> {
  const input = inputOf(info);
  if (type === "http") return texts({ method: method ?? input["method"] }, ["method"]);
  return texts({ toolName: toolName ?? input["toolName"] ?? input["tool"] }, ["toolName"]);
}

function texts<Name extends string>(json: JsonObject, names: readonly Name[]): { readonly [Key in Name]?: string } {
  const present = names.filter((name) => isText(json[name]));
  return Object.fromEntries(present.map((name) => [name, json[name]])) as { readonly [Key in Name]?: string };
}

function firstText(...values: readonly unknown[]): string {
  return values.find(isText) ?? "";
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_TEXT;
}
