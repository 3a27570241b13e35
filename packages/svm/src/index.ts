/**
 * The seller's side of `exact` on Solana. Everything exported here is public API. Verification and settlement are in
 * `@farebox/svm/facilitator`.
 *
 * @module
 */
export { decodeBase58, encodeBase58, type TokenProgram, tokenAccountOf } from "./address.js";
export { ASSETS, type SvmAsset } from "./assets.js";
export { exactSvm } from "./exact/scheme.js";
