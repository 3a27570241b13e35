/**
 * Everything exported here is public API.
 *
 * @module
 */
export type { Admission, Caller, Seller, SellerCredential } from "./access.js";
export {
  createFacilitator,
  type FacilitatorHealth,
  type LocalCallOptions,
  type LocalFacilitator,
  type LocalResponse,
  type PolicyStatus,
  type SignerHealth,
} from "./create-facilitator.js";
export { facilitatorRouter } from "./facilitator-router.js";
export type { BookGas, MeteredScheme } from "./gas-budget.js";
export type { FacilitatorOptions, FacilitatorPolicy, FacilitatorRouterOptions } from "./options.js";
export { type CatalogPageOptions, catalogPage } from "./page/catalog-page.js";
export type { Assets, Payees, PolicyPayment } from "./policy.js";
export type { Extended, ExtensionResponses, ListingOutcome } from "./registrar.js";
