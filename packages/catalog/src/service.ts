/**
 * A listed service: the declarations of all payments for it, merged by method.
 *
 * @module
 */
import {
  BAZAAR,
  type CatalogEntry,
  dollarsOf,
  type EntryMethod,
  type EntryOffer,
  outputSchemaOf,
  type RegisteredOffer,
  type Registration,
} from "@farebox/bazaar/facilitator";
import type { JsonObject } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";
import type { StoredEntry } from "./store.js";

/** The service as stored. */
export interface Service extends Pick<Registration, "type" | "resource" | "toolName"> {
  /** In a fixed order, whichever was paid for last. An MCP tool has one, without a name. */
  readonly methods: readonly ServiceMethod[];
  /** Milliseconds since 1970. Absent: the owner of the URL has not confirmed the entry. */
  readonly verifiedMs?: number;
}

/** One method, as its last payment declares it. Each payment is for one offer; `offers` collects them. */
export interface ServiceMethod extends Omit<Registration, "type" | "resource" | "toolName" | "offer"> {
  readonly offers: readonly RegisteredOffer[];
  /** Milliseconds since 1970. */
  readonly updatedMs: number;
}

/** The first version stored the declaration of the last payment, with the offers of all. */
type FormerService = Omit<Registration, "offer"> & Pick<ServiceMethod, "offers">;

/** Reads a stored service, also of the first version. */
export function readService({ service, updatedMs }: StoredEntry): Service {
  const stored = JSON.parse(service) as Service | FormerService;
  if ("methods" in stored) return stored;
  const { type, resource, toolName, ...declared } = stored;
  return { type, resource, toolName, methods: [{ ...declared, updatedMs }] };
}

/** The offers of all methods. */
export function offersOf({ methods }: Service): readonly RegisteredOffer[] {
  return methods.flatMap(({ offers }) => offers);
}

/** A service after one more registration, or why the registration is refused. */
export type Merged = { readonly ok: true; readonly service: Service } | { readonly ok: false; readonly reason: string };

/** Most offers of one method. The oldest go first. */
const MAX_OFFERS = 16;

/**
 * Merges a registration into a listed service. Anyone can claim a resource, and a payment proves only its payee. So a payee
 * that is listed may change everything. A new payee on another family of networks only adds an offer or a method. Any other
 * registration is refused. No server has confirmed any of this, so the service does not say where its server is.
 */
export function mergeService(
  listed: Service | undefined,
  { serverUrl: _, ...registration }: Registration,
  updatedMs: number,
): Merged {
  const { offer } = registration;
  const offers = listed === undefined ? [] : offersOf(listed);
  const isKnown = offers.some(({ payTo }) => payTo === offer.payTo);
  const isFamilyTaken = offers.some(({ network }) => familyOf(network) === familyOf(offer.network));
  if (!isKnown && isFamilyTaken) return { ok: false, reason: "the resource is listed with another payTo" };
  return { ok: true, service: putOffer(listed, registration, { updatedMs, isDescribing: isKnown }) };
}

/** Adds or replaces an offer. Its payment describes a new method, and a listed one if it `isDescribing`. */
export function putOffer(
  listed: Service | undefined,
  registration: Registration,
  { updatedMs, isDescribing }: { readonly updatedMs: number; readonly isDescribing: boolean },
): Service {
  const { type, resource, toolName, offer, ...declared } = registration;
  const fresh: ServiceMethod = { ...declared, offers: [offer], updatedMs };
  if (listed === undefined) return { type, resource, toolName, methods: [fresh] };
  const same = listed.methods.find((method) => nameOf(method) === nameOf(fresh));
  const others = listed.methods.filter((method) => method !== same);
  const kept = (same?.offers ?? []).filter((other) => !isSameOffer(other, offer));
  const described = same === undefined || isDescribing ? fresh : same;
  const merged = { ...described, offers: [...kept, offer].slice(-MAX_OFFERS), updatedMs };
  return { ...listed, methods: [...others, merged].sort((one, other) => rankOf(one) - rankOf(other)) };
}

/** Keeps some offers, and the methods that have one; `undefined` when no offer is left. */
export function keepOffers(
  service: Service,
  isKept: (method: string, offer: RegisteredOffer) => boolean,
): Service | undefined {
  const methods = service.methods.flatMap((method) => {
    const offers = method.offers.filter((offer) => isKept(nameOf(method), offer));
    return offers.length === 0 ? [] : [{ ...method, offers }];
  });
  return methods.length === 0 ? undefined : { ...service, methods };
}

/** The HTTP method; `""` for an MCP tool. */
export function nameOf({ info }: ServiceMethod): string {
  const { type, method } = info.input;
  return type === "http" && typeof method === "string" ? method : "";
}

const ORDER = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];

function rankOf(method: ServiceMethod): number {
  const rank = ORDER.indexOf(nameOf(method));
  return rank === -1 ? ORDER.length : rank;
}

function familyOf(network: string): string {
  return network.slice(0, network.indexOf(":"));
}

function isSameOffer(one: RegisteredOffer, other: RegisteredOffer): boolean {
  return (["scheme", "network", "asset", "payTo"] as const).every((name) => one[name] === other[name]);
}

/** Entries without a price in dollars are sorted behind all others. */
export const NO_PRICE = "~";

/**
 * The cheapest offer in dollars as a text that sorts like the number: its length in two digits, then its digits. Exact for any
 * amount, while no integer of a database is large enough.
 */
