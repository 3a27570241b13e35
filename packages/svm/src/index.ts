/**
 * Everything exported here is public API. Verification and settlement are in `@farebox/svm/facilitator`.
 *
 * @module
 */
export { ASSETS, type SvmAsset, type TokenProgram } from "./assets.js";
export { exactSvm } from "./exact/exact-svm.js";
export { tokenAccountOf } from "./token-account-of.js";
