/**
 * What documents read of a declaration.
 *
 * @module
 */
import { type DescribedRoute, isJsonObject, type JsonObject } from "@farebox/core";
import { BAZAAR, type BazaarDeclaration } from "../declaration.js";
import { inputSchemaOf } from "../declare/narrow.js";

/** The declaration of a route, if it has one. */
export function declarationOf({ extensions }: DescribedRoute): BazaarDeclaration | undefined {
  return extensions?.[BAZAAR] as BazaarDeclaration | undefined;
}

/** One part of what goes in (`queryParams`, `pathParams`, `body`), as the schema has it. */
export function inputPart({ schema }: BazaarDeclaration, name: string): JsonObject | undefined {
  const properties = inputSchemaOf(schema)["properties"];
  const part = isJsonObject(properties) ? properties[name] : undefined;
  return isJsonObject(part) ? part : undefined;
}

/** What comes out, likewise. */
export function outputPart({ schema }: BazaarDeclaration): JsonObject | undefined {
  const part = ["properties", "output", "properties", "example"].reduce<unknown>(
    (value, key) => (isJsonObject(value) ? value[key] : undefined),
    schema,
  );
  return isJsonObject(part) ? part : undefined;
}

/** One field of what goes in. */
export interface DeclaredField {
  readonly name: string;
  readonly schema: JsonObject;
  readonly description: string | undefined;
  readonly isRequired: boolean;
}

/** The fields of a part. */
export function fieldsOf(part: JsonObject | undefined): readonly DeclaredField[] {
  const properties = isJsonObject(part?.["properties"]) ? part["properties"] : {};
  const required: readonly unknown[] = Array.isArray(part?.["required"]) ? part["required"] : [];
  return Object.entries(properties).map(([name, own]) => {
    const { description, ...schema } = isJsonObject(own) ? own : {};
    const text = typeof description === "string" ? description : undefined;
    return { name, schema, description: text, isRequired: required.includes(name) };
  });
}

/** Prices, for people: `0.01 USDC on eip155:8453 or …`. */
export function describeOffers({ offers }: DescribedRoute): string {
  const ways = offers.map(({ price, symbol, amount, network, isMaximum }) => {
    const exact = price === undefined ? amount && `${amount} units` : `${price} ${symbol}`;
    if (exact === undefined) return `a price by request on ${network}`;
    return `${isMaximum ? "up to " : ""}${exact} on ${network}`;
  });
  return ways.join(", or ");
}
