/**
 * The seller's side of `@x402/extensions`, by its names. Each of its sub-paths leads here, too.
 *
 * @see `docs/reference/compat.md`
 * @module
 */
import { PAYMENT_IDENTIFIER } from "@farebox/extensions";

export type {
  CreateSIWxOptions as CreateSIWxHookOptions,
  CreateSIWxOptions as CreateSIWxResourceServerExtensionOptions,
} from "@farebox/extensions";
// biome-ignore lint/performance/noReExportAll: each of the extensions is one of the reference's
export * from "@farebox/extensions";
export {
  BAZAAR,
  bazaarResourceServerExtension,
  type DeclareBodyDiscoveryExtensionConfig,
  type DeclareDiscoveryExtensionInput,
  type DeclareMcpDiscoveryExtensionConfig,
  type DeclareQueryDiscoveryExtensionConfig,
  type DiscoveryExtension,
  type DiscoveryOutput,
  declareDiscoveryExtension,
} from "./bazaar.js";
export {
  declareEip2612GasSponsoringExtension,
  declareErc20ApprovalGasSponsoringExtension,
  EIP2612_GAS_SPONSORING,
  ERC20_APPROVAL_GAS_SPONSORING,
} from "./gas-sponsoring.js";
export {
  type CreateSIWxRequestHookOptions,
  type CreateSIWxSettleHookOptions,
  createSIWxRequestHook,
  createSIWxSettleHook,
  siwxResourceServerExtension,
} from "./sign-in-hooks.js";

/** Registered or not, the engine has the extension. */
export const paymentIdentifierResourceServerExtension: { readonly key: string } = Object.freeze({
  key: PAYMENT_IDENTIFIER,
});
