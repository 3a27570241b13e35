/**
 * The seller's side of `exact` on Algorand. Everything exported here is public API. Verification and settlement are in
 * `@farebox/avm/facilitator`.
 *
 * @module
 */
export { ASSETS, type AvmAsset } from "./assets.js";
export { exactAvm } from "./exact/scheme.js";
export { type AvmNetwork, isSameNetwork, networkAliases } from "./networks.js";
