/**
 * Reads an entry of anybody's catalog, whichever version and whichever dialect it is written in.
 *
 * @see x402 v2 §8, x402 v1 "Discovery"
 * @module
 */
import { isJsonObject, type JsonObject } from "@farebox/core";
import { problemOfJson } from "../facilitator/json-limits.js";
import type { CatalogEntry, EntryOffer, EntryType } from "./entry.js";

/** An entry longer or deeper than this is none. */
const LIMITS = { bytes: 64 * 1_024, depth: 40, values: 10_000 };
const MAX_TEXT = 4_096;
const AMOUNT = /^\d{1,78}$/;

/** Yields an entry with every field that readers look for; `undefined` when it cannot be one. Total. */
export function readEntry(json: unknown): CatalogEntry | undefined {
  if (!isJsonObject(json) || problemOfJson(json, LIMITS) !== undefined) return undefined;
  const { resource, x402Version, lastUpdated, metadata, extensions } = json;
  const found = readDiscoveryInfo(json);
  const type = readType(json, found);
  if (!isText(resource) || resource === "" || type === undefined) return undefined;
  const accepts = offersIn(json).flatMap((offer) => readOffer(offer, { resource, info: found, entry: json }) ?? []);
  if (accepts.length === 0) return undefined;
  return {
    resource,
    type,
    x402Version: typeof x402Version === "number" ? x402Version : 1,
    accepts,
    lastUpdated: readTime(lastUpdated),
    metadata: isJsonObject(metadata) ? metadata : {},
    ...texts(json, ["description", "mimeType", "serviceName", "iconUrl", "routeTemplate"]),
    ...readTags(json["tags"]),
    ...(isJsonObject(extensions) ? { extensions } : {}),
    ...(found === undefined ? {} : { discoveryInfo: found }),
    ...readNames(type, json, found),
  };
}

/** Where catalogs keep what goes in and what comes out, the most explicit first. */
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
  const said = type ?? inputOf(info)["type"];
  if (said === "http" || said === "mcp") return said;
  if (said !== undefined || typeof resource !== "string") return undefined;
  return resource.startsWith("mcp:") ? "mcp" : "http";
}

/** A catalog may have one offer without a list around it. */
function offersIn({ accepts }: JsonObject): readonly unknown[] {
  return Array.isArray(accepts) ? accepts : [accepts];
}

interface Surroundings {
  readonly resource: string;
  readonly info: JsonObject | undefined;
  readonly entry: JsonObject;
}

function readOffer(json: unknown, { resource, info, entry }: Surroundings): EntryOffer | undefined {
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

/** Some catalogs write numbers; those that are exact are taken. */
function readAmount(amount: unknown): string | undefined {
  const text = typeof amount === "number" && Number.isSafeInteger(amount) ? String(amount) : amount;
  return typeof text === "string" && AMOUNT.test(text) ? text : undefined;
}

/** ISO 8601, or Unix time in seconds or milliseconds as the specification's table has it; 1970 when nothing is said. */
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
  const fit = names.filter((name) => isText(json[name]));
  return Object.fromEntries(fit.map((name) => [name, json[name]])) as { readonly [Key in Name]?: string };
}

function firstText(...values: readonly unknown[]): string {
  return values.find(isText) ?? "";
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_TEXT;
}
