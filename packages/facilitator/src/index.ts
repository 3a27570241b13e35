/**
 * Everything exported here is public API.
 *
 * @module
 */
export { type CatalogPageOptions, catalogPage } from "./catalog-page.js";
export {
  createFacilitator,
  type FacilitatorHealth,
  type LocalFacilitator,
} from "./create-facilitator.js";
export { facilitatorRouter } from "./facilitator-router.js";
export type { FacilitatorOptions, FacilitatorRouterOptions } from "./options.js";
export type { Extended, ExtensionResponses, ListingOutcome } from "./registrar.js";
