/**
 * Readers for the declaration and the prices of a route, which all three documents share.
 *
 * @module
 */
import type { JsonObject } from "@farebox/core";
import type { DescribedOffer, DescribedRoute } from "@farebox/core/adapter";
import { isJsonObject } from "@farebox/core/protocol";
import { BAZAAR, type BazaarDeclaration, schemaAt } from "../declaration.js";

/** The declaration of a route, if it has one. */
export function declarationOf({ extensions }: Pick<DescribedRoute, "extensions">): BazaarDeclaration | undefined {
  return extensions?.[BAZAAR] as BazaarDeclaration | undefined;
}

/** The schema of one part of the input: `queryParams`, `pathParams` or `body`. */
export function inputPart({ schema }: BazaarDeclaration, name: string): JsonObject | undefined {
  return schemaAt(schema, ["input", name]);
}

/** One field of the input. */
export interface DeclaredField {
  readonly name: string;
  readonly schema: JsonObject;
  readonly description: string | undefined;
  readonly isRequired: boolean;
}

/** The fields of one part. */
export function fieldsOf(part: JsonObject | undefined): readonly DeclaredField[] {
  const properties = isJsonObject(part?.["properties"]) ? part["properties"] : {};
  const required: readonly unknown[] = Array.isArray(part?.["required"]) ? part["required"] : [];
  return Object.entries(properties).map(([name, own]) => {
    const { description, ...schema } = isJsonObject(own) ? own : {};
    const text = typeof description === "string" ? description : undefined;
    return { name, schema, description: text, isRequired: required.includes(name) };
  });
}

/** Prices for people: `0.01 USDC on eip155:8453, or …`. */
export function describeOffers({ offers }: Pick<DescribedRoute, "offers">): string {
  const prices = offers.map(({ price, symbol, amount, network, isMaximum }) => {
    const exact = price === undefined ? amount && `${amount} units` : `${price} ${symbol}`;
    if (exact === undefined) return `a price by request on ${network}`;
    return `${isMaximum ? "up to " : ""}${exact} on ${network}`;
  });
  return prices.join(", or ");
}

/** The offers as in an entry of a catalog, with the price for people. */
export function toAccepts(offers: readonly DescribedOffer[]): readonly JsonObject[] {
  return offers.map(({ price, symbol, isMaximum, full, ...terms }) => ({
    ...terms,
    ...full,
    ...(price === undefined ? {} : { price: `${isMaximum ? "up to " : ""}${price} ${symbol}` }),
  }));
}
