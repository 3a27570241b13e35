/**
 * The protocol without a seller: headers, networks, reasons, JSON from strangers. Everything exported here is public API.
 * The types of the documents are in `@farebox/core`.
 *
 * @module
 */
export { canonicalNetwork, isNetwork, type Network, type NetworkPattern, networkByName, sameNetwork } from "./caip2.js";
export {
  type DecodedPayment,
  decodeExtensionResponses,
  decodePaymentRequired,
  decodePaymentResponse,
  decodePaymentSignature,
  EXTENSION_RESPONSES,
  encodeExtensionResponses,
  encodePaymentSignature,
  PAYMENT_REQUIRED,
  PAYMENT_RESPONSE,
  PAYMENT_RETRY_TOKEN,
  PAYMENT_SIGNATURE,
} from "./headers.js";
export { isJsonObject, type JsonObject, type ParsedJson, parseJson } from "./json.js";
export { declarePaymentIdentifier, PAYMENT_IDENTIFIER } from "./payment-identifier.js";
export {
  type AddedReason,
  type AvmReason,
  isReason,
  type Reason,
  type SpecifiedReason,
  type SvmReason,
} from "./reasons.js";
export {
  matchesTemplate,
  piecesOf,
  problemOfTemplate,
  type TemplatePiece,
} from "./route-template.js";
