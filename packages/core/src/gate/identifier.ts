/**
 * The extension `payment-identifier` at a route: whether it is offered, and what is made of the id that a payment carries.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Issues } from "../issues.js";
import type { Extensions, PaymentPayload } from "../protocol/documents.js";
import { declarePaymentIdentifier, PAYMENT_IDENTIFIER, readPaymentIdentifier } from "../protocol/payment-identifier.js";
import type { Reason } from "../protocol/reasons.js";
import type { IdentifierMode } from "./options.js";

/** Says what a route makes of ids: in its own option, or in the form in which the extension is declared elsewhere. */
export function parseIdentifierMode(
  mode: unknown,
  about: { readonly path: string; readonly declared: Extensions | undefined; readonly issues: Issues },
): IdentifierMode {
  const { path, declared, issues } = about;
  const declaredMode = modeDeclared(declared);
  if (mode === undefined) return declaredMode ?? "optional";
  if (mode !== "optional" && mode !== "required" && mode !== "off") {
    issues.add(path, '"optional", "required" or "off"', mode);
    return "optional";
  }
  if (declaredMode !== undefined && declaredMode !== mode) {
    issues.add(path, `what extensions["${PAYMENT_IDENTIFIER}"] says, "${declaredMode}"`, mode);
  }
  return mode;
}

function modeDeclared(declared: Extensions | undefined): IdentifierMode | undefined {
  const info = declared?.[PAYMENT_IDENTIFIER]?.info;
  if (info === undefined) return undefined;
  return info["required"] === true ? "required" : "optional";
}

/** A route's declarations, and this one among them unless it is off. */
export function withIdentifier(declared: Extensions | undefined, mode: IdentifierMode): Extensions | undefined {
  if (mode === "off") return declared;
  return { ...declared, [PAYMENT_IDENTIFIER]: declarePaymentIdentifier(mode === "required") };
}

/** What is made of a payment's id. */
export type Identified =
  | { readonly kind: "identified"; readonly digest: string | undefined }
  | { readonly kind: "refused"; readonly error: string; readonly reason: Reason };

const NO_IDENTIFIER: Identified = Object.freeze({ kind: "identified", digest: undefined });

/** Reads the id of a payment. Only its digest is kept: whoever has the id gets the answer. */
export function identifyPayment(mode: IdentifierMode, extensions: PaymentPayload["extensions"]): Identified {
  if (mode === "off") return NO_IDENTIFIER;
  const read = readPaymentIdentifier(extensions);
  if (read.kind === "present") {
    return { kind: "identified", digest: createHash("sha256").update(read.id).digest("base64url") };
  }
  if (read.kind === "malformed") return MALFORMED;
  return mode === "required" ? MISSING : NO_IDENTIFIER;
}

const MALFORMED: Identified = Object.freeze({
  kind: "refused",
  reason: "invalid_payment_identifier",
  error: "invalid_payment_identifier: the id has to have 16 to 128 letters, digits, hyphens and underscores",
});
const MISSING: Identified = Object.freeze({
  kind: "refused",
  reason: "payment_identifier_required",
  error: `payment_identifier_required: extensions["${PAYMENT_IDENTIFIER}"].info.id is missing`,
});
