/**
 * A listed service: the declarations of all payments for it, merged.
 *
 * @module
 */
import {
  BAZAAR,
  type CatalogEntry,
  type EntryOffer,
  type RegisteredOffer,
  type Registration,
} from "@farebox/bazaar/facilitator";
import type { JsonObject } from "@farebox/core";
import { isJsonObject } from "@farebox/core/protocol";

/** The service as stored. Each payment is for one offer; `offers` collects them. */
export interface Service extends Omit<Registration, "offer"> {
  readonly offers: readonly RegisteredOffer[];
}

/** A service after one more registration, or why the registration is refused. */
export type Merged = { readonly ok: true; readonly service: Service } | { readonly ok: false; readonly reason: string };

const MAX_OFFERS = 16;

/**
 * Merges a registration into a listed service. Anyone can claim a resource, and a payment proves only its payee. So a payee
 * that is listed may change everything. A new payee on another family of networks only adds an offer. Any other registration
 * is refused.
 */
export function mergeService(listed: Service | undefined, { offer, ...declared }: Registration): Merged {
  if (listed === undefined) return { ok: true, service: { ...declared, offers: [offer] } };
  const isKnown = listed.offers.some(({ payTo }) => payTo === offer.payTo);
  const isFamilyTaken = listed.offers.some(({ network }) => familyOf(network) === familyOf(offer.network));
  if (!isKnown && isFamilyTaken) return { ok: false, reason: "the resource is listed with another payTo" };
  const otherOffers = listed.offers.filter((other) => !isSameOffer(other, offer));
  const offers = [...otherOffers, offer].slice(-MAX_OFFERS);
  return { ok: true, service: { ...(isKnown ? declared : listed), offers } };
}

function familyOf(network: string): string {
  return network.slice(0, network.indexOf(":"));
}

function isSameOffer(one: RegisteredOffer, other: RegisteredOffer): boolean {
  return (["scheme", "network", "asset", "payTo"] as const).every((name) => one[name] === other[name]);
}

/** Turns a service into an entry, with the fields of all dialects. */
export function toEntry(service: Service, updatedMs: number): CatalogEntry {
  const { type, resource, toolName, info, schema, routeTemplate, offers } = service;
  const { description, mimeType, serviceName, tags, iconUrl } = service;
  const template = routeTemplate === undefined ? {} : { routeTemplate };
  const { method } = info.input;
  return {
    resource,
    type,
    x402Version: 2,
    accepts: offers.map((offer) => toOffer(service, offer)),
    lastUpdated: new Date(updatedMs).toISOString(),
    metadata: {},
    ...(description === undefined ? {} : { description }),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(serviceName === undefined ? {} : { serviceName }),
    ...(tags === undefined ? {} : { tags }),
    ...(iconUrl === undefined ? {} : { iconUrl }),
    extensions: { [BAZAAR]: { info, schema, ...template } },
    discoveryInfo: info,
    ...template,
    ...(type === "mcp" ? { toolName } : {}),
    ...(type === "http" && typeof method === "string" ? { method } : {}),
  };
}

function toOffer(
  { resource, description = "", mimeType = "", ...service }: Service,
  offer: RegisteredOffer,
): EntryOffer {
  const { scheme, network, asset, payTo, amount, maxTimeoutSeconds, extra } = offer;
  const outputSchema = { input: toInput(resource, service), output: outputOf(service.info) };
  const terms = { scheme, network, asset, payTo, amount, maxAmountRequired: amount, maxTimeoutSeconds };
  return { ...terms, resource, description, mimeType, outputSchema, extra };
}

function toInput(resource: string, { type, toolName, info }: Pick<Service, "type" | "toolName" | "info">): JsonObject {
  if (type === "http") return { ...info.input, resource };
  return { transport: "streamable-http", ...info.input, toolName };
}

function outputOf(info: JsonObject): unknown {
  return isJsonObject(info["output"]) ? info["output"] : null;
}
