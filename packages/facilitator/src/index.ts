/**
 * Everything exported here is public API.
 *
 * @module
 */
export {
  createFacilitator,
  type FacilitatorHealth,
  type FacilitatorOptions,
  type LocalFacilitator,
} from "./create-facilitator.js";
export { type FacilitatorRouterOptions, facilitatorRouter } from "./facilitator-router.js";
