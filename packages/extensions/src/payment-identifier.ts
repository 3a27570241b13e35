/**
 * Helpers for the extension `payment-identifier`: an id that a client chooses for one payment. The engine declares and enforces it by
 * itself (see `paymentIdentifier` of a route); these read it in hooks and handlers.
 *
 * @see x402 v2 extension `payment-identifier`
 * @module
 */
import { randomUUID } from "node:crypto";
import type { ExtensionDeclaration } from "@farebox/core";
import { createIssues } from "@farebox/core/issues";
import { declarePaymentIdentifier, isJsonObject, type JsonObject, PAYMENT_IDENTIFIER } from "@farebox/core/protocol";

export { PAYMENT_IDENTIFIER };

export const PAYMENT_ID_MIN_LENGTH = 16;
export const PAYMENT_ID_MAX_LENGTH = 128;
export const PAYMENT_ID_PATTERN: RegExp = /^[a-zA-Z0-9_-]+$/;

/** A payment, as a client sent it. */
export interface PaymentWithExtensions {
  readonly extensions?: Readonly<Record<string, unknown>> | null | undefined;
}

/** Whether an id is valid, and why not. */
export interface PaymentIdentifierValidationResult {
  valid: boolean;
  errors?: string[];
}

const VALID: PaymentIdentifierValidationResult = { valid: true };
const MALFORMED =
  "Invalid payment ID format. ID must be 16-128 characters and contain only alphanumeric characters, hyphens, and underscores.";

/** Declares the extension: `extensions: { [PAYMENT_IDENTIFIER]: declarePaymentIdentifierExtension(true) }`. */
export function declarePaymentIdentifierExtension(required = false): ExtensionDeclaration {
  return declarePaymentIdentifier(required);
}

/** Creates a random id. The prefix may have up to 96 characters. */
export function generatePaymentId(prefix = "pay_"): string {
  return prefix + randomUUID().replaceAll("-", "");
}

/** Whether a value is an id: 16 to 128 letters, digits, hyphens and underscores. */
export function isValidPaymentId(id: unknown): id is string {
  if (typeof id !== "string" || id.length < PAYMENT_ID_MIN_LENGTH || id.length > PAYMENT_ID_MAX_LENGTH) return false;
  return PAYMENT_ID_PATTERN.test(id);
}

/** The id of a payment; `null`: none, or an invalid one. */
export function extractPaymentIdentifier(payment: PaymentWithExtensions, validate = true): string | null {
  const id = infoOf(payment)?.["id"];
  if (typeof id !== "string") return null;
  return validate && !isValidPaymentId(id) ? null : id;
}

/** Whether a payment has the extension, with or without an id. */
export function hasPaymentIdentifier({ extensions }: PaymentWithExtensions): boolean {
  return Boolean(extensions?.[PAYMENT_IDENTIFIER]);
}

/** The id of a payment, and what is wrong with the extension. */
export function extractAndValidatePaymentIdentifier(payment: PaymentWithExtensions): {
  id: string | null;
  validation: PaymentIdentifierValidationResult;
} {
  if (!hasPaymentIdentifier(payment)) return { id: null, validation: VALID };
  const validation = validatePaymentIdentifier(payment.extensions?.[PAYMENT_IDENTIFIER]);
  return { id: validation.valid ? extractPaymentIdentifier(payment) : null, validation };
}

/** Whether a value has the form of the extension. */
export function isPaymentIdentifierExtension(extension: unknown): extension is ExtensionDeclaration {
  return (
    isJsonObject(extension) && isJsonObject(extension["info"]) && typeof extension["info"]["required"] === "boolean"
  );
}

/** Whether a declaration requires an id. */
export function isPaymentIdentifierRequired(extension: unknown): boolean {
  return isPaymentIdentifierExtension(extension) && extension.info["required"] === true;
}

/** Says what is wrong with the extension in a payment. The schema in it is the client's, and is not read. */
export function validatePaymentIdentifier(extension: unknown): PaymentIdentifierValidationResult {
  if (!isJsonObject(extension)) return invalid("Extension must be an object");
  const { info } = extension;
  if (!isJsonObject(info)) return invalid("Extension must have an 'info' property");
  const { required, id } = info;
  if (typeof required !== "boolean") return invalid("Extension info must have a 'required' boolean property");
  if (id !== undefined && typeof id !== "string") {
    return invalid("Extension info 'id' must be a string if provided");
  }
  return id === undefined || isValidPaymentId(id) ? VALID : invalid(MALFORMED);
}

/** Says whether a payment has the id that the seller requires. */
export function validatePaymentIdentifierRequirement(
  payment: PaymentWithExtensions,
  serverRequired: boolean,
): PaymentIdentifierValidationResult {
  if (!serverRequired) return VALID;
  const id = extractPaymentIdentifier(payment, false);
  if (!id) return invalid("Server requires a payment identifier but none was provided");
  return isValidPaymentId(id) ? VALID : invalid(MALFORMED);
}

/**
 * For clients: adds an id to the declaration of a challenge, in place. Changes nothing if the seller declared none.
 *
 * @throws ConfigError when the id is invalid.
 */
export function appendPaymentIdentifierToExtensions<T extends Record<string, unknown>>(extensions: T, id?: string): T {
  const extension = extensions[PAYMENT_IDENTIFIER];
  if (!isPaymentIdentifierExtension(extension)) return extensions;
  const chosen = id ?? generatePaymentId();
  const issues = createIssues();
  if (!isValidPaymentId(chosen)) issues.add("id", "16 to 128 letters, digits, hyphens and underscores", chosen);
  issues.throwIfAny();
  (extension.info as Record<string, unknown>)["id"] = chosen;
  return extensions;
}

function infoOf({ extensions }: PaymentWithExtensions): JsonObject | undefined {
  const extension = extensions?.[PAYMENT_IDENTIFIER];
  if (!isJsonObject(extension)) return undefined;
  return isJsonObject(extension["info"]) ? extension["info"] : undefined;
}

function invalid(error: string): PaymentIdentifierValidationResult {
  return { valid: false, errors: [error] };
}
