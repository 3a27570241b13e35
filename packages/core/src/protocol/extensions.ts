/**
 * Extensions: optional data beside a challenge or a payment, keyed by the extension's identifier.
 *
 * @see x402 v2 §5.1.2 "Extensions"
 * @module
 */

/** One extension as a seller declares it: the data, and the JSON Schema of the data. */
export interface ExtensionDeclaration {
  readonly info: Readonly<Record<string, unknown>>;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}

/** Declarations by identifier, e.g. `{ bazaar: { info, schema } }`. */
export type Extensions = Readonly<Record<string, ExtensionDeclaration>>;