export function priceOf(service: Service): string {
  const prices = offersOf(service).flatMap((offer) => dollarsOf(offer) ?? []);
  const [least = NO_PRICE] = prices.map(sortable).sort();
  return least;
}

function sortable(price: bigint): string {
  const digits = price.toString();
  return `${String(digits.length).padStart(2, "0")}${digits}`;
}

/** Turns a service into an entry, with the fields of all dialects. The first method stands for the others. */
export function toEntry(service: Service, updatedMs: number): CatalogEntry {
  const { type, resource, toolName, methods, verifiedMs } = service;
  const entries = methods.map((method) => toMethod(service, method));
  const [first] = methods;
  const [top] = entries;
  if (first === undefined || top === undefined) throw new TypeError("a stored service has no method");
  const { routeTemplate, serverUrl } = first;
  const { method, accepts: _, lastUpdated: __, ...described } = top;
  return {
    resource,
    type,
    x402Version: 2,
    accepts: entries.flatMap(({ accepts }) => accepts),
    lastUpdated: new Date(updatedMs).toISOString(),
    metadata: {},
    ...described,
    ...ofFirst(methods, "serviceName"),
    ...ofFirst(methods, "tags"),
    ...ofFirst(methods, "iconUrl"),
    ...(routeTemplate === undefined ? {} : { routeTemplate }),
    ...(type === "mcp" ? { toolName } : {}),
    ...(serverUrl === undefined ? {} : { serverUrl }),
    ...(method === "" ? {} : { method }),
    ...(entries.length > 1 ? { methods: entries } : {}),
    ...(verifiedMs === undefined ? {} : { verified: true, verifiedAt: new Date(verifiedMs).toISOString() }),
  };
}

/** A field that describes the whole service, of the first method that has it. */
function ofFirst<Name extends "serviceName" | "tags" | "iconUrl">(
  methods: readonly ServiceMethod[],
  name: Name,
): { readonly [Key in Name]?: NonNullable<ServiceMethod[Name]> } {
  const found = methods.find((method) => method[name] !== undefined)?.[name];
  return found === undefined
    ? {}
    : ({ [name]: found } as { readonly [Key in Name]?: NonNullable<ServiceMethod[Name]> });
}

function toMethod(service: Service, method: ServiceMethod): EntryMethod {
  const { info, schema, routeTemplate, description, mimeType, offers, updatedMs } = method;
  const outputSchema = outputSchemaFor(service, method);
  return {
    method: nameOf(method),
    accepts: offers.map((offer) => toOffer(offer, { service, method, outputSchema })),
    ...(description === undefined ? {} : { description }),
    ...(mimeType === undefined ? {} : { mimeType }),
    discoveryInfo: info,
    extensions: { [BAZAAR]: { info, schema, ...(routeTemplate === undefined ? {} : { routeTemplate }) } },
    lastUpdated: new Date(updatedMs).toISOString(),
  };
}

interface OfferContext {
  readonly service: Service;
  readonly method: ServiceMethod;
  readonly outputSchema: EntryOffer["outputSchema"];
}

function toOffer(offer: RegisteredOffer, { service, method, outputSchema }: OfferContext): EntryOffer {
  const { scheme, network, asset, payTo, amount, maxTimeoutSeconds, extra } = offer;
  const { description = "", mimeType = "" } = method;
  const terms = { scheme, network, asset, payTo, amount, maxAmountRequired: amount, maxTimeoutSeconds };
  return { ...terms, resource: service.resource, description, mimeType, outputSchema, extra };
}

/** The offers of a method repeat its input and output. Beyond this length they name only the request. */
const MAX_REPEATED = 24 * 1_024;

function outputSchemaFor(service: Service, method: ServiceMethod): EntryOffer["outputSchema"] {
  const whole = { input: toInput(service, method), output: outputOf(method) };
  const { type, resource } = service;
  if (type === "mcp" || JSON.stringify(whole).length * method.offers.length <= MAX_REPEATED) return whole;
  return { input: { type, method: nameOf(method), resource }, output: null };
}

function toInput({ type, resource, toolName }: Service, { info }: ServiceMethod): JsonObject {
  if (type === "http") return { ...info.input, resource };
  return { transport: "streamable-http", ...info.input, toolName };
}

/** The declared schema with the example. Without a schema, or with one that refers out of itself: the output as declared. */
function outputOf({ info, schema }: ServiceMethod): unknown {
  const { output } = info;
  const whole = withOwnReferences(outputSchemaOf(schema) ?? {});
  if (!isJsonObject(whole) || Object.keys(whole).length === 0) return output ?? null;
  return output?.example === undefined ? whole : { ...whole, example: output.example };
}

/** Where the declaration has the schema of the output. References in it begin there. */
const PLACE = "#/properties/output/properties/example";

/** Moves references to a schema that stands alone; `undefined` if one leads elsewhere. */
function withOwnReferences(schema: unknown): unknown {
  if (Array.isArray(schema)) {
    const items = schema.map(withOwnReferences);
    return items.includes(undefined) ? undefined : items;
  }
  if (!isJsonObject(schema)) return schema;
  const moved: [string, unknown][] = [];
  for (const [key, value] of Object.entries(schema)) {
    const isReference = key === "$ref" && typeof value === "string";
    if (isReference && value !== PLACE && !value.startsWith(`${PLACE}/`)) return undefined;
    const own = isReference ? `#${value.slice(PLACE.length)}` : withOwnReferences(value);
    if (own === undefined) return undefined;
    moved.push([key, own]);
  }
  return Object.fromEntries(moved);
}
