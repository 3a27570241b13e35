/**
 * Extensions of the protocol for sellers. `bazaar` and `payment-identifier` need none of this: the engine has them. Everything exported
 * here is public API.
 *
 * @module
 */
export {
  BUILDER_CODE,
  BUILDER_CODE_PATTERN,
  BUILDER_CODE_SCHEMA,
  type BuilderCodeDeclaration,
  builderCodeResourceServerExtension,
  declareBuilderCodeExtension,
  MAX_SERVER_SERVICE_CODES,
} from "./builder-code.js";
export {
  createEIP712OfferReceiptIssuer,
  createJWSOfferReceiptIssuer,
  type JWSSigner,
  type OfferInput,
  type OfferPayload,
  type OfferReceiptIssuer,
  type ReceiptPayload,
  type SignatureFormat,
  type SignedOffer,
  type SignedReceipt,
  type SignTypedDataFn,
  type TypedDataToSign,
} from "./offer-issuers.js";
export {
  createOfferReceiptExtension,
  declareOfferReceiptExtension,
  OFFER_RECEIPT,
  type OfferReceiptDeclaration,
  type OfferReceiptOptions,
} from "./offer-receipt.js";
export {
  appendPaymentIdentifierToExtensions,
  declarePaymentIdentifierExtension,
  extractAndValidatePaymentIdentifier,
  extractPaymentIdentifier,
  generatePaymentId,
  hasPaymentIdentifier,
  isPaymentIdentifierExtension,
  isPaymentIdentifierRequired,
  isValidPaymentId,
  PAYMENT_ID_MAX_LENGTH,
  PAYMENT_ID_MIN_LENGTH,
  PAYMENT_ID_PATTERN,
  PAYMENT_IDENTIFIER,
  type PaymentIdentifierValidationResult,
  type PaymentWithExtensions,
  validatePaymentIdentifier,
  validatePaymentIdentifierRequirement,
} from "./payment-identifier.js";
export { InMemorySIWxStorage, type ResourceOf, type SIWxHookEvent, type SIWxStorage } from "./sign-in-access.js";
export {
  parseSIWxHeader,
  type SIWxPayload,
  type SIWxValidationOptions,
  type SIWxValidationResult,
  type SIWxVerifyOptions,
  type SIWxVerifyResult,
  SOLANA_DEVNET,
  SOLANA_MAINNET,
  SOLANA_TESTNET,
  validateSIWxMessage,
  verifySIWxSignature,
} from "./sign-in-message.js";
export {
  type CreateSIWxOptions,
  createSIWxResourceServerExtension,
  type DeclareSIWxOptions,
  declareSIWxExtension,
  SIGN_IN_WITH_X,
  type SIWxDeclaration,
  type SIWxExtension,
} from "./sign-in-with-x.js";
