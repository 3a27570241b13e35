/**
 * The extension `payment-identifier`: an id that the client chooses for one payment. It never reaches the chain, so only the client
 * knows it, and can prove with it that a duplicate is its own.
 *
 * @see x402 v2 extension `payment-identifier`
 * @module
 */
import type { ExtensionDeclaration, PaymentPayload } from "./documents.js";
import { isJsonObject } from "./json.js";

/** The extension's identifier. */
export const PAYMENT_IDENTIFIER = "payment-identifier";

/** The id in a payment, none, or an invalid one. */
export type ClientIdentifier =
  | { readonly kind: "absent" }
  | { readonly kind: "malformed" }
  | { readonly kind: "present"; readonly id: string };

const ID = /^[A-Za-z0-9_-]{16,128}$/;

/** The declaration of the extension in a challenge. */
export function declarePaymentIdentifier(required: boolean): ExtensionDeclaration {
  return {
    info: { required },
    schema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        required: { type: "boolean" },
        id: { type: "string", minLength: 16, maxLength: 128, pattern: "^[a-zA-Z0-9_-]+$" },
      },
      required: ["required"],
    },
  };
}

/** Reads the id of a payment: 16 to 128 letters, digits, hyphens and underscores. */
export function readPaymentIdentifier(extensions: PaymentPayload["extensions"]): ClientIdentifier {
  const declared = extensions?.[PAYMENT_IDENTIFIER];
  if (declared === undefined || declared === null) return { kind: "absent" };
  if (!isJsonObject(declared)) return { kind: "malformed" };
  const { info } = declared;
  if (info === undefined || info === null) return { kind: "absent" };
  if (!isJsonObject(info)) return { kind: "malformed" };
  const { id } = info;
  if (id === undefined || id === null) return { kind: "absent" };
  return typeof id === "string" && ID.test(id) ? { kind: "present", id } : { kind: "malformed" };
}
