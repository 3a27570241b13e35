/**
 * Everything exported here is public API.
 *
 * @module
 */
export { type CatalogPageOptions, catalogPage } from "./catalog-page/catalog-page.js";
export {
  createFacilitator,
  type FacilitatorHealth,
  type LocalFacilitator,
} from "./create-facilitator.js";
export type { FacilitatorOptions } from "./facilitator-options.js";
export { facilitatorRouter } from "./facilitator-router.js";
export type { Extended, ExtensionResponses, ListingOutcome } from "./registrar.js";
export type { FacilitatorRouterOptions } from "./router-options.js";
